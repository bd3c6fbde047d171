#pragma once

#include "domain/ids.h"
#include "gate/zeroed_array.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir {

/// The holds of one sale, found by buyer.
///
/// An open table with linear probing: 28 bytes a slot (buyer 8, order 16, item and units 4), at most seven slots of
/// eight in use, so a buyer costs 32 bytes. A sale with numbered items has 4 bytes a slot more, for the chains. A run
/// is kept in the order of its holds' home slots: all holds of a buyer lie close together, and a walk for a stranger,
/// the commonest of all, ends after five slots where an unordered run that full takes 32. One walk finds what a buyer
/// holds, whether a certain order is among it, and where the next one goes. Removal shifts the run back, so no trace of
/// ended orders slows later walks.
///
/// Invariant: size() <= bound() < slots. Each hold has at least one unit, so a table whose bound is the sale's total of
/// units is never full.
/// Threads: one owner thread, the desk. `may_hold` from any thread, without a lock.
/// Blocking: never. Memory is taken in `make_room` and `make_chains` only.
class HoldTable {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::size_t kBytesPerSlot = 28;
  static constexpr std::size_t kBytesPerChain = 4;  // Of each slot, where there are chains.

  struct Units {
    std::uint16_t item = 0;  // Its place in the sale.
    std::int32_t units = 0;
    bool sold = false;
    std::uint32_t chain = 0;  // Of numbered stock: where its numbers begin, see `NumberStock`. 0: none.
  };

  /// What one walk along a buyer's run finds.
  struct Walk {
    std::int32_t units = 0;     // Of all his holds.
    OrderId standing;           // One of them.
    std::size_t slot = kNone;   // Where the order that was looked for is.
    std::size_t place = kNone;  // Where it would go.
  };

  HoldTable() = default;
  HoldTable(const HoldTable&) = delete;
  HoldTable& operator=(const HoldTable&) = delete;

  /// Makes room for this many holds. False: the machine has not got the memory, and nothing changed. Repeatable.
  ///
  /// A table that grows does so by an eighth at least. Readers may still be in the old keys, so these stay (8 bytes of
  /// 28) until the table dies: at most 24 growths for each factor of 16, which together keep less than 8/28 x 8 times
  /// what the last one takes, however small the steps.
  [[nodiscard]] bool make_room(std::uint64_t holds);

  /// Lets holds have chains from now on. False: the machine has not got the memory, and nothing changed. Repeatable.
  ///
  /// Requires: make_room succeeded once.
  [[nodiscard]] bool make_chains();

  /// Requires: make_room succeeded once. `buyer` is somebody.
  [[nodiscard]] Walk walk(BuyerKey buyer, const OrderId& order) const;
  /// Brings the start of the buyer's run near; for a walk that follows soon.
  void prefetch(BuyerKey buyer) const;

  [[nodiscard]] Units at(std::size_t slot) const;
  /// Requires: `walk` of a moment since which nothing was inserted or removed; a chain only after `make_chains`.
  void insert(const Walk& walk, BuyerKey buyer, const OrderId& order, Units units);
  void mark_sold(std::size_t slot);
  /// Other holds may move: slots known from before are void.
  void remove(std::size_t slot);

  /// Calls `each(buyer, order, units)` for every hold, in no order.
  template <typename Each>
  void each(const Each& call) const {
    if (slots_ == nullptr) return;
    for (std::size_t slot = 0; slot < slots_->capacity; ++slot) {
      const std::uint64_t key = slots_->key(slot, std::memory_order_relaxed);
      if (key != 0) call(BuyerKey{key}, slots_->orders[slot], at(slot));
    }
  }

  /// False: at some moment during the call the buyer held nothing here. True: he holds something, or the table was
  /// changing too fast to tell.
  [[nodiscard]] bool may_hold(BuyerKey buyer) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint64_t bound() const { return bound_; }
  /// Of the table in use, whether touched or not.
  [[nodiscard]] std::size_t bytes() const {
    if (slots_ == nullptr) return 0;
    return slots_->capacity * (kBytesPerSlot + (has_chains_ ? kBytesPerChain : 0));
  }
  [[nodiscard]] std::size_t generations() const { return generations_.size(); }

 private:
  struct Slots {
    std::size_t capacity = 0;
    ZeroedArray<std::uint64_t> keys;  // 0: vacant. Written by the desk, read by all, always as atomics.
    ZeroedArray<OrderId> orders;
    ZeroedArray<std::uint32_t> units;   // Item in the high half; below it `sold` and fifteen bits of units.
    ZeroedArray<std::uint32_t> chains;  // Empty in a sale of counted items alone.

    /// What a slot has besides its key and its order.
    struct Contents {
      std::uint32_t units = 0;
      std::uint32_t chain = 0;
    };
    [[nodiscard]] Contents contents(std::size_t slot) const {
      return {units[slot], chains.is_empty() ? 0 : chains[slot]};
    }
    [[nodiscard]] std::uint64_t key(std::size_t slot, std::memory_order order) const {
      return std::atomic_ref(keys[slot]).load(order);
    }
    void put_key(std::size_t slot, std::uint64_t key) const {
      std::atomic_ref(keys[slot]).store(key, std::memory_order_release);
    }
    void move(std::size_t from, std::size_t to) const;
    void fill(std::size_t slot, std::uint64_t key, const OrderId& order, const Contents& contents) const;
    /// A search for a key of that home ends at this slot: vacant, or from there on homes come later.
    [[nodiscard]] bool ends_at(std::size_t slot, std::uint64_t key_there, std::size_t home) const;
    /// Makes `place` free by moving what lies there and behind it one slot on.
    void make_gap(std::size_t place) const;
  };

  [[nodiscard]] static Slots::Contents packed(const Units& units);
  [[nodiscard]] static std::unique_ptr<Slots> make_slots(std::uint64_t bound, bool with_chains);
  [[nodiscard]] static bool contains(const Slots& slots, std::uint64_t key);
  static void copy_holds(const Slots& from, const Slots& to);

  Slots* slots_ = nullptr;  // The last of `generations_`.
  std::size_t size_ = 0;
  std::uint64_t bound_ = 0;
  bool has_chains_ = false;
  std::vector<std::unique_ptr<Slots>> generations_;
  alignas(64) std::atomic<const Slots*> seen_{nullptr};
  std::atomic<std::uint64_t> shifts_{0};  // Odd while holds move within the table.
};

}  // namespace weir
