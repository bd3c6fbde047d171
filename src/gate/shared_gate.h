#pragma once

#include "base/time.h"
#include "domain/claim.h"
#include "domain/sale.h"
#include "gate/gate.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Why a shared gate did not do what was asked, by what the caller does about it. Except after `timed_out` and
/// `went_back`, nothing happened.
enum class GateTrouble : std::uint8_t {
  none,
  missing,       // Something of this epoch is lost or is not what it was: report it, a build is needed.
  wrong_epoch,   // The gate stands at another epoch, or was built by another layout: read the ledger again.
  closed,        // It stands at this epoch and is not open (yet).
  already_open,  // A build step met a gate that is open at this epoch: the build is over.
  wrong_pin,     // Another process than the pinned one answers for the sale: a build is needed.
  went_back,     // Its count of writes became smaller: it lost some. A build is needed; do not believe the answer.
  foreign,       // The gate under this name belongs to another ledger: an operator must look.
  unattached,    // This process has not attached the sale.
  unavailable,   // Not reached, refused, or out of memory: try again later, backing off.
  timed_out,     // It may have happened: ask again with the same ids.
  corrupt,       // What was handed in does not fit the totals.
  unfit,         // A setting is wrong: the message names it.
};

[[nodiscard]] constexpr std::string_view name(GateTrouble trouble) {
  switch (trouble) {
    case GateTrouble::none: return "none";
    case GateTrouble::missing: return "missing";
    case GateTrouble::wrong_epoch: return "wrong_epoch";
    case GateTrouble::closed: return "closed";
    case GateTrouble::already_open: return "already_open";
    case GateTrouble::wrong_pin: return "wrong_pin";
    case GateTrouble::went_back: return "went_back";
    case GateTrouble::foreign: return "foreign";
    case GateTrouble::unattached: return "unattached";
    case GateTrouble::unavailable: return "unavailable";
    case GateTrouble::timed_out: return "timed_out";
    case GateTrouble::corrupt: return "corrupt";
    case GateTrouble::unfit: return "unfit";
  }
  return "?";
}

/// What the calls of the port `Gate` say for a trouble; `SharedGate::trouble` keeps the exact one.
[[nodiscard]] constexpr Failure failure_of(GateTrouble trouble) {
  switch (trouble) {
    case GateTrouble::timed_out:
    case GateTrouble::went_back: return Failure::timed_out;
    case GateTrouble::corrupt: return Failure::corrupt;
    case GateTrouble::unfit: return Failure::unfit;
    case GateTrouble::none:
    case GateTrouble::missing:
    case GateTrouble::wrong_epoch:
    case GateTrouble::closed:
    case GateTrouble::already_open:
    case GateTrouble::wrong_pin:
    case GateTrouble::foreign:
    case GateTrouble::unattached:
    case GateTrouble::unavailable: return Failure::unavailable;
  }
  return Failure::unavailable;
}

/// A trouble and a sentence for the operator.
struct GateError {
  GateTrouble trouble = GateTrouble::none;
  std::string message;
};

template <typename T>
using GateAnswer = std::expected<T, GateError>;

/// Where a sale's gate is believed to stand. Every call about the sale is fenced by it.
struct GatePlace {
  SaleNo sale;
  TenantNo tenant;
  std::string name;        // `tenant:sale`, each by `is_id_text`. Everything of the sale lies together under it.
  std::int64_t epoch = 0;  // From 1 on.
  std::string pin;         // Of the process that the gate was built on; empty: not built yet, nothing can be sold.
};

/// Terms of a sale. Older ones never replace newer ones, so a process that lags behind changes nothing.
struct GateTerms {
  std::int32_t limit_per_buyer = 1;
  bool selling = true;        // The window and the pause. They stop `reserve` alone.
  std::uint64_t version = 0;  // Grows with every change in the ledger.
};

enum class HoldKind : std::uint8_t {
  claim,       // Of an order, under the order's id.
  retake,      // Of late money, under an id of its own: a hold ends once and never comes back.
  withdrawal,  // Units that the organiser takes out of the sale. Without a buyer; ends when it is confirmed.
};

