#pragma once

#include "base/result.h"
#include "base/time.h"
#include "flow/explain.h"
#include "flow/reconcile_shared.h"
#include "gate/shared_gate.h"
#include "ledger/ledger_proofs.h"
#include "queue/log_queue.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace weir {

/// How the stores are opened that proofs ask. Each is called when its store is needed for the first time, and again
/// after it has failed.
struct ProofStores {
  std::function<Result<std::unique_ptr<ProvingLedger>>()> ledger;
  std::function<Result<std::unique_ptr<LedgerReader>>()> reader;
  std::function<Result<std::unique_ptr<SharedGate>>(LedgerReader&)> gate;
  std::function<Result<std::unique_ptr<LogProducer>>()> log;
  std::function<Result<std::unique_ptr<DeadLetters>>()> letters;
  std::function<Result<AskMarks>()> log_end;
};

/// Reconciling and explaining on stores that several processes share, with connections of its own. It remembers what it
/// has seen: who reconciles again a while later hears what has lasted.
///
/// Threads: any; one question at a time, the others wait for kSharedWaitUs and are then refused. Blocking: as the
/// verbs.
class Proofs {
 public:
  Proofs(ProofStores stores, const Clock& clock) : stores_(std::move(stores)), clock_(clock) {}

  [[nodiscard]] Result<Findings> reconcile(bool dry_run);
  [[nodiscard]] Result<Explained> explain(OrderId order);

 private:
  [[nodiscard]] Result<void> open_ledger();
  [[nodiscard]] Result<void> open_gate();
  [[nodiscard]] Result<void> open_log_end();
  [[nodiscard]] Result<void> open_for_repairs();

  ProofStores stores_;
  const Clock& clock_;
  std::timed_mutex mutex_;  // Guards everything below.
  std::unique_ptr<ProvingLedger> ledger_;
  std::unique_ptr<LedgerReader> reader_;
  std::unique_ptr<SharedGate> gate_;
  std::unique_ptr<LogProducer> log_;
  std::unique_ptr<DeadLetters> letters_;
  AskMarks ask_log_end_;
  std::optional<ReconcileShared> reconcile_;
};

}  // namespace weir
