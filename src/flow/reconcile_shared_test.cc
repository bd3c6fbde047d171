#include "flow/reconcile_shared.h"

#include "flow/shared_fixture.h"

#include <set>
#include <utility>

namespace weir {
namespace {

/// A gate of one sale that really holds, counts and remembers, at one epoch.
class HoldingGate final : public ScriptedGate {
 public:
  struct One {
    SharedHold hold;
    Ticks since;
  };
  HoldingGate(Diary& diary, const Clock& clock) : ScriptedGate(diary), clock_(clock) {}

  GateAnswer<void> shelves(SaleNo, std::span<const ItemNo> items, std::span<Shelf> out, Deadline) override {
    if (const auto stands = guard(); !stands) return stands;
    for (std::size_t i = 0; i < items.size(); ++i) out[i] = shelf_now;
    if (moves_while_listed) ++shelf_now.version;
    return {};
  }
  Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline) override {
    if (const auto stands = guard(); !stands) return fail(Failure::unavailable, "closed");
    for (const auto& [id, one] : holds) {
      const Claim& claim = one.hold.claim;
      each({.order = id,
            .sale = claim.sale,
            .item = claim.item,
            .units = claim.units,
            .buyer_key = {},
            .sold = one.hold.sold,
            .recorded = one.hold.recorded,
            .buyer = claim.buyer});
    }
    if (on_listed) on_listed();
    return {};
  }
  GateAnswer<std::optional<SharedHold>> find_hold(SaleNo, OrderId id, Deadline) override {
    if (const auto stands = guard(); !stands) return std::unexpected(stands.error());
    const auto found = holds.find(id);
    return found == holds.end() ? std::optional<SharedHold>{} : std::optional{found->second.hold};
  }
  GateAnswer<std::vector<InFlight>> in_flight(SaleNo, Micros age, std::size_t, Deadline) override {
    if (const auto stands = guard(); !stands) return std::unexpected(stands.error());
    std::vector<InFlight> old;
    for (const auto& [id, one] : holds) {
      if (!one.hold.recorded && clock_.ticks() - one.since >= age)
        old.push_back({one.hold, clock_.ticks() - one.since});
    }
    return old;
  }
  Result<std::int64_t> release(std::span<const Hold> some, Deadline) override {
    if (const auto stands = guard(); !stands) return fail(Failure::unavailable, "closed");
    std::int64_t units = 0;
    for (const Hold& hold : some) {
      ended.insert(hold.order);
      const auto found = holds.find(hold.order);
      if (found == holds.end()) continue;
      units += found->second.hold.claim.units;
      drop(hold.order);
      shelf_now.held -= units;
      shelf_now.free += units;
      ++shelf_now.version;
      ++changes;
    }
    return units;
  }
  Result<void> adopt(std::span<const Hold> some, Deadline) override {
    for (const Hold& hold : some) {
      if (ended.contains(hold.order) || holds.contains(hold.order)) continue;
      if (shelf_now.free < hold.units) return fail(Failure::corrupt, "too few are free");
      Claim claim;
      claim.order = hold.order;
      claim.sale = hold.sale;
      claim.item = hold.item;
      claim.units = hold.units;
      claim.buyer = hold.buyer;
      take(claim, true);
      ++changes;
    }
    return {};
  }
  Result<void> confirm(std::span<const Hold> some, Deadline) override {
    for (const Hold& hold : some) {
      holds.at(hold.order).hold.recorded = true;
      ++changes;
    }
    return {};
  }
  GateAnswer<void> close(SaleNo, Deadline) override {
    if (epoch > 1) return std::unexpected(GateError{GateTrouble::wrong_epoch, "a newer one"});
    is_open = false;
    ++changes;
    return {};
  }

  void take(const Claim& claim, bool is_recorded) {
    One& one = holds[claim.order];
    one.hold.claim = claim;
    one.hold.recorded = is_recorded;
    one.since = clock_.ticks();
    shelf_now.held += claim.units;
    shelf_now.free -= claim.units;
    ++shelf_now.version;
  }
  /// The hold is lost, the counts are not told.
  void drop(OrderId id) { holds.erase(id); }

  std::map<OrderId, One> holds;
  std::set<OrderId> ended;
  Shelf shelf_now{.total = 10, .free = 10, .held = 0, .sold = 0, .version = 1};
  bool is_open = true;
  bool moves_while_listed = false;
  std::int64_t epoch = 1;
  int changes = 0;  // Whatever was asked of it beyond looking.
  std::function<void()> on_listed;

