#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/claim.h"
#include "domain/sale.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace weir {

/// The gate's answer to a claim. Only `admitted` takes units. All are ordinary answers; not getting one is a failure.
enum class Admission : std::uint8_t {
  admitted,      // The units are taken for this order.
  repeated,      // This order holds its units already, asked for in the same way.
  key_reused,    // This order id is held, for another request.
  ended,         // This order ended before: the ledger has its first answer. Not for a claim with `retake`.
  sold_out,      // Fewer units are free than were asked for.
  number_taken,  // Some of the named numbers are not free; of a `partial` claim, none of them is.
  over_limit,    // The buyer would hold more than the sale allows.
  not_on_sale,   // The gate does not sell this item (paused, closed, unknown).
  // Of a gate that several processes share, as `flow/leased_gate` tells them:
  in_flight,  // This order holds its units, and the ledger may not have it yet: drive it on.
  closed,     // The gate is not open here and now. Nothing was taken: try again.
  unknown,    // It may have been taken: ask again with the same id.
};

[[nodiscard]] constexpr std::string_view name(Admission admission) {
  switch (admission) {
    case Admission::admitted: return "admitted";
    case Admission::repeated: return "repeated";
    case Admission::key_reused: return "key_reused";
    case Admission::ended: return "ended";
    case Admission::sold_out: return "sold_out";
    case Admission::number_taken: return "number_taken";
    case Admission::over_limit: return "over_limit";
    case Admission::not_on_sale: return "not_on_sale";
    case Admission::in_flight: return "in_flight";
    case Admission::closed: return "closed";
    case Admission::unknown: return "unknown";
  }
  return "?";
}

struct Verdict {
  Admission admission = Admission::not_on_sale;
  OrderId standing;             // `over_limit`: an order that the buyer holds, if he holds any.
  std::int32_t units_held = 0;  // `over_limit`: what the buyer holds in this sale.
  bool may_return = false;      // `sold_out`: unpaid orders hold units of the item.
  NumberList numbers{};         // `admitted` of numbered stock: what was taken. `number_taken`: which are not free.
  bool recorded = false;        // `repeated`, of a shared gate: the ledger has it, so it is not published again.
};

/// A sale as the gate opens it. `total` includes what is held and sold; `adopt` takes those away again.
struct GateItem {
  ItemNo no;
  std::int64_t total = 0;
  bool numbered = false;
  std::uint32_t first_number = 0;
};
struct GateSale {
  SaleNo no;
  std::int32_t limit_per_buyer = 1;
  bool selling = true;
  std::uint64_t version = 0;  // Of these terms. In a gate that several processes share, older terms change nothing.
};

/// The gate stands between the crowd and the ledger and says no quickly.
///
/// It is a filter, not the record: everything in it can be rebuilt from the ledger. It never admits more than it was
/// given, and it says `sold_out` only while too few units are free.
///
/// Invariants, per item, around every call: free >= 0 and free + held + sold == total. Per buyer and sale: the units of
/// his holds are at most the limit in force when they were taken.
///
/// Threads: one owner thread, the desk; nothing here locks. `ShelfBoard` and `KnownBuyers` are what others may read.
/// Blocking: `memory_gate` never waits; a remote gate waits for one round trip, or until `deadline`.
class Gate {
 public:
  virtual ~Gate() = default;

  /// Makes the sale known, or changes its limit and whether it sells. Takes the memory that the sale will need.
  /// Repeatable.
  [[nodiscard]] virtual Result<void> open(const GateSale& sale, std::span<const GateItem> items, Deadline deadline) = 0;

  /// Changes an item's total by `delta`. `change_id` makes it repeatable: a change is applied once. Refused with
  /// `unavailable` when fewer than -delta units are free (the ledger decides first; this cannot then happen).
  [[nodiscard]] virtual Result<void> restock(ItemNo item, std::int64_t delta, std::uint64_t change_id,
                                             Deadline deadline) = 0;

  /// Decides claims in order; `verdicts[i]` answers `claims[i]`.
  ///
  /// Requires: spans of equal size, at most kGateBatchMax.
  /// Repeatable: an order takes its units once, however often it is claimed.
  /// A failure covers the whole batch; after `timed_out`, send the same batch again.
  [[nodiscard]] virtual Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts,
                                             Deadline deadline) = 0;

  /// Puts what the ledger says is live into the gate, whatever the limit and the phase: start, rebuild, repair.
  /// Repeatable. `corrupt` if it does not fit the total: then the ledger is not what it claims to be.
  [[nodiscard]] virtual Result<void> adopt(std::span<const Hold> holds, Deadline deadline) = 0;

  /// The ledger has recorded these: nothing needs to drive them again.
  [[nodiscard]] virtual Result<void> confirm(std::span<const Hold> holds, Deadline deadline) = 0;

  /// These orders were paid: their units move from held to sold. Repeatable.
  [[nodiscard]] virtual Result<void> sell(std::span<const Hold> holds, Deadline deadline) = 0;

  /// Gives back exactly the units of the orders that the gate holds; returns how many units.
  /// Repeatable: an order that is unknown, or was given back before, counts as zero.
  [[nodiscard]] virtual Result<std::int64_t> release(std::span<const Hold> holds, Deadline deadline) = 0;

  /// Calls `each` for every hold. For the reconciler.
  [[nodiscard]] virtual Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) = 0;

  /// The counts of one item, all from the same moment. `unavailable` for an item that was never opened.
  [[nodiscard]] virtual Result<Shelf> shelf(ItemNo item, Deadline deadline) = 0;
};

}  // namespace weir
