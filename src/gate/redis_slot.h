#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

inline constexpr int kRedisSlots = 16'384;

/// The slot of a key in a Redis Cluster: CRC-16 (XMODEM) of what stands between the first braces, or of the whole key.
[[nodiscard]] constexpr int redis_slot(std::string_view key) {
  if (const auto open = key.find('{'); open != std::string_view::npos) {
    const auto close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  std::uint32_t crc = 0;
  for (const char c : key) {
    crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
    crc &= 0xffff;
  }
  return static_cast<int>(crc % kRedisSlots);
}
static_assert(redis_slot("123456789") == 0x31c3 % kRedisSlots, "the check value of this CRC");
static_assert(redis_slot("{a:b}:1:held") == redis_slot("{a:b}:meta") && redis_slot("{}x") != redis_slot("{}y"));

}  // namespace weir