 private:
  [[nodiscard]] GateAnswer<void> guard() const {
    if (is_open) return {};
    return std::unexpected(GateError{GateTrouble::closed, "closed"});
  }
  const Clock& clock_;
};

/// A ledger that has orders, an outbox and an account of repairs.
class KeepingLedger final : public ScriptedSharedLedger {
 public:
  using ScriptedSharedLedger::ScriptedSharedLedger;

  Result<void> live_holds(SaleNo, const std::function<void(const LiveHold&)>& each) override {
    for (const auto& [id, claim] : live) {
      each({.hold = id,
            .order = id,
            .item = claim.item,
            .units = claim.units,
            .sold = false,
            .buyer = std::string{claim.buyer.view()},
            .digest = claim.digest,
            .pay_by = {}});
    }
    if (on_read) on_read();
    return {};
  }
  Result<void> look_up_holds(std::span<const OrderId> some, std::span<HoldStanding> found, Deadline) override {
    for (std::size_t i = 0; i < some.size(); ++i) {
      found[i] = live.contains(some[i])    ? HoldStanding::live
                 : ended.contains(some[i]) ? HoldStanding::ended
                                           : HoldStanding::unknown;
      if (undecided.contains(some[i])) found[i] = HoldStanding::undecided;
    }
    return {};
  }
  Result<std::vector<LogMark>> log_marks(std::string_view, Deadline) override {
    if (on_marks) on_marks();
    return marks;
  }
  Result<std::size_t> drop_releases(SaleNo, std::int64_t, std::span<const std::uint64_t> ids, Deadline) override {
    return std::erase_if(outbox, [&](const Release& one) { return one.id == ids.front(); });
  }
  Result<void> note_repairs(std::span<const Repair> some, Deadline) override {
    repairs.insert(repairs.end(), some.begin(), some.end());
    return {};
  }

  void end(OrderId id) {
    live.erase(id);
    ended.insert(id);
  }

  std::map<OrderId, Claim> live;
  std::set<OrderId> ended;
  std::set<OrderId> undecided;
  std::vector<LogMark> marks{{.topic_id = "topic", .partition = 0, .offset = 0}};
  std::vector<Repair> repairs;
  std::function<void()> on_read;
  std::function<void()> on_marks;  // After everything was compared, before anything is repaired.
};

class ShownLetters final : public DeadLetters {
 public:
  Result<void> publish(std::span<const DeadLetter> letters, Deadline) override {
    shown += letters.size();
    return {};
  }
  std::size_t shown = 0;
};

class ReconcileSharedTest : public SharedFlowTest {
 protected:
  ReconcileSharedTest() {
    real_ledger.states = {state(1, GatePhase::open)};
    reader.fresh = *catalog.get();
  }

  /// An order as it should be: in the ledger and in the gate.
  Claim sell(std::uint64_t order) {
    const Claim made = claim(order);
    real_gate.take(made, true);
    real_ledger.live[made.order] = made;
    return made;
  }
  Findings look(bool dry_run = true) { return step(verb, dry_run); }
  Findings step(ReconcileShared& one, bool dry_run) {
    auto found = one.step(clock.at, dry_run);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Findings{});
  }
  /// Looks, waits for as long as a disagreement has to last, and looks again.
  Findings look_twice(bool dry_run = true) {
    EXPECT_TRUE(look().shared.empty()) << "nothing is certain at the first look";
    pass(kReconcileGrace);
    return look(dry_run);
  }
  static std::vector<Disagreement> kinds(const Findings& findings) {
    std::vector<Disagreement> out;
    for (const Mismatch& finding : findings.shared) out.push_back(finding.what);
    return out;
  }
  void record_up_to(std::int64_t offset) { real_ledger.marks.front().offset = offset; }

  HoldingGate real_gate{diary, clock};
  KeepingLedger real_ledger{diary};
  CatalogReader reader;
  ShownLetters letters;
  LogRanges ends{.topic_id = "topic", .partitions = {{.partition = 0, .first = 0, .end = 0}}};
  bool is_log_gone = false;
  ReconcileParts parts{.ledger = real_ledger,
                       .reader = reader,
                       .gate = real_gate,
                       .log = producer,
                       .letters = letters,
                       .ask_log_end = [this](Deadline) -> Result<LogRanges> {
                         if (is_log_gone) return fail(Failure::unavailable, "gone");
                         return ends;
                       }};
  ReconcileShared verb{parts, clock};
};

using Kinds = std::vector<Disagreement>;

