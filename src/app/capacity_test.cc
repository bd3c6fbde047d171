#include "app/capacity.h"

#include "base/time_text.h"
#include "config/limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

constexpr Micros kSecond{1'000'000};

CapacityOrder big_sale() { return {.buyers = 500'000, .units = 10'000, .within = 2 * kSecond}; }

std::int64_t amount(const Capacity& capacity, std::string_view name) {
  const Need* const need = capacity.find(name);
  EXPECT_NE(need, nullptr) << name;
  return need == nullptr ? 0 : need->amount;
}

/// Every need of `more` is at least that of `less`, and nothing that fits stops fitting the other way round.
void expect_at_least(const CapacityOrder& more, const CapacityOrder& less) {
  const auto large = plan_capacity(more);
  const auto small = plan_capacity(less);
  ASSERT_TRUE(large && small);
  ASSERT_EQ(large->needs.size(), small->needs.size());
  EXPECT_GE(large->requests_per_s, small->requests_per_s);
  for (std::size_t i = 0; i < large->needs.size(); ++i)
    EXPECT_GE(large->needs[i].amount, small->needs[i].amount) << large->needs[i].name;
  EXPECT_LE(large->fits(), small->fits());
}

TEST(Capacity, RequestsASecondAreBuyersOverTime) {
  CapacityOrder order = big_sale();
  EXPECT_EQ(plan_capacity(order)->requests_per_s, 250'000);
  order.sales = 10;
  EXPECT_EQ(plan_capacity(order)->requests_per_s, 2'500'000);
}

TEST(Capacity, CoresForNodesAreTheirFiguresTimesTheMargin) {
  const auto capacity = plan_capacity(big_sale());
  ASSERT_TRUE(capacity);
  const double refusals = 250'000 * figure(FigureId::node_refusal_us).value / 1e6;
  const double winners = 5'000 * figure(FigureId::node_winner_us).value / 1e6;
  EXPECT_EQ(amount(*capacity, "nodeCores"), static_cast<std::int64_t>(std::ceil(2 * (refusals + winners))));
}

TEST(Capacity, NothingShrinksWhenMoreIsAskedFor) {
  for (const std::int64_t buyers : {1LL, 999LL, 10'000LL, 500'000LL, 3'000'000LL}) {
    for (const std::int64_t units : {1LL, 500LL, 10'000LL, 1'000'000LL}) {
      for (const std::int64_t sales : {1LL, 3LL, 40LL}) {
        const CapacityOrder order{.buyers = buyers, .units = units, .within = 2 * kSecond, .sales = sales};
        CapacityOrder more = order;
        more.buyers = buyers * 2;
        expect_at_least(more, order);
        more = order;
        more.units = units * 2;
        expect_at_least(more, order);
        more = order;
        more.sales = sales + 1;
        expect_at_least(more, order);
        more = order;
        more.within = order.within / 2;
        expect_at_least(more, order);
      }
    }
  }
}

TEST(Capacity, AProcessOfEachKindMayDie) {
  const auto capacity = plan_capacity({.buyers = 1, .units = 1, .within = kSecond});
  ASSERT_TRUE(capacity);
  EXPECT_EQ(amount(*capacity, "nodes"), 2);
  EXPECT_EQ(amount(*capacity, "workers"), 2);
  EXPECT_GE(amount(*capacity, "partitions"), amount(*capacity, "workers"));
  EXPECT_EQ(amount(*capacity, "redisShards"), 1);
  EXPECT_TRUE(capacity->fits());
}

TEST(Capacity, NobodyWinsWhoDoesNotCome) {
  const auto few = plan_capacity({.buyers = 100, .units = 100, .within = kSecond});
  const auto many = plan_capacity({.buyers = 100, .units = kUnitsPerItemMax, .within = kSecond});
  ASSERT_TRUE(few && many);
  for (std::size_t i = 0; i < few->needs.size(); ++i) EXPECT_EQ(few->needs[i].amount, many->needs[i].amount);
}

TEST(Capacity, NodesAreEnoughForCoresConnectionsAndTheLog) {
  CapacityOrder order{.buyers = 2'000'000, .units = 1, .within = Micros{3'600'000'000}};
  const auto idle = plan_capacity(order);
  ASSERT_TRUE(idle);
  EXPECT_GT(amount(*idle, "nodes") * 120'000, 2'000'000);  // The connections decide.
  order = {.buyers = 4'000'000, .units = 1, .within = kSecond, .cores_per_node = 2};
  const auto busy = plan_capacity(order);
  ASSERT_TRUE(busy);
  EXPECT_GE(amount(*busy, "nodes") * 2, amount(*busy, "nodeCores"));
  EXPECT_LT((amount(*busy, "nodes") - 1) * 2, std::max<std::int64_t>(amount(*busy, "nodeCores"), 42 * 2));
}

TEST(Capacity, ASaleThatOneThreadOfRedisCannotCarryDoesNotFitAndIsToldWhatWould) {
  const CapacityOrder order{.buyers = 5'000'000, .units = 1'000'000, .within = kSecond};
  const auto capacity = plan_capacity(order);
  ASSERT_TRUE(capacity);
  EXPECT_FALSE(capacity->fits());
  ASSERT_EQ(capacity->obstacles.size(), 1U);
  EXPECT_THAT(capacity->obstacles.front(), HasSubstr("--within"));
  EXPECT_THAT(capacity_text(*capacity), HasSubstr("Does not fit"));
  EXPECT_EQ(amount(*capacity, "redisShards"), 1);  // One sale is one slot, however busy.
  // The time that it names is enough.
  const std::string& sentence = capacity->obstacles.front();
  const std::size_t at = sentence.find("allow ") + 6;
  CapacityOrder slower = order;
  slower.within = Micros{static_cast<std::int64_t>(std::stod(sentence.substr(at)) * 1e6)};
  EXPECT_TRUE(plan_capacity(slower)->fits()) << sentence;
}

TEST(Capacity, ASaleFitsAsLongAsItsSlotHasAThirdOfItsTimeLeft) {
  int fitting = 0;
  int others = 0;
  for (std::int64_t units = 1'000; units <= 1'000'000; units += units / 8) {
    const auto capacity = plan_capacity({.buyers = 1'000'000, .units = units, .within = kSecond});
    ASSERT_TRUE(capacity);
    EXPECT_EQ(capacity->fits(), amount(*capacity, "slotPercent") <= 100) << units;
    ++(capacity->fits() ? fitting : others);
  }
  EXPECT_GT(fitting, 0);
  EXPECT_GT(others, 0);
}

TEST(Capacity, AbsurdOrdersAreRefusedWithTheFlag) {
  const auto refusal = [](CapacityOrder order) {
    const auto planned = plan_capacity(order);
    return planned ? std::string{"planned"} : planned.error();
  };
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()}) {
    CapacityOrder order = big_sale();
    order.buyers = wrong;
    EXPECT_THAT(refusal(order), HasSubstr("(--buyers)"));
    order = big_sale();
    order.units = wrong;
    EXPECT_THAT(refusal(order), HasSubstr("(--units)"));
    order = big_sale();
    order.sales = wrong;
    EXPECT_THAT(refusal(order), HasSubstr("(--sales)"));
    order = big_sale();
    order.cores_per_node = wrong;
    EXPECT_THAT(refusal(order), HasSubstr("(--cores-per-node)"));
  }
  for (const Micros wrong : {Micros{0}, kPlanWithinMin - Micros{1}, kPlanWithinMax + Micros{1}}) {
    CapacityOrder order = big_sale();
    order.within = wrong;
    EXPECT_THAT(refusal(order), HasSubstr("(--within)"));
  }
}

TEST(Capacity, TheLargestOrderStaysWithinItsNumbers) {
  const auto capacity = plan_capacity({.buyers = kPlanBuyersMax,
                                       .units = kUnitsPerItemMax,
                                       .within = kPlanWithinMin,
                                       .sales = kPlanSalesMax,
                                       .cores_per_node = 1});
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->requests_per_s, 10'000'000'000'000);
  for (const Need& need : capacity->needs) {
    EXPECT_GT(need.amount, 0) << need.name;
    EXPECT_LT(need.amount, std::int64_t{1} << 60) << need.name;
  }
  EXPECT_FALSE(capacity->fits());
}

TEST(Capacity, TheJsonSaysWhatTheTextSays) {
  const auto capacity = plan_capacity(big_sale());
  ASSERT_TRUE(capacity);
  const auto json = boost::json::parse(capacity_json(*capacity)).as_object();
  EXPECT_EQ(json.at("requestsPerSecond").as_int64(), capacity->requests_per_s);
  EXPECT_EQ(json.at("fits").as_bool(), capacity->fits());
  const auto& needs = json.at("needs").as_array();
  ASSERT_EQ(needs.size(), capacity->needs.size());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    EXPECT_EQ(needs[i].at("need").as_string(), std::string{capacity->needs[i].name});
    EXPECT_EQ(needs[i].at("amount").as_int64(), capacity->needs[i].amount);
    EXPECT_EQ(needs[i].at("figures").as_array().size(), capacity->needs[i].figures.size());
  }
  EXPECT_EQ(json.at("figures").as_array().size(), kFigureCount);  // None is in the table for nothing.
}

// The page of examples.

std::string page() {
  const std::ifstream file{CAPACITY_PAGE};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// `--buyers 500000 --within 2s …` as the command reads it.
CapacityOrder order_of(const std::string& flags) {
  CapacityOrder order;
  std::istringstream words{flags};
  for (std::string flag, value; words >> flag >> value;) {
    if (flag == "--within") {
      order.within = parse_duration(value).value_or(Micros{0});
      continue;
    }
    EXPECT_TRUE(flag == "--buyers" || flag == "--units" || flag == "--sales" || flag == "--cores-per-node") << flag;
    std::int64_t& place = flag == "--buyers"  ? order.buyers
                          : flag == "--units" ? order.units
                          : flag == "--sales" ? order.sales
                                              : order.cores_per_node;
    place = number_of(value);
  }
  return order;
}

TEST(CapacityPage, WorkedExamplesAreWhatTheCommandPrints) {
  constexpr std::string_view kPrompt = "```\n$ weir plan ";
  const std::string text = page();
  int examples = 0;
  for (std::size_t at = text.find(kPrompt); at != std::string::npos; at = text.find(kPrompt, at + 1), ++examples) {
    const std::size_t flags = at + kPrompt.size();
    const std::size_t line_end = text.find('\n', flags);
    const std::size_t end = text.find("```", line_end);
    ASSERT_NE(end, std::string::npos);
    const std::string given = text.substr(flags, line_end - flags);
    const auto capacity = plan_capacity(order_of(given));
    ASSERT_TRUE(capacity) << given;
    EXPECT_EQ(text.substr(line_end + 1, end - line_end - 1), capacity_text(*capacity)) << given;
  }
  EXPECT_GE(examples, 2);
}

/// `| nodeRefusalUs | 8.20 | …` for each figure.
TEST(CapacityPage, EveryFigureStandsInItsTableAsItIsInTheProgram) {
  const std::string text = page();
  for (const Figure& one : kFigures) {
    const std::string begin = "| `" + std::string{one.name} + "` | ";
    const std::size_t at = text.find(begin);
    ASSERT_NE(at, std::string::npos) << one.name;
    const std::string row = text.substr(at, text.find('\n', at) - at);
    EXPECT_DOUBLE_EQ(std::stod(row.substr(begin.size())), one.value) << row;
    EXPECT_THAT(row, HasSubstr("`" + std::string{one.command} + "`"));
  }
  EXPECT_THAT(text, HasSubstr("Machine: " + std::string{kBenchMachine}));
}

}  // namespace
}  // namespace weir
