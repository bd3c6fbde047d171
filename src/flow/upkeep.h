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
#include <deque>
#include <unordered_map>
#include <vector>

/// What workers do between gate, log and ledger besides recording. Each verb may run in any number of workers at once:
/// every effect is keyed by a hold and fenced by an epoch.
namespace weir {

/// What the verbs share. All outlive them.
struct UpkeepParts {
  SharedLedger& ledger;
  SharedGate& gate;
  const Lease& lease;
  const Snapshot<Catalog>& catalog;
};

/// Gives back what ended: takes releases out of the ledger's outbox, runs them on the gate, and only then forgets them,
/// if the epoch they ran at is still OPEN (P6).
///
/// Threads: one owner. Blocking: as gate and ledger, up to a deadline each.
class GiveBack {
 public:
  explicit GiveBack(const UpkeepParts& parts) : parts_(parts) {}
  /// One batch of one sale; how many releases left the outbox.
  [[nodiscard]] Result<std::size_t> step(Ticks now);
  [[nodiscard]] std::uint64_t released_units() const { return released_units_; }

 private:
  [[nodiscard]] Result<std::size_t> give_back(const GateState& state, Ticks now);

  UpkeepParts parts_;
  std::size_t next_ = 0;
  std::uint64_t released_units_ = 0;
};

/// Drives on what hangs between gate and ledger: a claim that was taken and perhaps never published is published again
/// under its own id; what the ledger has is confirmed; what has ended there is given back. That last has a release in
/// the outbox as a rule, but not if all that the log ever told of it was unreadable: then nobody knew its sale.
///
/// Threads: one owner, also of the producer. Blocking: as gate and ledger, up to a deadline each; never for the log.
class Redrive {
 public:
  Redrive(const UpkeepParts& parts, LogProducer& log, const Clock& clock) : parts_(parts), log_(log), clock_(clock) {}
  /// One batch of one sale; how many holds were driven, confirmed or given back.
  [[nodiscard]] Result<std::size_t> step(Ticks now);
  [[nodiscard]] std::uint64_t driven() const { return driven_count_; }
  /// Of the oldest hold in flight, as last seen; 0 when there is none.
  [[nodiscard]] Micros oldest() const { return oldest_; }

 private:
  [[nodiscard]] Result<std::size_t> drive(const GateState& state, Ticks now);
  [[nodiscard]] std::size_t publish(const GateState& state, const std::vector<Claim>& claims, Ticks now);
  [[nodiscard]] bool was_driven(OrderId hold, Ticks now);
  void hear(Ticks now);

  UpkeepParts parts_;
  LogProducer& log_;
  const Clock& clock_;
  std::unordered_map<OrderId, Ticks> driven_;             // When each was published again.
  std::deque<std::pair<Ticks, OrderId>> driven_in_turn_;  // The same, oldest first; at most kDrivenMax.
  std::vector<Outcome> outcomes_;
  std::size_t next_ = 0;
  std::uint64_t driven_count_ = 0;
  Micros oldest_{0};
};

/// Late money: asks the gate for the units under a second hold, then lets the ledger decide at that epoch.
///
/// Threads: one owner. Blocking: as gate and ledger, up to a deadline each.
class DecideLateMoney {
 public:
  explicit DecideLateMoney(const UpkeepParts& parts) : parts_(parts) {}
  /// One batch; how many payments were decided.
  [[nodiscard]] Result<std::size_t> step(Ticks now);

 private:
  UpkeepParts parts_;
};

/// Publishes messages that nobody could read where people look for them, after the ledger has kept them.
///
/// Threads: one owner. Blocking: as log and ledger, up to a deadline each.
class ShowParked {
 public:
  ShowParked(SharedLedger& ledger, DeadLetters& letters) : ledger_(ledger), letters_(letters) {}
  [[nodiscard]] Result<std::size_t> step(Ticks now);

 private:
  SharedLedger& ledger_;
  DeadLetters& letters_;
};

}  // namespace weir
