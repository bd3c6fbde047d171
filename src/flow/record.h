#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/recording.h"
#include "ledger/ledger.h"
#include "queue/queue.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace weir {

struct RecordCounts {
  std::uint64_t batches = 0;
  std::uint64_t recorded = 0;
  std::uint64_t refused = 0;
  std::uint64_t unknown_commits = 0;
  std::uint64_t not_persisted = 0;
};

/// Records what was admitted: a batch from the queue, one ledger transaction, its outcomes back.
///
/// A batch whose commit is unknown is sent again under the same ids until the ledger says what became of it. A batch
/// that the ledger certainly did not take, in any attempt, is tried for kRecordPatienceUs, then handed back as not
/// persisted; from then on `ready` is false, and claims are shed, until a probe finds the ledger well again.
///
/// Threads: the ledger writer's; `ready` may be read from any. Blocking: as the ledger, up to a deadline a step.
class Record {
 public:
  Record(QueueConsumer& queue, Ledger& ledger);

  /// One bounded round; how many claims were finished. A failure means `ledger_failed`: recover, then step again.
  [[nodiscard]] Result<std::size_t> step(Ticks now);

  /// Told by the owner of the ledger after `recover`: whether recording may be tried again.
  void set_ready(bool ready) { ready_.store(ready); }
  [[nodiscard]] const std::atomic<bool>& ready() const { return ready_; }
  [[nodiscard]] const RecordCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] std::size_t hand_back(std::size_t count);

  QueueConsumer& queue_;
  Ledger& ledger_;
  std::vector<Claim> claims_;
  std::vector<Outcome> outcomes_;
  Ticks failing_since_;
  bool failing_ = false;
  bool may_have_happened_ = false;  // A commit of the present batch is unknown: it is never handed back.
  std::atomic<bool> ready_{true};
  RecordCounts counts_;
};

}  // namespace weir
