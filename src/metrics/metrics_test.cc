#include "config/limits.h"
#include "domain/order.h"
#include "metrics/process_use.h"
#include "metrics/text_exposition.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

enum class Loud : std::uint8_t { sold_out };
struct LoudText {
  std::string_view text;
};
[[nodiscard]] constexpr LoudText text_of(Loud) { return {"SOLD_OUT"}; }

std::size_t series_in(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line)) count += !line.empty() && line.front() != '#' ? 1U : 0U;
  return count;
}

TEST(MetricNames, SayFolderThingAndUnit) {
  const std::set<std::string_view> folders{"http", "gate", "flow", "queue", "ledger", "base", "app", "metrics"};
  std::set<std::string_view> seen;
  for (const Metric& metric : kMetrics) {
    EXPECT_TRUE(seen.insert(metric.name).second) << metric.name;
    ASSERT_TRUE(metric.name.starts_with("flash_")) << metric.name;
    const std::string_view rest = metric.name.substr(6);
    EXPECT_TRUE(folders.contains(rest.substr(0, rest.find('_')))) << metric.name;
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    EXPECT_TRUE(std::ranges::all_of(metric.name, is_plain)) << metric.name;
    EXPECT_EQ(metric.name.ends_with("_total"), metric.kind == MetricKind::counter) << metric.name;
    EXPECT_TRUE(metric.help.ends_with(".")) << metric.name;
  }
}

