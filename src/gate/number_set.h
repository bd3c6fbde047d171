#pragma once

#include "base/random.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// The numbers of one item that are free: one bit a number, and counts above the bits.
///
/// Numbers are asked for by their place, 0 to size() - 1. The counts are of blocks of 1,024 bits, of groups of 32
/// blocks and of stripes of 16 groups, so the free number of any rank is found in a bounded walk, whose cost does not
/// depend on how full the item is. 10,000,000 numbers take 1.27 MB.
///
/// Invariants: each count is the sum of what it covers; bits beyond size() are never set.
/// Threads: one owner; `word` from any, without a lock. Blocking: never. Memory is taken by the constructor only.
class NumberSet {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// All are free. At most kUnitsPerItemMax.
  explicit NumberSet(std::size_t size);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t free_count() const { return free_; }

  /// False for a place outside of the item.
  [[nodiscard]] bool is_free(std::size_t place) const;

  /// False when it is not free; then nothing changed.
  bool take(std::size_t place);
  /// False when it is free already, or outside of the item; then nothing changed.
  bool put_back(std::size_t place);

  /// The free place that has `rank` free ones before it; kNone when there are not that many.
  [[nodiscard]] std::size_t select(std::size_t rank) const;

  /// Takes `places.size()` different free places, every set of that many being equally likely, and tells them in
  /// ascending order. Takes all or, when fewer are free, none and returns false. Requires at most kUnitsPerClaimMax.
  [[nodiscard]] bool take_random(std::span<std::uint32_t> places, Random& random);

  /// The bits of places 64 x at and on, the lowest in the lowest bit. Requires: at x 64 < size(). Relaxed: what it is
  /// compared with orders it. See `NumberBoard`.
  [[nodiscard]] std::uint64_t word(std::size_t at) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kBlockWords = 16;
  static constexpr std::size_t kGroupBlocks = 32;
  static constexpr std::size_t kStripeGroups = 16;
  static constexpr std::size_t kBlockBits = kBlockWords * kWordBits;
  static constexpr std::size_t kGroupBits = kGroupBlocks * kBlockBits;
  static constexpr std::size_t kStripeBits = kStripeGroups * kGroupBits;

  void count(std::size_t place, int change);

  std::size_t size_;
  std::size_t free_;
  std::vector<std::uint64_t> words_;   // Whole blocks.
  std::vector<std::uint16_t> blocks_;  // Whole groups.
  std::vector<std::uint16_t> groups_;  // Whole stripes; at most 32,768 each.
  std::vector<std::uint32_t> stripes_;
};

}  // namespace weir
