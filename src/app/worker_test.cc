#include "app/worker_marks.h"
#include "app/worker_thread.h"
#include "app/worker_totals.h"
#include "config/limits.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A clock that stands until it is moved.
class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {ticks_.us}; }
  [[nodiscard]] Ticks ticks() const override { return ticks_; }
  void pass(Micros span) { ticks_ = ticks_ + span; }

 private:
  Ticks ticks_{1'000'000};
};

/// A thread without a thread: what its verbs and its ledger answer is set by the test, and it writes down who was
/// asked.
class WorkerThreadTest : public testing::Test {
 protected:
  WorkerThreadTest() {
    thread_.add("first", kPause, [this](Ticks) { return step("first", first_); });
    thread_.add("second", kPause, [this](Ticks) { return step("second", second_); });
  }

  Result<std::size_t> step(const std::string& who, const Result<std::size_t>& answer) {
    asked_.push_back(who);
    return answer;
  }
  std::vector<std::string> asked_in_a_turn() {
    asked_.clear();
    static_cast<void>(thread_.turn());
    return asked_;
  }

  static constexpr Micros kPause{500'000};
  HandClock clock_;
  std::vector<std::string> asked_;
  Result<std::size_t> first_{0};
  Result<std::size_t> second_{0};
  Result<void> recovered_;
  int corrupt_count_ = 0;
  WorkerThread thread_{"test",
                       clock_,
                       {.recover =
                            [this](Deadline) {
                              asked_.emplace_back("recover");
                              return recovered_;
                            },
                        .turned = {},
                        .corrupt = [this](const Error&) { ++corrupt_count_; }}};
};

TEST_F(WorkerThreadTest, WhoHadNothingToDoRestsAndWhoDidGoesOn) {
  first_ = 3;
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("first", "second"));
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("first"));
  clock_.pass(kPause);
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("first", "second"));
}

TEST_F(WorkerThreadTest, ATroubledVerbStopsNoOther) {
  first_ = fail(Failure::unavailable, "the gate is away");
  second_ = 1;
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("first", "second"));
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("second"));
  clock_.pass(kPause);
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("first", "second"));
  EXPECT_TRUE(thread_.is_well());
}

TEST_F(WorkerThreadTest, AfterAnUnknownAnswerNobodyIsAskedBeforeTheLedgerHasRecovered) {
  first_ = fail(Failure::timed_out, "the commit is unknown");
  second_ = 1;
  recovered_ = fail(Failure::unavailable, "not yet");
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("first")) << "the second verb shares the ledger";
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("recover"));
  EXPECT_THAT(asked_in_a_turn(), IsEmpty()) << "it rests between two tries";
  clock_.pass(Micros{kUpkeepRestUs});
  recovered_ = {};
  first_ = 0;
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("recover", "second"));
  EXPECT_EQ(thread_.recoveries(), 1U);
}

TEST_F(WorkerThreadTest, ACorruptLedgerIsReportedOnceAndNothingIsDoneAnyMore) {
  first_ = fail(Failure::corrupt, "held is below zero");
  EXPECT_THAT(asked_in_a_turn(), ElementsAre("first"));
  clock_.pass(Micros{60'000'000});
  EXPECT_THAT(asked_in_a_turn(), IsEmpty());
  EXPECT_EQ(corrupt_count_, 1);
  EXPECT_FALSE(thread_.is_well());
}

TEST_F(WorkerThreadTest, AThreadThatOnlyFailsToRecoverIsNotWell) {
  first_ = fail(Failure::timed_out, "the commit is unknown");
  recovered_ = fail(Failure::unavailable, "the server is down");
  static_cast<void>(thread_.turn());
  for (int i = 0; i < 100; ++i) {
    clock_.pass(Micros{kUpkeepRestUs});
    static_cast<void>(thread_.turn());
  }
  EXPECT_FALSE(thread_.is_well());
}

/// A log of which only the ends are asked.
class EndsOnly final : public LogConsumer {
 public:
  [[nodiscard]] Result<LogAssignment> assignment(Deadline) override { return LogAssignment{}; }
  Result<void> seek(std::int32_t, std::int64_t) override { return {}; }
  [[nodiscard]] Result<LogBatch> take(std::int32_t, std::size_t, Deadline) override { return LogBatch{}; }
  [[nodiscard]] Result<LogRanges> ranges(Deadline) override {
    ++times_asked;
    return LogRanges{.topic_id = "t", .partitions = {{.partition = 0, .first = 0, .end = end}}};
  }
  void hint(std::int32_t, std::int64_t) override {}

