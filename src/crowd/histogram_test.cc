#include "crowd/histogram.h"

#include "base/random.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace weir::crowd {
namespace {

TEST(Histogram, QuantilesAreExactToFourDigits) {
  SeededRandom random(7);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 50'000; ++i) {
    // Over all magnitudes from 1 µs to 100 s.
    const double magnitude = static_cast<double>(random.below(8'000'000)) / 1e6;
    values.push_back(static_cast<std::uint64_t>(std::pow(10.0, magnitude)));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    const auto truth = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile_us(share)), truth, truth * 1e-4) << share;
  }
  EXPECT_EQ(histogram.max_us(), values.back());
}

TEST(Histogram, SmallValuesAreKeptExactly) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 1'000; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile_us(0.5), 500U);
  EXPECT_EQ(histogram.quantile_us(0.999), 999U);
  EXPECT_EQ(histogram.quantile_us(0), 1U);
  EXPECT_DOUBLE_EQ(histogram.mean_us(), 500.5);
}

TEST(Histogram, EmptyOneSaysZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.quantile_us(0.99), 0U);
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_DOUBLE_EQ(histogram.mean_us(), 0);
}

TEST(Histogram, ValuesBeyondTheRangeCountAsItsEnd) {
  Histogram histogram;
  histogram.record(500'000'000);
  EXPECT_EQ(histogram.max_us(), 500'000'000U);
  EXPECT_GE(histogram.quantile_us(0.5), Histogram::kValueMaxUs);
  EXPECT_LE(histogram.quantile_us(0.5), 500'000'000U);
}

TEST(Histogram, MergedOnesEqualOneThatSawAll) {
  Histogram left;
  Histogram right;
  Histogram all;
  SeededRandom random(3);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = random.below(5'000'000);
    (i % 3 == 0 ? left : right).record(value);
    all.record(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), all.count());
  EXPECT_EQ(left.max_us(), all.max_us());
  for (const double share : {0.01, 0.5, 0.95, 0.9999}) EXPECT_EQ(left.quantile_us(share), all.quantile_us(share));
}

}  // namespace
}  // namespace weir::crowd
