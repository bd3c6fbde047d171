#include "flow/build_gate.h"

#include "config/limits.h"
#include "flow/shared_fixture.h"

namespace weir {
namespace {

class BuildGateTest : public SharedFlowTest {
 protected:
  BuildGateTest() {
    gate.seen = {.epoch = 1,
                 .layout = 1,
                 .open = true,
                 .selling = true,
                 .missing = false,
                 .limit_per_buyer = 1,
                 .writes = 100,
                 .ledger = "",
                 .pin = "pin"};
    LiveHold live;
    live.hold = live.order = {1, 7};
    live.item = kItem;
    live.units = 1;
    live.buyer = "buyer7";
    ledger.build.snapshot.totals = {{kItem, 10}};
    ledger.build.snapshot.live = {live};
    ledger.build.snapshot.ended = {{1, 8}};
  }

  /// Time goes on, the lease is read, and the builder does a step.
  void step(Micros span = Micros{kGateLookUs}) {
    pass(span);
    lease.look_again();
    static_cast<void>(lease.step(clock.at));
    static_cast<void>(verb.step(clock.at));
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step(Micros{1});
  }
  /// A build has begun: the ledger says so from now on.
  void begin() {
    step();
    ASSERT_EQ(verb.under_way(), 1U);
    ledger.states = {state(2, GatePhase::building)};
  }
  void lose_the_gate() { gate.seen.missing = true; }