  std::int64_t end = 0;
  int times_asked = 0;
};

TEST(WorkerMarks, NobodyAnswersWithMarksThatAreOlderThanTheQuestion) {
  HandClock clock;
  EndsOnly log;
  WorkerMarks marks{clock};
  EXPECT_EQ(marks.answer(log, clock.ticks()).value(), 0U) << "nobody has asked";
  EXPECT_EQ(log.times_asked, 0);
  const auto missed = marks.ask(clock.ticks());
  ASSERT_FALSE(missed) << "nobody came to it before the deadline";
  EXPECT_EQ(missed.error().failure, Failure::unavailable);

  log.end = 7;
  EXPECT_EQ(marks.answer(log, clock.ticks()).value(), 1U);
  log.end = 9;
  EXPECT_FALSE(marks.ask(clock.ticks())) << "the answer to the question before this one is too old";
}

TEST(WorkerMarks, TheOneWhoAsksWaitsForTheOneWhoOwnsTheLog) {
  HandClock clock;
  EndsOnly log;
  log.end = 7;
  WorkerMarks marks{clock};
  Result<LogRanges> heard = fail(Failure::unavailable, "");
  std::thread asker{[&] { heard = marks.ask(clock.ticks() + Micros{20'000'000}); }};
  while (marks.answer(log, clock.ticks()).value() == 0) std::this_thread::yield();
  asker.join();
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(heard->partitions.at(0).end, 7);
}

TEST(WorkerMarks, WhoeverWaitsIsLetGoWhenNobodyWillAnswer) {
  HandClock clock;
  WorkerMarks marks{clock};
  marks.close();
  EXPECT_FALSE(marks.ask(clock.ticks() + Micros{20'000'000}));
}

constexpr SaleNo kSale{1};
constexpr SaleNo kOther{2};

ItemTotals totals(SaleNo sale, std::uint32_t item, std::int64_t in_ledger, std::int64_t in_gate) {
  return {.sale = sale, .item = ItemNo{item}, .in_ledger = in_ledger, .in_gate = in_gate};
}

TEST(WorkerTotals, ADifferenceThatStaysNeedsABuildAndOneThatPassesDoesNot) {
  WorkerTotals watch;
  const Ticks begin{1};
  const std::vector<ItemTotals> seen{totals(kSale, 1, 10, 10), totals(kSale, 2, 12, 10), totals(kOther, 3, 5, 4)};
  EXPECT_THAT(watch.compare(seen, begin), IsEmpty());
  const std::vector<ItemTotals> met{totals(kSale, 1, 10, 10), totals(kSale, 2, 12, 10), totals(kOther, 3, 5, 5)};
  EXPECT_THAT(watch.compare(met, begin + Micros{kTotalsApartUs - 1}), IsEmpty());
  EXPECT_THAT(watch.compare(met, begin + Micros{kTotalsApartUs}), ElementsAre(kSale));
  EXPECT_THAT(watch.compare(met, begin + Micros{kTotalsApartUs + 1}), IsEmpty()) << "the build takes a while";
}

TEST(WorkerTotals, ADifferenceThatWasMadeGoodBeginsAnew) {
  WorkerTotals watch;
  const Ticks begin{1};
  const std::vector<ItemTotals> apart{totals(kSale, 1, 12, 10)};
  const std::vector<ItemTotals> met{totals(kSale, 1, 12, 12)};
  EXPECT_THAT(watch.compare(apart, begin), IsEmpty());
  EXPECT_THAT(watch.compare(met, begin + Micros{kTotalsApartUs / 2}), IsEmpty());
  EXPECT_THAT(watch.compare(apart, begin + Micros{kTotalsApartUs}), IsEmpty());
}

TEST(WorkerTotals, WhatCouldNotBeComparedIsNotJudged) {
  WorkerTotals watch;
  const Ticks begin{1};
  const std::vector<ItemTotals> apart{totals(kSale, 1, 12, 10)};
  EXPECT_THAT(watch.compare(apart, begin), IsEmpty());
  EXPECT_THAT(watch.compare({}, begin + Micros{kTotalsApartUs}), IsEmpty());
  EXPECT_THAT(watch.compare(apart, begin + Micros{kTotalsApartUs}), IsEmpty()) << "its gate was away meanwhile";
}

}  // namespace
}  // namespace weir
