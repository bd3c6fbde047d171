#pragma once

#include "base/random.h"
#include "gate/ended_ids.h"
#include "gate/gate.h"
#include "gate/hold_table.h"
#include "gate/known_buyers.h"
#include "gate/number_board.h"
#include "gate/number_stock.h"
#include "gate/shelf_board.h"

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

namespace weir {

/// The gate in the memory of one process: the embedded default.
///
/// Memory is taken by `open` and `restock`; `reserve` takes none but for the list of numbers in a verdict. Every hold
/// has a unit at least, so the sale's total bounds its table of holds (32 bytes a hold, see `HoldTable`). It is lost
/// with the process: at the start the ledger's live orders are adopted and its ended ones remembered, before the first
/// claim.
///
/// Numbered stock: the gate remembers which numbers each order has, and gives back those, whatever a hold's list says.
/// A claim whose wish does not suit the stock, or that names a number the item has not got, is `not_on_sale`; the front
/// door lets none through. A repeated order must wish for the same: as many numbers, or the very numbers it has, or
/// (`partial`) numbers among which are those that it has.
///
/// Two points where the port leaves room: an order that the gate knows to have ended is not adopted again (the list is
/// older than the release); an order that is held is never moved back from sold to held.
///
/// Threads: one owner thread, the desk. `shelves()`, `numbers()` and `known_buyers()` may be read from any, while the
/// gate lives. After every call the items that it touched are published. Blocking: never; deadlines are not looked at.
/// Failures: `unfit` for a sale beyond the limits or the machine's memory; otherwise as the port says.
class MemoryGate final : public Gate {
 public:
  /// Of counted stock alone: a numbered item is `unfit`.
  MemoryGate();
  /// `random` draws the numbers of `random` wishes, on the desk's thread, and lives longer than the gate.
  explicit MemoryGate(Random& random);
  ~MemoryGate() override;
  MemoryGate(const MemoryGate&) = delete;
  MemoryGate& operator=(const MemoryGate&) = delete;

  /// Items that are open already keep their counts: only `restock` changes a total. `corrupt` when one belongs to
  /// another sale, or becomes numbered, or counted, or begins at another number.
  [[nodiscard]] Result<void> open(const GateSale& sale, std::span<const GateItem> items, Deadline deadline) override;
  /// `unfit` for a numbered item.
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
  [[nodiscard]] const NumberBoard& numbers() const { return number_board_; }
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
    std::unique_ptr<NumberStock> stock;  // Null: counted.
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
  [[nodiscard]] Result<void> check_item(SaleNo sale, const GateItem& item);
  void add_item(SaleState& sale, const GateItem& item, std::unique_ptr<NumberStock> stock);
  [[nodiscard]] Verdict decide(const Claim& claim);
  [[nodiscard]] Verdict answer_again(const ItemState* item, const HoldTable::Units& held, const Claim& claim);
  /// What an admitted claim gets of counted stock, or of numbers drawn. No units: the verdict says why not.
  [[nodiscard]] HoldTable::Units take_any(ItemState& item, const Claim& claim, Verdict& verdict);
  /// The same of numbers that the claim names.
  [[nodiscard]] HoldTable::Units take_listed(ItemState& item, const Claim& claim, Verdict& verdict);
  [[nodiscard]] HoldTable::Units take_these(ItemState& item, std::span<const std::uint32_t> numbers);
  void add_hold(SaleState& sale, const HoldTable::Walk& walk, BuyerKey buyer, const OrderId& order,
                const HoldTable::Units& units);
  /// In `scratch_`: those of the list that are free.
  [[nodiscard]] std::span<const std::uint32_t> free_of(const NumberStock& stock, const NumberList& numbers);
  /// In `scratch_`: what an order has. None of counted stock.
  [[nodiscard]] std::span<const std::uint32_t> numbers_of(const ItemState& item, const HoldTable::Units& held);
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
  NumberBoard number_board_;
  Random* const random_ = nullptr;      // Null: counted stock alone.
  std::vector<std::uint32_t> scratch_;  // Numbers of one order; kUnitsPerClaimMax once an item is numbered.
  KnownBuyers known_buyers_;
};

}  // namespace weir
