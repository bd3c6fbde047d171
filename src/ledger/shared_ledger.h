#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/claim.h"
#include "domain/order.h"
#include "domain/recording.h"
#include "ledger/ledger.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// The state of a sale's gate, as the ledger decides it. An epoch is one build of the gate; epochs only grow, 0: none.

enum class GatePhase : std::uint8_t { building = 0, open = 1 };
[[nodiscard]] constexpr std::string_view name(GatePhase phase) {
  return phase == GatePhase::building ? "BUILDING" : "OPEN";
}

struct GateState {
  SaleNo sale;
  std::int64_t epoch = 0;
  GatePhase phase = GatePhase::building;
  std::int64_t last_open = 0;  // The newest epoch that was ever open.
  std::string pin;             // The one process that the gate of `last_open` lives in.
  std::string builder;         // Who made `epoch`.
  Instant builder_seen_at;     // By the ledger's clock.
};

/// A wish to build: taken only while the epoch is the one that the builder believes in. The new epoch is larger than
/// everything seen anywhere.
struct BuildStart {
  SaleNo sale;
  std::int64_t believed = 0;      // 0: the sale never had a gate.
  std::int64_t seen_in_gate = 0;  // The largest epochs met outside of the ledger. They are larger than its own after
  std::int64_t seen_in_log = 0;   // it lost commits.
  std::string builder;
};

/// Where one partition of a log stands.
struct LogMark {
  std::string topic_id;
  std::int32_t partition = 0;
  std::int64_t offset = 0;  // The next one to record.
};

struct BuildFinish {
  SaleNo sale;
  std::int64_t epoch = 0;  // As `begin_build` gave it.
  std::string builder;
  std::string pin;             // Of the process to build on.
  std::vector<LogMark> marks;  // High-water marks that the ledger must have recorded up to.
};

enum class BuildEnd : std::uint8_t {
  open,        // The epoch is OPEN and durable; build the gate from the snapshot, then open it.
  superseded,  // Another one builds, or has built: stop.
  behind,      // Records below the marks are not in the ledger yet: wait and ask again.
};

/// Units that the gate must hold: an order's first hold has the order's id, that of late money an id of its own.
struct LiveHold {
  OrderId hold;
  OrderId order;
  ItemNo item;
  std::int32_t units = 0;
  bool sold = false;  // Paid, or refunded without restocking.
  std::string buyer;
  RequestDigest digest;
  Instant pay_by;
};

/// Everything a gate is built from, as of the moment at which its epoch became OPEN.
struct GateSnapshot {
  std::int32_t limit_per_buyer = 1;
  std::vector<std::pair<ItemNo, std::int64_t>> totals;
  std::vector<LiveHold> live;
  std::vector<OrderId> ended;  // Holds that ended; they never come back.
};

struct BuildResult {
  BuildEnd end = BuildEnd::superseded;
  GateSnapshot snapshot;  // `open` only.
};

// Recording from a log.

/// What the gate answered for a straggler, a claim of an older epoch than the one that is open (P5).
enum class StragglerAnswer : std::uint8_t {
  not_asked,
  adopted,        // The gate holds it now.
  adopted_other,  // The gate holds this id with other contents: see `held`.
  refused,        // No room for it any more.
  ended,          // The gate has seen this hold end.
};

/// One message of a log, as the recorder read it.
struct LogClaim {
  std::int64_t offset = 0;
  std::optional<Claim> claim;  // Null: nobody could read it.
  std::int64_t epoch = 0;      // Of the gate that admitted it.
  StragglerAnswer answer = StragglerAnswer::not_asked;
  std::int64_t answered_at = 0;  // The epoch at which the gate answered: it counts only while that one is OPEN (P6).
  std::optional<Claim> held;     // `adopted_other`: recorded instead of `claim`.

