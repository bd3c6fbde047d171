#include "config/limits.h"
#include "flow/flow_fixture.h"

namespace weir {
namespace {

using AdmitTest = FlowTest;

TEST_F(AdmitTest, AcceptedIsSaidOnlyAfterTheLedgerHasIt) {
  ask(claim(1, 1));
  desk_step();
  EXPECT_TRUE(port.answers.empty()) << "nothing is durable yet";
  EXPECT_EQ(free_units(), 9);
  ASSERT_EQ(*record.step(now), 1U);
  desk_step();
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::accepted);
  EXPECT_EQ(port.answers[0].order, (OrderId{1, 1}));
}

TEST_F(AdmitTest, B016_TheSameClaimAgainWaitsForTheSameCommit) {
  ask(claim(1, 1));
  ask(claim(1, 1));
  settle_down();
  ASSERT_EQ(port.answers.size(), 2U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::accepted);
  EXPECT_EQ(port.answers[1].kind, ClaimAnswerKind::accepted);
  EXPECT_EQ(free_units(), 9);
  EXPECT_EQ(ledger.rows.size(), 1U);
}

TEST_F(AdmitTest, ARepeatAfterTheCommitIsLookedUp) {
  ask(claim(1, 1));
  settle_down();
  ask(claim(1, 1));
  settle_down();
  ASSERT_EQ(port.answers.size(), 2U);
  EXPECT_EQ(port.answers[1].kind, ClaimAnswerKind::look_up);
}

TEST_F(AdmitTest, B049_ASecondClickWithoutAKeyHearsTheStandingOrder) {
  ask(claim(1, 7));
  ask(claim(2, 7));
  settle_down();
  ASSERT_EQ(port.answers.size(), 2U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::over_limit);
  EXPECT_EQ(port.answers[0].order, (OrderId{1, 1}));
  EXPECT_EQ(port.answers[0].units_held, 1);
  EXPECT_EQ(free_units(), 9);
}

TEST_F(AdmitTest, F47_AnUnknownCommitKeepsTheUnitAndIsDrivenUntilItIsKnown) {
  ledger.lose_next_answer = true;
  ask(claim(1, 1));
  desk_step();
  EXPECT_FALSE(record.step(now).has_value());
  desk_step();
  EXPECT_TRUE(port.answers.empty());
  EXPECT_EQ(free_units(), 9) << "an unknown is not a failure";
  settle_down();
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::accepted);
  EXPECT_EQ(ledger.rows.size(), 1U);
}

TEST_F(AdmitTest, F47_ABuyerWhoWaitsTooLongHearsTheIdAndTheUnitStays) {
  ledger.fail_with = Failure::timed_out;
  ask(claim(1, 1));
  desk_step();
  EXPECT_FALSE(record.step(now).has_value());
  now = now + Micros{kClaimDeadlineUs};
  desk_step();
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::unknown);
  EXPECT_EQ(port.answers[0].order, (OrderId{1, 1}));
  EXPECT_EQ(free_units(), 9);
  EXPECT_EQ(admit.in_flight(), 1U);
  ledger.fail_with.reset();
  settle_down();
  EXPECT_EQ(ledger.rows.size(), 1U) << "it is driven forward although nobody waits";
  EXPECT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(admit.in_flight(), 0U);
}

TEST_F(AdmitTest, F49_WhatCertainlyDidNotHappenGivesItsUnitBack) {
  ledger.fail_with = Failure::unavailable;
  ask(claim(1, 1));
  desk_step();
  EXPECT_FALSE(record.step(now).has_value()) << "tried for a while first";
  now = now + Micros{kRecordPatienceUs};
  EXPECT_EQ(*record.step(now), 1U);
  desk_step();
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::unavailable);
  EXPECT_EQ(free_units(), 10);
  EXPECT_FALSE(record.ready().load());
  ask(claim(2, 2));
  desk_step();
  EXPECT_EQ(port.answers.back().kind, ClaimAnswerKind::unavailable) << "shed before the gate is asked";
  EXPECT_EQ(free_units(), 10);
  ledger.fail_with.reset();
  record.set_ready(true);
  ask(claim(1, 1));
  settle_down();
  EXPECT_EQ(port.answers.back().kind, ClaimAnswerKind::accepted) << "the same id may be claimed again";
}

TEST_F(AdmitTest, F39_WhatTheLedgerRefusesGoesBackAndIsAnAlarm) {
  ledger.script[{1, 1}] = Recording::exceeds_stock;
  ask(claim(1, 1));
  settle_down();
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::unavailable);
  EXPECT_EQ(free_units(), 10);
  EXPECT_EQ(admit.counts().gate_erred, 1U);
}

