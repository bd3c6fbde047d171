#include "flow/upkeep.h"

#include "config/limits.h"
#include "flow/shared_fixture.h"

namespace weir {
namespace {

class UpkeepTest : public SharedFlowTest {
 protected:
  UpkeepParts parts{ledger, gate, lease, catalog};
};

class GiveBackTest : public UpkeepTest {
 protected:
  GiveBackTest() { ledger.outbox = {{.id = 5, .hold = {1, 1}}, {.id = 6, .hold = {1, 2}}}; }
  GiveBack verb{parts};
};

TEST_F(GiveBackTest, TheOutboxForgetsAReleaseAfterTheGateHasRunIt) {
  read_lease();
  EXPECT_EQ(*verb.step(clock.at), 2U);
  EXPECT_EQ(gate.released, (std::vector<OrderId>{{1, 1}, {1, 2}}));
  EXPECT_LT(asked_at("release"), asked_at("drop_releases"));
  EXPECT_EQ(ledger.dropped, (std::vector<std::uint64_t>{5, 6}));
}

TEST_F(GiveBackTest, F64_WhatTheGateDidNotRunStaysInTheOutbox) {
  read_lease();
  gate.fail_with = GateTrouble::unavailable;
  EXPECT_FALSE(verb.step(clock.at).has_value());
  EXPECT_FALSE(has_asked("drop_releases"));
}

TEST_F(GiveBackTest, ReleasesAreForgottenAtTheEpochThatTheyRanAt) {
  ledger.states = {state(4, GatePhase::open)};
  read_lease();
  ASSERT_TRUE(verb.step(clock.at).has_value());
  EXPECT_EQ(gate.place(kSale)->epoch, 4);
  EXPECT_EQ(ledger.dropped_at, 4);
}

TEST_F(GiveBackTest, AGateThatIsBeingBuiltOrMayNotBeBelievedIsNotTold) {
  ledger.states = {state(2, GatePhase::building)};
  read_lease();
  EXPECT_EQ(*verb.step(clock.at), 0U);
  ledger.states = {state(2, GatePhase::open)};
  lease.look_again();
  read_lease();
  pass(Micros{kLeaseUs});
  EXPECT_EQ(*verb.step(clock.at), 0U);
  EXPECT_FALSE(has_asked("release"));
}

class RedriveTest : public UpkeepTest {
 protected:
  void hang(std::uint64_t order, HoldKind kind, Micros age = Micros{kRedriveAgeUs}) {
    InFlight one;
    one.hold.claim = claim(order);
    one.hold.kind = kind;
    one.age = age;
    gate.hanging.push_back(one);
  }
  Redrive verb{parts, producer, clock};
};

TEST_F(RedriveTest, F01_AClaimThatTheLedgerNeverSawIsPublishedAgainUnderItsOwnId) {
  read_lease();
  hang(3, HoldKind::claim);
  EXPECT_EQ(*verb.step(clock.at), 1U);
  ASSERT_EQ(producer.messages.size(), 1U);
  EXPECT_EQ(producer.messages[0].order, (OrderId{1, 3}));
  EXPECT_EQ(producer.messages[0].epoch, 1);
  EXPECT_EQ(verb.oldest(), Micros{kRedriveAgeUs});
}

TEST_F(RedriveTest, WhoPublishedFirstIsHeardBeforeAClaimIsDrivenAgain) {
  read_lease();
  hang(3, HoldKind::claim, Micros{kRedriveAgeUs - 1});
  EXPECT_EQ(*verb.step(clock.at), 0U);
  EXPECT_TRUE(producer.messages.empty());
}

TEST_F(RedriveTest, WhatTheLedgerHasIsConfirmedAndNotPublished) {
  read_lease();
  hang(3, HoldKind::claim);
  ledger.standings[{1, 3}] = HoldStanding::live;
  EXPECT_EQ(*verb.step(clock.at), 1U);
  EXPECT_EQ(gate.confirmed, (std::vector<OrderId>{{1, 3}}));
  EXPECT_TRUE(producer.messages.empty());
}

TEST_F(RedriveTest, F37_WhatEndedAndStillHangsIsGivenBackWithOrWithoutAReleaseInTheOutbox) {
  read_lease();
  hang(3, HoldKind::claim);
  hang(4, HoldKind::retake);
  ledger.standings[{1, 3}] = HoldStanding::ended;
  ledger.standings[{1, 4}] = HoldStanding::ended;
  EXPECT_EQ(*verb.step(clock.at), 2U);
  EXPECT_EQ(gate.released, (std::vector<OrderId>{{1, 3}, {1, 4}}));
  EXPECT_TRUE(producer.messages.empty());
  EXPECT_TRUE(gate.confirmed.empty());
  gate.fail_with = GateTrouble::unavailable;
  gate.fails_at = "release";
  EXPECT_FALSE(verb.step(clock.at).has_value());
}

TEST_F(RedriveTest, LateMoneyIsNeverPublishedAsAClaim) {
  read_lease();
  hang(3, HoldKind::retake);
  hang(4, HoldKind::withdrawal);
  EXPECT_EQ(*verb.step(clock.at), 0U);
  EXPECT_TRUE(producer.messages.empty());
}

TEST_F(RedriveTest, AClaimIsDrivenOnceInAWhile) {
  read_lease();
  hang(3, HoldKind::claim);
  ASSERT_TRUE(verb.step(clock.at).has_value());
  EXPECT_EQ(*verb.step(clock.at), 0U);
  EXPECT_EQ(producer.messages.size(), 1U);
  pass(Micros{kRedriveAgeUs});
  read_lease();
  EXPECT_EQ(*verb.step(clock.at), 1U);
  EXPECT_EQ(producer.messages.size(), 2U);
}

TEST_F(RedriveTest, F25_NoMoreIsPublishedThanTheLogHasRoomFor) {
  read_lease();
  hang(3, HoldKind::claim);
  hang(4, HoldKind::claim);
  producer.room_left = 1;
  EXPECT_EQ(*verb.step(clock.at), 1U);
  producer.room_left = 1;
  EXPECT_EQ(*verb.step(clock.at), 1U) << "the other one was not driven and is not forgotten";
  EXPECT_EQ(producer.messages.size(), 2U);
}

TEST_F(RedriveTest, ALedgerThatCannotBeAskedDrivesNothing) {
  read_lease();
  hang(3, HoldKind::claim);
  ledger.fail_with = Failure::unavailable;
  EXPECT_FALSE(verb.step(clock.at).has_value());
  EXPECT_TRUE(producer.messages.empty());
}

class LateMoneyTest : public UpkeepTest {
 protected:
  LateMoneyTest() {
    Retake retake{.hold = {9, 1}, .payment = {5, 1}, .order = {}};
    retake.order.id = {1, 1};
    retake.order.tenant = {1};
    retake.order.sale = kSale;
    retake.order.item = kItem;
    retake.order.units = 1;
    retake.order.buyer = "buyer1";
    ledger.late = {retake};
  }
  DecideLateMoney verb{parts};
};

TEST_F(LateMoneyTest, F62_TheGateIsAskedUnderASecondHoldAndThenTheLedgerDecidesAtThatEpoch) {
  ledger.states = {state(4, GatePhase::open)};
  read_lease();
  gate.adoption.adoption = Adoption::adopted;
  EXPECT_EQ(*verb.step(clock.at), 1U);
  EXPECT_EQ(gate.asked_for, (std::vector<OrderId>{{9, 1}}));
  ASSERT_EQ(ledger.decided.size(), 1U);
  EXPECT_TRUE(ledger.decided[0].taken);
  EXPECT_EQ(ledger.decided[0].epoch, 4);
  EXPECT_LT(asked_at("decide_retakes"), asked_at("confirm"));
  EXPECT_EQ(gate.confirmed, (std::vector<OrderId>{{9, 1}}));
}

TEST_F(LateMoneyTest, UnitsThatAreGoneGiveTheMoneyBack) {
  read_lease();
  gate.adoption.adoption = Adoption::refused;
  ledger.retake_end = RetakeEnd::refunded;
  EXPECT_EQ(*verb.step(clock.at), 1U);
  EXPECT_FALSE(ledger.decided.at(0).taken);
  EXPECT_FALSE(has_asked("confirm"));
}

TEST_F(LateMoneyTest, AGateThatDoesNotAnswerDecidesNothing) {
  read_lease();
  gate.fail_with = GateTrouble::timed_out;
  EXPECT_EQ(*verb.step(clock.at), 0U);
  EXPECT_FALSE(has_asked("decide_retakes"));
}

TEST_F(LateMoneyTest, AnEpochThatMovedMeanwhileIsAskedAgain) {
  read_lease();
  gate.adoption.adoption = Adoption::adopted;
  ledger.retake_end = RetakeEnd::moved;
  EXPECT_EQ(*verb.step(clock.at), 0U);
  EXPECT_FALSE(has_asked("confirm"));
}

class LetterBox final : public DeadLetters {
 public:
  Result<void> publish(std::span<const DeadLetter> letters, Deadline) override {
    if (is_down) return fail(Failure::unavailable, "scripted");
    shown += letters.size();
    return {};
  }
  bool is_down = false;
  std::size_t shown = 0;
};

TEST_F(UpkeepTest, F36_AParkedMessageIsMarkedOnlyAfterItWasShown) {
  ledger.parked_messages.push_back({.topic_id = "topic",
                                    .partition = 0,
                                    .offset = 3,
                                    .key = "tee",
                                    .bytes = "{",
                                    .problem = "malformed",
                                    .since = {}});
  LetterBox letters;
  ShowParked verb{ledger, letters};
  letters.is_down = true;
  EXPECT_FALSE(verb.step(clock.at).has_value());
  EXPECT_EQ(ledger.replayed, 0U);
  letters.is_down = false;
  EXPECT_EQ(*verb.step(clock.at), 1U);
  EXPECT_EQ(letters.shown, 1U);
  EXPECT_EQ(ledger.replayed, 1U);
}

}  // namespace
}  // namespace weir