  // What is left of one that nobody could read. Kept in the ledger before the offset passes it.
  std::string key;
  std::string bytes;
  std::string problem;
  std::optional<OrderId> order;  // If that could be read: the hold ends here.
  SaleNo sale;                   // If that is known: its gate is told.
};

/// A run of one partition: `claims` ascend by offset and lie in [expected, next). Without a topic there is no log:
/// offsets are not looked at, everything else is the same.
struct LogSlice {
  std::string_view topic_id;
  std::int32_t partition = 0;
  std::int64_t expected = 0;
  std::int64_t next = 0;
  std::span<const LogClaim> claims;  // At most kLedgerBatchMax.
};

enum class LogFate : std::uint8_t {
  recorded,  // A new row, PENDING. Confirm it to the gate.
  repeated,  // The row was there and is live. Confirm it.
  ended,     // The row was there and has ended: its release is in the outbox.
  rejected,  // A new row, REJECTED, and its release: see `why`.
  parked,    // Kept as bytes.
  left,      // A straggler that needs an answer of the epoch that is open now; the run ends before it.
};

enum class Rejection : std::uint8_t {
  none,
  over_limit,
  exceeds_stock,
  key_reused,    // The id stands for another request.
  gate_refused,  // A straggler that the present gate has no room for, or has seen end.
  gate_lost,     // Admitted by a gate that is older than the last one that was open.
};
[[nodiscard]] constexpr std::string_view name(Rejection why) {
  switch (why) {
    case Rejection::none: return "none";
    case Rejection::over_limit: return "over_limit";
    case Rejection::exceeds_stock: return "exceeds_stock";
    case Rejection::key_reused: return "key_reused";
    case Rejection::gate_refused: return "gate_refused";
    case Rejection::gate_lost: return "gate_lost";
  }
  return "?";
}

struct LogOutcome {
  LogFate fate = LogFate::left;
  Rejection why = Rejection::none;
  OrderStatus status = OrderStatus::pending;
  Instant pay_by;  // `recorded`, `repeated`.
};

enum class SliceEnd : std::uint8_t {
  recorded,     // Durable up to `next`.
  fenced,       // The ledger's offset is not `expected`: somebody else records this partition. Seek to `next`.
  lost_commits  // A claim is of a later epoch than the ledger knows: build with `epoch_seen` or more. Nothing happened.
};

struct SliceResult {
  SliceEnd end = SliceEnd::fenced;
  std::int64_t next = 0;         // The ledger's offset now: smaller than asked for when a straggler was left.
  std::int64_t epoch_seen = 0;   // `lost_commits`: the largest epoch of the slice.
  std::vector<GateState> gates;  // Of the sales of the slice, as they were locked. Confirm at these, if OPEN.
};

// The outbox to the gate, late money, and what could not be read.

struct Release {
  std::uint64_t id = 0;
  OrderId hold;
};

/// Late money of a sale with a shared gate: it takes a hold of its own, gate first (P1).
struct Retake {
  OrderId hold;  // Always the same for one payment.
  PaymentId payment;
  Order order;
};

struct RetakeDecision {
  PaymentId payment;
  std::int64_t epoch = 0;  // At which the gate answered.
  bool taken = false;      // The gate holds the units.
};

enum class RetakeEnd : std::uint8_t {
  kept,      // The order is PAID again. Confirm the hold.
  refunded,  // A refund is due, and the hold's release is in the outbox.
  moved,     // The epoch is not OPEN any more: ask the gate again.
  unknown,   // There is no such retake.
};

/// How a hold stands, for who finds it in the gate and does not know more (the re-driver).
enum class HoldStanding : std::uint8_t {
  unknown,    // The ledger has never seen it: drive its claim again.
  undecided,  // Of late money: its owner goes on.
  live,       // Confirm it.
  ended,      // Its release is in the outbox, or has run.
};

struct ParkedMessage {
  std::string topic_id;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string key;
  std::string bytes;
  std::string problem;
  Instant since;
};