TEST_F(ReconcileSharedTest, GateAndLedgerThatAgreeGiveNoFinding) {
  sell(1);
  sell(2);
  const Findings found = look_twice(false);
  EXPECT_TRUE(found.is_clean());
  EXPECT_EQ(found.waiting, 0U);
  EXPECT_EQ(found.compared, 2);
  EXPECT_EQ(real_gate.changes, 0);
}

TEST_F(ReconcileSharedTest, F74_AHoldThatTheLedgerNeverHeardOfIsReleasedByItsId) {
  real_gate.take(claim(7), true);
  ASSERT_EQ(kinds(look_twice()), (Kinds{Disagreement::gate_only}));
  EXPECT_EQ(real_gate.changes, 0) << "a dry run changes nothing";
  const Findings done = look(false);
  ASSERT_EQ(kinds(done), (Kinds{Disagreement::gate_only}));
  EXPECT_TRUE(done.shared[0].is_repaired) << done.shared[0].repair;
  EXPECT_TRUE(real_gate.holds.empty());
  EXPECT_EQ(real_gate.shelf_now.free, 10);
  ASSERT_EQ(real_ledger.repairs.size(), 1U) << "one entry a repair";
  EXPECT_EQ(real_ledger.repairs[0].order, claim(7).order);
  EXPECT_TRUE(look_twice().is_clean()) << "the next run finds nothing";
}

TEST_F(ReconcileSharedTest, F74_AHoldInFlightIsNobodysToRelease) {
  real_gate.take(claim(7), false);
  ends.partitions[0].end = 5;  // Its message lies there, and the recorder sleeps for longer than any grace.
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(look(false).shared.empty());
    pass(kReconcileGrace);
  }
  EXPECT_EQ(real_gate.changes, 0);
  EXPECT_TRUE(producer.messages.empty()) << "what lies in the log is not published once more";
  EXPECT_TRUE(real_gate.holds.contains(claim(7).order));
}

TEST_F(ReconcileSharedTest, F74_WhatMayStillLieInTheLogIsLeftAlone) {
  real_gate.take(claim(7), true);
  ends.partitions[0].end = 5;
  EXPECT_TRUE(look_twice(false).shared.empty()) << "the log was not recorded up to its end of then";
  record_up_to(4);
  EXPECT_TRUE(look(false).shared.empty());
  ends.partitions[0].end = 9;  // What came later cannot be its message.
  record_up_to(5);
  EXPECT_EQ(kinds(look(false)), (Kinds{Disagreement::gate_only}));
}

TEST_F(ReconcileSharedTest, F74_ALogThatCannotBeAskedExplainsEverything) {
  real_gate.take(claim(7), true);
  is_log_gone = true;
  const Findings first = look(false);
  EXPECT_EQ(first.not_compared.size(), 1U);
  pass(kReconcileGrace);
  EXPECT_TRUE(look(false).shared.empty());
  is_log_gone = false;
  EXPECT_TRUE(look(false).shared.empty()) << "its end has to be known from before the grace";
  pass(kReconcileGrace);
  EXPECT_EQ(kinds(look(false)), (Kinds{Disagreement::gate_only}));
}

TEST_F(ReconcileSharedTest, F74_WhatIsYoungerThanTheGraceWaits) {
  real_gate.take(claim(7), true);
  EXPECT_EQ(look(false).waiting, 1U);
  pass(kReconcileGrace - Micros{1});
  EXPECT_EQ(look(false).waiting, 1U);
  EXPECT_EQ(real_gate.changes, 0);
  pass(Micros{1});
  EXPECT_EQ(look(false).shared.size(), 1U);
}

TEST_F(ReconcileSharedTest, F74_AnotherEpochBeginsTheGraceAnew) {
  real_gate.take(claim(7), true);
  EXPECT_EQ(look(false).waiting, 1U);
  pass(kReconcileGrace);
  real_ledger.states = {state(2, GatePhase::open)};
  EXPECT_EQ(look(false).waiting, 1U);
}

TEST_F(ReconcileSharedTest, F74_ARowThatCameJustBeforeTheRepairSavesTheHold) {
  real_gate.take(claim(7), true);
  EXPECT_TRUE(look().shared.empty());
  pass(kReconcileGrace);
  real_ledger.on_marks = [this] { real_ledger.live[claim(7).order] = claim(7); };
  const Findings found = look(false);
  ASSERT_EQ(kinds(found), (Kinds{Disagreement::gate_only}));
  EXPECT_FALSE(found.shared[0].is_repaired);
  EXPECT_EQ(real_gate.changes, 0);
  EXPECT_TRUE(look(false).is_clean());
}