TEST_F(AdmitTest, F73_AKeyWhoseOrderEndedIsLookedUpAndTakesNothing) {
  ledger.script[{1, 1}] = Recording::ended;
  ask(claim(1, 1));
  settle_down();
  ASSERT_EQ(port.answers.size(), 1U);
  EXPECT_EQ(port.answers[0].kind, ClaimAnswerKind::look_up);
  EXPECT_EQ(free_units(), 10);
  EXPECT_EQ(admit.counts().gate_erred, 0U);
}

TEST_F(AdmitTest, F73_AKeyUsedForAnotherRequestIsRefusedAndTakesNothing) {
  ledger.script[{1, 1}] = Recording::key_reused;
  ask(claim(1, 1));
  settle_down();
  EXPECT_EQ(port.answers.at(0).kind, ClaimAnswerKind::key_reused);
  EXPECT_EQ(free_units(), 10);
}

TEST_F(AdmitTest, B009_ReturnsComeBeforeClaims) {
  for (std::uint64_t i = 1; i <= 10; ++i) ask(claim(i, i));
  settle_down();
  ASSERT_EQ(free_units(), 0);
  const Claim first = claim(1, 1);
  port.requests.push_back(
      {.kind = GateRequest::Kind::release,
       .hold = {.order = first.order, .sale = kSale, .item = kItem, .units = 1, .buyer_key = first.buyer_key},
       .payment = {}});
  ask(claim(11, 11));
  ask(claim(12, 12));
  settle_down();
  ASSERT_EQ(port.answers.size(), 12U);
  EXPECT_EQ(port.answers[10].kind, ClaimAnswerKind::sold_out);
  EXPECT_EQ(port.answers[11].kind, ClaimAnswerKind::accepted);
  EXPECT_EQ(port.answers[11].order, (OrderId{1, 11}));
  EXPECT_EQ(free_units(), 0);
}

TEST_F(AdmitTest, F62_LateMoneyIsTakenOnlyIfTheGateHasTheUnit) {
  ask(claim(1, 1));
  settle_down();
  const Hold hold{.order = {1, 1}, .sale = kSale, .item = kItem, .units = 1, .buyer_key = {1}};
  const PaymentId payment{5, 5};
  port.requests.push_back({.kind = GateRequest::Kind::release, .hold = hold, .payment = {}});
  port.requests.push_back({.kind = GateRequest::Kind::retake, .hold = hold, .payment = payment});
  desk_step();
  ASSERT_EQ(port.retakes.size(), 1U);
  EXPECT_TRUE(port.retakes[0].second);
  EXPECT_EQ(free_units(), 9);
  port.requests.push_back({.kind = GateRequest::Kind::release, .hold = hold, .payment = {}});
  for (std::uint64_t i = 2; i <= 11; ++i) ask(claim(i, i));
  settle_down();
  ASSERT_EQ(free_units(), 0);
  port.requests.push_back({.kind = GateRequest::Kind::retake, .hold = hold, .payment = payment});
  desk_step();
  EXPECT_FALSE(port.retakes.at(1).second) << "another buyer has it";
}

TEST_F(AdmitTest, F74_UnitsThatLateMoneyHasTakenAreUnderWayUntilTheLedgerDecides) {
  const Hold hold{.order = {1, 1}, .sale = kSale, .item = kItem, .units = 1, .buyer_key = {1}};
  port.requests.push_back({.kind = GateRequest::Kind::retake, .hold = hold, .payment = {5, 5}});
  desk_step();
  EXPECT_TRUE(admit.is_retaken(hold.order)) << "a comparison must not give them back";
  port.requests.push_back({.kind = GateRequest::Kind::sell, .hold = hold, .payment = {}});
  desk_step();
  EXPECT_FALSE(admit.is_retaken(hold.order));
}

TEST_F(AdmitTest, F25_AFullQueueShedsBeforeTheGateIsAsked) {
  std::uint64_t next = 1;
  DirectQueue small{4};
  ListPort crowd;
  MemoryGate stocked;
  const GateItem item{kItem, 1000};
  ASSERT_TRUE(stocked.open({.no = kSale, .limit_per_buyer = 1, .selling = true}, {&item, 1}, {}).has_value());
  const std::atomic<bool> ready{true};
  Admit desk{stocked, small, crowd, ready};
  for (; next <= 20; ++next) crowd.claims.push_back({claim(next, next), {}});
  ASSERT_TRUE(desk.step(now).has_value());
  EXPECT_EQ(stocked.shelf(kItem, {})->held, static_cast<std::int64_t>(desk.in_flight()));
  EXPECT_LE(desk.in_flight(), 4U);
  EXPECT_EQ(crowd.answers.size() + desk.in_flight(), 20U) << "everybody else was answered at once";
  for (const ClaimAnswer& answer : crowd.answers) EXPECT_EQ(answer.kind, ClaimAnswerKind::unavailable);
}

}  // namespace
}  // namespace weir
