#include "base/random.h"

#include "base/system_random.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

/// Hands out prepared values, then zeros.
class ScriptedRandom final : public Random {
 public:
  explicit ScriptedRandom(std::vector<std::uint64_t> values) : values_(std::move(values)) {}
  void fill(std::span<std::byte> out) override {
    const std::uint64_t value = at_ < values_.size() ? values_[at_] : 0;
    ++at_;
    std::copy_n(std::as_bytes(std::span{&value, 1}).begin(), out.size(), out.begin());
  }
  [[nodiscard]] std::size_t taken() const { return at_; }

 private:
  std::vector<std::uint64_t> values_;
  std::size_t at_ = 0;
};

TEST(Random, SeededMatchesThePublishedGenerator) {
  // xoshiro256** whose state was filled by splitmix64 from the seed 0.
  SeededRandom random(0);
  EXPECT_EQ(random.draw(), 0x99ec5f36cb75f2b4U);
  EXPECT_EQ(random.draw(), 0xbf6e1f784956452aU);
  EXPECT_EQ(random.draw(), 0x1a5f849d4933e6e0U);
}

TEST(Random, TheSameSeedGivesTheSameRun) {
  SeededRandom a(7);
  SeededRandom b(7);
  SeededRandom c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_EQ(a.draw(), b.next()) << "a fill of eight bytes is one draw";
  EXPECT_NE(a.next(), c.next());
}

TEST(Random, BelowStaysBelow) {
  SeededRandom random(1);
  for (const std::uint64_t bound : {1UL, 2UL, 3UL, 10UL, 1UL << 32, (1UL << 63) + 1, UINT64_MAX}) {
    for (int i = 0; i < 100; ++i) ASSERT_LT(random.below(bound), bound);
  }
}

TEST(Random, BelowRejectsValuesThatWouldFavourSmallResults) {
  // 2^64 mod 3 is 1, so of all values only 0 must be drawn again.
  ScriptedRandom random({0, 0, 5});
  EXPECT_EQ(random.below(3), 2U);
  EXPECT_EQ(random.taken(), 3U);
  ScriptedRandom power({0});
  EXPECT_EQ(power.below(8), 0U) << "a power of two favours nobody";
}

TEST(Random, BelowIsEven) {
  SeededRandom random(2);
  std::array<int, 6> seen{};
  for (int i = 0; i < 60'000; ++i) ++seen[random.below(6)];
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Random, TheSystemSourceNeverRepeatsABlock) {
  SystemRandom random;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.next());
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(Random, TheSystemSourceFillsEveryByteOfAnOddLength) {
  SystemRandom random;
  std::array<unsigned, 1501> ones{};  // Longer than the block that is read at once, and no multiple of it.
  for (int round = 0; round < 16; ++round) {
    std::array<std::byte, 1501> out{};
    random.fill(out);
    for (std::size_t i = 0; i < out.size(); ++i) ones[i] |= static_cast<unsigned>(out[i]);
  }
  EXPECT_EQ(std::count(ones.begin(), ones.end(), 0U), 0);
}

}  // namespace
}  // namespace weir