/// A hold with all that is needed to publish its claim again. `claim.order` is the id of the hold.
struct SharedHold {
  Claim claim;
  HoldKind kind = HoldKind::claim;
  bool sold = false;
  bool recorded = false;  // The ledger has it: nothing needs to drive it again.
};

/// What the gate answers for a hold that it is asked to take up.
enum class Adoption : std::uint8_t {
  adopted,  // It holds it now, or did before. In flight until it is confirmed.
  other,    // It holds this id with other contents: those count, see `Adopted::held`.
  refused,  // Too few units are free, the limit does not allow it, or the item is unknown.
  ended,    // It has seen this hold end.
};

[[nodiscard]] constexpr std::string_view name(Adoption adoption) {
  switch (adoption) {
    case Adoption::adopted: return "adopted";
    case Adoption::other: return "other";
    case Adoption::refused: return "refused";
    case Adoption::ended: return "ended";
  }
  return "?";
}

struct Adopted {
  Adoption adoption = Adoption::refused;
  Claim held;  // `other`: what the gate holds under this id.
};

/// A hold that is not known to be recorded, and how long it has been so by the gate's own clock.
struct InFlight {
  SharedHold hold;
  Micros age{0};
};

/// A change of an item's total that the ledger's totals already contain.
struct StockChange {
  ItemNo item;
  std::uint64_t id = 0;
};

/// Claims of one sale and their verdicts, and how asking for them went.
struct ReserveBatch {
  SaleNo sale;
  std::span<const Claim> claims;  // At most kGateBatchMax, all of `sale`.
  std::span<Verdict> verdicts;    // As many; written only without trouble.
  GateTrouble trouble = GateTrouble::none;
  std::string message;  // With trouble: a sentence for the operator.
};

/// What stands in the gate under a sale's name, whatever epoch and pin are attached. For builders and operators.
struct GateLook {
  std::int64_t epoch = 0;   // 0: nothing is there.
  std::int64_t layout = 0;  // Of the build that made it.
  bool open = false;
  bool selling = false;
  bool missing = false;  // It is open at the attached epoch and lacks something, or nothing is there at all.
  std::int32_t limit_per_buyer = 0;
  std::uint64_t writes = 0;  // Counted by the gate; never goes back.
  std::string ledger;        // The owner.
  std::string pin;           // Of the process that answered.
};

/// A gate that several processes share, built in epochs on one pinned process of a store that may lose writes.
///
/// The ledger decides which epoch and which pin are right. A process attaches a sale at what it has read there; from
/// then on every call, those of the port `Gate` as well, is refused by the gate itself unless it stands at that epoch,
/// is open, whole, and answers from the pinned process. Nothing heals itself here: what is missing stays closed until
/// a builder has built the next epoch from the ledger.
///
/// Invariants: those of `Gate`. Besides: what enters the gate by `reserve` or `adopt_stragglers` is in flight from the
/// same step on, and leaves that list only by `confirm` or `release`; an ended hold never comes back in its epoch
/// (except by a claim with `retake`); every script of a build writes under its own epoch, so a builder that wakes up
/// late writes beside a newer build and not into it. Buyers are known by `Claim::buyer` and `Hold::buyer`.
///
/// Of the port: `open` changes terms and adds items to a gate that stands, it never makes one. `adopt` repairs; it does
/// not look at the limit, as the port says. `Shelf::version` begins with the epoch, so it grows over builds too.
/// `each_hold` lists the sales that are attached; a hold that it calls `recorded` is not in flight, and that was asked
/// after it was listed. What it has called before a failure counts for nothing.
///
/// Threads: one owner thread. Blocking: one round trip a call for the most part, never beyond `deadline`.
/// Repeatable: every call, with the same arguments.
class SharedGate : public Gate {
 public:
  /// Believes the ledger: calls about this sale run at this epoch and on this pin from now on. Local, never waits.
  [[nodiscard]] virtual GateAnswer<void> attach(const GatePlace& place) = 0;
  virtual void detach(SaleNo sale) = 0;
  /// Null when it is not attached.
  [[nodiscard]] virtual const GatePlace* place(SaleNo sale) const = 0;

