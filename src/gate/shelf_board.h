#pragma once

#include "base/time.h"
#include "domain/ids.h"
#include "domain/sale.h"
#include "gate/chunked.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace weir {

/// The public counts of every item, as their owner (the desk, or the watch of a shared gate) last published them.
///
/// Whoever refuses a claim because of these counts asks for `refuses_until` first, then takes a `look`, then compares
/// the moment with the clock. Where the counts are the gate's own they hold for ever. Of a shared gate they are a copy
/// that ages: then the moment passes, and claims go to the desk.
/// Invariants: a shelf that is read is one that was published, whole: free + held + sold == total.
/// Threads: `publish` and `show` from the owner only; everything else from any thread, without a lock.
/// Blocking: never. An owner that is stopped in the middle of `publish` stops no reader.
class ShelfBoard {
 public:
  /// The two counts of an item that belong together, from one load.
  class Look {
   public:
    explicit Look(std::uint64_t word) : word_(word) {}
    /// True also for an item that was never published: only the desk can say what that one is.
    [[nodiscard]] bool has_free(std::int32_t units) const {
      return static_cast<std::int64_t>(word_ & kLowHalf) >= units;
    }
    /// Unpaid orders hold units of the item.
    [[nodiscard]] bool may_return() const { return word_ != kNeverPublished && word_ >> 32 != 0; }

   private:
    std::uint64_t word_;
  };

  static constexpr Ticks kForEver{INT64_MAX};

  /// Requires: 1 <= item <= kItemsMax, and the shelf adds up. The first call takes the item's memory.
  void publish(ItemNo item, const Shelf& shelf);
  /// For readers of counts alone: a `look` sends every claim to the desk, as before the first `publish`.
  void show(ItemNo item, const Shelf& shelf);

  /// From now on, what is published is good for refusals until then. Any thread.
  void refuse_until(Ticks until) { refuses_until_.store(until.us, std::memory_order_release); }
  /// One load.
  [[nodiscard]] Ticks refuses_until() const { return {refuses_until_.load(std::memory_order_acquire)}; }

  /// Version 0, and nothing on it, for an item that was never published. (The same if thousands of changes came at the
  /// wrong moments of one read; then it is readable the next time.)
  [[nodiscard]] Shelf read(ItemNo item) const;

  /// One load.
  [[nodiscard]] Look look(ItemNo item) const {
    const Glance* const found = glances_.find(item.value);
    return Look{found == nullptr ? kNeverPublished : found->word.load(std::memory_order_acquire)};
  }
  [[nodiscard]] bool has_free(ItemNo item, std::int32_t units) const { return look(item).has_free(units); }
  [[nodiscard]] bool may_return(ItemNo item) const { return look(item).may_return(); }

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

  void write(ItemNo item, const Shelf& shelf);

  std::atomic<std::int64_t> refuses_until_{kForEver.us};
  Chunked<Glance, kItemsMax> glances_;
  Chunked<Cell, kItemsMax> cells_;
};

}  // namespace weir
