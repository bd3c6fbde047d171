#pragma once

#include "domain/ids.h"
#include "domain/sale.h"
#include "gate/chunked.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace weir {

/// The public counts of every item, as the desk last published them.
///
/// Invariants: a shelf that is read is one that was published, whole: free + held + sold == total.
/// Threads: `publish` from the desk only; everything else from any thread, without a lock.
/// Blocking: never. A desk that is stopped in the middle of `publish` stops no reader.
class ShelfBoard {
 public:
  /// Requires: 1 <= item <= kItemsMax, and the shelf adds up. The first call takes the item's memory.
  void publish(ItemNo item, const Shelf& shelf);

  /// Version 0, and nothing on it, for an item that was never published. (The same if thousands of changes came at the
  /// wrong moments of one read; then it is readable the next time.)
  [[nodiscard]] Shelf read(ItemNo item) const;

  /// One load. True also for an item that was never published: only the desk can say what that one is.
  [[nodiscard]] bool has_free(ItemNo item, std::int32_t units) const {
    return static_cast<std::int64_t>(glance(item) & kLowHalf) >= units;
  }

  /// One load. Unpaid orders hold units of the item.
  [[nodiscard]] bool may_return(ItemNo item) const {
    const std::uint64_t word = glance(item);
    return word != kNeverPublished && word >> 32 != 0;
  }

 private:
  static constexpr std::uint64_t kLowHalf = 0xffff'ffff;
  static constexpr std::uint64_t kNeverPublished = UINT64_MAX;  // No real count comes near 2^32 - 1.

  /// Free units in the low half, held ones in the high half. Eight bytes an item, side by side: the question that
  /// every refusal asks stays in the cache with ten thousand items.
  struct Glance {
    std::atomic<std::uint64_t> word{kNeverPublished};
  };

  /// The last two shelves of an item. `sequence` is twice the number of shelves published, plus one while the next is
  /// being written, into the place of the older of the two: a reader is disturbed only by two changes while it reads.
  struct alignas(64) Cell {
    struct Place {
      std::atomic<std::uint64_t> free_and_held{0};
      std::atomic<std::uint64_t> sold{0};
      std::atomic<std::uint64_t> version{0};
    };
    std::atomic<std::uint64_t> sequence{0};
    std::array<Place, 2> places;
  };
  static_assert(sizeof(Cell) == 64);

  [[nodiscard]] std::uint64_t glance(ItemNo item) const {
    const Glance* const found = glances_.find(item.value);
    return found == nullptr ? kNeverPublished : found->word.load(std::memory_order_acquire);
  }

  Chunked<Glance, kItemsMax> glances_;
  Chunked<Cell, kItemsMax> cells_;
};

}  // namespace weir
