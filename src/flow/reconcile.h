#pragma once

#include "base/result.h"
#include "base/siphash.h"
#include "base/time.h"
#include "domain/claim.h"
#include "domain/sale.h"
#include "ledger/ledger.h"

#include <cstdint>
#include <string>
#include <string_view>
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

/// How a gate, a log and a ledger that several processes share can disagree, and below each what repairs it.
enum class Disagreement : std::uint8_t {
  gate_only,    // A hold that the ledger has never heard of, and that is not on its way: it is released.
  unreleased,   // A hold that ended in the ledger, and whose release is lost: it is released.
  ledger_only,  // A live hold that the gate does not have: it is adopted.
  unconfirmed,  // A hold that the ledger has, and that still counts as in flight: it is confirmed.
  undriven,     // A claim that was taken and is in neither log nor ledger: it is published again.
  outbox,       // A release that waits in the ledger: it is run on the gate, then forgotten.
  contents,     // The gate has a hold with other units, item or buyer: its gate is built anew.
  counts,       // The gate's counts of an item are not the sum of its holds: its gate is built anew.
  total,        // Gate and ledger have another total of an item: its gate is built anew.
  dead_letter,  // A message that nobody could read, and that was not shown to people: it is shown.
};

[[nodiscard]] constexpr std::string_view name(Disagreement what) {
  switch (what) {
    case Disagreement::gate_only: return "gate_only";
    case Disagreement::unreleased: return "unreleased";
    case Disagreement::ledger_only: return "ledger_only";
    case Disagreement::unconfirmed: return "unconfirmed";
    case Disagreement::undriven: return "undriven";
    case Disagreement::outbox: return "outbox";
    case Disagreement::contents: return "contents";
    case Disagreement::counts: return "counts";
    case Disagreement::total: return "total";
    case Disagreement::dead_letter: return "dead_letter";
  }
  return "?";
}

struct Mismatch {
  Disagreement what = Disagreement::gate_only;
  Hold hold;                 // Its id, sale, item and units, as far as they are known.
  std::uint64_t number = 0;  // Of an outbox row; of a dead letter, its place.
  std::string detail;        // For a person.
  bool is_repaired = false;
  std::string repair;  // What was done, or why not.
};

/// Where gate and ledger disagree, order by order. Counts are never repaired by their difference (R5).
struct Findings {
  std::vector<Hold> gate_only;    // Held by the gate, not live in the ledger and not under way: to be released.
  std::vector<Hold> ledger_only;  // Live in the ledger, not held by the gate: to be adopted.
  std::vector<Hold> unsold;       // Paid in the ledger, still held as unpaid by the gate: to be sold.
  std::vector<TotalMismatch> totals;
  std::int64_t compared = 0;

  // Of shared stores, where the lists above name what is named here once more.
  std::vector<Mismatch> shared;
  std::size_t waiting = 0;                // Seen, and too young to be told from what is under way. To be asked again.
  Micros waiting_since{0};                // How long ago the oldest of those was first seen.
  std::vector<std::string> not_compared;  // What could not be asked, and why.

  [[nodiscard]] bool is_clean() const {
    return gate_only.empty() && ledger_only.empty() && unsold.empty() && totals.empty() && shared.empty() &&
           not_compared.empty();
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