TEST_F(ReconcileSharedTest, F64_AnEndedHoldWhoseReleaseIsLostIsReleased) {
  const Claim order = sell(1);
  real_ledger.end(order.order);
  ASSERT_EQ(kinds(look_twice()), (Kinds{Disagreement::unreleased}));
  EXPECT_TRUE(look(false).shared.at(0).is_repaired);
  EXPECT_EQ(real_gate.shelf_now.free, 10);
  EXPECT_EQ(real_ledger.repairs.size(), 1U);
  EXPECT_TRUE(look_twice().is_clean());
}

TEST_F(ReconcileSharedTest, F64_AReleaseThatNobodyDeliversIsDeliveredAndForgotten) {
  const Claim order = sell(1);
  real_ledger.end(order.order);
  real_ledger.outbox = {{.id = 5, .hold = order.order}};
  ASSERT_EQ(kinds(look_twice()), (Kinds{Disagreement::outbox})) << "one row, one finding";
  EXPECT_TRUE(look(false).shared.at(0).is_repaired);
  EXPECT_TRUE(real_ledger.outbox.empty());
  EXPECT_TRUE(real_gate.ended.contains(order.order));
  EXPECT_EQ(real_gate.shelf_now.free, 10);
}

TEST_F(ReconcileSharedTest, AReleaseThatIsDeliveredMeanwhileIsNoFinding) {
  const Claim order = sell(1);
  real_ledger.end(order.order);
  real_ledger.outbox = {{.id = 5, .hold = order.order}};
  EXPECT_EQ(look(false).waiting, 1U);
  real_ledger.outbox.clear();
  Hold hold;
  hold.order = order.order;
  ASSERT_TRUE(real_gate.release({&hold, 1}, {}));
  pass(kReconcileGrace);
  EXPECT_TRUE(look(false).is_clean());
}

TEST_F(ReconcileSharedTest, F74_ALiveOrderThatTheGateDoesNotHoldIsAdopted) {
  real_ledger.live[claim(3).order] = claim(3);
  ASSERT_EQ(kinds(look_twice()), (Kinds{Disagreement::ledger_only}));
  EXPECT_TRUE(real_gate.holds.empty());
  EXPECT_TRUE(look(false).shared.at(0).is_repaired);
  EXPECT_TRUE(real_gate.holds.contains(claim(3).order));
  EXPECT_EQ(real_gate.shelf_now.free, 9);
  EXPECT_TRUE(real_gate.is_open);
  EXPECT_EQ(real_ledger.repairs.size(), 1U);
  EXPECT_TRUE(look_twice().is_clean());
}

TEST_F(ReconcileSharedTest, F74_AnOrderThatWasTakenWhileTheGateWasListedIsNotMissing) {
  real_gate.on_listed = [this] { sell(4); };
  EXPECT_EQ(look(false).waiting, 0U) << "the gate is asked for it once more";
}

TEST_F(ReconcileSharedTest, F74_AnOrderThatEndsBeforeItIsAdoptedStaysOut) {
  real_ledger.live[claim(3).order] = claim(3);
  EXPECT_TRUE(look().shared.empty());
  pass(kReconcileGrace);
  // Its release ran on a gate that did not have it.
  Hold hold;
  hold.order = claim(3).order;
  ASSERT_TRUE(real_gate.release({&hold, 1}, {}));
  real_ledger.end(hold.order);
  EXPECT_TRUE(look(false).is_clean());
  EXPECT_TRUE(real_gate.holds.empty());
}

TEST_F(ReconcileSharedTest, F74_AGateThatWillNotTakeALiveOrderIsBuiltAnew) {
  real_ledger.live[claim(3).order] = claim(3);
  real_gate.ended.insert(claim(3).order);
  ASSERT_EQ(kinds(look_twice(false)), (Kinds{Disagreement::ledger_only}));
  EXPECT_FALSE(real_gate.is_open);
  ASSERT_EQ(real_ledger.repairs.size(), 1U);
  EXPECT_NE(real_ledger.repairs[0].detail.find("builds the next one"), std::string::npos);
}