TEST(TextExposition, WritesTheFormatThatPrometheusReads) {
  TextExposition exposition;
  exposition.add(metric::kHttpRequests, 12'345'678);
  exposition.add(metric::kClockStep, -0.25);
  exposition.add(metric::kFlowSettled, RefundState::due, 3);
  exposition.add(metric::kFlowSettled, "done_too", 4);
  exposition.add(metric::kHttpOutcomes, Loud::sold_out, 5);
  const std::string text = exposition.text();
  EXPECT_THAT(text, HasSubstr("# HELP flash_http_requests_total Whole requests that were read.\n"
                              "# TYPE flash_http_requests_total counter\nflash_http_requests_total 12345678\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE flash_base_clock_step_seconds gauge\nflash_base_clock_step_seconds -0.25\n"));
  EXPECT_THAT(text, HasSubstr("flash_flow_settled_total{result=\"due\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("flash_flow_settled_total{result=\"done_too\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("flash_http_outcomes_total{code=\"sold_out\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("flash_metrics_series_dropped 0\n"));
  EXPECT_EQ(series_in(text), exposition.series());
  EXPECT_EQ(exposition.text(), text) << "writing changes nothing";
}

TEST(TextExposition, AHistogramCountsUpwards) {
  Histogram commits(kCommitBuckets);
  for (const std::int64_t us : {50, 100, 101, 3'000, 9'000'000}) commits.observe(us);
  TextExposition exposition;
  exposition.add(metric::kLedgerCommit, commits);
  const std::string text = exposition.text();
  EXPECT_THAT(text, HasSubstr("flash_ledger_commit_seconds_count 5\n"));
  EXPECT_THAT(text, HasSubstr("flash_ledger_commit_seconds_sum 9.003"));
  EXPECT_THAT(text, HasSubstr("flash_ledger_commit_seconds_bucket{le=\"0.0001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("flash_ledger_commit_seconds_bucket{le=\"1\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("flash_ledger_commit_seconds_bucket{le=\"+Inf\"} 5\n"));
  EXPECT_EQ(series_in(text), exposition.series());
  EXPECT_EQ(commits.count(0), 2U) << "a bound belongs to its bucket";
  EXPECT_EQ(commits.count(kCommitBoundsUs.size()), 1U);
}

TEST(TextExposition, B129_ItemsBeyondTheBoundAreDroppedAndCounted) {
  TextExposition exposition;
  for (int i = 0; i < 65'536; ++i) {
    const std::string item = fmt::format("item-{}", i);
    for (const Metric& metric : {metric::kGateFree, metric::kGateHeld, metric::kGateSold})
      exposition.add_item(metric, item, 1);
  }
  const std::string text = exposition.text();
  EXPECT_EQ(series_in(text), 3 * kMetricItemsMax + 1);
  EXPECT_THAT(text, HasSubstr(fmt::format("flash_metrics_series_dropped {}\n", 3 * (65'536 - kMetricItemsMax))));
  EXPECT_THAT(text, HasSubstr("flash_gate_units_sold{item=\"item-399\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("item-400\"")));
}

TEST(TextExposition, B129_UnderTwoThousandSeriesWhateverIsAdded) {
  TextExposition exposition;
  std::vector<std::string> names;
  names.reserve(3000);
  for (int i = 0; i < 3000; ++i) {
    names.push_back(fmt::format("flash_app_{}", i));
    exposition.add(Metric{names.back(), MetricKind::gauge, {}, "."}, 1);
  }
  Histogram commits(kCommitBuckets);
  exposition.add(metric::kLedgerCommit, commits);
  exposition.add_item(metric::kGateFree, "item", 1);
  EXPECT_LT(series_in(exposition.text()), 2000U);
  EXPECT_EQ(series_in(exposition.text()), kMetricSeriesMax);
}

TEST(TextExposition, B129_WhatIsNoItemIdIsNoLabel) {
  TextExposition exposition;
  for (const std::string_view wrong : {"", "a b", "a\"b", "a\nb", "/api/x", "+4917012345"}) {
    exposition.add_item(metric::kGateFree, wrong, 1);
  }
  EXPECT_EQ(series_in(exposition.text()), 1U);
  EXPECT_THAT(exposition.text(), HasSubstr("flash_metrics_series_dropped 6\n"));
  static_assert(!std::is_constructible_v<LabelWord, std::string>, "a text from outside is no label");
  static_assert(!std::is_constructible_v<LabelWord, std::string_view>);
}

TEST(TextExposition, TheSameItemOfTwoTenantsIsOneSeries) {
  TextExposition exposition;
  exposition.add_item(metric::kGateFree, "shoe", 2);
  exposition.add_item(metric::kGateFree, "shoe", 3);
  EXPECT_THAT(exposition.text(), HasSubstr("flash_gate_units_free{item=\"shoe\"} 5\n"));
}

TEST(TextExpositionDeathTest, TheSameSeriesTwiceIsABug) {
  TextExposition exposition;
  exposition.add(metric::kHttpRequests, 1);
  EXPECT_DEATH(exposition.add(metric::kHttpRequests, 2), "flash_http_requests_total");
  exposition.add(metric::kFlowSettled, RefundState::due, 1);
  EXPECT_DEATH(exposition.add(metric::kFlowSettled, RefundState::due, 1), "flash_flow_settled_total due");
  EXPECT_DEATH(exposition.add(metric::kFlowSettled, 1), "flash_flow_settled_total");
}

TEST(Histogram, IsReadWhileItIsWritten) {
  Histogram sizes(kBatchBuckets);
  constexpr std::int64_t kRounds = 10'000;
  std::thread writer([&] {
    for (std::int64_t i = 0; i < kRounds; ++i) sizes.observe(1);
  });
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t seen = sizes.count(0);
    EXPECT_GE(seen, last);
    last = seen;
  }
  writer.join();
  EXPECT_EQ(sizes.count(0), static_cast<std::uint64_t>(kRounds));
  EXPECT_EQ(sizes.sum(), static_cast<std::uint64_t>(kRounds));
}

TEST(ProcessUse, IsMoreThanNothing) {
  const ProcessUse use = read_process_use();
  EXPECT_GT(use.resident_bytes, 100'000);
  EXPECT_GE(use.cpu_seconds, 0.0);
  EXPECT_LT(use.cpu_seconds, 3600.0);
}

}  // namespace
}  // namespace weir
