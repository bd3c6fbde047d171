#pragma once

#include "base/siphash.h"
#include "base/time.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace weir {

/// Token buckets for everybody in fixed memory. A bucket holds one second's worth; each request takes one.
///
/// A bucket is one 64-bit word: a tag of the key, and the moment at which the bucket will be full again (the generic
/// cell rate algorithm). Words sit in sets of four; when a set is full, the fullest bucket makes room, which forgets the
/// least. Sets and tags come from a keyed hash, so that a stranger cannot aim at a neighbour's bucket.
/// Threads: any; compare-and-swap makes each key exact. Blocking: never.
class RateLimiter {
 public:
  /// `per_second` 0: off. At most kRatePerSecondMax.
  RateLimiter(std::int64_t per_second, const SipKey& key);

  [[nodiscard]] bool is_off() const { return cost_ == 0; }
  /// Takes one from the key's bucket; false when it is empty.
  [[nodiscard]] bool allow(std::uint64_t key_hash, Ticks now);

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr int kTagBits = 20;
  static constexpr std::uint64_t kTimeMask = (1ULL << (64 - kTagBits)) - 1;  // Units of 10 µs: five years.

  [[nodiscard]] static std::uint64_t time_of(std::uint64_t word) { return word & kTimeMask; }

  const std::uint64_t cost_;  // 10-µs units that one request takes.
  const SipKey key_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
};

}  // namespace weir
