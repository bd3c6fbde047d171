#include "crowd/report.h"

#include "crowd/charts.h"
#include "crowd/figures.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace weir::crowd {
namespace {

namespace json = boost::json;

constexpr std::string_view kGoodAudit =
    R"({"ok":true,"invariants":[{"id":"I1","checked":1,"violations":[]},{"id":"I2","checked":1000,"violations":[]}],)"
    R"("items":[{"itemId":"shoe","total":1000,"free":0,"held":1000,"sold":0}],"orders":{"PENDING":1000}})";

/// A sale of 1,000 units to 5,000 buyers as it should be.
RunResult good_run() {
  RunResult run;
  run.timeline = Timeline(2'000'000);
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    const std::uint32_t planned = i / 5 * 1'000;
    const bool wins = i < 1'000;
    const std::uint32_t latency = wins ? 3'000 + i : 400 + i % 100;
    run.timeline.offer(planned);
    run.timeline.answer(planned + latency, wins ? Outcome::accepted : Outcome::sold_out);
    run.latency.record(latency);
    run.send_lag.record(20);
    if (wins) run.winners_latency.record(latency);
    if (wins) run.last_accepted_us = planned + latency;
    run.last_sent_us = planned;
    run.last_answer_us = planned + latency;
  }
  run.offered = run.answered = 5'000;
  run.outcomes[index_of(Outcome::accepted)] = run.winners = 1'000;
  run.outcomes[index_of(Outcome::sold_out)] = 4'000;
  run.cpu_s = 0.01;
  run.timeline.trim();
  for (std::uint32_t i = 0; i <= 100; ++i) {
    const auto taken = static_cast<std::int32_t>(std::min(1'000U, i * 50));
    run.samples.push_back({i * 10'000, i * 10'000 + 500, 1'000, 1'000 - taken, taken, 0, i});
  }
  return run;
}

ReportInput input_of(const RunResult& run) {
  ReportInput input;
  input.run = &run;
  input.title = "Spring <drop>";
  input.item = "shoe";
  input.url = "http://127.0.0.1:8080";
  input.machine = "two cores";
  input.version = "0.1.0";
  input.made_at = {1'796'122'800'000'000};
  input.plan.buyers = 5'000;
  input.connections = 64;
  input.server = Usage{0.02, 40U << 20};
  input.audit_json = kGoodAudit;
  return input;
}

bool has_reason(const Verdict& verdict, std::string_view text) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(),
                     [&](const std::string& reason) { return reason.find(text) != std::string::npos; });
}

TEST(Verdict, SaleAsItShouldBeIsAGo) {
  const RunResult run = good_run();
  const Verdict verdict = judge(input_of(run));
  EXPECT_TRUE(verdict.is_go) << verdict.sentence;
  EXPECT_EQ(verdict.sentence.find("GO. 1,000 of 1,000 units went to 1,000 buyers"), 0U) << verdict.sentence;
}

TEST(Verdict, EveryBrokenPromiseIsNamedWithItsFigure) {
  struct Break {
    std::string_view reason;
    void (*spoil)(RunResult&, ReportInput&);
  };
  const Break breaks[] = {
      {"oversold: 1,001 units were ordered and 1,000 were free",
       [](RunResult& run, ReportInput&) { ++run.outcomes[index_of(Outcome::accepted)]; }},
      {"1 orders went to buyers who had one already, for example to buyers 17",
       [](RunResult& run, ReportInput&) { run.duplicate_winners = 1, run.duplicate_winner_examples = {17}; }},
      {"6 of 5,000 presses (0.12 %) got no answer", [](RunResult& run, ReportInput&) { run.failed = 6; }},
      {"6 of 5,000 presses (0.12 %) were told to come back later",
       [](RunResult& run, ReportInput&) { run.outcomes[index_of(Outcome::unavailable)] = 6; }},
      {"6 of 5,000 presses (0.12 %) ended as UNAUTHENTICATED",
       [](RunResult& run, ReportInput&) { run.outcomes[index_of(Outcome::unauthenticated)] = 6; }},
      {"37 of 1,000 units were left unsold although 5,000 buyers asked",
       [](RunResult& run, ReportInput&) { run.samples.back().free = 37; }},
      {"nobody could read the stock", [](RunResult& run, ReportInput&) { run.samples.clear(); }},
      {"longer than 3.00 s, allowed are 2.00 s",
       [](RunResult& run, ReportInput&) {
         for (int i = 0; i < 100; ++i) run.winners_latency.record(3'000'000);
       }},
      {"2 violations of I2: number 7",
       [](RunResult&, ReportInput& input) {
         input.audit_json =
             R"({"ok":false,"invariants":[{"id":"I2","checked":9,"violations":["number 7","number 8"]}]})";
       }},
      {"the audit says that not all is well",
       [](RunResult&, ReportInput& input) { input.audit_json = R"({"ok":false,"invariants":[]})"; }},
      {"the audit of the server was not taken", [](RunResult&, ReportInput& input) { input.audit_json.clear(); }},
      {"3 answers cannot be explained: sold out too early",
       [](RunResult&, ReportInput& input) { input.findings = {"sold out too early"}, input.findings_total = 3; }},
      {"stopped before its end", [](RunResult& run, ReportInput&) { run.was_stopped = true; }},
      {"ended by its deadline", [](RunResult& run, ReportInput&) { run.ran_out_of_time = true; }},
  };
  for (const Break& each : breaks) {
    RunResult run = good_run();
    ReportInput input = input_of(run);
    each.spoil(run, input);
    const Verdict verdict = judge(input);
    EXPECT_FALSE(verdict.is_go) << each.reason;
    EXPECT_TRUE(has_reason(verdict, each.reason)) << each.reason << " is not in: " << verdict.sentence;
  }
}

TEST(Verdict, FewFailuresWithinTheBoundDoNotStopASale) {
  RunResult run = good_run();
  run.failed = 5;
  EXPECT_TRUE(judge(input_of(run)).is_go);
}

TEST(Report, JsonHasTheShapeOfTheContract) {
  const RunResult run = good_run();
  const ReportInput input = input_of(run);
  const json::object report = json::parse(report_json(input, judge(input))).as_object();
  EXPECT_EQ(report.at("verdict").as_string(), "GO");
  EXPECT_TRUE(report.at("reasons").as_array().empty());
  EXPECT_EQ(report.at("offered").to_number<int>(), 5'000);
  EXPECT_EQ(report.at("answered").to_number<int>() + report.at("failed").to_number<int>(), 5'000);
  EXPECT_EQ(report.at("outcomes").at("202").to_number<int>(), 1'000);
  EXPECT_EQ(report.at("outcomes").at("SOLD_OUT").to_number<int>(), 4'000);
  for (const char* curve : {"latencyMs", "winnersLatencyMs"}) {
    for (const char* point : {"p50", "p90", "p99", "p999", "max"}) {
      EXPECT_GT(report.at(curve).at(point).to_number<double>(), 0) << curve << point;
    }
  }
  EXPECT_NEAR(report.at("sellOutMs").to_number<double>(), 203.0, 1.0);
  EXPECT_GT(report.at("rate").at("offered").to_number<double>(), 4'900);
  EXPECT_GT(report.at("rate").at("answered").to_number<double>(), 4'900);
  EXPECT_DOUBLE_EQ(report.at("server").at("cpuSeconds").to_number<double>(), 0.02);
  EXPECT_EQ(report.at("server").at("rssBytes").to_number<int>(), 40 << 20);
  EXPECT_DOUBLE_EQ(report.at("client").at("cpuSeconds").to_number<double>(), 0.01);
  EXPECT_TRUE(report.at("audit").at("ok").as_bool());
  EXPECT_EQ(report.at("timeline").at("binMs").to_number<int>(), 10);
  EXPECT_EQ(report.at("timeline").at("offered").as_array().size(), report.at("timeline").at("202").as_array().size());
}

TEST(Report, WhatIsNotKnownIsNullAndNotZero) {
  RunResult run = good_run();
  run.samples.clear();
  ReportInput input = input_of(run);
  input.server.reset();
  input.audit_json = "<html>502</html>";
  const json::object report = json::parse(report_json(input, judge(input))).as_object();
  EXPECT_TRUE(report.at("sellOutMs").is_null());
  EXPECT_TRUE(report.at("audit").is_null());
  EXPECT_TRUE(report.at("server").at("cpuSeconds").is_null());
  EXPECT_EQ(report.at("verdict").as_string(), "NO_GO");
}

TEST(Report, HtmlStandsAloneAndEscapesWhatItWasGiven) {
  RunResult run = good_run();
  ReportInput input = input_of(run);
  input.findings = {"<script>alert(1)</script>"};
  input.audit_json = R"({"ok":false,"invariants":[{"id":"<I1>","checked":1,"violations":["a & b"]}]})";
  const std::string html = report_html(input, judge(input));
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<I1>"), std::string::npos);
  EXPECT_EQ(html.find("Spring <drop>"), std::string::npos);
  EXPECT_NE(html.find("Spring &lt;drop&gt;"), std::string::npos);
  EXPECT_NE(html.find("a &amp; b"), std::string::npos);
  for (const char* outside : {"src=", "href=", "@import", "url(http"}) EXPECT_EQ(html.find(outside), std::string::npos);
  EXPECT_LT(html.size(), 400U * 1024);
}

TEST(Report, EmptyRunStillHasAReport) {
  const RunResult run;
  ReportInput input = input_of(run);
  const Verdict verdict = judge(input);
  EXPECT_FALSE(verdict.is_go);
  EXPECT_NO_THROW(static_cast<void>(json::parse(report_json(input, verdict))));
  EXPECT_NE(report_html(input, verdict).find("NO-GO"), std::string::npos);
}

TEST(Report, FilesLieSideBySide) {
  const RunResult run = good_run();
  const ReportInput input = input_of(run);
  const std::string stem = testing::TempDir() + "weir_report";
  ASSERT_TRUE(write_report(stem + ".html", input, judge(input)));
  EXPECT_TRUE(std::ifstream(stem + ".html").good());
  EXPECT_TRUE(std::ifstream(stem + ".json").good());
  std::remove((stem + ".html").c_str());
  std::remove((stem + ".json").c_str());
  EXPECT_EQ(write_report("/nowhere/report.html", input, judge(input)).error().failure, Failure::unfit);
}

TEST(Charts, LongRunsAreCondensedToRoundStretches) {
  Timeline timeline(30'000'000);
  timeline.offer(29'995'000);
  timeline.offer(5'000);
  const Timeline small = condensed(timeline, 160);
  EXPECT_LE(small.bins().size(), 160U);
  EXPECT_EQ(small.bin_us(), 200'000U);
  EXPECT_EQ(small.bins().front().offered, 1U);
  EXPECT_EQ(small.bins()[149].offered, 1U);
}

TEST(Charts, TicksAreRound) {
  EXPECT_DOUBLE_EQ(tick_step(1'000, 5), 200);
  EXPECT_DOUBLE_EQ(tick_step(3, 10), 0.5);
  EXPECT_DOUBLE_EQ(tick_step(12'345, 5), 5'000);
}

TEST(Figures, ReadAsPeopleWriteThem) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'234'567), "1,234,567");
  EXPECT_EQ(span_text(830), "830 µs");
  EXPECT_EQ(span_text(12'400), "12.4 ms");
  EXPECT_EQ(span_text(3'200'000), "3.20 s");
  EXPECT_EQ(share_text(1, 1'000'000), "under 0.01 %");
  EXPECT_EQ(share_text(984, 1'000), "98.4 %");
}

}  // namespace
}  // namespace weir::crowd
