#pragma once

#include "base/result.h"
#include "base/siphash.h"
#include "domain/claim.h"
#include "domain/sale.h"
#include "ledger/ledger.h"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir {

/// What the gate held at one moment, taken by the desk between two steps.
struct GateView {
  std::vector<Hold> holds;
  std::unordered_set<OrderId> in_flight;  // Taken, by a claim or by late money, and what became of it not yet heard.
  std::vector<std::pair<ItemNo, Shelf>> shelves;
};

struct TotalMismatch {
  ItemNo item;
  std::int64_t gate_total = 0;
  std::int64_t ledger_total = 0;
};

/// Where gate and ledger disagree, order by order. Counts are never repaired by their difference (R5).
struct Findings {
  std::vector<Hold> gate_only;    // Held by the gate, not live in the ledger and not under way: to be released.
  std::vector<Hold> ledger_only;  // Live in the ledger, not held by the gate: to be adopted.
  std::vector<Hold> unsold;       // Paid in the ledger, still held as unpaid by the gate: to be sold.
  std::vector<TotalMismatch> totals;
  std::int64_t compared = 0;
  [[nodiscard]] bool is_clean() const {
    return gate_only.empty() && ledger_only.empty() && unsold.empty() && totals.empty();
  }
};

/// Compares a view of the gate with the ledger as it is afterwards.
///
/// Because the view is older than the ledger's state, `gate_only` is certain: what was recorded before the view is live
/// in the ledger, has ended since (its release is on the way, and keyed), or never was. `ledger_only` may have been
/// admitted after the view: the desk adopts only ids that the gate does not hold and has not seen end.
///
/// Blocking: reads the ledger. Not from a reactor or the desk.
[[nodiscard]] Result<Findings> compare(const GateView& view, LedgerReader& ledger, const SipKey& buyer_hash);

}  // namespace weir
