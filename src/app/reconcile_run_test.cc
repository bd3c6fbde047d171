#include "app/reconcile_run.h"

#include <deque>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

class PausedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {at.us}; }
  [[nodiscard]] Ticks ticks() const override { return at; }
  Ticks at{1'000'000};
};

/// A server whose looks are told beforehand; the last one is repeated.
class ReconcileRunTest : public ::testing::Test {
 protected:
  static std::string answer(std::string_view findings, std::int64_t waiting = 0, std::int64_t waiting_ms = 0,
                            std::string_view not_compared = "") {
    return fmt::format(
        "{{\"ok\":{},\"dryRun\":false,\"compared\":3,\"gateOnly\":[],\"ledgerOnly\":[],\"unsold\":[],"
        "\"totals\":[],\"findings\":[{}],\"waiting\":{},\"waitingMs\":{},\"notCompared\":[{}]}}",
        findings.empty() && not_compared.empty(), findings, waiting, waiting_ms, not_compared);
  }
  static std::string finding(std::string_view what, std::string_view order, bool repaired,
                             std::string_view repair = "done") {
    return fmt::format("{{\"what\":\"{}\",\"orderId\":\"{}\",\"detail\":\"d\",\"repaired\":{},\"repair\":\"{}\"}}",
                       what, order, repaired, repair);
  }
  boost::json::object run() {
    ReconcileRun one{[this]() -> Result<std::string> {
                       ++looks;
                       Result<std::string> next = answers.front();
                       if (answers.size() > 1) answers.pop_front();
                       return next;
                     },
                     clock, [this](Micros span) { clock.at = clock.at + span; }};
    auto found = one.run();
    is_whole = one.is_whole();
    error = found ? std::string{} : found.error().message;
    return found ? *std::move(found) : boost::json::object{};
  }

  PausedClock clock;
  std::deque<Result<std::string>> answers;
  int looks = 0;
  bool is_whole = false;
  std::string error;
};

TEST_F(ReconcileRunTest, WhatAgreesIsLookedAtOnce) {
  answers = {answer("")};
  EXPECT_TRUE(run().at("ok").as_bool());
  EXPECT_EQ(looks, 1);
  EXPECT_TRUE(is_whole);
}

TEST_F(ReconcileRunTest, WhatTheFirstLookSawIsWaitedFor) {
  answers = {answer("", 2, 0), answer("", 2, 250), answer(finding("GATE_ONLY", "a", true)), answer("")};
  const auto found = run();
  EXPECT_EQ(looks, 3);
  EXPECT_FALSE(found.at("ok").as_bool());
  EXPECT_EQ(found.at("gateOnly").as_array().size(), 1U);
  EXPECT_TRUE(is_whole);
}

TEST_F(ReconcileRunTest, WhatComesUpLaterIsNotWaitedFor) {
  answers = {answer("", 1, 0), answer("", 1, 0), answer("", 1, 0), answer("", 1, 0), answer("", 1, 0)};
  run();
  EXPECT_EQ(looks, 4) << "until what is under way is younger than the run";
  EXPECT_TRUE(is_whole);
}

TEST_F(ReconcileRunTest, RepairsOfEarlierLooksAreTold) {
  answers = {answer(finding("GATE_ONLY", "a", true), 1, 6000), answer(finding("OUTBOX", "b", true))};
  const auto found = run();
  EXPECT_EQ(found.at("findings").as_array().size(), 2U);
  EXPECT_TRUE(is_whole);
}

TEST_F(ReconcileRunTest, WhatCouldNotBeRepairedOrJudgedIsNotWhole) {
  answers = {answer(finding("GATE_ONLY", "a", false, "not repaired"))};
  run();
  EXPECT_FALSE(is_whole);
  answers = {answer("", 0, 0, "\"sale drop: closed\"")};
  run();
  EXPECT_FALSE(is_whole);
  clock.at = {};
  answers = {answer("", 1, 1'000'000'000)};
  run();
  EXPECT_FALSE(is_whole) << "the log never came to its end";
}

TEST_F(ReconcileRunTest, AGateThatIsBuiltAnewIsWaitedFor) {
  answers = {answer(finding("COUNTS", "", true, "the gate is closed: a worker builds the next one")),
             answer("", 0, 0, "\"sale drop: closed\""), answer("", 0, 0, "\"sale drop: being built\""), answer("")};
  const auto found = run();
  EXPECT_EQ(looks, 4);
  EXPECT_TRUE(is_whole);
  EXPECT_EQ(found.at("findings").as_array().size(), 1U);
}

TEST_F(ReconcileRunTest, ALookThatIsRefusedIsRepeatedAFewTimes) {
  answers = {fail(Failure::overloaded, "busy"), answer("")};
  EXPECT_TRUE(run().at("ok").as_bool());
  answers = {fail(Failure::unavailable, "gone")};
  run();
  EXPECT_EQ(error, "gone");
}

}  // namespace
}  // namespace weir
