#pragma once

#include "base/result.h"
#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/lease.h"
#include "gate/shared_gate.h"
#include "ledger/shared_ledger.h"
#include "queue/log_queue.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace weir {

struct RecordLogCounts {
  std::uint64_t batches = 0;
  std::uint64_t recorded = 0;
  std::uint64_t repeated = 0;
  std::uint64_t ended = 0;
  std::uint64_t rejected = 0;
  std::uint64_t parked = 0;
  std::uint64_t left = 0;    // Stragglers that the gate was not there to answer for.
  std::uint64_t fenced = 0;  // Batches that somebody else had recorded.
  std::uint64_t unknown_commits = 0;
};

/// Records what stands in a shared log: a run of one partition, the gate's word on stragglers, one ledger transaction
/// with the offset in it, then the gate hears what is recorded.
///
/// Nothing is skipped: what cannot be read is parked in the same transaction. A run whose commit is unknown is asked
/// for again at the ledger's own offset. A partition whose next record is gone from the log is left alone and shouted
/// about: a person must say what was in it.
/// Threads: one owner. Blocking: as the log, the gate and the ledger, up to a deadline each.
class RecordLog {
 public:
  RecordLog(LogConsumer& log, SharedLedger& ledger, SharedGate& gate, Lease& lease, Snapshot<Catalog>& catalog,
            LedgerReader& reader);

  /// One bounded round over one partition; how many messages were done with. A failure: see `Failure`; after
  /// `timed_out` the ledger must recover before the next step.
  [[nodiscard]] Result<std::size_t> step(Ticks now);

  [[nodiscard]] const RecordLogCounts& counts() const { return counts_; }
  /// The largest epoch met in the log that the ledger did not know of: it has lost commits. 0: none.
  [[nodiscard]] std::int64_t epoch_seen() const { return epoch_seen_; }
  /// Partitions whose next record is gone.
  [[nodiscard]] std::size_t stuck() const;

 private:
  struct Partition {
    bool is_sought = false;
    bool is_stuck = false;
    Ticks rests_until;
  };

  [[nodiscard]] Result<void> follow_assignment(Ticks now);
  [[nodiscard]] Result<void> begin(std::int32_t partition, Ticks now);
  /// What the partition has; null: nothing now.
  [[nodiscard]] Result<std::optional<LogBatch>> take(std::int32_t number, Deadline deadline, Ticks now);
  [[nodiscard]] Result<std::size_t> record(const LogBatch& batch, Ticks now);
  void read_entries(const LogBatch& batch, Ticks now);
  void read_entry(const LogEntry& entry, LogClaim& into);
  [[nodiscard]] bool needs_newer_catalog(const LogBatch& batch) const;
  void ask_for_stragglers(Ticks now);
  void ask_gate(SaleNo sale, const GateState& state, std::span<const std::size_t> places, Ticks now);
  void conclude(const LogBatch& batch, const SliceResult& result, Ticks now);
  void confirm(std::span<const GateState> gates, Ticks now);

  LogConsumer& log_;
  SharedLedger& ledger_;
  SharedGate& gate_;
  Lease& lease_;
  Snapshot<Catalog>& catalog_;
  LedgerReader& reader_;
  LogAssignment assignment_;
  std::map<std::int32_t, Partition> partitions_;
  std::size_t next_ = 0;
  std::vector<LogClaim> claims_;
  std::vector<LogOutcome> outcomes_;
  std::vector<Adopted> adopted_;
  RecordLogCounts counts_;
  std::int64_t epoch_seen_ = 0;
};

}  // namespace weir
