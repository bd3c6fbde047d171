#include "domain/draw.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

const std::string kSeed(64, 'a');

std::vector<std::uint32_t> first_numbers(std::uint32_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1U);
  return numbers;
}

// Values computed by the script of docs/numbered.md.
TEST(Draw, GivesWhatTheScriptGives) {
  EXPECT_EQ(draw_commitment(kSeed), "e0e77a507412b120f6ede61f62295b1a7b2ff19d3dcc8f7253e51663470c888e");
  EXPECT_EQ(entrants_hash(first_numbers(10)), "d10434d8c3b61a402e8c5a9f2e64e628b1e9f8c1dd747e7f480dbe57eb79c425");
  EXPECT_EQ(draw_winners(kSeed, "", first_numbers(10), 3), (std::vector<std::uint32_t>{2, 6, 10}));
  EXPECT_EQ(draw_winners(kSeed, "lotto", first_numbers(10), 3), (std::vector<std::uint32_t>{7, 3, 5}));
}

TEST(Draw, HasNoCommitmentForWhatIsNoSeed) {
  EXPECT_EQ(draw_commitment("abc"), "");
  EXPECT_EQ(draw_commitment(std::string(64, 'g')), "");
  EXPECT_EQ(draw_commitment(std::string(62, 'a')), "");
}

TEST(Draw, FewerEntrantsThanPrizesAllWin) {
  const auto winners = draw_winners(kSeed, "", first_numbers(4), 10);
  auto sorted = winners;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, first_numbers(4));
  EXPECT_TRUE(draw_winners(kSeed, "", {}, 3).empty());
}

TEST(Draw, EveryPlaceHasTheSameChance) {
  const auto entrants = first_numbers(10);
  std::map<std::uint32_t, int> won;
  constexpr int kDraws = 10'000;
  for (int i = 0; i < kDraws; ++i) ++won[draw_winners(kSeed, std::to_string(i), entrants, 1).front()];
  double chi_square = 0;
  for (const std::uint32_t number : entrants) {
    const double off = won[number] - kDraws / 10.0;
    chi_square += off * off / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 27.9);  // Nine degrees of freedom, p = 0.001.
}

}  // namespace
}  // namespace weir
