#include "gate/number_set.h"

#include "base/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

/// What a set of numbers is, without any count above the bits.
class Plain {
 public:
  explicit Plain(std::size_t size) : free_(size, true) {}
  bool take(std::size_t place) { return place < free_.size() && free_[place] && !(free_[place] = false); }
  bool put_back(std::size_t place) { return place < free_.size() && !free_[place] && (free_[place] = true); }
  [[nodiscard]] std::vector<std::size_t> all() const {
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < free_.size(); ++place)
      if (free_[place]) places.push_back(place);
    return places;
  }

 private:
  std::vector<bool> free_;
};

void expect_same(const NumberSet& ours, const Plain& plain) {
  const std::vector<std::size_t> places = plain.all();
  ASSERT_EQ(ours.free_count(), places.size());
  for (std::size_t rank = 0; rank < places.size(); ++rank) ASSERT_EQ(ours.select(rank), places[rank]) << rank;
  EXPECT_EQ(ours.select(places.size()), NumberSet::kNone);
}

/// Sizes around every border of words, blocks, groups and stripes.
constexpr std::array<std::size_t, 15> kSizes{0,     1,     63,    64,      65,      1023,    1024,  1025,
                                             32767, 32768, 32769, 524'287, 524'288, 524'289, 99'999};

/// Chi-squared over `counts`, every cell being equally likely, as how many standard deviations it lies above its mean.
double deviations(const std::vector<std::uint32_t>& counts) {
  double total = 0;
  for (const std::uint32_t count : counts) total += count;
  const double wanted = total / static_cast<double>(counts.size());
  double chi = 0;
  for (const std::uint32_t count : counts) chi += (count - wanted) * (count - wanted) / wanted;
  // Wilson and Hilferty: the cube root of chi-squared over its degrees is nearly normal.
  const double degrees = static_cast<double>(counts.size()) - 1;
  return (std::cbrt(chi / degrees) - (1 - 2 / (9 * degrees))) / std::sqrt(2 / (9 * degrees));
}

constexpr double kDeviationsMax = 3.09;  // One in a thousand lies above.

TEST(NumberSet, BeginsWithAllFreeAndNoneBeyond) {
  for (const std::size_t size : kSizes) {
    const NumberSet set{size};
    EXPECT_EQ(set.free_count(), size);
    EXPECT_FALSE(set.is_free(size));
    for (std::size_t rank = 0; rank < size; rank += 1 + size / 1000) EXPECT_EQ(set.select(rank), rank);
    EXPECT_EQ(set.select(size - 1), size == 0 ? NumberSet::kNone : size - 1);
    EXPECT_EQ(set.select(size), NumberSet::kNone);
  }
}

