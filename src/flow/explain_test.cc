#include "flow/explain.h"

#include "flow/shared_fixture.h"

namespace weir {
namespace {

/// Knows one order, and what it did.
class OneOrderReader final : public LedgerReader {
 public:
  Result<Catalog> catalog() override { return known_catalog; }
  Result<std::optional<Order>> order(OrderId) override {
    if (is_gone) return none();
    return row;
  }
  Result<std::vector<LifeLine>> life_of(OrderId) override { return life; }
  Result<std::vector<Order>> orders_of(TenantNo, std::string_view, std::size_t, std::string&) override {
    return none();
  }
  Result<BuyerStanding> standing(TenantNo, SaleNo, std::string_view) override { return none(); }
  Result<std::optional<Payment>> payment(PaymentId) override { return none(); }
  Result<std::optional<OrderId>> owner_of(ItemNo, std::uint32_t) override { return none(); }
  Result<std::vector<RefundDue>> refunds_due(std::size_t) override { return none(); }
  Result<std::vector<Payment>> undecided_late(std::size_t) override { return none(); }
  Result<void> live_orders(const std::function<void(const Ended&, bool)>&) override { return none(); }
  Result<void> ended_orders(const std::function<void(OrderId, SaleNo)>&) override { return none(); }
  Result<std::vector<std::pair<ItemNo, Shelf>>> shelves() override { return none(); }
  Result<AuditReport> audit() override { return none(); }

  Catalog known_catalog;
  std::optional<Order> row;
  std::vector<LifeLine> life;
  bool is_gone = false;

 private:
  [[nodiscard]] static std::unexpected<Error> none() { return fail(Failure::unavailable, "not there"); }
};

class OneHoldGate final : public ScriptedGate {
 public:
  using ScriptedGate::ScriptedGate;
  GateAnswer<std::optional<SharedHold>> find_hold(SaleNo, OrderId id, Deadline) override {
    if (fail_with != GateTrouble::none) return std::unexpected(GateError{fail_with, "scripted"});
    const bool is_it = held && held->claim.order == id;
    return is_it ? held : std::optional<SharedHold>{};
  }
  std::optional<SharedHold> held;
};

class TracingLedger final : public ScriptedSharedLedger {
 public:
  using ScriptedSharedLedger::ScriptedSharedLedger;
  Result<OrderTraces> traces_of(OrderId, Deadline) override { return traces; }
  Result<std::vector<LogMark>> log_marks(std::string_view, Deadline) override { return marks; }
  OrderTraces traces;
  std::vector<LogMark> marks{{.topic_id = "topic", .partition = 0, .offset = 5}};
};

class ExplainTest : public SharedFlowTest {
 protected:
  ExplainTest() {
    tracing.states = {state(3, GatePhase::open)};
    reader.known_catalog = *catalog.get();
  }
  void record() {
    Order row;
    row.id = claim(1).order;
    row.tenant = {1};
    row.sale = kSale;
    reader.row = row;
    reader.life = {{{10}, "recorded", "1 units for buyer1"}, {{30}, "expired", ""}, {{1'000'000}, "now", "EXPIRED"}};
    tracing.traces.epoch = 2;
    tracing.traces.sale = kSale;
  }
  void hold(bool is_recorded) {
    holding.held = SharedHold{.claim = claim(1), .kind = HoldKind::claim, .sold = false, .recorded = is_recorded};
  }
  Explained ask() {
    auto explained = explain(claim(1).order,
                             {.reader = reader,
                              .ledger = tracing,
                              .gate = is_gate_reached ? &holding : nullptr,
                              .no_gate = "not reached",
                              .ask_log_end = [this](Deadline) -> Result<LogRanges> { return ends; },
                              .no_log = {}},
                             clock);
    EXPECT_TRUE(explained) << explained.error().message;
    return explained.value_or(Explained{});
  }
  /// `source what` of every line.
  static std::vector<std::string> words(const Explained& explained) {
    std::vector<std::string> out;
    for (const TraceLine& line : explained.lines) out.push_back(std::string{line.source} + " " + line.what);
    return out;
  }

