#include "identity/rate_limiter.h"

#include "base/check.h"
#include "config/limits.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::uint64_t kUnitsPerSecond = 100'000;

}  // namespace

RateLimiter::RateLimiter(std::int64_t per_second, const SipKey& key)
    : cost_(per_second == 0 ? 0 : kUnitsPerSecond / static_cast<std::uint64_t>(per_second)),
      key_(key),
      words_(per_second == 0 ? nullptr : std::make_unique<std::atomic<std::uint64_t>[]>(kRateBucketsMax)) {
  CHECK(per_second >= 0 && per_second <= kRatePerSecondMax, "{} requests a second", per_second);
}

bool RateLimiter::allow(std::uint64_t key_hash, Ticks now) {
  if (cost_ == 0) return true;
  const std::uint64_t hash = siphash(key_, {reinterpret_cast<const char*>(&key_hash), sizeof key_hash});
  const std::uint64_t tag = (hash >> 44) << (64 - kTagBits);
  std::atomic<std::uint64_t>* set = &words_[(hash % (kRateBucketsMax / kWays)) * kWays];
  // The clock starts at one second, so that an empty word is a bucket that has long been full.
  const std::uint64_t at = static_cast<std::uint64_t>(now.us) / 10 + kUnitsPerSecond;
  while (true) {
    std::size_t chosen = kWays;
    std::uint64_t oldest = UINT64_MAX;
    std::uint64_t seen = 0;
    for (std::size_t way = 0; way < kWays; ++way) {
      const std::uint64_t word = set[way].load(std::memory_order_relaxed);
      const bool is_own = word != 0 && (word & ~kTimeMask) == tag;
      if (!is_own && time_of(word) >= oldest) continue;
      chosen = way;
      seen = word;
      oldest = time_of(word);
      if (is_own) break;
    }
    const bool is_own = seen != 0 && (seen & ~kTimeMask) == tag;
    const std::uint64_t full_at = is_own ? std::max(time_of(seen), at) : at;
    if (full_at + cost_ > at + kUnitsPerSecond) return false;
    const std::uint64_t wanted = tag | ((full_at + cost_) & kTimeMask);
    if (set[chosen].compare_exchange_weak(seen, wanted, std::memory_order_relaxed)) return true;
  }
}

}  // namespace weir
