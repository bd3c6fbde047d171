#include "crowd/agenda.h"
#include "crowd/cpu.h"
#include "crowd/history.h"
#include "crowd/target.h"
#include "crowd/timeline.h"
#include "crowd/tokens.h"

#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

namespace weir::crowd {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes = {})
      : path_(testing::TempDir() + "weir_crowd_" + std::to_string(::getpid())) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(TokenFile, LinesAreTokensOfBuyersFromOne) {
  for (const std::string text : {"alpha\nbeta\ngamma\n", "alpha\nbeta\ngamma"}) {
    const TemporaryFile file(text);
    const auto tokens = TokenFile::open(file.path());
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_EQ((*tokens)->count(), 3U);
    EXPECT_EQ((*tokens)->token(1), "alpha");
    EXPECT_EQ((*tokens)->token(3), "gamma");
  }
}

TEST(TokenFile, WhatCouldForgeAHeaderIsRefusedWithItsLine) {
  for (const std::string text : {"alpha\n\nbeta\n", "alpha\nbe ta\n", "alpha\nbeta\r\ngamma\n"}) {
    const TemporaryFile file(text);
    const auto tokens = TokenFile::open(file.path());
    ASSERT_FALSE(tokens);
    EXPECT_NE(tokens.error().message.find("line 2"), std::string::npos) << tokens.error().message;
  }
  EXPECT_FALSE(TokenFile::open(TemporaryFile("").path()));
  EXPECT_FALSE(TokenFile::open("/nowhere/tokens"));
}

TEST(HistoryFile, IsReadBackAsItWasWritten) {
  History history;
  history.units_per_claim = 2;
  history.is_keyed = true;
  for (std::uint32_t i = 1; i <= 3'000; ++i) {
    Record record;
    record.buyer = i;
    record.planned_us = 10 * i;
    record.answered_us = 20 * i;
    record.order = {i, i + 1};
    record.outcome = Outcome::sold_out;
    record.may_return = i % 2 == 0;
    history.records.push_back(record);
  }
  const TemporaryFile file;
  ASSERT_TRUE(write_history(file.path(), history));
  const auto read = read_history(file.path());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->records.size(), 3'000U);
  EXPECT_EQ(read->units_per_claim, 2U);
  EXPECT_TRUE(read->is_keyed);
  EXPECT_EQ(read->records[2'999].order, (OrderId{3'000, 3'001}));
  EXPECT_TRUE(read->records[1].may_return);
}

TEST(HistoryFile, DamagedOnesAreRefused) {
  History history;
  history.records.resize(5);
  const TemporaryFile file;
  ASSERT_TRUE(write_history(file.path(), history));
  std::ifstream in(file.path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto read_damaged = [](const std::string& damaged) { return read_history(TemporaryFile(damaged).path()); };
  EXPECT_EQ(read_damaged(bytes.substr(0, 20)).error().failure, Failure::corrupt);
  EXPECT_EQ(read_damaged(bytes.substr(0, bytes.size() - 1)).error().failure, Failure::corrupt);
  EXPECT_EQ(read_damaged("x" + bytes.substr(1)).error().failure, Failure::corrupt);
  std::string nameless = bytes;
  nameless[32 + 34] = 99;  // The outcome of the first record.
  EXPECT_EQ(read_damaged(nameless).error().failure, Failure::corrupt);
}

TEST(Target, AddressesAreReadOrRefusedWithAnExample) {
  const auto plain = parse_target("http://127.0.0.1:8080/");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, 8080);
  EXPECT_EQ(plain->authority, "127.0.0.1:8080");
  EXPECT_EQ(parse_target("http://[::1]:9000")->host, "::1");
  EXPECT_EQ(parse_target("http://shop.example")->port, 80);
  for (const char* wrong : {"https://shop.example", "shop.example", "http://", "http://a:0", "http://a:99999",
                            "http://a:1/path", "http://a b", "http://[::1", "http://u@h:1"}) {
    EXPECT_FALSE(parse_target(wrong)) << wrong;
  }
}

TEST(Cpu, StatIsReadBehindAnyProcessName) {
  const std::string fields = " S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20";
  EXPECT_DOUBLE_EQ(*cpu_from_stat("77 (weir)" + fields, 100), 2.0);
  EXPECT_DOUBLE_EQ(*cpu_from_stat("77 (a) b (c d)" + fields, 100), 2.0);
  EXPECT_FALSE(cpu_from_stat("77 (weir) S 1 2", 100));
  EXPECT_FALSE(cpu_from_stat("", 100));
  EXPECT_EQ(*rss_from_status("Name:\tweir\nVmRSS:\t    2048 kB\n"), 2048U * 1024);
  EXPECT_FALSE(rss_from_status("Name:\tweir\n"));
}

TEST(Cpu, OwnProcessHasUsedSomething) {
  const auto usage = usage_of(::getpid());
  ASSERT_TRUE(usage);
  EXPECT_GT(usage->rss_bytes, 1U << 20);
  EXPECT_FALSE(usage_of(-5));
}

TEST(Timeline, LongRunsGetWiderBinsAndNotMore) {
  Timeline brief(2'000'000);
  EXPECT_EQ(brief.bin_us(), 10'000U);
  brief.offer(25'000);
  brief.answer(31'000, Outcome::sold_out);
  brief.trim();
  ASSERT_EQ(brief.bins().size(), 4U);
  EXPECT_EQ(brief.bins()[2].offered, 1U);
  EXPECT_EQ(brief.bins()[3].answers[static_cast<std::size_t>(Group::sold_out)], 1U);
  const Timeline longest(3'600'000'000);
  EXPECT_LE(longest.bins().size(), kCrowdTimelineBinsMax + 1);
  EXPECT_GT(longest.bin_us(), 10'000U);
}

TEST(Agenda, RetriesAreBoundedInNumberAndTime) {
  PlanOptions options;
  options.buyers = 1;
  const Plan plan = *Plan::make(options);
  Agenda agenda(plan, {2, 10'000'000, 1});
  const Press press{0, 1, 0, 0, true, false};
  EXPECT_TRUE(agenda.retry(press, 1'000, 0));
  EXPECT_FALSE(agenda.retry({0, 1, 0, 2, true, false}, 1'000, 0)) << "two retries were made";
  EXPECT_FALSE(agenda.retry({0, 1, 0, 0, false, false}, 1'000, 0)) << "patient buyers give up";
  EXPECT_FALSE(agenda.retry(press, 9'900'000, 0)) << "the run ends before";
}

TEST(Agenda, RetryComesNotBeforeItWasAskedForAndSpreads) {
  PlanOptions options;
  options.buyers = 1;
  const Plan plan = *Plan::make(options);
  Agenda agenda(plan, {3, 60'000'000, 1});
  ASSERT_TRUE(agenda.take(plan.span_us()));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(agenda.retry({0, 1, 0, 0, true, false}, 500'000, 2));
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  while (const auto press = agenda.take(60'000'000)) {
    if (first == 0) first = press->at_us;
    last = press->at_us;
  }
  EXPECT_GE(first, 2'500'000U);
  EXPECT_LE(last, 3'502'000U);
  EXPECT_GT(last - first, 500'000U);
}

}  // namespace
}  // namespace weir::crowd
