#include "domain/draw.h"

#include "base/encoding.h"
#include "base/sha256.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace weir {

std::string draw_commitment(std::string_view seed_hex) {
  const auto seed = parse_hex(seed_hex);
  return seed && seed->size() == 32 ? sha256_hex(*seed) : std::string{};
}

std::string entrants_hash(std::span<const std::uint32_t> entrants) {
  std::string text;
  text.reserve(entrants.size() * 8);
  for (const std::uint32_t number : entrants) {
    if (!text.empty()) text += ',';
    fmt::format_to(std::back_inserter(text), "{}", number);
  }
  return sha256_hex(text);
}

std::vector<std::uint32_t> draw_winners(std::string_view seed_hex, std::string_view mix,
                                        std::span<const std::uint32_t> entrants, std::size_t count) {
  const std::string key = sha256_hex(fmt::format("{}:{}:{}", seed_hex, mix, entrants_hash(entrants)));
  // Bytes are ordered as the digits that spell them.
  std::vector<std::pair<std::array<unsigned char, 32>, std::uint32_t>> lots;
  lots.reserve(entrants.size());
  std::string text;
  for (const std::uint32_t number : entrants) {
    text.clear();
    fmt::format_to(std::back_inserter(text), "{}:{}", key, number);
    const std::array<char, 32> digest = sha256(text);
    auto& lot = lots.emplace_back().first;
    std::ranges::copy(digest, lot.begin());
    lots.back().second = number;
  }
  const auto end = lots.begin() + static_cast<std::ptrdiff_t>(std::min(count, lots.size()));
  std::ranges::partial_sort(lots, end);
  std::vector<std::uint32_t> winners;
  std::ranges::transform(lots.begin(), end, std::back_inserter(winners), [](const auto& lot) { return lot.second; });
  return winners;
}

}  // namespace weir
