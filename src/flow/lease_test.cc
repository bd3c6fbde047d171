#include "flow/lease.h"

#include "config/limits.h"
#include "flow/leased_gate.h"
#include "flow/shared_fixture.h"

namespace weir {
namespace {

using LeaseTest = SharedFlowTest;

TEST_F(LeaseTest, WhatWasNeverReadIsNotBelieved) {
  EXPECT_FALSE(lease.open_at(kSale, clock.at).has_value());
  EXPECT_EQ(lease.states(), nullptr);
}

TEST_F(LeaseTest, AnOpenGateIsBelievedForTheLeaseAndNotLonger) {
  read_lease();
  EXPECT_EQ(lease.open_at(kSale, clock.at + Micros{kLeaseUs - 1})->epoch, 1);
  EXPECT_FALSE(lease.open_at(kSale, clock.at + Micros{kLeaseUs}).has_value());
}

TEST_F(LeaseTest, TheLeaseIsCountedFromTheQuestionAndNotFromTheAnswer) {
  const Ticks asked = clock.at;
  read_lease();
  EXPECT_EQ(lease.states()->asked_at, asked);
}

TEST_F(LeaseTest, AGateThatIsBeingBuiltIsNotOpen) {
  ledger.states = {state(2, GatePhase::building)};
  read_lease();
  EXPECT_FALSE(lease.open_at(kSale, clock.at).has_value());
}

TEST_F(LeaseTest, AFailedLookKeepsWhatWasReadAndLetsItRunOut) {
  read_lease();
  ledger.fail_with = Failure::unavailable;
  pass(Micros{kLeaseLookUs});
  EXPECT_FALSE(lease.step(clock.at).has_value());
  EXPECT_TRUE(lease.open_at(kSale, clock.at).has_value());
  pass(Micros{kLeaseUs - kLeaseLookUs});
  EXPECT_FALSE(lease.open_at(kSale, clock.at).has_value()) << "a failed look renews nothing";
}

TEST_F(LeaseTest, TheLedgerIsAskedNoMoreOftenThanAgreedUnlessSomebodyWantsToKnow) {
  read_lease();
  read_lease();
  EXPECT_EQ(diary.size(), 1U);
  lease.look_again();
  read_lease();
  EXPECT_EQ(diary.size(), 2U);
}

TEST_F(LeaseTest, AGateIsAttachedWhereTheLedgerSaysAndAnewWhenEpochOrPinMoved) {
  EXPECT_TRUE(attach_at(gate, state(1, GatePhase::open), *catalog.get()));
  EXPECT_EQ(gate.place(kSale)->name, "default:drop");
  GateState moved = state(1, GatePhase::open);
  moved.pin = "another pin";
  EXPECT_TRUE(attach_at(gate, moved, *catalog.get()));
  EXPECT_EQ(gate.place(kSale)->pin, "another pin");
}

class LeasedGateTest : public SharedFlowTest {
 protected:
  Admission reserve_one() {
    const Claim one = claim(1);
    Verdict verdict;
    EXPECT_TRUE(leased.reserve({&one, 1}, {&verdict, 1}, {}).has_value());
    return verdict.admission;
  }
  LeasedGate leased{gate, lease, catalog, clock};
};

TEST_F(LeasedGateTest, WithoutALeaseTheGateIsNotAsked) {
  EXPECT_EQ(reserve_one(), Admission::closed);
  read_lease();
  pass(Micros{kLeaseUs});
  EXPECT_EQ(reserve_one(), Admission::closed);
  EXPECT_FALSE(has_asked("reserve"));
}

TEST_F(LeasedGateTest, WithALeaseTheGateDecides) {
  read_lease();
  EXPECT_EQ(reserve_one(), Admission::admitted);
}

TEST_F(LeasedGateTest, F02_AnAnswerThatWasLostIsUnknownAndNotClosed) {
  read_lease();
  gate.fail_with = GateTrouble::timed_out;
  EXPECT_EQ(reserve_one(), Admission::unknown);
  gate.fail_with = GateTrouble::wrong_epoch;
  EXPECT_EQ(reserve_one(), Admission::closed);
}

TEST_F(LeasedGateTest, ARepeatThatTheLedgerMayLackIsPublishedAgain) {
  read_lease();
  gate.verdict = {.admission = Admission::repeated, .standing = {}};
  EXPECT_EQ(reserve_one(), Admission::in_flight);
  gate.verdict.recorded = true;
  EXPECT_EQ(reserve_one(), Admission::repeated);
}

TEST_F(LeasedGateTest, TheDeskReleasesAndConfirmsNothing) {
  read_lease();
  const Hold hold{.order = {1, 1}, .sale = kSale, .item = kItem, .units = 1, .buyer_key = {}};
  EXPECT_EQ(leased.release({&hold, 1}, {}), 0);
  EXPECT_TRUE(leased.confirm({&hold, 1}, {}).has_value());
  EXPECT_FALSE(has_asked("release"));
  EXPECT_FALSE(has_asked("confirm"));
}

TEST_F(LeasedGateTest, AHoldThatWasNotFoundInAGateThatCouldNotBeAskedIsNotKnownToBeMissing) {
  read_lease();
  EXPECT_FALSE(leased.find({1, 1}, {})->has_value());
  gate.fail_with = GateTrouble::unavailable;
  EXPECT_EQ(leased.find({1, 1}, {}).error().failure, Failure::unavailable);
}

}  // namespace
}  // namespace weir
