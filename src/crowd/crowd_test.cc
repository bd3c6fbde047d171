#include "crowd/crowd.h"

#include "base/system_clock.h"
#include "crowd/scripted_server.h"

#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::crowd {
namespace {

using Step = ScriptedServer::Step;

const std::string kSoldOut = ScriptedServer::answer("410 Gone", R"({"error":"SOLD_OUT","mayReturn":true})");
const std::string kBusy = ScriptedServer::answer("503 Service Unavailable", R"({"error":"UNAVAILABLE"})");

std::string accepted(std::uint64_t order) {
  return ScriptedServer::answer("202 Accepted", fmt::format(R"({{"orderId":"{:032x}","status":"PENDING"}})", order));
}

TokenList tokens(std::size_t count) {
  std::vector<std::string> list;
  for (std::size_t i = 1; i <= count; ++i) list.push_back(fmt::format("token-{}", i));
  return TokenList(std::move(list));
}

Plan small_plan(std::uint32_t buyers, double impatient_share = 0) {
  PlanOptions options;
  options.buyers = buyers;
  options.burst_over = Micros{100'000};
  options.repeat_share = 0;
  options.impatient_share = impatient_share;
  return *Plan::make(options);
}

Options options_for(const ScriptedServer& server) {
  Options options;
  options.target = *parse_target(server.url());
  options.item = "shoe";
  options.connections = 4;
  options.grace = Micros{5'000'000};
  options.samples_stock = false;
  options.keeps_history = true;
  return options;
}

RunResult run(const Options& options, const Plan& plan) {
  const SystemClock clock;
  auto result = run_crowd(options, plan, tokens(plan.buyers()), clock);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

std::uint64_t of(const RunResult& result, Outcome outcome) { return result.outcomes[index_of(outcome)]; }

std::uint64_t sum(const OutcomeCounts& counts) { return std::accumulate(counts.begin(), counts.end(), 0ULL); }

TEST(Crowd, EveryBuyerAsksWithHisOwnTokenAndAddress) {
  std::map<std::string, int> seen;
  ScriptedServer server([&](std::size_t, std::string_view request) {
    const auto value = [&](std::string_view name) {
      const std::size_t at = request.find(name) + name.size();
      return std::string(request.substr(at, request.find('\r', at) - at));
    };
    ++seen[value("Bearer ") + " " + value("X-Forwarded-For: ")];
    return Step{kSoldOut};
  });
  const RunResult result = run(options_for(server), small_plan(300));
  EXPECT_EQ(of(result, Outcome::sold_out), 300U);
  EXPECT_EQ(seen.size(), 300U);
  EXPECT_EQ(seen["token-1 10.0.0.1"], 1);
  EXPECT_EQ(seen["token-300 10.0.1.44"], 1);
}

TEST(Crowd, WhatWasOfferedIsAnsweredOrFailed) {
  ScriptedServer server([&](std::size_t number, std::string_view) {
    return Step{number % 3 == 0 ? accepted(number + 1) : number % 3 == 1 ? kSoldOut : kBusy};
  });
  const RunResult result = run(options_for(server), small_plan(300));
  EXPECT_EQ(result.offered, 300U);
  EXPECT_EQ(result.answered, 300U);
  EXPECT_EQ(result.failed, 0U);
  EXPECT_EQ(sum(result.outcomes), result.offered);
  EXPECT_EQ(of(result, Outcome::accepted), 100U);
  EXPECT_EQ(result.winners, 100U);
  EXPECT_EQ(result.winners_latency.count(), 100U);
  EXPECT_EQ(result.history.records.size(), 300U);
}

TEST(Crowd, StallOfTheServerShowsInThePlannedLatencyOfAllWhoWereDue) {
  // One connection, one request at a time: a closed-loop client would send one request into the stall and see one slow
  // answer. The plan sees everybody who was due in it.
  ScriptedServer server([&](std::size_t number, std::string_view) { return Step{kSoldOut, number == 10 ? 300 : 0}; });
  Options options = options_for(server);
  options.connections = 1;
  options.depth = 1;
  const RunResult result = run(options, small_plan(200));
  EXPECT_EQ(result.answered, 200U);
  EXPECT_GE(result.latency.max_us(), 290'000U);
  EXPECT_GE(result.latency.quantile_us(0.5), 150'000U) << "most of the crowd was due within the stall";
  EXPECT_GE(result.send_lag.max_us(), 200'000U) << "and the crowd says that it sent them late";
}

TEST(Crowd, AnswersInAnyPiecesAreRead) {
  for (const std::size_t piece : {1U, 7U, 90U}) {
    ScriptedServer server([&](std::size_t number, std::string_view) { return Step{accepted(number + 1), 0, piece}; });
    const RunResult result = run(options_for(server), small_plan(60));
    EXPECT_EQ(of(result, Outcome::accepted), 60U) << piece;
  }
}

TEST(Crowd, RequestsDueTogetherShareAWriteAndNeverPassTheDepth) {
  Options options;
  {
    ScriptedServer server([&](std::size_t, std::string_view) { return Step{}; });  // It never answers.
    options = options_for(server);
    options.connections = 2;
    options.depth = 5;
    options.grace = Micros{200'000};
    const RunResult result = run(options, small_plan(100));
    EXPECT_EQ(server.requests(), 10U) << "two connections carry five each; the others wait";
    EXPECT_EQ(of(result, Outcome::timed_out), 10U);
    EXPECT_EQ(of(result, Outcome::not_sent), 90U);
    EXPECT_EQ(result.failed, 100U);
    EXPECT_TRUE(result.ran_out_of_time);
  }
}

TEST(Crowd, InFlightBoundHoldsAcrossConnections) {
  ScriptedServer server([&](std::size_t, std::string_view) { return Step{}; });
  Options options = options_for(server);
  options.in_flight_max = 7;
  options.grace = Micros{200'000};
  static_cast<void>(run(options, small_plan(100)));
  EXPECT_EQ(server.requests(), 7U);
}

TEST(Crowd, LostConnectionIsOpenedAgainAndItsRequestsCountAsLost) {
  ScriptedServer server(
      [&](std::size_t number, std::string_view) { return number == 20 ? Step{"", 0, 0, true} : Step{kSoldOut}; });
  Options options = options_for(server);
  options.connections = 1;
  const RunResult result = run(options, small_plan(300));
  EXPECT_GE(of(result, Outcome::connection_lost), 1U);
  EXPECT_EQ(of(result, Outcome::connection_lost) + of(result, Outcome::sold_out), 300U);
  EXPECT_GE(of(result, Outcome::sold_out), 100U) << "the rest came over a new connection";
  EXPECT_EQ(result.reconnects, 1U);
}

TEST(Crowd, ImpatientBuyersTryAgainAFewTimesAndNotMore) {
  ScriptedServer server([&](std::size_t, std::string_view) { return Step{kBusy}; });
  Options options = options_for(server);
  options.retries_max = 2;
  const RunResult result = run(options, small_plan(20, 1));
  EXPECT_EQ(result.offered, 60U) << "one press and two retries each";
  EXPECT_EQ(result.retries, 40U);
  EXPECT_EQ(of(result, Outcome::unavailable), 60U);
}

TEST(Crowd, PatientBuyersDoNotTryAgain) {
  ScriptedServer server([&](std::size_t, std::string_view) { return Step{kBusy}; });
  EXPECT_EQ(run(options_for(server), small_plan(20, 0)).offered, 20U);
}

TEST(Crowd, RetryWaitsAsLongAsTheServerAsks) {
  const std::string later =
      ScriptedServer::answer("503 Service Unavailable", R"({"error":"UNAVAILABLE"})", "Retry-After: 1\r\n");
  ScriptedServer server([&](std::size_t number, std::string_view) { return Step{number < 5 ? later : kSoldOut}; });
  const RunResult result = run(options_for(server), small_plan(5, 1));
  EXPECT_EQ(of(result, Outcome::sold_out), 5U);
  for (const Record& record : result.history.records) {
    if (record.retry == 0) continue;
    EXPECT_GE(record.planned_us, 1'000'000U);
    EXPECT_LE(record.planned_us, 2'200'000U);
  }
}

TEST(Crowd, BuyerWithTwoOrdersIsFound) {
  PlanOptions plan;
  plan.buyers = 50;
  plan.burst_over = Micros{50'000};
  plan.repeat_share = 1;
  ScriptedServer server([&](std::size_t number, std::string_view) { return Step{accepted(number + 1)}; });
  const RunResult result = run(options_for(server), *Plan::make(plan));
  EXPECT_EQ(result.winners, 50U);
  EXPECT_GE(result.duplicate_winners, 50U);
  EXPECT_EQ(result.duplicate_winner_examples.size(), 10U);
}

TEST(Crowd, SameOrderAgainIsARepeatAndNoSecondSale) {
  PlanOptions plan;
  plan.buyers = 1;
  plan.burst_over = Micros{10'000};
  plan.repeat_share = 1;
  ScriptedServer server([&](std::size_t, std::string_view request) {
    EXPECT_NE(request.find("Idempotency-Key: crowd-1-1\r\n"), std::string_view::npos);
    return Step{accepted(7)};
  });
  Options options = options_for(server);
  options.keyed = true;
  const RunResult result = run(options, *Plan::make(plan));
  EXPECT_EQ(of(result, Outcome::accepted), 1U);
  EXPECT_GE(of(result, Outcome::repeated), 1U);
  EXPECT_EQ(result.duplicate_winners, 0U);
}

TEST(Crowd, AnswerThatNeverComesIsGivenUpAtItsDeadline) {
  ScriptedServer server([&](std::size_t number, std::string_view) { return number == 0 ? Step{} : Step{kSoldOut}; });
  Options options = options_for(server);
  options.connections = 1;
  options.answer_deadline = Micros{200'000};
  const RunResult result = run(options, small_plan(5));
  EXPECT_GE(of(result, Outcome::timed_out), 1U);
  EXPECT_EQ(of(result, Outcome::timed_out) + of(result, Outcome::sold_out), 5U);
  EXPECT_FALSE(result.ran_out_of_time);
}

TEST(Crowd, MalformedAnswerEndsItsConnection) {
  ScriptedServer server([&](std::size_t number, std::string_view) {
    return Step{number == 0 ? "HELLO, WORLD, THIS IS NOT HTTP" : kSoldOut};
  });
  Options options = options_for(server);
  options.connections = 1;
  const RunResult result = run(options, small_plan(40));
  EXPECT_GE(of(result, Outcome::malformed), 1U);
  EXPECT_EQ(of(result, Outcome::malformed) + of(result, Outcome::sold_out), 40U);
}

TEST(Crowd, RecordsStayInOrder) {
  ScriptedServer server([&](std::size_t number, std::string_view) { return Step{accepted(number + 1)}; });
  const RunResult result = run(options_for(server), small_plan(100));
  for (const Record& record : result.history.records) {
    EXPECT_LE(record.planned_us, record.sent_us);
    EXPECT_LE(record.sent_us, record.answered_us);
    EXPECT_FALSE(record.order.is_none());
  }
}

TEST(Crowd, StockIsSampledBesideTheCrowdAndAfterIt) {
  std::int64_t free = 100;
  ScriptedServer server([&](std::size_t number, std::string_view request) {
    if (request.starts_with("GET /api/flash-sales/items/shoe HTTP/1.1")) {
      return Step{ScriptedServer::answer(
          "200 OK", fmt::format(R"({{"itemId":"shoe","total":100,"free":{},"held":{},"sold":0,"version":{}}})", free,
                                100 - free, 100 - free))};
    }
    if (free == 0) return Step{kSoldOut};
    --free;
    return Step{accepted(number + 1)};
  });
  Options options = options_for(server);
  options.samples_stock = true;
  const RunResult result = run(options, small_plan(150));
  ASSERT_GE(result.samples.size(), 3U);
  EXPECT_EQ(result.samples.front().free, 100);
  EXPECT_EQ(result.samples.back().free, 0) << "the last glance comes after the last answer";
}

TEST(Crowd, ProgressIsToldAndTheRunCanBeStopped) {
  ScriptedServer server([&](std::size_t, std::string_view) { return Step{}; });
  std::atomic<bool> stop = false;
  Options options = options_for(server);
  options.stop = &stop;
  int calls = 0;
  options.on_progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.planned, 50U);
    if (++calls == 3) stop = true;
  };
  const RunResult result = run(options, small_plan(50));
  EXPECT_TRUE(result.was_stopped);
  EXPECT_EQ(result.failed, 50U);
}

TEST(Crowd, NobodyThereIsAnErrorAndNoEmptyReport) {
  std::uint16_t port = 0;
  {
    const ScriptedServer gone([](std::size_t, std::string_view) { return Step{}; });
    port = gone.port();
  }
  Options options;
  options.target = *parse_target(fmt::format("http://127.0.0.1:{}", port));
  options.item = "shoe";
  options.connections = 0;
  const SystemClock clock;
  EXPECT_EQ(run_crowd(options, small_plan(5), tokens(5), clock).error().failure, Failure::unfit);
  options.connections = 1;
  EXPECT_EQ(run_crowd(options, small_plan(5), tokens(4), clock).error().failure, Failure::unfit) << "too few tokens";
}

}  // namespace
}  // namespace weir::crowd
