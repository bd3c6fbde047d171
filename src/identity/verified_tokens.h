#pragma once

#include "base/siphash.h"
#include "base/time.h"
#include "identity/token.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace weir {

/// Tokens that were verified before, so that a buyer's next request costs a hash and not a signature.
///
/// Fixed memory: kVerifiedTokensMax entries in sets of four; the one that was put in longest ago makes room. A token is
/// known by 128 bits of a hash under a random key, which a stranger can neither compute nor steer.
/// Threads: one owner thread. Blocking: never. Nothing is allocated after the construction.
class VerifiedTokens {
 public:
  explicit VerifiedTokens(const SipKey& key);

  /// Null if the token is not known or has expired. Valid until the next `insert` or `clear`.
  [[nodiscard]] const Identity* find(std::string_view token, Instant now) const;
  void insert(std::string_view token, const Identity& identity);
  /// After the keys have changed.
  void clear();

 private:
  struct Entry {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    Identity identity;
  };
  static constexpr std::size_t kWays = 4;
  struct Place {
    std::uint64_t first;
    std::uint64_t second;
    std::size_t set;
  };
  [[nodiscard]] Place place_of(std::string_view token) const;

  SipKey key_;
  std::vector<Entry> entries_;
  std::vector<std::uint8_t> next_;  // Of each set: the way that is replaced next.
};

}  // namespace weir