TEST_F(ReconcileSharedTest, F74_CountsThatAreNotTheSumOfTheHoldsAskForABuildAndAreNeverSet) {
  const Claim lost = sell(1);
  sell(2);
  real_gate.drop(lost.order);
  const Shelf before = real_gate.shelf_now;
  ASSERT_EQ(kinds(look_twice()), (Kinds{Disagreement::counts, Disagreement::ledger_only}));
  EXPECT_TRUE(real_gate.is_open) << "a dry run closes nothing";
  for (const Mismatch& finding : look(false).shared) EXPECT_TRUE(finding.is_repaired);
  EXPECT_FALSE(real_gate.is_open) << "a worker builds the next epoch";
  EXPECT_EQ(real_gate.shelf_now, before) << "nothing was adopted into counts that are wrong";
  EXPECT_EQ(real_ledger.repairs.size(), 2U);
}

TEST_F(ReconcileSharedTest, F74_CountsThatMoveWhileTheyAreReadAreNotJudged) {
  const Claim lost = sell(1);
  real_gate.drop(lost.order);
  real_ledger.live.clear();
  real_gate.moves_while_listed = true;
  EXPECT_TRUE(look_twice(false).shared.empty());
  EXPECT_TRUE(real_gate.is_open);
}

TEST_F(ReconcileSharedTest, F74_AGateThatWasBuiltMeanwhileIsNotClosed) {
  const Claim lost = sell(1);
  real_gate.drop(lost.order);
  real_ledger.live.clear();
  EXPECT_TRUE(look().shared.empty());
  pass(kReconcileGrace);
  real_gate.epoch = 2;
  const Findings found = look(false);
  ASSERT_EQ(found.shared.size(), 1U);
  EXPECT_TRUE(real_gate.is_open);
  EXPECT_TRUE(real_ledger.repairs.empty()) << "it was not this one's repair";
}

TEST_F(ReconcileSharedTest, F74_AHoldWithOtherContentsAsksForABuild) {
  const Claim order = sell(1);
  real_ledger.live[order.order].buyer = *BuyerName::from("somebody else");
  EXPECT_EQ(kinds(look_twice(false)), (Kinds{Disagreement::contents}));
  EXPECT_FALSE(real_gate.is_open);
}

TEST_F(ReconcileSharedTest, ATotalThatTheGateWasNeverToldAsksForABuild) {
  real_gate.shelf_now.total = 8;
  real_gate.shelf_now.free = 8;
  const Findings found = look_twice(false);
  EXPECT_EQ(kinds(found), (Kinds{Disagreement::total}));
  ASSERT_EQ(found.totals.size(), 1U);
  EXPECT_EQ(found.totals[0].gate_total, 8);
  EXPECT_EQ(found.totals[0].ledger_total, 10);
  EXPECT_FALSE(real_gate.is_open);
}

TEST_F(ReconcileSharedTest, F01_AClaimThatIsNowhereButInTheGateIsPublishedAgain) {
  real_gate.take(claim(7), false);
  EXPECT_TRUE(look().shared.empty());
  pass(kReconcileGrace);
  EXPECT_TRUE(look().shared.empty()) << "it is old enough now, and has to be seen once more";
  pass(kReconcileGrace);
  Outcome durable;
  durable.order = claim(7).order;
  durable.fate = Fate::durable;
  producer.heard.push_back(durable);
  const Findings found = look(false);
  ASSERT_EQ(kinds(found), (Kinds{Disagreement::undriven}));
  EXPECT_TRUE(found.shared[0].is_repaired) << found.shared[0].repair;
  ASSERT_EQ(producer.messages.size(), 1U);
  EXPECT_EQ(producer.messages[0].order, claim(7).order);
  EXPECT_TRUE(real_gate.holds.contains(claim(7).order)) << "what was admitted is driven forward, never given back";
}

TEST_F(ReconcileSharedTest, F02_APublishOfWhichNobodyHearsIsNoRepair) {
  real_gate.take(claim(7), false);
  pass(kReconcileGrace);
  EXPECT_TRUE(look().shared.empty());
  pass(kReconcileGrace);
  EXPECT_FALSE(look(false).shared.at(0).is_repaired);
  EXPECT_TRUE(real_ledger.repairs.empty());
}

TEST_F(ReconcileSharedTest, AConfirmationThatWasLostIsMadeUp) {
  real_gate.take(claim(7), false);
  real_ledger.live[claim(7).order] = claim(7);
  pass(kReconcileGrace);
  ASSERT_EQ(kinds(look_twice()), (Kinds{Disagreement::unconfirmed}));
  EXPECT_TRUE(look(false).shared.at(0).is_repaired);
  EXPECT_TRUE(real_gate.holds.at(claim(7).order).hold.recorded);
}

