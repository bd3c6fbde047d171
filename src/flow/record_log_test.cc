#include "flow/record_log.h"

#include "config/limits.h"
#include "flow/shared_fixture.h"

namespace weir {
namespace {

/// One partition with what a test puts into it.
class ScriptedConsumer final : public LogConsumer {
 public:
  explicit ScriptedConsumer(Diary& diary) : diary_(diary) {}
  Result<LogAssignment> assignment(Deadline) override { return assigned; }
  Result<void> seek(std::int32_t, std::int64_t offset) override {
    diary_.emplace_back("seek");
    sought.push_back(offset);
    return {};
  }
  Result<LogBatch> take(std::int32_t, std::size_t, Deadline) override {
    diary_.emplace_back("take");
    LogBatch taken = batch;
    batch = {};
    return taken;
  }
  Result<LogRanges> ranges(Deadline) override { return LogRanges{}; }
  void hint(std::int32_t, std::int64_t next) override { hinted = next; }

  LogAssignment assigned{.generation = 1, .topic_id = "topic", .partitions = {0}};
  LogBatch batch;
  std::vector<std::int64_t> sought;
  std::int64_t hinted = -1;

 private:
  Diary& diary_;
};

class RecordLogTest : public SharedFlowTest {
 protected:
  /// The log has one more message, admitted at this epoch.
  void put(std::uint64_t order, std::int64_t epoch) {
    put_entry(*message_of(claim(order), epoch, clock.now(), *catalog.get()));
  }
  void put_entry(decltype(LogEntry::content) content) {
    log.batch.state = LogBatch::State::taken;
    log.batch.topic_id = "topic";
    log.batch.entries.push_back({.offset = log.batch.next, .content = std::move(content)});
    ++log.batch.next;
  }
  void expect_fate(LogFate fate) {
    ledger.fates.push_back({.fate = fate, .why = {}, .status = {}, .pay_by = {}});
    ledger.slice_result.gates = {ledger.states.front()};
  }
  Result<std::size_t> step() { return record.step(clock.at); }

