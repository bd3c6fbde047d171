#include "identity/verified_tokens.h"

namespace weir {

VerifiedTokens::VerifiedTokens(SipKey key) : key_(key), sets_(kVerifiedTokensBytes / sizeof(Set)) {
  static_assert(kVerifiedTokensBytes / sizeof(Set) <= UINT32_MAX, "the set is chosen by 32 bits");
}

VerifiedTokens::Set& VerifiedTokens::set_of(const TokenDigest& digest) {
  const std::uint64_t share = (digest.high >> 32) * sets_.size();  // Uniform in [0, size) once divided by 2^32.
  return sets_[share >> 32];
}

const Identity* VerifiedTokens::find(std::string_view token, Instant now) {
  const TokenDigest digest = token_digest(key_, token);
  Set& set = set_of(digest);
  for (std::size_t way = 0; way < kWays; ++way) {
    if (set.digests[way] != digest) continue;
    if (now >= set.identities[way].expires_at) return nullptr;
    set.is_asked_for[way] = true;
    return &set.identities[way];
  }
  return nullptr;
}

void VerifiedTokens::insert(std::string_view token, const Identity& identity) {
  const TokenDigest digest = token_digest(key_, token);
  Set& set = set_of(digest);
  const std::size_t way = place_for(set, digest);
  set.digests[way] = digest;
  set.identities[way] = identity;
  set.is_asked_for[way] = false;
}

std::size_t VerifiedTokens::place_for(Set& set, const TokenDigest& digest) {
  for (std::size_t way = 0; way < kWays; ++way) {
    if (set.digests[way] == digest) return way;
  }
  // The hand gives everyone who was asked for a second chance; after one round nobody has one left.
  while (set.is_asked_for[set.hand]) {
    set.is_asked_for[set.hand] = false;
    set.hand = (set.hand + 1) % kWays;
  }
  const std::size_t way = set.hand;
  set.hand = (set.hand + 1) % kWays;
  return way;
}

void VerifiedTokens::clear() {
  for (Set& set : sets_) set = Set{};
}

}  // namespace weir