  std::int64_t log_end = 12;
  BuildGate verb{{ledger, gate, lease, catalog},
                 [this](Deadline) -> Result<LogRanges> {
                   diary.emplace_back("ranges");
                   return LogRanges{.topic_id = "topic", .partitions = {{.partition = 0, .first = 0, .end = log_end}}};
                 },
                 clock,
                 "me"};
};

TEST_F(BuildGateTest, AGateThatIsWholeIsLeftAlone) {
  step();
  EXPECT_EQ(verb.under_way(), 0U);
  EXPECT_FALSE(has_asked("begin_build"));
}

TEST_F(BuildGateTest, ASaleWithoutAGateGetsItsFirstWithoutAnyWait) {
  ledger.states = {};
  ledger.new_epoch = 1;
  step();
  EXPECT_EQ(ledger.started->believed, 0);
  steps(8);
  EXPECT_TRUE(has_asked("open_epoch"));
  EXPECT_EQ(verb.counts().finished, 1U);
}

TEST_F(BuildGateTest, F03_AnotherProcessThanThePinnedOneIsBuiltAnew) {
  gate.seen.pin = "another";
  begin();
  EXPECT_EQ(ledger.started->believed, 1);
}

TEST_F(BuildGateTest, F12_AGateThatLostAKeyIsBuiltAnew) {
  lose_the_gate();
  begin();
}

TEST_F(BuildGateTest, F13_AGateWhoseWritesWentBackIsBuiltAnew) {
  step();
  gate.seen.writes = 99;
  begin();
}

TEST_F(BuildGateTest, AnEpochThatTheLedgerDoesNotKnowIsBuiltOver) {
  gate.seen.epoch = 9;
  begin();
  EXPECT_EQ(ledger.started->seen_in_gate, 9);
}

TEST_F(BuildGateTest, F54_AnEpochOfTheLogThatTheLedgerDoesNotKnowIsBuiltOver) {
  verb.saw_epoch_in_log(7);
  begin();
  EXPECT_EQ(ledger.started->seen_in_log, 7);
}

TEST_F(BuildGateTest, AGateThatIsNotOpenIsBuiltAnewAfterAWhileAndNotAtOnce) {
  gate.seen.open = false;
  step();
  EXPECT_FALSE(has_asked("begin_build"));
  step(Micros{kGateNotOpenUs});
  EXPECT_TRUE(has_asked("begin_build"));
}

TEST_F(BuildGateTest, AGateThatIsNotReachedIsNotTakenForLost) {
  gate.fail_with = GateTrouble::unavailable;
  step();
  EXPECT_FALSE(has_asked("begin_build"));
}

TEST_F(BuildGateTest, AnotherBuildersWorkIsTakenOverOnlyWhenHeIsSilent) {
  ledger.states = {state(2, GatePhase::building)};
  ledger.states[0].builder_seen_at = clock.now() + Micros{kGateLookUs};
  step();
  EXPECT_FALSE(has_asked("begin_build"));
  step(Micros{kBuilderSilentUs});
  EXPECT_TRUE(has_asked("begin_build"));
}

TEST_F(BuildGateTest, F68_ABuilderIsSilentByTheLedgersClockWhateverOursSays) {
  ledger.states = {state(2, GatePhase::building)};
  ledger.states[0].builder_seen_at = ledger.now();
  clock.ahead = Micros{3'600'000'000};
  step();
  EXPECT_FALSE(has_asked("begin_build")) << "two workers who are ahead would take every build from each other";
  clock.ahead = Micros{-3'600'000'000};
  step(Micros{kBuilderSilentUs});
  EXPECT_TRUE(has_asked("begin_build")) << "one who is behind would wait for an hour";
}

TEST_F(BuildGateTest, F68_TheNewerTermsAreThoseThatTheLedgerTellsLater) {
  gate.seen.selling = false;
  clock.ahead = Micros{3'600'000'000};
  step();
  ASSERT_TRUE(gate.last_terms.has_value());
  const std::uint64_t before = gate.last_terms->version;
  clock.ahead = Micros{-3'600'000'000};
  step();
  EXPECT_GT(gate.last_terms->version, before);
}

TEST_F(BuildGateTest, WhenAnotherOneBuildsThisOneDoesNot) {
  lose_the_gate();
  ledger.new_epoch.reset();
  step();
  EXPECT_EQ(verb.under_way(), 0U);
}

TEST_F(BuildGateTest, TheLogIsAskedWhereItEndsOnlyAfterLeaseAndPublishDeadlineAreOver) {
  lose_the_gate();
  begin();
  steps(3);
  EXPECT_TRUE(has_asked("close"));
  step(Micros{kLeaseUs + kPublishDeadlineUs - 100});
  EXPECT_FALSE(has_asked("ranges"));
  step(Micros{100});
  steps(1);
  EXPECT_TRUE(has_asked("ranges"));
}

TEST_F(BuildGateTest, TheLedgerOpensBeforeTheGateIsFilledAndTheGateOpensLast) {
  lose_the_gate();
  begin();
  step(Micros{kLeaseUs + kPublishDeadlineUs});
  steps(9);
  ASSERT_TRUE(ledger.finished.has_value());
  EXPECT_EQ(ledger.finished->marks.at(0).offset, 12);
  EXPECT_EQ(ledger.finished->pin, "pin");
  for (const auto& [first, second] : {std::pair{"close", "ranges"},
                                      {"ranges", "finish_build"},
                                      {"finish_build", "start_build"},
                                      {"start_build", "build_holds"},
                                      {"build_holds", "build_ended"},
                                      {"build_ended", "open_epoch"},
                                      {"open_epoch", "drop_older"}}) {
    EXPECT_LT(asked_at(first), asked_at(second)) << first << " comes before " << second;
  }
  ASSERT_EQ(gate.built.size(), 1U);
  EXPECT_EQ(gate.built[0].claim.order, (OrderId{1, 7}));
  EXPECT_TRUE(gate.built[0].recorded);
  EXPECT_EQ(verb.under_way(), 0U);
}

TEST_F(BuildGateTest, BehindTheMarksNothingIsBuilt) {
  lose_the_gate();
  ledger.build.end = BuildEnd::behind;
  begin();
  step(Micros{kLeaseUs + kPublishDeadlineUs});
  steps(6);
  EXPECT_TRUE(has_asked("finish_build"));
  EXPECT_FALSE(has_asked("start_build"));
  EXPECT_EQ(verb.under_way(), 1U);
}

TEST_F(BuildGateTest, ABuildThatAnotherOneHasOvertakenIsDropped) {
  lose_the_gate();
  ledger.build.end = BuildEnd::superseded;
  begin();
  step(Micros{kLeaseUs + kPublishDeadlineUs});
  steps(4);
  EXPECT_EQ(verb.under_way(), 0U);
  EXPECT_EQ(verb.counts().given_up, 1U);
  EXPECT_FALSE(has_asked("start_build"));
}

TEST_F(BuildGateTest, ABuilderWhoseBuildIsTakenStops) {
  lose_the_gate();
  begin();
  ledger.is_mine = false;
  step(Micros{kBuilderBeatUs});
  EXPECT_EQ(verb.under_way(), 0U);
}

TEST_F(BuildGateTest, NotReachingTheOldGateStopsNoBuild) {
  lose_the_gate();
  gate.fail_with = GateTrouble::unavailable;
  gate.fails_at = "close";
  begin();
  step(Micros{kLeaseUs + kPublishDeadlineUs});
  steps(9);
  EXPECT_EQ(verb.counts().finished, 1U);
}

TEST_F(BuildGateTest, ANewerGateStopsAnOlderBuild) {
  lose_the_gate();
  gate.fail_with = GateTrouble::wrong_epoch;
  gate.fails_at = "close";
  step();
  EXPECT_EQ(verb.counts().started, 1U);
  EXPECT_EQ(verb.under_way(), 0U);
}

TEST_F(BuildGateTest, F47_AnUnknownAnswerOfTheLedgerIsToldToWhoCanRecoverIt) {
  lose_the_gate();
  begin();
  ledger.fail_with = Failure::timed_out;
  ledger.fails_at = "finish_build";
  step(Micros{kLeaseUs + kPublishDeadlineUs});
  bool is_told = false;
  for (int i = 0; i < 6; ++i) {
    const auto done = verb.step(clock.at);
    is_told = is_told || (!done && done.error().failure == Failure::timed_out);
  }
  EXPECT_TRUE(is_told);
  EXPECT_EQ(verb.under_way(), 1U);
}

TEST_F(BuildGateTest, AGateThatIsLostWhileItIsFilledIsGivenUpAtOnceAndNotAfterAMinute) {
  for (const GateTrouble trouble : {GateTrouble::wrong_pin, GateTrouble::wrong_epoch, GateTrouble::missing}) {
    ledger.states = {state(1, GatePhase::open)};
    gate.fail_with = GateTrouble::none;
    lose_the_gate();
    begin();
    gate.fail_with = trouble;
    gate.fails_at = "build_holds";
    step(Micros{kLeaseUs + kPublishDeadlineUs});
    steps(6);
    EXPECT_EQ(verb.under_way(), 0U) << name(trouble);
  }
  EXPECT_FALSE(has_asked("open_epoch"));
}

TEST_F(BuildGateTest, AGateThatDoesNotAnswerWhileItIsFilledIsAskedAgain) {
  lose_the_gate();
  begin();
  gate.fail_with = GateTrouble::timed_out;
  gate.fails_at = "build_holds";
  step(Micros{kLeaseUs + kPublishDeadlineUs});
  steps(6);
  EXPECT_EQ(verb.under_way(), 1U);
  gate.fail_with = GateTrouble::none;
  steps(4);
  EXPECT_EQ(verb.counts().finished, 1U);
}

TEST_F(BuildGateTest, F02_ABeginningThatMayStillArriveIsTheLastOfItsEpoch) {
  lose_the_gate();
  begin();
  gate.fail_with = GateTrouble::timed_out;
  gate.fails_at = "start_build";
  step(Micros{kLeaseUs + kPublishDeadlineUs});
  steps(4);
  EXPECT_EQ(verb.under_way(), 0U);
  EXPECT_EQ(std::ranges::count(diary, "start_build"), 1);
}

TEST_F(BuildGateTest, TheTermsOfTheLedgerReachTheGate) {
  gate.seen.selling = false;
  step();
  ASSERT_TRUE(gate.last_terms.has_value());
  EXPECT_TRUE(gate.last_terms->selling);
}

}  // namespace
}  // namespace weir