TEST(NumberSet, F76_ANumberIsTakenOnceAndGivenBackOnce) {
  NumberSet set{70'000};
  for (const std::size_t place : {std::size_t{0}, std::size_t{63}, std::size_t{64}, std::size_t{69'999}}) {
    EXPECT_TRUE(set.take(place));
    EXPECT_FALSE(set.take(place));
    EXPECT_FALSE(set.is_free(place));
    EXPECT_TRUE(set.put_back(place));
    EXPECT_FALSE(set.put_back(place));
    EXPECT_TRUE(set.is_free(place));
  }
  EXPECT_FALSE(set.take(70'000));
  EXPECT_FALSE(set.put_back(70'000));
  EXPECT_EQ(set.free_count(), 70'000U);
}

TEST(NumberSet, EveryRankIsWhereCountingBitByBitFindsIt) {
  SeededRandom random{11};
  for (const std::size_t size : kSizes) {
    if (size == 0 || size > 40'000) continue;
    NumberSet ours{size};
    Plain plain{size};
    for (int step = 0; step < 3000; ++step) {
      const std::size_t place = random.below(size + 2);
      if (random.below(3) > 0)
        EXPECT_EQ(ours.take(place), plain.take(place));
      else
        EXPECT_EQ(ours.put_back(place), plain.put_back(place));
    }
    expect_same(ours, plain);
  }
}

TEST(NumberSet, TheLastNumbersAreFoundWhereverTheyLie) {
  NumberSet set{1'000'000};
  SeededRandom random{12};
  std::set<std::size_t> kept;
  while (kept.size() < 5) kept.insert(random.below(set.size()));
  for (std::size_t place = 0; place < set.size(); ++place)
    if (!kept.contains(place)) set.take(place);
  std::array<std::uint32_t, 5> places{};
  std::array<std::uint32_t, 6> too_many{};
  EXPECT_FALSE(set.take_random(too_many, random));
  EXPECT_EQ(set.free_count(), 5U) << "all or nothing";
  ASSERT_TRUE(set.take_random(places, random));
  EXPECT_TRUE(std::ranges::equal(places, kept));
  EXPECT_EQ(set.free_count(), 0U);
  EXPECT_EQ(set.select(0), NumberSet::kNone);
}

TEST(NumberSet, SoldOutByRandomOrdersEachNumberWentOnce) {
  NumberSet set{200'003};
  SeededRandom random{13};
  std::vector<bool> sold(set.size());
  while (set.free_count() > 0) {
    std::vector<std::uint32_t> places(std::min<std::size_t>(1 + random.below(1000), set.free_count()));
    ASSERT_TRUE(set.take_random(places, random));
    for (const std::uint32_t place : places) {
      ASSERT_FALSE(sold[place]);
      sold[place] = true;
    }
    ASSERT_TRUE(std::ranges::is_sorted(places));
  }
  EXPECT_EQ(std::ranges::count(sold, true), 200'003);
}

TEST(NumberSet, PicksAreUniformAtEveryFill) {
  constexpr std::size_t kSize = 100'000;
  constexpr std::size_t kPicks = 1'000'000;
  for (const std::size_t wanted_free : {std::size_t{100'000}, std::size_t{50'000}, std::size_t{1000}, std::size_t{7}}) {
    NumberSet set{kSize};
    SeededRandom random{wanted_free};
    std::vector<std::uint32_t> away(kSize - wanted_free);
    for (std::size_t at = 0; at < away.size(); at += 1000)
      ASSERT_TRUE(set.take_random(std::span{away}.subspan(at, std::min<std::size_t>(1000, away.size() - at)), random));
    std::map<std::uint32_t, std::uint32_t> picked;
    for (std::size_t rank = 0; rank < wanted_free; ++rank) picked[static_cast<std::uint32_t>(set.select(rank))] = 0;
    for (std::size_t pick = 0; pick < kPicks; ++pick) {
      std::array<std::uint32_t, 1> place{};
      ASSERT_TRUE(set.take_random(place, random));
      ++picked.at(place[0]);
      ASSERT_TRUE(set.put_back(place[0]));
    }
    std::vector<std::uint32_t> counts;
    for (const auto& [place, count] : picked) counts.push_back(count);
    EXPECT_LT(deviations(counts), kDeviationsMax) << wanted_free << " free";
  }
}

TEST(NumberSet, EverySetOfPlacesIsEquallyLikely) {
  SeededRandom random{14};
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> picked;
  for (int pick = 0; pick < 200'000; ++pick) {
    NumberSet set{7};
    std::array<std::uint32_t, 3> places{};
    ASSERT_TRUE(set.take_random(places, random));
    ++picked[places];
  }
  ASSERT_EQ(picked.size(), 35U);  // 7 over 3.
  std::vector<std::uint32_t> counts;
  for (const auto& [places, count] : picked) counts.push_back(count);
  EXPECT_LT(deviations(counts), kDeviationsMax);
}

TEST(NumberSet, TenMillionTakeNoMoreThanTheirBound) {
  const NumberSet set{10'000'000};
  EXPECT_LE(set.bytes(), 1'350'000U);
  EXPECT_GE(set.bytes(), 1'250'000U) << "a bit each";
}

}  // namespace
}  // namespace weir