TEST_F(ReconcileSharedTest, F62_LateMoneyThatIsNotDecidedIsItsOwnersBusiness) {
  real_gate.take(claim(7), false);
  real_ledger.undecided.insert(claim(7).order);
  pass(kReconcileGrace);
  EXPECT_TRUE(look_twice(false).is_clean());
  EXPECT_EQ(real_gate.changes, 0);
}

TEST_F(ReconcileSharedTest, F36_ADeadLetterThatWaitsIsShown) {
  real_ledger.parked_messages.push_back({.topic_id = "topic",
                                         .partition = 2,
                                         .offset = 3,
                                         .key = "tee",
                                         .bytes = "{",
                                         .problem = "malformed",
                                         .since = {}});
  ASSERT_EQ(kinds(look_twice()), (Kinds{Disagreement::dead_letter}));
  EXPECT_EQ(letters.shown, 0U);
  EXPECT_TRUE(look(false).shared.at(0).is_repaired);
  EXPECT_EQ(letters.shown, 1U);
  EXPECT_EQ(real_ledger.replayed, 1U);
}

TEST_F(ReconcileSharedTest, F74_TwoReconcilersRepairOnceAndOneOfThemKeepsTheAccount) {
  ReconcileShared other{parts, clock};
  const Claim order = sell(1);
  real_ledger.end(order.order);
  real_gate.take(claim(7), true);
  real_ledger.live[claim(3).order] = claim(3);
  step(verb, true);
  step(other, true);
  pass(kReconcileGrace);
  // Both are certain; then one after the other repairs.
  EXPECT_EQ(step(other, true).shared.size(), 3U);
  EXPECT_EQ(step(verb, false).shared.size(), 3U);
  const int changes = real_gate.changes;
  EXPECT_TRUE(step(other, false).is_clean());
  EXPECT_EQ(real_gate.changes, changes);
  EXPECT_EQ(real_ledger.repairs.size(), 3U);
  EXPECT_EQ(real_gate.shelf_now.free, 9);
  EXPECT_EQ(real_gate.shelf_now.held, 1);
}

TEST_F(ReconcileSharedTest, F74_OneThatLostTheRaceFindsItPutRight) {
  real_gate.take(claim(7), true);
  EXPECT_TRUE(look().shared.empty());
  pass(kReconcileGrace);
  real_ledger.on_read = [this] {
    Hold hold;
    hold.order = claim(7).order;
    ASSERT_TRUE(real_gate.release({&hold, 1}, {}));
  };
  const Findings found = look(false);
  ASSERT_EQ(found.shared.size(), 1U);
  EXPECT_TRUE(found.shared[0].is_repaired);
  EXPECT_TRUE(real_ledger.repairs.empty()) << "who did it keeps the account";
  EXPECT_EQ(real_gate.shelf_now.free, 10) << "given back once";
}

TEST_F(ReconcileSharedTest, AGateThatIsBeingBuiltIsNamedAndLeftAlone) {
  real_ledger.states = {state(2, GatePhase::building)};
  const Findings found = look(false);
  ASSERT_EQ(found.not_compared.size(), 1U);
  EXPECT_FALSE(found.is_clean());
  EXPECT_EQ(real_gate.changes, 0);
}

TEST_F(ReconcileSharedTest, F74_ARushChangesNothing) {
  std::uint64_t next = 100;
  for (int round = 0; round < 200; ++round) {
    // Claims are taken, recorded a while later, confirmed, and some end and are released, all between two looks.
    const Claim fresh = claim(next++);
    real_gate.take(fresh, false);
    if (round >= 3) {
      const Claim older = claim(next - 4);
      real_ledger.live[older.order] = older;
      if (round % 2 == 0) real_gate.holds.at(older.order).hold.recorded = true;
    }
    if (round >= 5) {
      const Claim old = claim(next - 6);
      real_gate.holds.at(old.order).hold.recorded = true;
      real_ledger.end(old.order);
    }
    if (round >= 7) {
      Hold hold;
      hold.order = claim(next - 8).order;
      ASSERT_TRUE(real_gate.release({&hold, 1}, {}));
    }
    real_gate.changes = 0;
    const Findings found = look(false);
    EXPECT_TRUE(found.shared.empty());
    EXPECT_EQ(real_gate.changes, 0);
    pass(Micros{100'000});
  }
  EXPECT_TRUE(real_ledger.repairs.empty());
  EXPECT_TRUE(producer.messages.empty());
}

}  // namespace
}  // namespace weir
