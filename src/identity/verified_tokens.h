#pragma once

#include "base/siphash.h"
#include "base/time.h"
#include "config/limits.h"
#include "identity/token.h"
#include "identity/token_digest.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir {

/// Remembers tokens whose signature was found good, so that the same text is not checked by arithmetic again.
///
/// Memory is fixed at kVerifiedTokensBytes, taken at once; the oldest of four neighbours that nobody asked for goes
/// first. An entry is known by 128 bits of a hash under a key of this process, never by a part of the token. It ends
/// with the token's `exp`; whoever changes keys must `clear`.
///
/// Threads: one owner thread. Blocking: never. Allocates only when made.
class VerifiedTokens {
 public:
  /// `key` must be random and secret: with it, a stranger could make two texts collide.
  explicit VerifiedTokens(SipKey key);

  /// The identity of a token that was inserted and has not expired, else null. Valid until the next `insert`.
  [[nodiscard]] const Identity* find(std::string_view token, Instant now);
  /// Requires that a verifier with the present keys accepted `token` as `identity`. Repeatable.
  void insert(std::string_view token, const Identity& identity);
  /// Forgets all.
  void clear();

 private:
  static constexpr std::size_t kWays = 4;
  /// What a search compares lies in one cache line; an identity is touched only when it is the one.
  struct alignas(64) Set {
    std::array<TokenDigest, kWays> digests;
    std::array<Identity, kWays> identities;  // `expires_at` 0: the place is free.
    std::array<bool, kWays> is_asked_for{};  // Since the hand passed.
    std::uint8_t hand = 0;
  };

  [[nodiscard]] Set& set_of(const TokenDigest& digest);
  [[nodiscard]] static std::size_t place_for(Set& set, const TokenDigest& digest);

  SipKey key_;
  std::vector<Set> sets_;
};

}  // namespace weir
