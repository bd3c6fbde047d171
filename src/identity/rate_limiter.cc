#include "identity/rate_limiter.h"

#include "base/check.h"
#include "base/fault.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace weir {
namespace {

// A word: 23 bits of tag, never 0; one bit that says "settled"; 40 bits of time, which wrap after twelve days.
constexpr int kTimeBits = 40;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTimeBits) - 1;
constexpr std::uint64_t kSettled = std::uint64_t{1} << kTimeBits;
constexpr int kTagShift = kTimeBits + 1;
constexpr std::uint64_t kTagMask = ~std::uint64_t{0} << kTagShift;

constexpr std::uint64_t kUsPerSecond = 1'000'000;
/// Each round that fails means that another thread has moved on; so many in a row mean trouble, and the answer is no.
constexpr int kRoundsMax = 1000;

}  // namespace

// How threads that bring the same new key at the same moment end with one bucket and not two:
//
// A new bucket is full and "unsettled". Nobody takes from it before it is settled, so an unsettled one can be removed
// at any time and nothing is forgotten. A thread settles a bucket only if it has searched all places after it saw the
// bucket there, and found no other of the same key, or removed the others. Of two buckets of a key, whoever settles the
// later one has searched after both were there, so he has seen the earlier one and removed one of the two.
//
// That argument needs "the bucket that I saw" to mean that very one: a word that was removed and made again would pass
// for it. Therefore each unsettled word carries a number of its own where a settled one has its time.

RateLimiter::RateLimiter(std::uint32_t per_second, SipKey hash_key, std::size_t buckets)
    : hash_key_(hash_key), sets_(per_second == 0 ? 0 : std::bit_floor(std::max(buckets, kWays)) / kWays) {
  CHECK(per_second <= kRatePerSecondMax, "per_second={}", per_second);
  if (per_second == 0) return;
  units_per_token_ = (kUsPerSecond + per_second - 1) / per_second;
  units_per_second_ = units_per_token_ * per_second;  // A million and up to a tenth more.
}

bool RateLimiter::allow(std::uint64_t key, Ticks now) {
  if (is_off()) return true;
  std::array<char, sizeof key> bytes{};
  std::memcpy(bytes.data(), &key, sizeof key);
  const std::uint64_t hash = siphash(hash_key_, {bytes.data(), bytes.size()});
  Set& set = sets_[hash & (sets_.size() - 1)];
  const Word tag = std::max(hash & kTagMask, Word{1} << kTagShift);
  const std::uint64_t units = units_at(now);

  Sighting seen;  // An unsettled bucket that was there before the present search began.
  for (int round = 0; round < kRoundsMax; ++round) {
    Sighting found;
    if (!find(set, tag, found)) continue;
    if (found.word == 0) {
      FAULT("rate_key_not_found");
      seen = insert(set, tag, units);
    } else if ((found.word & kSettled) == 0 && found != seen) {
      seen = found;
    } else {
      const Attempt attempt = take(set, found, units);
      if (attempt != Attempt::disturbed) return attempt == Attempt::allowed;
    }
  }
  return false;
}

/// Finds the bucket of `tag`: the settled one, else the first. Removes others. False if one of them has just changed.
bool RateLimiter::find(Set& set, Word tag, Sighting& found) {
  for (std::size_t way = 0; way < kWays; ++way) {
    const Word word = set.words[way].load();
    if ((word & kTagMask) != tag) continue;
    Sighting surplus{way, word};
    if (found.word == 0 || ((word & kSettled) != 0 && (found.word & kSettled) == 0)) std::swap(found, surplus);
    if (surplus.word != 0 && !set.words[surplus.way].compare_exchange_strong(surplus.word, 0)) return false;
  }
  return true;
}

RateLimiter::Sighting RateLimiter::insert(Set& set, Word tag, std::uint64_t now) {
  // Begins at a place of the key's own, so that two new keys do not push each other out in turn.
  const std::size_t first = tag >> kTagShift;
  Sighting victim;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t i = 0; i < kWays; ++i) {
    const std::size_t way = (first + i) % kWays;
    const Word word = set.words[way].load();
    if ((word & kTagMask) == tag) return {};  // Another thread was faster; nobody need make way.
    const std::uint64_t missing = units_missing(word, now);
    if (missing >= least) continue;
    least = missing;
    victim = {way, word};
  }
  const Word fresh = tag | (buckets_made_.fetch_add(1, std::memory_order_relaxed) & kTimeMask);
  if (!set.words[victim.way].compare_exchange_strong(victim.word, fresh)) return {};
  return {victim.way, fresh};
}

RateLimiter::Attempt RateLimiter::take(Set& set, const Sighting& bucket, std::uint64_t now) const {
  const std::uint64_t missing = units_missing(bucket.word, now) + units_per_token_;
  if (missing > units_per_second_) return Attempt::refused;
  Word expected = bucket.word;
  const Word taken = (bucket.word & kTagMask) | kSettled | ((now + missing) & kTimeMask);
  return set.words[bucket.way].compare_exchange_strong(expected, taken) ? Attempt::allowed : Attempt::disturbed;
}

std::uint64_t RateLimiter::units_at(Ticks now) const {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(now.us, 0));
  const std::uint64_t part = (us % kUsPerSecond) * units_per_second_ / kUsPerSecond;
  return (us / kUsPerSecond * units_per_second_ + part) & kTimeMask;
}

std::uint64_t RateLimiter::units_missing(Word word, std::uint64_t now) const {
  if ((word & kSettled) == 0) return 0;
  const std::uint64_t ahead = ((word & kTimeMask) - now) & kTimeMask;
  // At most a second can be missing, and one more if another thread's clock runs ahead. Everything else is the past.
  return ahead <= 2 * units_per_second_ ? ahead : 0;
}

}  // namespace weir