  OneOrderReader reader;
  OneHoldGate holding{diary};
  TracingLedger tracing{diary};
  bool is_gate_reached = true;
  LogRanges ends{.topic_id = "topic", .partitions = {{.partition = 0, .first = 0, .end = 5}}};
};

using Words = std::vector<std::string>;

TEST_F(ExplainTest, AnOrderIsToldFromItsRecordToWhoHoldsItNow) {
  record();
  hold(true);
  tracing.traces.repairs = {{.at = {20}, .finding = "unconfirmed", .detail = "confirmed"}};
  const Explained told = ask();
  EXPECT_EQ(words(told), (Words{"ledger recorded", "ledger reconciled", "ledger expired", "ledger now",
                                "ledger admitted", "ledger outbox", "gate held"}));
  EXPECT_TRUE(told.is_complete);
  EXPECT_EQ(told.tenant, TenantNo{1});
  EXPECT_NE(told.lines.back().detail.find("epoch 3"), std::string::npos) << told.lines.back().detail;
}

TEST_F(ExplainTest, WhatWaitsInTheOutboxAndWhatTheGateDoesNotHoldIsSaid) {
  record();
  tracing.traces.releases = {{.id = 9, .hold = claim(1).order}};
  const Explained told = ask();
  EXPECT_EQ(words(told), (Words{"ledger recorded", "ledger expired", "ledger now", "ledger admitted", "ledger outbox",
                                "gate not_held"}));
  EXPECT_NE(told.lines[4].detail.find("release 9"), std::string::npos) << told.lines[4].detail;
}

TEST_F(ExplainTest, AClaimThatIsNotRecordedYetIsFoundInTheGateAndMayLieInTheLog) {
  hold(false);
  ends.partitions[0].end = 7;
  const Explained told = ask();
  EXPECT_EQ(words(told), (Words{"ledger not_recorded", "gate held", "log not_recorded_yet"}));
  EXPECT_NE(told.lines[2].detail.find("2 messages"), std::string::npos) << told.lines[2].detail;
  EXPECT_EQ(told.tenant, TenantNo{1});
}

TEST_F(ExplainTest, ADeadLetterIsNamedByItsPlaceInTheLog) {
  tracing.traces.parked = {{.place = {.topic_id = "topic", .partition = 3, .offset = 44},
                            .problem = "malformed",
                            .is_shown = false,
                            .at = {5}}};
  const Explained told = ask();
  ASSERT_FALSE(told.lines.empty());
  EXPECT_EQ(told.lines[0].what, "parked");
  EXPECT_NE(told.lines[0].detail.find("partition 3 offset 44"), std::string::npos) << told.lines[0].detail;
}

TEST_F(ExplainTest, AnOrderIsUnknownOnlyIfEverybodyCouldBeAsked) {
  Explained told = ask();
  EXPECT_EQ(words(told), (Words{"ledger not_recorded", "gate not_held", "log recorded_to_its_end"}));
  EXPECT_FALSE(told.tenant);
  EXPECT_TRUE(told.is_complete);
  is_gate_reached = false;
  told = ask();
  EXPECT_EQ(words(told), (Words{"ledger not_recorded", "gate not_asked", "log recorded_to_its_end"}));
  EXPECT_FALSE(told.is_complete);
  is_gate_reached = true;
  holding.fail_with = GateTrouble::unavailable;
  EXPECT_FALSE(ask().is_complete);
}

TEST_F(ExplainTest, AGateThatIsBeingBuiltIsNotAsked) {
  record();
  tracing.states = {state(4, GatePhase::building)};
  const Explained told = ask();
  EXPECT_EQ(told.lines.back().what, "not_asked");
  EXPECT_FALSE(told.is_complete);
}

TEST_F(ExplainTest, LateMoneyIsAskedForUnderItsOwnHold) {
  record();
  SharedHold second{.claim = claim(1), .kind = HoldKind::retake, .sold = false, .recorded = true};
  second.claim.order = {9, 9};
  holding.held = second;
  tracing.traces.late = {{.hold = {9, 9}, .payment = {5, 1}, .is_kept = true, .since = {40}}};
  const Explained told = ask();
  EXPECT_EQ(words(told), (Words{"ledger recorded", "ledger expired", "ledger late_money", "ledger now",
                                "ledger admitted", "ledger outbox", "gate held"}));
}

TEST_F(ExplainTest, ALedgerThatCannotBeAskedLeavesNothingToTell) {
  reader.is_gone = true;
  EXPECT_FALSE(
      explain(
          claim(1).order,
          {.reader = reader, .ledger = tracing, .gate = &holding, .no_gate = {}, .ask_log_end = {}, .no_log = "none"},
          clock)
          .has_value());
}

}  // namespace
}  // namespace weir
