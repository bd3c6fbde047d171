#pragma once

#include "base/result.h"
#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "domain/claim.h"
#include "flow/build_gate.h"
#include "flow/lease.h"
#include "flow/leased_gate.h"
#include "gate/shared_gate.h"
#include "queue/log_queue.h"

#include <functional>
#include <mutex>
#include <optional>

namespace weir {

/// Finds out what is known of an order that the ledger has no row of: whether a shared gate holds its units, or the log
/// may still contain it.
///
/// Threads: any; one question at a time, the next one waits. Blocking: as gate and log, up to kSharedWaitUs each, and
/// as long for the ones before. After a failure nobody waits for the next kUpkeepRestUs: a store that does not answer
/// must not keep the threads that ask here from others.
class OrderFinder {
 public:
  OrderFinder(SharedGate& gate, const Lease& lease, const Snapshot<Catalog>& catalog, const Clock& clock,
              AskMarks ask_log_end)
      : gate_(gate, lease, catalog, clock), clock_(clock), ask_log_end_(std::move(ask_log_end)) {}

  /// What the gates hold under this id; a failure when one of them could not be asked and none of the others holds it.
  [[nodiscard]] Result<std::optional<Claim>> held(OrderId order);
  /// Where the log ends now.
  [[nodiscard]] Result<LogRanges> log_end();

 private:
  template <typename T>
  [[nodiscard]] Result<T> ask(Ticks& rests_until, const std::function<Result<T>(Deadline)>& question);

  std::timed_mutex mutex_;
  Ticks gate_rests_until_;  // With the gate and the log under `mutex_`.
  Ticks log_rests_until_;
  LeasedGate gate_;
  const Clock& clock_;
  AskMarks ask_log_end_;
};

}  // namespace weir
