#include "crowd/plan.h"

#include "config/limits.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace weir::crowd {
namespace {

PlanOptions burst(std::uint32_t buyers) {
  PlanOptions options;
  options.buyers = buyers;
  options.repeat_share = 0;
  return options;
}

bool is_same(const Plan& a, const Plan& b) {
  return std::equal(a.arrivals().begin(), a.arrivals().end(), b.arrivals().begin(), b.arrivals().end(),
                    [](const Arrival& x, const Arrival& y) {
                      return x.at_us == y.at_us && x.buyer == y.buyer && x.click == y.click &&
                             x.impatient == y.impatient;
                    });
}

TEST(Plan, OneSeedMakesOnePlan) {
  PlanOptions options = burst(2'000);
  options.repeat_share = 0.2;
  const Plan first = *Plan::make(options);
  EXPECT_TRUE(is_same(first, *Plan::make(options)));
  options.seed = 2;
  EXPECT_FALSE(is_same(first, *Plan::make(options)));
}

TEST(Plan, EveryBuyerPressesOnceWithoutRepeats) {
  const Plan plan = *Plan::make(burst(5'000));
  std::set<std::uint32_t> buyers;
  for (const Arrival& arrival : plan.arrivals()) buyers.insert(arrival.buyer);
  EXPECT_EQ(plan.arrivals().size(), 5'000U);
  EXPECT_EQ(buyers.size(), 5'000U);
  EXPECT_EQ(*buyers.begin(), 1U);
  EXPECT_EQ(*buyers.rbegin(), 5'000U);
}

TEST(Plan, HalfOfABurstComesInItsFirstQuarter) {
  const Plan plan = *Plan::make(burst(20'000));
  const auto early = std::count_if(plan.arrivals().begin(), plan.arrivals().end(),
                                   [](const Arrival& arrival) { return arrival.at_us < 500'000; });
  EXPECT_NEAR(static_cast<double>(early) / 20'000, 0.5, 0.02);
  EXPECT_LT(plan.span_us(), 2'000'000U);
  EXPECT_GT(plan.span_us(), 1'900'000U);
}

TEST(Plan, ArrivalsAreOrderedAndFallOnSlices) {
  PlanOptions options = burst(3'000);
  options.repeat_share = 0.3;
  const Plan plan = *Plan::make(options);
  std::uint32_t last = 0;
  for (const Arrival& arrival : plan.arrivals()) {
    EXPECT_GE(arrival.at_us, last);
    EXPECT_EQ(arrival.at_us % kCrowdSliceUs, 0);
    last = arrival.at_us;
  }
}

TEST(Plan, SteadyCrowdKeepsItsRate) {
  PlanOptions options = burst(20'000);
  options.shape = Shape::steady;
  options.rate_per_s = 10'000;
  const Plan plan = *Plan::make(options);
  EXPECT_NEAR(plan.span_us(), 2e6, 0.1e6);
  const auto half = std::count_if(plan.arrivals().begin(), plan.arrivals().end(),
                                  [](const Arrival& arrival) { return arrival.at_us < 1'000'000; });
  EXPECT_NEAR(static_cast<double>(half), 10'000, 500);
}

TEST(Plan, RepeatsAreTheAskedShareAndFollowTheFirstPress) {
  PlanOptions options = burst(10'000);
  options.repeat_share = 0.1;
  const Plan plan = *Plan::make(options);
  std::map<std::uint32_t, std::vector<Arrival>> by_buyer;
  for (const Arrival& arrival : plan.arrivals()) by_buyer[arrival.buyer].push_back(arrival);
  std::size_t repeaters = 0;
  for (const auto& [buyer, presses] : by_buyer) {
    EXPECT_LE(presses.size(), 3U);
    for (std::size_t i = 0; i < presses.size(); ++i) EXPECT_EQ(presses[i].click, i) << buyer;
    if (presses.size() > 1) ++repeaters;
  }
  EXPECT_NEAR(static_cast<double>(repeaters), 1'000, 150);
}

TEST(Plan, BuyersAreNumberedInTheOrderOfTheirFirstPress) {
  PlanOptions options = burst(1'000);
  options.repeat_share = 0.2;
  const Plan plan = *Plan::make(options);
  std::uint32_t last = 0;
  for (const Arrival& arrival : plan.arrivals()) {
    if (arrival.click > 0) continue;
    EXPECT_EQ(arrival.buyer, ++last);
  }
}

TEST(Plan, ImpossibleCrowdsAreRefusedWithASentence) {
  EXPECT_FALSE(Plan::make(burst(0)));
  EXPECT_FALSE(Plan::make(burst(kCrowdBuyersMax + 1)));
  PlanOptions options = burst(10);
  options.repeat_share = 1.5;
  EXPECT_NE(Plan::make(options).error().find("repeat share 1.5"), std::string::npos);
  options = burst(10);
  options.shape = Shape::steady;
  EXPECT_FALSE(Plan::make(options)) << "a rate of 0 never ends";
  options.rate_per_s = 1e-9;
  EXPECT_FALSE(Plan::make(options));
  options = burst(10);
  options.burst_over = Micros{0};
  EXPECT_FALSE(Plan::make(options));
}

}  // namespace
}  // namespace weir::crowd
