#pragma once

#include "base/siphash.h"
#include "base/time.h"
#include "config/limits.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

/// Token buckets for very many keys in a table of fixed size: a key may do so many things a second, and as many at once
/// after a second of rest.
///
/// A bucket is one 64-bit word: a tag of its key and the moment at which it will be full again (the "theoretical
/// arrival time" of the cell-rate algorithm), so taking from it is one compare-and-swap, exact for every key under any
/// concurrency, and a refusal writes nothing. Time counts in fractions of which a token takes a whole number, so no
/// rate drifts. When all four places for a key are taken, the fullest bucket makes way: that one forgets least. Two
/// keys of the same places share a bucket if their 23-bit tags are equal; which ones do, only who knows the hash key
/// can tell.
///
/// Threads: any. Blocking: never; no locks. Allocates only when made.
class RateLimiter {
 public:
  /// `per_second` 0 switches it off; at most kRatePerSecondMax. `hash_key` must be random and secret. `buckets` is
  /// rounded down to a power of two, at least one set of four.
  RateLimiter(std::uint32_t per_second, SipKey hash_key, std::size_t buckets = kRateBucketsMax);

  /// Takes one token of `key`'s bucket; false if there is none. Any number that names the key will do: it is hashed
  /// here. Threads may be a second apart in their `now`.
  [[nodiscard]] bool allow(std::uint64_t key, Ticks now);

  /// How long a refused key waits, in whole seconds: at every rate the next token comes within one.
  [[nodiscard]] static constexpr int retry_after_s() { return 1; }
  [[nodiscard]] bool is_off() const { return units_per_second_ == 0; }

 private:
  static constexpr std::size_t kWays = 4;
  using Word = std::uint64_t;
  struct alignas(kWays * sizeof(Word)) Set {
    std::array<std::atomic<Word>, kWays> words{};
  };
  /// A bucket as it was seen; `word` 0 means there is none.
  struct Sighting {
    std::size_t way = 0;
    Word word = 0;
    bool operator==(const Sighting&) const = default;
  };
  enum class Attempt : std::uint8_t { allowed, refused, disturbed };

  [[nodiscard]] std::uint64_t units_at(Ticks now) const;
  /// Time until the bucket is full again, 0 if it is.
  [[nodiscard]] std::uint64_t units_missing(Word word, std::uint64_t now) const;
  [[nodiscard]] static bool find(Set& set, Word tag, Sighting& found);
  [[nodiscard]] Sighting insert(Set& set, Word tag, std::uint64_t now);
  [[nodiscard]] Attempt take(Set& set, const Sighting& bucket, std::uint64_t now) const;

  SipKey hash_key_;
  std::uint64_t units_per_token_ = 0;
  std::uint64_t units_per_second_ = 0;
  std::atomic<std::uint64_t> buckets_made_{0};
  std::vector<Set> sets_;
};

}  // namespace weir
