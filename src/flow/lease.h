#pragma once

#include "base/result.h"
#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "gate/shared_gate.h"
#include "ledger/shared_ledger.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>

namespace weir {

/// What the ledger said about the gates of all sales, and when it was asked.
struct GateStates {
  std::unordered_map<SaleNo, GateState> of_sale;
  Ticks asked_at;  // Before the question: what is believed is at least as old as this.
};

/// How long a process may believe what it has read about gates (P4).
///
/// Threads: `step` from one owner; `states` and `open_at` from any. Blocking: `step` as the ledger, up to a deadline.
class Lease {
 public:
  explicit Lease(SharedLedger& ledger) : ledger_(ledger) {}

  /// Reads the ledger when it is time. What it fails to read stays as it was and runs out.
  [[nodiscard]] Result<std::size_t> step(Ticks now);
  /// Looks at the ledger at the next step, whatever the time.
  void look_again() { looked_at_ = {}; }

  /// The last that was read, however old; null before the first.
  [[nodiscard]] std::shared_ptr<const GateStates> states() const { return states_.get(); }
  /// The state of a gate that is OPEN and may be believed at `now`; null otherwise.
  [[nodiscard]] std::optional<GateState> open_at(SaleNo sale, Ticks now) const;

 private:
  SharedLedger& ledger_;
  Snapshot<GateStates> states_;
  Ticks looked_at_;
  bool has_looked_ = false;
};

/// Where the gate of a state stands, by the names that the store uses; null when the catalog lacks the sale.
[[nodiscard]] std::optional<GatePlace> place_of(const GateState& state, const Catalog& catalog);

/// Attaches the sale there unless it is. False: the catalog lacks the sale, or the gate would not.
[[nodiscard]] bool attach_at(SharedGate& gate, const GateState& state, const Catalog& catalog);

}  // namespace weir
