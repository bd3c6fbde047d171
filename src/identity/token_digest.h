#pragma once

#include "base/siphash.h"

#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir {

/// A token's text as 128 bits that a stranger can neither foresee nor make collide.
struct TokenDigest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const TokenDigest&) const = default;
};

/// SipHash-2-4 with the 128-bit result (Aumasson and Bernstein): both words for one pass over the text.
[[nodiscard]] inline TokenDigest token_digest(const SipKey& key, std::string_view text) {
  std::uint64_t a = key.k0 ^ 0x736f6d6570736575U;
  std::uint64_t b = key.k1 ^ 0x646f72616e646f6dU ^ 0xee;
  std::uint64_t c = key.k0 ^ 0x6c7967656e657261U;
  std::uint64_t d = key.k1 ^ 0x7465646279746573U;
  const auto mix = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      a += b;
      c += d;
      b = std::rotl(b, 13) ^ a;
      d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32) + d;
      c += b;
      d = std::rotl(d, 21) ^ a;
      b = std::rotl(b, 17) ^ c;
      c = std::rotl(c, 32);
    }
  };
  const auto absorb = [&](std::uint64_t word) {
    d ^= word;
    mix(2);
    a ^= word;
  };
  std::uint64_t last = static_cast<std::uint64_t>(text.size()) << 56;
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    absorb(word);
    text.remove_prefix(8);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    last |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  }
  absorb(last);
  c ^= 0xee;
  mix(4);
  TokenDigest digest;
  digest.low = a ^ b ^ c ^ d;
  b ^= 0xdd;
  mix(4);
  digest.high = a ^ b ^ c ^ d;
  return digest;
}

}  // namespace weir