/// A ledger that several processes write to at once, beside a gate and a log that they share (`docs/protocol`).
///
/// Invariants: P5 to P7. An offset and the effects of what lies below it are one transaction. A sale that has a gate
/// state gets a release, in the same transaction, for every hold that ends, whatever ends it. Snapshot and OPEN are one
/// transaction that excludes every recorder of the sale.
/// Threads, blocking, failures: as `Ledger`. Every call can be repeated with the same arguments after `timed_out` and
/// `recover`; it meets its own earlier effect.
class SharedLedger : public Ledger {
 public:
  /// The states of all gates, from the primary. Read before the lease of an API node is renewed (P4).
  [[nodiscard]] virtual Result<std::vector<GateState>> gate_states(Deadline deadline) = 0;

  /// Starts a build: BUILDING at a new epoch. Null: the epoch is not `believed`, another one builds. The builder's own
  /// earlier start, met again, gives its epoch.
  [[nodiscard]] virtual Result<std::optional<std::int64_t>> begin_build(const BuildStart& start, Deadline deadline) = 0;

  /// Says that the builder lives. False: the build is not his any more.
  [[nodiscard]] virtual Result<bool> keep_building(SaleNo sale, std::int64_t epoch, std::string_view builder,
                                                   Deadline deadline) = 0;

  /// Ends a build: OPEN, with the snapshot of that moment. Repeatable until the gate has been opened.
  [[nodiscard]] virtual Result<BuildResult> finish_build(const BuildFinish& finish, Deadline deadline) = 0;

  /// Where every partition of the topic stands.
  [[nodiscard]] virtual Result<std::vector<LogMark>> log_marks(std::string_view topic_id, Deadline deadline) = 0;

  /// Makes a partition known, at this offset, if it is not; the offset that holds now.
  [[nodiscard]] virtual Result<std::int64_t> start_log(const LogMark& mark, Deadline deadline) = 0;

  /// Records a run of messages in one transaction, in order; `outcomes[i]` answers `slice.claims[i]`. Conflicts are
  /// decided for each message alone: none stops the others.
  [[nodiscard]] virtual Result<SliceResult> record_log(const LogSlice& slice, std::span<LogOutcome> outcomes,
                                                       Deadline deadline) = 0;

  /// The oldest releases of a sale that no gate has confirmed yet. Several workers may get the same ones.
  [[nodiscard]] virtual Result<std::vector<Release>> releases(SaleNo sale, std::size_t count, Deadline deadline) = 0;

  /// Forgets releases that have run on the gate of `epoch`; returns how many. None, unless that epoch is still OPEN.
  [[nodiscard]] virtual Result<std::size_t> drop_releases(SaleNo sale, std::int64_t epoch,
                                                          std::span<const std::uint64_t> ids, Deadline deadline) = 0;

  /// Late money that waits for a decision, oldest first.
  [[nodiscard]] virtual Result<std::vector<Retake>> undecided_retakes(std::size_t count, Deadline deadline) = 0;

  /// Decides late money after the gate was asked; `ends[i]` answers `decisions[i]`. Instead of `DecideLate`, for sales
  /// with a gate state.
  [[nodiscard]] virtual Result<void> decide_retakes(std::span<const RetakeDecision> decisions,
                                                    std::span<RetakeEnd> ends, Deadline deadline) = 0;

  /// How holds stand; `standings[i]` answers `holds[i]`.
  [[nodiscard]] virtual Result<void> look_up_holds(std::span<const OrderId> holds, std::span<HoldStanding> standings,
                                                   Deadline deadline) = 0;

  /// Parked messages that were not shown to people yet, oldest first.
  [[nodiscard]] virtual Result<std::vector<ParkedMessage>> parked(std::size_t count, Deadline deadline) = 0;

  /// These have been shown. Their bytes stay.
  [[nodiscard]] virtual Result<void> mark_replayed(std::span<const LogMark> places, Deadline deadline) = 0;
};

}  // namespace weir
