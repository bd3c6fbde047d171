#include "flow/settle.h"

#include "flow/expire.h"
#include "flow/flow_fixture.h"

namespace weir {
namespace {

class CommandList final : public SettlePort {
 public:
  std::size_t take_commands(std::span<SettleRequest> out) override {
    const std::size_t count = std::min(out.size(), commands.size());
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = std::move(commands.front());
      commands.pop_front();
    }
    return count;
  }
  void to_gate(const GateRequest& request) override { effects.push_back(request); }
  std::deque<SettleRequest> commands;
  std::vector<GateRequest> effects;
};

class SettleTest : public ::testing::Test {
 protected:
  void submit() {
    port.commands.push_back({PaymentEvent{}, [this](const Result<Settlement>& settled) {
                               ++answers;
                               if (!settled) ++failures;
                             }});
  }
  static Order order(OrderStatus status) {
    Order made;
    made.id = {3, 4};
    made.sale = {1};
    made.item = {1};
    made.units = 2;
    made.buyer = "ana";
    made.status = status;
    return made;
  }
  ScriptedLedger ledger;
  CommandList port;
  SipKey key{1, 2};
  Settle settle{ledger, port, key};
  Ticks now{1};
  int answers = 0;
  int failures = 0;
};

TEST_F(SettleTest, APaidOrderIsSoldAtTheGateAfterTheCommit) {
  ledger.next_settlement = {
      .settled = Settled::done, .effect = GateEffect::sell, .order = order(OrderStatus::paid), .payment = {}};
  submit();
  EXPECT_EQ(*settle.step(now), 1U);
  ASSERT_EQ(port.effects.size(), 1U);
  EXPECT_EQ(port.effects[0].kind, GateRequest::Kind::sell);
  EXPECT_EQ(port.effects[0].hold.units, 2);
  EXPECT_EQ(port.effects[0].hold.buyer_key, buyer_key(key, {}, "ana"));
  EXPECT_EQ(answers, 1);
}

TEST_F(SettleTest, F60_NothingReachesTheGateWhenTheCommitFailed) {
  ledger.fail_with = Failure::unavailable;
  ledger.next_settlement = {
      .settled = Settled::done, .effect = GateEffect::release, .order = order(OrderStatus::cancelled), .payment = {}};
  submit();
  EXPECT_FALSE(settle.step(now).has_value());
  EXPECT_TRUE(port.effects.empty());
  EXPECT_EQ(failures, 1);
}

TEST_F(SettleTest, F47_AnUnknownBatchIsSettledAgainAndItsEffectIsNotLost) {
  ledger.lose_next_answer = true;
  ledger.next_settlement = {
      .settled = Settled::done, .effect = GateEffect::release, .order = order(OrderStatus::cancelled), .payment = {}};
  submit();
  EXPECT_FALSE(settle.step(now).has_value());
  EXPECT_EQ(answers, 0) << "nobody is told before it is known";
  ledger.next_settlement = {
      .settled = Settled::repeated, .effect = GateEffect::none, .order = order(OrderStatus::cancelled), .payment = {}};
  EXPECT_EQ(*settle.step(now), 1U);
  EXPECT_EQ(ledger.settle_calls, 2);
  ASSERT_EQ(port.effects.size(), 1U);
  EXPECT_EQ(port.effects[0].kind, GateRequest::Kind::release);
  EXPECT_EQ(answers, 1);
}

TEST_F(SettleTest, F62_LateMoneyOfAnUnknownCommitStillAsksTheGate) {
  ledger.lose_next_answer = true;
  submit();
  EXPECT_FALSE(settle.step(now).has_value());
  Payment payment;
  payment.id = {9, 9};
  payment.state = PaymentState::late;
  ledger.next_settlement = {.settled = Settled::repeated,
                            .effect = GateEffect::none,
                            .order = order(OrderStatus::expired),
                            .payment = payment};
  EXPECT_EQ(*settle.step(now), 1U);
  ASSERT_EQ(port.effects.size(), 1U);
  EXPECT_EQ(port.effects[0].kind, GateRequest::Kind::retake);
  EXPECT_EQ(port.effects[0].payment, payment.id);
}

TEST_F(SettleTest, LateMoneyAsksTheGateFirst) {
  ledger.next_settlement = {
      .settled = Settled::late, .effect = GateEffect::none, .order = order(OrderStatus::expired), .payment = Payment{}};
  ledger.next_settlement.payment->id = {9, 9};
  submit();
  EXPECT_EQ(*settle.step(now), 1U);
  ASSERT_EQ(port.effects.size(), 1U);
  EXPECT_EQ(port.effects[0].kind, GateRequest::Kind::retake);
  EXPECT_EQ(port.effects[0].payment, (PaymentId{9, 9}));
}

TEST_F(SettleTest, F65_ExpiryNeedsNoTrafficAndReleasesEachOrderOnce) {
  Expire expire{ledger, port, key};
  ledger.overdue = {{.order = {1, 1}, .tenant = {1}, .sale = {1}, .item = {1}, .units = 3, .buyer = "ana"}};
  EXPECT_EQ(*expire.step(now), 1U);
  ASSERT_EQ(port.effects.size(), 1U);
  EXPECT_EQ(port.effects[0].kind, GateRequest::Kind::release);
  EXPECT_EQ(port.effects[0].hold.units, 3);
  EXPECT_EQ(*expire.step(now + Micros{kExpireLookUs}), 0U);
  EXPECT_EQ(port.effects.size(), 1U);
}

}  // namespace
}  // namespace weir
