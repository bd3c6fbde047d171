#pragma once

#include "base/result.h"
#include "base/time.h"
#include "ledger/shared_ledger.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir {

/// What was done to bring a gate and a ledger together again. `order` is none where it was about a whole sale; it may
/// be a hold that no order belongs to.
struct Repair {
  SaleNo sale;
  OrderId order;
  std::string finding;  // By one word, as `gate_only`.
  std::string detail;   // For a person.
};

/// Everything that a shared ledger has about an order beside its row and its history.
struct OrderTraces {
  struct Late {
    OrderId hold;
    PaymentId payment;
    std::optional<bool> is_kept;  // Null: not decided.
    Instant since;
  };
  struct Parked {
    LogMark place;
    std::string problem;
    bool is_shown = false;
    Instant at;
  };
  struct Repaired {
    Instant at;
    std::string finding;
    std::string detail;
  };
  std::optional<std::int64_t> epoch;  // Of the gate that admitted it; null: there is no row.
  SaleNo sale;                        // None without a row.
  std::vector<Release> releases;      // Of its holds, waiting for the gate.
  std::vector<Late> late;
  std::vector<Parked> parked;
  std::vector<Repaired> repairs;
};

/// A shared ledger that gives account of itself: what must be held, what is known of one order, what was repaired.
///
/// Threads, blocking, failures: as `SharedLedger`. `live_holds` keeps a snapshot open while it runs.
class ProvingLedger : public SharedLedger {
 public:
  /// Calls `each` for every hold of a sale that must be in its gate, as of one moment. A failure: perhaps not for all.
  [[nodiscard]] virtual Result<void> live_holds(SaleNo sale, const std::function<void(const LiveHold&)>& each) = 0;

  [[nodiscard]] virtual Result<OrderTraces> traces_of(OrderId order, Deadline deadline) = 0;

  /// Keeps what was repaired, for ever, at the ledger's own time. Not repeatable: a second call is a second entry.
  [[nodiscard]] virtual Result<void> note_repairs(std::span<const Repair> repairs, Deadline deadline) = 0;
};

}  // namespace weir