  /// What the last call that concerned the sale met; `none` after one that went well. Local, never waits.
  [[nodiscard]] virtual GateTrouble trouble(SaleNo sale) const = 0;

  /// Looks at whatever is there, on any process: a pin that differs is reported and not refused.
  [[nodiscard]] virtual GateAnswer<GateLook> look(SaleNo sale, Deadline deadline) = 0;

  /// Decides batches of several sales at once, each by itself: trouble with one sale does not touch the others. For
  /// callers that host more than one; `reserve` with claims of several sales fails as a whole.
  virtual void reserve_batches(std::span<ReserveBatch> batches, Deadline deadline) = 0;

  [[nodiscard]] virtual GateAnswer<void> set_terms(SaleNo sale, const GateTerms& terms, Deadline deadline) = 0;

  /// Decides claims of one sale that were admitted by an older epoch, and late money with its second hold. Limit and
  /// stock are looked at, `selling` is not. `adopted[i]` answers `claims[i]`.
  /// Requires: spans of equal size, at most kGateBatchMax.
  [[nodiscard]] virtual GateAnswer<void> adopt_stragglers(SaleNo sale, HoldKind kind, std::span<const Claim> claims,
                                                          std::span<Adopted> adopted, Deadline deadline) = 0;

  /// Holds in flight for at least `age`, the oldest first, at most `count` and kGateBatchMax: to be driven again.
  [[nodiscard]] virtual GateAnswer<std::vector<InFlight>> in_flight(SaleNo sale, Micros age, std::size_t count,
                                                                    Deadline deadline) = 0;

  /// One hold; null when the gate has none under this id.
  [[nodiscard]] virtual GateAnswer<std::optional<SharedHold>> find_hold(SaleNo sale, OrderId hold,
                                                                        Deadline deadline) = 0;

  /// The counts of several items of a sale, all from the same moment; `shelves[i]` answers `items[i]`.
  /// Requires: spans of equal size, at most kGateBatchMax.
  [[nodiscard]] virtual GateAnswer<void> shelves(SaleNo sale, std::span<const ItemNo> items, std::span<Shelf> shelves,
                                                 Deadline deadline) = 0;

  // A build, in this order, at the attached epoch. All but `close` ask for the attached pin first.

  /// Closes whatever stands at this epoch or an older one. `wrong_epoch`: a newer build is there. Asks for no pin.
  [[nodiscard]] virtual GateAnswer<void> close(SaleNo sale, Deadline deadline) = 0;
  /// Throws away what this epoch has and begins anew: terms, and items with all their units free.
  [[nodiscard]] virtual GateAnswer<void> start_build(SaleNo sale, const GateTerms& terms,
                                                     std::span<const GateItem> items, Deadline deadline) = 0;
  /// Live holds of the ledger. `corrupt` if they do not fit the totals.
  [[nodiscard]] virtual GateAnswer<void> build_holds(SaleNo sale, std::span<const SharedHold> holds,
                                                     Deadline deadline) = 0;
  [[nodiscard]] virtual GateAnswer<void> build_ended(SaleNo sale, std::span<const OrderId> holds,
                                                     Deadline deadline) = 0;
  /// Changes that the totals contain, so that `restock` does not apply them once more.
  [[nodiscard]] virtual GateAnswer<void> build_changes(SaleNo sale, std::span<const StockChange> changes,
                                                       Deadline deadline) = 0;
  /// The ledger says OPEN: now the gate is, on the attached pin, which is asked before and after.
  [[nodiscard]] virtual GateAnswer<void> open_epoch(SaleNo sale, Deadline deadline) = 0;
  /// Drops what older epochs left behind. Only while the gate is open at the attached one.
  [[nodiscard]] virtual GateAnswer<void> drop_older(SaleNo sale, Deadline deadline) = 0;
};

}  // namespace weir
