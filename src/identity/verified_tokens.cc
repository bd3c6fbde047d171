#include "identity/verified_tokens.h"

#include "config/limits.h"

namespace weir {

static_assert((kVerifiedTokensMax & (kVerifiedTokensMax - 1)) == 0, "sets are found by a mask");

VerifiedTokens::VerifiedTokens(const SipKey& key)
    : key_(key), entries_(kVerifiedTokensMax), next_(kVerifiedTokensMax / kWays) {}

VerifiedTokens::Place VerifiedTokens::place_of(std::string_view token) const {
  const std::uint64_t first = siphash(key_, token);
  const std::uint64_t second = siphash({key_.k1, ~key_.k0}, token);
  return {first, second | 1, first & (next_.size() - 1)};  // 0 means an empty entry.
}

const Identity* VerifiedTokens::find(std::string_view token, Instant now) const {
  const Place place = place_of(token);
  for (std::size_t way = 0; way < kWays; ++way) {
    const Entry& entry = entries_[place.set * kWays + way];
    if (entry.first != place.first || entry.second != place.second) continue;
    return now < entry.identity.expires_at ? &entry.identity : nullptr;
  }
  return nullptr;
}

void VerifiedTokens::insert(std::string_view token, const Identity& identity) {
  const Place place = place_of(token);
  const std::size_t way = next_[place.set]++ % kWays;
  entries_[place.set * kWays + way] = {place.first, place.second, identity};
}

void VerifiedTokens::clear() {
  for (Entry& entry : entries_) entry.second = 0;
}

}  // namespace weir
