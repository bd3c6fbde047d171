#pragma once

#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/lease.h"
#include "gate/shared_gate.h"
#include "gate/shelf_board.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {

/// Keeps this process's copy of the public counts of a shared gate: asks for the shelves of every sale whose gate the
/// ledger calls OPEN, and says until when they may refuse anybody.
///
/// That is kShelfAgeUsMax after the first question of the round, and never beyond the lease. So a refusal from these
/// counts is right for some moment in the 200 ms before it. Counts of a gate that did not answer, answered at another
/// epoch, or with fewer changes than before refuse nobody, and neither do those of an item that is nearly sold out
/// while it is not known who holds its units: then the desk asks the gate, claim by claim.
///
/// The gate does not know what was paid for: the ledger's word on that splits what is taken into held and sold.
/// Threads: `step` from one owner; the rest from any. Blocking: `step` asks each sale once for each kGateBatchMax
/// items, and none of it for longer than kShelfAgeUsMax; later counts would be of no use.
class ShelfWatch {
 public:
  /// A sale of which some item may soon be refused, and how much had happened to it.
  struct ShortSale {
    SaleNo sale;
    std::int64_t epoch = 0;
    std::uint64_t changes = 0;
  };
  struct Parts {
    SharedGate& gate;
    const Lease& lease;
    const Snapshot<Catalog>& catalog;
    ShelfBoard& board;
    const Clock& clock;
    /// Whether it is known who holds units in this epoch. Asked from the owner's thread.
    std::function<bool(SaleNo, std::int64_t epoch)> knows_owners;
  };

  explicit ShelfWatch(Parts parts) : parts_(std::move(parts)) {}

  /// One look at every sale; how many of them answered.
  std::size_t step();
  /// Whatever is known refuses nobody until the next whole step: an epoch has changed.
  void drop();
  /// What the ledger has as sold.
  void set_sold(std::unordered_map<ItemNo, std::int64_t> sold);

  [[nodiscard]] std::vector<ShortSale> short_sales() const;
  /// When the counts that may refuse now were asked for; null: none may.
  [[nodiscard]] Ticks asked_at() const;

 private:
  struct Shown {
    std::uint64_t gate_version = 0;
    Shelf shelf;
    bool refuses = false;
  };
  struct Watched {
    std::vector<ItemNo> items;
    Ticks looked_at;
    Ticks rests_until;
    bool was_looked_at = false;
    bool refuses = false;
  };

  [[nodiscard]] bool look_at(const Sale& sale, const Catalog& catalog, Ticks asked_at);
  enum class Heard : std::uint8_t { counts, nothing, lacks_items };
  [[nodiscard]] Heard ask(const Sale& sale, const GateState& state, const Watched& watched, Deadline deadline);
  void add_missing(const Sale& sale, const Catalog& catalog, Deadline deadline);
  void publish(const Sale& sale, const GateState& state, Watched& watched, bool is_selling);
  void publish(ItemNo item, const Shelf& counts, bool refuses);
  void forget(Watched& watched);

  Parts parts_;
  std::unordered_map<SaleNo, Watched> sales_;
  std::unordered_map<ItemNo, Shown> shown_;
  std::vector<Shelf> shelves_;  // Of the sale that was asked last, by the order of its items.
  std::unordered_map<ItemNo, std::int64_t> sold_of_round_;
  std::vector<ShortSale> short_of_round_;

  mutable std::mutex mutex_;  // Guards the rest, and the permission of the board together with `generation_`.
  std::uint64_t generation_ = 0;
  Ticks asked_at_;
  std::unordered_map<ItemNo, std::int64_t> sold_;
  std::vector<ShortSale> short_sales_;
};

}  // namespace weir
