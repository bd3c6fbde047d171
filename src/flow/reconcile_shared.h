#pragma once

#include "base/result.h"
#include "base/time.h"
#include "config/limits.h"
#include "domain/catalog.h"
#include "flow/build_gate.h"
#include "flow/reconcile.h"
#include "gate/shared_gate.h"
#include "ledger/ledger_proofs.h"
#include "queue/log_queue.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {

/// A disagreement that stays for so long is none that is under way: who published first has been heard, and the outbox
/// has been read many times.
inline constexpr Micros kReconcileGrace{kRedriveAgeUs};
inline constexpr std::size_t kReconcileRepairsMax = 1024;  // Of one step: repairs never crowd out the sale.

static_assert(kReconcileGrace.count() >= kLeaseUs + kPublishDeadlineUs, "whoever was believed has been heard");
static_assert(kReconcileRepairsMax <= kOutboxBatchMax, "the repairs of a step are noted at once");

/// What reconciling works with, all of it its own. Everything outlives the verb.
struct ReconcileParts {
  ProvingLedger& ledger;
  LedgerReader& reader;
  SharedGate& gate;  // It is attached to one sale after the other.
  LogProducer& log;
  DeadLetters& letters;
  AskMarks ask_log_end;
};

/// Compares shared gates with the ledger behind them, and repairs hold by hold with the protocol's own steps.
///
/// A step is one look. What it sees counts only if an earlier step of the same object saw it too, at the same epoch, at
/// least kReconcileGrace before; and where a message might still explain it, only if the log has been recorded beyond
/// the end that it had then. Everything else waits, so a step in the middle of a rush changes nothing. Before each
/// repair the ledger is asked once more, and the repair itself is keyed by the hold and fenced by the epoch: any number
/// of reconcilers may run beside each other and beside workers. A count that is wrong is left as it is: the gate is
/// closed at its epoch, and a worker builds the next one.
///
/// Threads: one owner. Blocking: as gate, log and ledger, up to a deadline each, and as long as it takes to list the
/// holds of every open gate. After a failure that is `timed_out` the ledger must recover before the next step.
class ReconcileShared {
 public:
  ReconcileShared(ReconcileParts parts, const Clock& clock) : parts_(std::move(parts)), clock_(clock) {}

  /// Failures: the catalog or the states of the gates could not be read. Whatever else could not be asked is named in
  /// what is returned.
  [[nodiscard]] Result<Findings> step(Ticks now, bool dry_run);

 private:
  struct Key {
    Disagreement what = Disagreement::gate_only;
    SaleNo sale;
    ItemNo item;
    OrderId hold;
    std::uint64_t number = 0;
    auto operator<=>(const Key&) const = default;
  };
  /// When something was seen for the first time, and where the log ended then.
  struct Sighting {
    Ticks since;
    std::int64_t epoch = 0;
    std::shared_ptr<const LogRanges> log_end;
  };
  /// A hold of the gate, as small as it can be: there may be millions.
  struct Held {
    ItemNo item;
    std::int32_t units = 0;
    std::uint64_t buyer = 0;  // A hash.
    bool sold = false;
    bool recorded = false;
    bool is_live = false;  // In the ledger.
  };
  struct Sums {
    std::int64_t held = 0;
    std::int64_t sold = 0;
  };
  /// One sale's gate at one look.
  struct View {
    std::vector<ItemNo> items;
    std::vector<Shelf> before;
    std::vector<Shelf> after;
    std::unordered_map<OrderId, Held> holds;
    std::unordered_map<ItemNo, Sums> sums;
  };
  /// What one step has seen.
  struct Look {
    Ticks now;
    std::shared_ptr<const Catalog> catalog;
    std::map<SaleNo, GateState> states;
    std::shared_ptr<const LogRanges> log_end;  // Null: it could not be asked.
    std::vector<Mismatch> seen;
    Findings findings;
  };

  // reconcile_shared.cc: looking.
  [[nodiscard]] Result<Look> begin(Ticks now);
  void look_at_sale(const Sale& sale, Look& look);
  [[nodiscard]] Result<void> compare_sale(const Sale& sale, const GateState& state, Look& look);
  [[nodiscard]] Result<View> view_of(const Sale& sale, const Look& look);
  [[nodiscard]] Result<std::vector<Shelf>> shelves_of(SaleNo sale, std::span<const ItemNo> items);
  void compare_counts(const Sale& sale, const View& view, const Catalog& catalog, std::vector<Mismatch>& seen) const;
  [[nodiscard]] Result<void> compare_live(const Sale& sale, View& view, Look& look, std::vector<Mismatch>& seen);
  [[nodiscard]] Result<void> look_for_absent(std::span<const LiveHold> absent, const Sale& sale, Look& look,
                                             std::vector<Mismatch>& seen);
  [[nodiscard]] Result<void> compare_outbox(const Sale& sale, std::vector<Mismatch>& seen);
  [[nodiscard]] Result<void> compare_others(const Sale& sale, const View& view, std::vector<Mismatch>& seen);
  [[nodiscard]] Result<void> compare_in_flight(const Sale& sale, std::vector<Mismatch>& seen);
  void look_at_dead_letters(Look& look);
  void judge(Look& look);
  static void list(Mismatch finding, Look& look);
  [[nodiscard]] bool is_ripe(Disagreement what, const Sighting& sighting, const Look& look) const;
  [[nodiscard]] bool is_recorded_beyond(const LogRanges& ends);
  [[nodiscard]] Result<std::vector<HoldStanding>> standings_of(std::span<const OrderId> holds);

  // reconcile_repair.cc: repairing.
  void repair(Look& look);
  void repair_sale(const GateState& state, std::span<Mismatch*> found, const Look& look);
  void repair_one(const GateState& state, Mismatch& finding, const Look& look);
  void release(Mismatch& finding, HoldStanding expected);
  void adopt(Mismatch& finding);
  void confirm(Mismatch& finding);
  void drive(const GateState& state, Mismatch& finding, const Catalog& catalog);
  void deliver(const GateState& state, Mismatch& finding);
  void ask_for_build(const GateState& state, std::span<Mismatch*> found);
  void show_dead_letters(std::span<Mismatch*> found);
  void keep_account(std::span<Mismatch*> found);
  [[nodiscard]] Deadline soon() const { return clock_.ticks() + Micros{kSharedWaitUs}; }

  ReconcileParts parts_;
  const Clock& clock_;
  std::map<Key, Sighting> sightings_;
  bool is_log_silent_ = false;  // In the step under way.
};

}  // namespace weir