  ScriptedConsumer log{diary};
  CatalogReader reader;
  RecordLog record{log, ledger, gate, lease, catalog, reader};
};

TEST_F(RecordLogTest, F43_APartitionIsReadFromWhereTheLedgerSays) {
  ledger.offset = 17;
  ASSERT_TRUE(step().has_value());
  EXPECT_EQ(log.sought, std::vector<std::int64_t>{17});
}

TEST_F(RecordLogTest, TheGateHearsOfAnOrderAfterTheLedgerHasCommitted) {
  read_lease();
  put(1, 1);
  expect_fate(LogFate::recorded);
  EXPECT_EQ(*step(), 1U);
  EXPECT_EQ(gate.confirmed, (std::vector<OrderId>{{1, 1}}));
  EXPECT_LT(asked_at("record_log"), asked_at("confirm"));
  EXPECT_EQ(record.counts().recorded, 1U);
}

TEST_F(RecordLogTest, WhatTheLedgerDidNotCommitIsNotConfirmed) {
  read_lease();
  put(1, 1);
  expect_fate(LogFate::recorded);
  ledger.fail_with = Failure::unavailable;
  ledger.fails_at = "record_log";
  EXPECT_FALSE(step().has_value());
  EXPECT_TRUE(gate.confirmed.empty());
}

TEST_F(RecordLogTest, F47_AfterAnUnknownCommitTheLedgersOffsetIsAskedForAgain) {
  read_lease();
  put(1, 1);
  ledger.fail_with = Failure::timed_out;
  ledger.fails_at = "record_log";
  EXPECT_EQ(step().error().failure, Failure::timed_out);
  ledger.fail_with.reset();
  ledger.offset = 1;
  ASSERT_TRUE(step().has_value());
  EXPECT_EQ(log.sought.back(), 1);
  EXPECT_EQ(record.counts().unknown_commits, 1U);
}

TEST_F(RecordLogTest, F33_ABatchThatSomebodyElseRecordedIsDroppedAndThePartitionSoughtAnew) {
  read_lease();
  put(1, 1);
  ledger.slice_result = {.end = SliceEnd::fenced, .next = 9, .epoch_seen = 0, .gates = {}};
  EXPECT_EQ(*step(), 0U);
  EXPECT_EQ(log.sought.back(), 9);
  EXPECT_TRUE(gate.confirmed.empty());
  EXPECT_EQ(record.counts().fenced, 1U);
}

TEST_F(RecordLogTest, AClaimOfTheOpenEpochIsNoQuestionForTheGate) {
  read_lease();
  put(1, 1);
  ASSERT_TRUE(step().has_value());
  EXPECT_TRUE(gate.asked_for.empty());
  EXPECT_EQ(ledger.slice_claims.at(0).answer, StragglerAnswer::not_asked);
}

TEST_F(RecordLogTest, AStragglerIsAskedForAtTheEpochThatIsOpenBeforeItIsRecorded) {
  ledger.states = {state(3, GatePhase::open)};
  read_lease();
  put(1, 2);
  gate.adoption.adoption = Adoption::adopted;
  ASSERT_TRUE(step().has_value());
  EXPECT_EQ(gate.asked_for, (std::vector<OrderId>{{1, 1}}));
  EXPECT_LT(asked_at("adopt"), asked_at("record_log"));
  EXPECT_EQ(ledger.slice_claims.at(0).answer, StragglerAnswer::adopted);
  EXPECT_EQ(ledger.slice_claims.at(0).answered_at, 3);
  EXPECT_EQ(ledger.slice_claims.at(0).epoch, 2);
}

TEST_F(RecordLogTest, AStragglerWhoseIdTheLedgerKnowsIsNoQuestionForTheGate) {
  ledger.states = {state(3, GatePhase::open)};
  ledger.standings[{1, 1}] = HoldStanding::ended;
  read_lease();
  put(1, 2);
  ASSERT_TRUE(step().has_value());
  EXPECT_TRUE(gate.asked_for.empty());
}

TEST_F(RecordLogTest, WhatTheGateHoldsUnderTheIdIsHandedToTheLedger) {
  ledger.states = {state(3, GatePhase::open)};
  read_lease();
  put(1, 2);
  gate.adoption = {.adoption = Adoption::other, .held = claim(1)};
  gate.adoption.held.units = 2;
  ASSERT_TRUE(step().has_value());
  EXPECT_EQ(ledger.slice_claims.at(0).answer, StragglerAnswer::adopted_other);
  EXPECT_EQ(ledger.slice_claims.at(0).held->units, 2);
}

TEST_F(RecordLogTest, AStragglerWithoutAnAnswerIsLeftAndTakenAgainLater) {
  ledger.states = {state(3, GatePhase::open)};
  read_lease();
  put(1, 3);
  put(2, 2);
  gate.fail_with = GateTrouble::unavailable;
  gate.fails_at = "adopt";
  expect_fate(LogFate::recorded);
  ledger.slice_result.next = 1;
  EXPECT_EQ(*step(), 1U);
  EXPECT_EQ(log.sought.back(), 1);
  EXPECT_EQ(record.counts().left, 1U);
  diary.clear();
  ASSERT_TRUE(step().has_value());
  EXPECT_FALSE(has_asked("take")) << "the partition rests";
  pass(Micros{kUpkeepRestUs});
  ASSERT_TRUE(step().has_value());
  EXPECT_TRUE(has_asked("take"));
}

TEST_F(RecordLogTest, DuringABuildNobodyAsksTheGate) {
  ledger.states = {state(3, GatePhase::building)};
  read_lease();
  put(1, 1);
  expect_fate(LogFate::recorded);
  ASSERT_TRUE(step().has_value());
  EXPECT_TRUE(gate.asked_for.empty());
  EXPECT_TRUE(gate.confirmed.empty()) << "a gate that is not open hears nothing; the snapshot will tell it";
}

TEST_F(RecordLogTest, F36_BytesThatNobodyCanReadGoToTheLedgerWithTheOthers) {
  read_lease();
  put(1, 1);
  put_entry(LogEntry::Raw{.problem = {.why = Unreadable::malformed, .detail = "not JSON", .order = OrderId{1, 9}},
                          .key = "tee",
                          .bytes = "{"});
  ASSERT_TRUE(step().has_value());
  ASSERT_EQ(ledger.slice_claims.size(), 2U);
  EXPECT_FALSE(ledger.slice_claims[1].claim.has_value());
  EXPECT_EQ(ledger.slice_claims[1].bytes, "{");
  EXPECT_EQ(ledger.slice_claims[1].order, (OrderId{1, 9}));
  EXPECT_EQ(ledger.slice_claims[1].offset, 1);
}

TEST_F(RecordLogTest, AnItemThatTheCatalogLacksIsLookedForInANewerOneBeforeItIsParked) {
  read_lease();
  reader.fresh = *catalog.get();
  put(1, 1);
  catalog.set(std::make_shared<const Catalog>());
  ASSERT_TRUE(step().has_value());
  EXPECT_EQ(reader.asked, 1);
  EXPECT_TRUE(ledger.slice_claims.at(0).claim.has_value());
}

TEST_F(RecordLogTest, ALedgerThatLostCommitsIsReportedAndNothingIsConfirmed) {
  read_lease();
  put(1, 5);
  ledger.slice_result = {.end = SliceEnd::lost_commits, .next = 0, .epoch_seen = 5, .gates = {}};
  EXPECT_EQ(*step(), 0U);
  EXPECT_EQ(record.epoch_seen(), 5);
  EXPECT_TRUE(gate.confirmed.empty());
}

TEST_F(RecordLogTest, F44_APartitionWhoseNextRecordIsGoneIsLeftAlone) {
  log.batch.state = LogBatch::State::out_of_range;
  ASSERT_TRUE(step().has_value());
  EXPECT_EQ(record.stuck(), 1U);
  diary.clear();
  ASSERT_TRUE(step().has_value());
  EXPECT_FALSE(has_asked("take"));
}

TEST_F(RecordLogTest, ANewAssignmentAsksTheLedgerAnew) {
  ASSERT_TRUE(step().has_value());
  log.assigned.generation = 2;
  ledger.offset = 5;
  ASSERT_TRUE(step().has_value());
  EXPECT_EQ(log.sought.back(), 5);
}

}  // namespace
}  // namespace weir
