#pragma once

#include "app/worker_marks.h"
#include "app/worker_thread.h"
#include "app/worker_totals.h"
#include "base/result.h"
#include "base/siphash.h"
#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/build_gate.h"
#include "flow/expire.h"
#include "flow/lease.h"
#include "flow/record_log.h"
#include "flow/upkeep.h"
#include "gate/shared_gate.h"
#include "ledger/shared_ledger.h"
#include "queue/log_queue.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace weir {

/// What a worker is made of. Every thread has connections of its own; `wiring` opened them.
struct WorkerParts {
  /// What a thread needs of the ledger, and of the gate where it asks one.
  struct Stores {
    std::unique_ptr<SharedLedger> ledger;
    std::unique_ptr<LedgerReader> reader;
    std::unique_ptr<SharedGate> gate;
  };
  Stores record;
  Stores upkeep;
  std::unique_ptr<SharedLedger> expire_ledger;
  std::unique_ptr<SharedLedger> errands_ledger;
  std::unique_ptr<LogConsumer> log;
  std::unique_ptr<LogProducer> producer;  // For what is driven again.
  std::unique_ptr<DeadLetters> letters;
  std::string builder;                        // A name of this process that no other one has.
  std::function<void(const Error&)> corrupt;  // Stop the process: a person is needed.
};

/// What a worker has done, for metrics.
struct WorkerCounts {
  RecordLogCounts record;
  BuildCounts builds;
  std::size_t stuck_partitions = 0;
  std::size_t builds_under_way = 0;
  std::uint64_t driven = 0;
  std::uint64_t released_units = 0;
  std::uint64_t late_decided = 0;
  std::uint64_t expired = 0;
  std::uint64_t letters_shown = 0;
  std::uint64_t recoveries = 0;
  std::int64_t oldest_in_flight_us = 0;
  std::int64_t backlog = 0;  // Records of the log that are not in the ledger.
};

/// The process behind the front doors: records what stands in the log, and keeps gate, log and ledger in step.
///
/// Any number of workers may run at once: every effect is keyed and fenced, so they share the work and take over from
/// one another without agreeing on anything. A worker may be killed at any moment.
///
/// Threads of its own: the *recorder* owns the consumer; *upkeep* builds gates, gives back, drives again, decides late
/// money and compares totals; the *expirer* asks nothing but the ledger, so that a gate in trouble delays no expiry;
/// *errands* may wait for seconds.
class Worker {
 public:
  Worker(WorkerParts parts, const Clock& clock);
  ~Worker();

  /// Reads the catalog. Failures: the ledger's.
  [[nodiscard]] Result<void> prepare();
  void start();
  /// Ends each thread after the step under way; what was driven again gets a moment to arrive. Repeatable.
  void stop();

  /// Every thread's turns go round, and the states of the gates may be believed.
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] WorkerCounts counts() const;

 private:
  /// Expiry tells the gate nothing: the ledger's outbox carries what ended.
  class NoEffects final : public SettlePort {
   public:
    [[nodiscard]] std::size_t take_commands(std::span<SettleRequest>) override { return 0; }
    void to_gate(const GateRequest&) override {}
  };

  void add_recorder_verbs();
  void add_upkeep_verbs();
  void add_other_verbs();
  [[nodiscard]] WorkerThread::Hooks hooks_of(SharedLedger& ledger, std::function<void()> turned);
  [[nodiscard]] Result<std::size_t> refresh_catalog(Ticks now);
  [[nodiscard]] Result<std::size_t> compare_totals(Ticks now);
  [[nodiscard]] Result<std::size_t> measure_backlog(Ticks now);
  void publish_record();
  void publish_upkeep();

  WorkerParts parts_;
  const Clock& clock_;
  Snapshot<Catalog> catalog_;
  WorkerMarks marks_;

  Lease record_lease_;
  RecordLog record_;

  Lease upkeep_lease_;
  BuildGate build_;
  GiveBack give_back_;
  Redrive redrive_;
  DecideLateMoney late_money_;
  WorkerTotals totals_;

  NoEffects no_effects_;
  Expire expire_;
  ShowParked show_parked_;

  std::atomic<std::int64_t> epoch_seen_{0};  // From the recorder to the builder.
  mutable std::mutex counts_mutex_;
  WorkerCounts counts_;

  WorkerThread recorder_;
  WorkerThread upkeep_;
  WorkerThread expirer_;
  WorkerThread errands_;
};

}  // namespace weir
