#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir {

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
  bool operator==(const SipKey&) const = default;
};

/// SipHash-2-4 (Aumasson and Bernstein, 2012), 64-bit result: a keyed hash that a stranger cannot steer, for every
/// table that is fed from outside.
[[nodiscard]] inline std::uint64_t siphash(const SipKey& key, std::string_view text) {
  std::uint64_t v0 = key.k0 ^ 0x736f6d6570736575U;
  std::uint64_t v1 = key.k1 ^ 0x646f72616e646f6dU;
  std::uint64_t v2 = key.k0 ^ 0x6c7967656e657261U;
  std::uint64_t v3 = key.k1 ^ 0x7465646279746573U;
  const auto round = [&] {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  };
  const char* data = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, data += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
  std::uint64_t last = static_cast<std::uint64_t>(text.size()) << 56;
  for (std::size_t i = 0; i < left; ++i)
    last |= static_cast<std::uint64_t>(static_cast<unsigned char>(data[i])) << (8 * i);
  v3 ^= last;
  round();
  round();
  v0 ^= last;
  v2 ^= 0xff;
  round();
  round();
  round();
  round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace weir
