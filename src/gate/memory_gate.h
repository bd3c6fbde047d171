#pragma once

#include "gate/ended_ids.h"
#include "gate/gate.h"
#include "gate/hold_table.h"
#include "gate/known_buyers.h"
#include "gate/shelf_board.h"

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

namespace weir {

/// The gate in the memory of one process: the embedded default.
///
/// Memory is taken by `open` and `restock`; `reserve` takes none. Every hold has a unit at least, so the sale's total
/// bounds its table of holds (32 bytes a hold, see `HoldTable`). It is lost with the process: at the start the ledger's
/// live orders are adopted and its ended ones remembered, before the first claim.
///
/// Two points where the port leaves room: an order that the gate knows to have ended is not adopted again (the list is
/// older than the release); an order that is held is never moved back from sold to held.
///
/// Threads: one owner thread, the desk. `shelves()` and `known_buyers()` may be read from any, while the gate lives.
/// After every call the items that it touched are published. Blocking: never; deadlines are not looked at.
/// Failures: `unfit` for a sale beyond the limits or the machine's memory; otherwise as the port says.
class MemoryGate final : public Gate {
 public:
  MemoryGate();
  ~MemoryGate() override;
  MemoryGate(const MemoryGate&) = delete;
  MemoryGate& operator=(const MemoryGate&) = delete;

  /// Items that are open already keep their counts: only `restock` changes a total.
  [[nodiscard]] Result<void> open(const GateSale& sale, std::span<const GateItem> items, Deadline deadline) override;
  [[nodiscard]] Result<void> restock(ItemNo item, std::int64_t delta, std::uint64_t change_id,
                                     Deadline deadline) override;
  [[nodiscard]] Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts,
                                     Deadline deadline) override;
  [[nodiscard]] Result<void> adopt(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<void> confirm(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<void> sell(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<std::int64_t> release(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) override;
  [[nodiscard]] Result<Shelf> shelf(ItemNo item, Deadline deadline) override;

  /// Orders that ended before this process began; at most kEndedIdsMax are kept.
  void remember_ended(std::span<const OrderId> orders);

  [[nodiscard]] const ShelfBoard& shelves() const { return board_; }
  [[nodiscard]] const KnownBuyers& known_buyers() const { return known_buyers_; }

  /// What the table of holds takes, per hold that it has. 0 for a sale without holds.
  [[nodiscard]] double bytes_per_hold(SaleNo sale) const;

 private:
  struct ItemState {
    ItemNo no;
    SaleNo sale;              // None: never opened.
    std::uint16_t place = 0;  // In `SaleState::items`.
    bool touched = false;     // Changed since it was last published.
    Shelf shelf;
  };
  struct SaleState {
    GateSale terms;
    std::vector<ItemNo> items;
    std::int64_t units_total = 0;  // Of all its items.
    HoldTable holds;
  };

  [[nodiscard]] SaleState* find_sale(SaleNo no) const;
  [[nodiscard]] ItemState* find_item(ItemNo no);
  /// Null unless the item belongs to that sale.
  [[nodiscard]] ItemState* find_item(ItemNo no, SaleNo sale);
  [[nodiscard]] ItemState& item_of(const SaleState& sale, std::uint16_t place);

  [[nodiscard]] Result<void> check_terms(const GateSale& sale, std::span<const GateItem> items);
  void add_item(SaleState& sale, const GateItem& item);
  [[nodiscard]] Verdict decide(const Claim& claim);
  [[nodiscard]] Result<void> adopt_one(const Hold& hold);
  void sell_slot(SaleState& sale, std::size_t slot);
  void touch(ItemState& item);
  void publish_touched();
  template <typename Subject>
  void prefetch(std::span<const Subject> subjects, std::size_t at) const;

  std::vector<ItemState> items_;                   // By number.
  std::vector<std::unique_ptr<SaleState>> sales_;  // By number.
  std::vector<ItemNo> touched_;                    // Has room for every item.
  struct Change {
    ItemNo item;
    std::uint64_t id = 0;
    bool operator==(const Change&) const = default;
  };
  struct ChangeHash {
    std::size_t operator()(const Change& change) const { return change.id * 65'537 + change.item.value; }
  };
  std::unordered_set<Change, ChangeHash> changes_;
  EndedIds ended_;
  ShelfBoard board_;
  KnownBuyers known_buyers_;
};

}  // namespace weir
