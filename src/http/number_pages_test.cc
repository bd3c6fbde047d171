#include "http/number_pages.h"

#include "base/random.h"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

constexpr std::uint32_t kPage = 65'536;

std::vector<std::uint64_t> page_with(std::uint32_t count, double share_free, std::uint64_t seed) {
  SeededRandom random{seed};
  std::vector<std::uint64_t> words((count + 63) / 64);
  for (std::uint32_t at = 0; at < count; ++at) {
    const double chance = static_cast<double>(random.next() >> 11) / 9007199254740992.0;
    if (chance < share_free) words[at / 64] |= std::uint64_t{1} << at % 64;
  }
  return words;
}

/// The decoder, written from the description of the format alone.
std::vector<std::uint64_t> from_gaps(const std::string& text, std::uint32_t count) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text.at(at)); };
  const bool lists_free = (byte(0) & 0x80) != 0;
  const int shift = byte(0) & 0x0f;
  const std::uint32_t listed = byte(1) << 16 | byte(2) << 8 | byte(3);
  std::vector<std::uint64_t> words((count + 63) / 64);
  std::size_t bit_at = 32;
  const auto bit = [&] {
    const bool set = (byte(bit_at / 8) & 0x80 >> bit_at % 8) != 0;
    ++bit_at;
    return set;
  };
  std::vector<bool> in_list(count);
  std::uint32_t place = 0;
  for (std::uint32_t i = 0; i < listed; ++i) {
    std::uint32_t gap = 0;
    while (bit()) ++gap;
    for (int k = 0; k < shift; ++k) gap = gap << 1 | (bit() ? 1 : 0);
    place += gap;
    in_list.at(place) = true;
    ++place;
  }
  for (std::uint32_t at = 0; at < count; ++at) {
    if (in_list[at] == lists_free) words[at / 64] |= std::uint64_t{1} << at % 64;
  }
  EXPECT_EQ((bit_at + 7) / 8, text.size());
  return words;
}

TEST(NumberPages, PutTheLowestNumberIntoTheHighestBit) {
  EXPECT_EQ(octets_of_page(std::vector<std::uint64_t>{0b1}, 8), std::string("\x80", 1));
  EXPECT_EQ(octets_of_page(std::vector<std::uint64_t>{0b1'0000'0010}, 9), std::string("\x40\x80", 2));
  EXPECT_EQ(octets_of_page(std::vector<std::uint64_t>{~std::uint64_t{0}, 0b1}, 65).size(), 9U);
}

TEST(NumberPages, ComeBackFromGaps) {
  std::uint64_t seed = 1;
  for (const std::uint32_t count : {1U, 7U, 64U, 65U, 1000U, kPage}) {
    for (const double share : {0.0, 0.0001, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0}) {
      const auto words = page_with(count, share, seed++);
      EXPECT_EQ(from_gaps(gaps_of_page(words, count), count), words) << count << " " << share;
    }
  }
}

TEST(NumberPages, GapsSurviveTheWorstOrder) {
  std::vector<std::uint64_t> words(kPage / 64);
  for (std::size_t at = words.size() / 2; at < words.size(); ++at) words[at] = ~std::uint64_t{0};
  const std::string gaps = gaps_of_page(words, kPage);
  EXPECT_EQ(from_gaps(gaps, kPage), words);
  EXPECT_LE(gaps.size(), 2 * kPage / 8 + 4);
}

TEST(NumberPages, GapsStayNearTheEntropy) {
  for (const double share : {0.001, 0.01, 0.1, 0.5, 0.9, 0.99}) {
    std::size_t bytes = 0;
    std::uint64_t free = 0;
    const int pages = 20;
    for (int page = 0; page < pages; ++page) {
      const auto words = page_with(kPage, share, 1000 + static_cast<std::uint64_t>(page));
      free += free_of_page(words);
      bytes += gaps_of_page(words, kPage).size();
    }
    const double p = static_cast<double>(free) / (double{kPage} * pages);
    const double entropy_bytes = -(p * std::log2(p) + (1 - p) * std::log2(1 - p)) * kPage * pages / 8;
    EXPECT_LT(static_cast<double>(bytes), 1.15 * entropy_bytes) << share;
  }
}

}  // namespace
}  // namespace weir::http
