#pragma once

#include "base/result.h"
#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/upkeep.h"
#include "gate/shared_gate.h"
#include "ledger/shared_ledger.h"
#include "queue/log_queue.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir {

/// Asks the log where its partitions end, from their leaders.
using AskMarks = std::function<Result<LogRanges>(Deadline)>;

struct BuildCounts {
  std::uint64_t started = 0;
  std::uint64_t finished = 0;
  std::uint64_t given_up = 0;
};

/// Builds gates: a new one for a sale that has none, and the next epoch for one that is lost, moved or went back.
///
/// A build takes several seconds and is done in steps; between them nothing waits here. The waiting time of the
/// protocol (lease + publish deadline) is kept for every build but the first of a sale, which nobody can have sold
/// from. A build that was not needed is harmless, so every doubt leads to one; a step that fails is tried again, and a
/// build that another one has overtaken is dropped.
///
/// Besides it keeps the gates' terms (limit, pause) as the ledger has them. What workers compare with one another's
/// times (who is silent, whose terms are newer) is told by the ledger's clock: their own may be hours apart.
/// Threads: one owner. Blocking: as gate, log and ledger, up to a deadline each.
class BuildGate {
 public:
  BuildGate(const UpkeepParts& parts, AskMarks ask_marks, const Clock& clock, std::string builder)
      : parts_(parts), ask_marks_(std::move(ask_marks)), clock_(clock), builder_(std::move(builder)) {}

  /// One step of each build under way, and a look at each gate when it is time; how many things were done. `timed_out`:
  /// the steps were done, and the ledger must recover before the next one.
  [[nodiscard]] Result<std::size_t> step(Ticks now);

  /// Of the log: the ledger has lost commits, and the next epoch must be larger than this one.
  void saw_epoch_in_log(std::int64_t epoch) { seen_in_log_ = std::max(seen_in_log_, epoch); }
  /// Something is wrong with this gate that a look does not show: the next look builds it anew.
  void doubt(SaleNo sale) { doubted_.insert(sale); }
  [[nodiscard]] const BuildCounts& counts() const { return counts_; }
  [[nodiscard]] std::size_t under_way() const { return builds_.size(); }

 private:
  /// Where a build stands: each value says what is to be done next.
  enum class Stage : std::uint8_t { close, wait, ask_marks, finish, start, holds, ended, open };

  struct Build {
    Stage stage = Stage::close;
    GateState state;  // The epoch that is being built.
    Ticks begun_at;   // When the ledger said BUILDING.
    Ticks beat_at;
    bool is_first = false;
    bool is_lost = false;  // The gate that is being filled has moved, or lost something, or is not ours any more.
    std::vector<LogMark> marks;
    GateSnapshot snapshot;
    std::size_t done = 0;  // Of the holds, then of the ended ids.
  };
  struct Watch {
    Ticks not_open_since;
    bool is_not_open = false;
    std::uint64_t writes = 0;
    std::int64_t epoch = 0;
    std::uint64_t terms = 0;  // The version of the terms that the gate was last given.
  };

  [[nodiscard]] std::size_t look_at_gates(Ticks now);
  void look_at(const Sale& sale, const GateState* state, Ticks now);
  [[nodiscard]] bool is_build_needed(const Sale& sale, const GateState& state, const GateLook& look, Ticks now);
  void keep_terms(const Sale& sale, const GateLook& look, Ticks now);
  void begin(const Sale& sale, const GateState* state, std::int64_t seen_in_gate, std::string_view why, Ticks now);
  /// False: the build is over, one way or the other.
  [[nodiscard]] bool advance(Build& build, Ticks now);
  [[nodiscard]] bool finish(Build& build, Ticks now);
  [[nodiscard]] bool fill(Build& build, Ticks now);
  [[nodiscard]] bool keep(Build& build, Ticks now);
  [[nodiscard]] bool is_met(const GateAnswer<void>& answer, Build& build);
  /// The same, of an answer of the ledger; one that never came is remembered.
  template <typename T>
  [[nodiscard]] bool is_heard(const Result<T>& answer) {
    if (!answer && answer.error().failure == Failure::timed_out) is_ledger_unknown_ = true;
    return answer.has_value();
  }

  UpkeepParts parts_;
  AskMarks ask_marks_;
  const Clock& clock_;
  std::string builder_;
  std::map<SaleNo, Build> builds_;
  std::map<SaleNo, Watch> watches_;
  std::set<SaleNo> doubted_;
  Ticks looked_at_;
  bool has_looked_ = false;
  bool is_ledger_unknown_ = false;  // A call of this step had no answer: whoever owns the ledger has to recover it.
  std::int64_t seen_in_log_ = 0;
  BuildCounts counts_;
};

}  // namespace weir
