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

/// SipHash with the 128-bit result (Aumasson and Bernstein): both words for one pass over the text.
template <int kWordRounds, int kLastRounds>
[[nodiscard]] inline TokenDigest siphash_128(const SipKey& key, std::string_view text) {
  std::uint64_t a = key.k0 ^ 0x736f6d6570736575U;
  std::uint64_t b = key.k1 ^ 0x646f72616e646f6dU ^ 0xee;
  std::uint64_t c = key.k0 ^ 0x6c7967656e657261U;
  std::uint64_t d = key.k1 ^ 0x7465646279746573U;
  const auto mix = [&] {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32) + d;
    c += b;
    d = std::rotl(d, 21) ^ a;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  };
  const auto absorb = [&](std::uint64_t word) {
    d ^= word;
    for (int i = 0; i < kWordRounds; ++i) mix();
    a ^= word;
  };
  const auto squeeze = [&] {
    for (int i = 0; i < kLastRounds; ++i) mix();
    return a ^ b ^ c ^ d;
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
  TokenDigest digest;
  digest.low = squeeze();
  b ^= 0xdd;
  digest.high = squeeze();
  return digest;
}

/// SipHash-1-3, the variant for tables whose hashes nobody sees: a token is ten times the length of other keys, and its
/// digest is a seventh of a refusal's cost with twice the rounds.
[[nodiscard]] inline TokenDigest token_digest(const SipKey& key, std::string_view text) {
  return siphash_128<1, 3>(key, text);
}

}  // namespace weir
