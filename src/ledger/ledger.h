#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "domain/claim.h"
#include "domain/order.h"
#include "domain/recording.h"
#include "domain/sale.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weir {

/// The Idempotency-Key of a request that is not a purchase, hashed with tenant and buyer (`derived_order_id`: purchases
/// and other requests share one space), and what was asked for under it.
struct RequestKey {
  OrderId id;
  RequestDigest digest;
};

// What the ledger can be asked to settle. Each is repeatable and meets its own earlier effect.

/// Starts a payment of a PENDING order, or finds the live one. `grace` extends payBy once per order, if it is longer.
struct StartPayment {
  TenantNo tenant;
  BuyerName buyer;
  OrderId order;
  std::string gateway;
  PaymentId payment;  // Used if a new one is made.
  Micros grace{0};
  std::optional<RequestKey> key;
};

/// One event of a gateway, its signature already verified. Unique by (gateway, event_id): the inbox row and the effect
/// are one transaction.
struct PaymentEvent {
  std::string gateway;
  std::string event_id;
  PaymentEventKind kind = PaymentEventKind::other;
  PaymentId payment;
  RefundId refund;  // `refund_done`.
  Money amount;
  std::string body;  // As received; kept in the inbox.
};

struct CancelOrder {
  TenantNo tenant;
  BuyerName buyer;
  OrderId order;
  std::optional<RequestKey> key;
};

/// Late money: the gate has been asked for the units again. Taken: EXPIRED -> PAID if the ledger agrees. Not taken, or
/// the ledger refuses: a refund becomes due.
struct DecideLate {
  PaymentId payment;
  bool units_taken = false;
};

/// Support staff or a rule give the money of a PAID order back. Null amount: all of it.
struct RefundOrder {
  TenantNo tenant;
  OrderId order;
  RefundId refund;  // Used if a new one is made; the idempotency key at the gateway.
  std::optional<std::int64_t> amount;
  bool restock = true;
  std::string reason;
  std::optional<RequestKey> key;
};

using SettleCommand = std::variant<StartPayment, PaymentEvent, CancelOrder, DecideLate, RefundOrder>;

enum class Settled : std::uint8_t {
  done,           // Something changed; durable.
  repeated,       // It had been done before; nothing changed.
  refused,        // The order's state does not allow it (see `order->status`).
  unknown_order,  // No such order of this buyer. A payment event is kept and tried again when its payment appears.
  key_reused,     // The request key stands for another request.
  late,           // Captured, but the order has ended: ask the gate, then DecideLate.
  refund_due,     // The money cannot be kept (late and gone, a second capture, a wrong amount): a refund row was made.
};

[[nodiscard]] constexpr std::string_view name(Settled settled) {
  switch (settled) {
    case Settled::done: return "done";
    case Settled::repeated: return "repeated";
    case Settled::refused: return "refused";
    case Settled::unknown_order: return "unknown_order";
    case Settled::key_reused: return "key_reused";
    case Settled::late: return "late";
    case Settled::refund_due: return "refund_due";
  }
  return "?";
}

/// What the gate must do because of what was settled, exactly once and after the commit.
enum class GateEffect : std::uint8_t { none, release, sell };

enum class PaymentState : std::uint8_t {
  started = 0,
  declined = 1,
  captured = 2,
  late = 3,
  refund_due = 4,
  refunded = 5
};
[[nodiscard]] constexpr std::string_view name(PaymentState state) {
  switch (state) {
    case PaymentState::started: return "STARTED";
    case PaymentState::declined: return "DECLINED";
    case PaymentState::captured: return "CAPTURED";
    case PaymentState::late: return "LATE";
    case PaymentState::refund_due: return "REFUND_DUE";
    case PaymentState::refunded: return "REFUNDED";
  }
  return "?";
}

struct Payment {
  PaymentId id;
  OrderId order;
  TenantNo tenant;
  std::string gateway;
  Money amount;
  PaymentState state = PaymentState::started;
  Instant created_at;
  Instant expires_at;
};

struct Settlement {
  Settled settled = Settled::refused;
  GateEffect effect = GateEffect::none;
  std::optional<Order> order;      // As it is now, where there is one.
  std::optional<Payment> payment;  // StartPayment, PaymentEvent, DecideLate.
};

/// A refund that the gateway has not yet been asked for, or has not yet confirmed.
struct RefundDue {
  Refund refund;
  PaymentId payment;
  std::string gateway;
  OrderId order;
  Instant since;
};

/// An order that has just ended unpaid.
struct Ended {
  OrderId order;
  TenantNo tenant;
  SaleNo sale;
  ItemNo item;
  std::int32_t units = 0;
  NumberList numbers{};
  std::string buyer;
};

// What an organiser may change.

struct SaleDraft {
  std::string tenant = "default";
  std::string id;
  std::string title;
  Instant opens_at;
  Instant closes_at;
  std::int32_t limit_per_buyer = 1;
  Micros pay_within{600'000'000};
  bool secret_url = false;
};
struct ItemDraft {
  std::string tenant = "default";
  std::string sale;
  std::string id;
  std::string title;
  Money price;
  std::int64_t units = 0;
  bool numbered = false;  // Then the units are the numbers from `first_number` on.
  std::uint32_t first_number = 0;
  std::string labels;
};
/// The draw of a numbered item, and what stands in its way.
struct DrawFacts {
  ItemNo item;
  bool numbered = false;
  std::string seed;  // `domain/draw`. A secret until the draw.
  bool is_sale_closed = false;
  std::int64_t pending = 0;  // Orders of the item that may still be paid.
  std::optional<Instant> pending_until;
  std::vector<std::uint32_t> entrants;  // Paid numbers, ascending; empty once it was drawn.
};
/// The one draw of an item, for ever.
struct Draw {
  std::string commitment;
  std::string seed;
  std::string mix;
  std::vector<std::uint32_t> entrants;  // Ascending.
  std::string entrants_hash;
  std::vector<std::uint32_t> winners;  // The first prize first.
  Instant drawn_at;                    // The ledger says when.
  bool operator==(const Draw&) const = default;
};

enum class SaleAction : std::uint8_t { open, pause, resume, close };

enum class Changed : std::uint8_t {
  done,
  repeated,        // The same change was made before (same id and contents, or same key).
  exists,          // The id is taken by something else.
  unknown,         // No such tenant, sale or item.
  refused,         // The state does not allow it (a closed sale cannot be opened again).
  below_committed  // The total would pass under held + sold; `minimum` says what is possible.
};
struct ChangeResult {
  Changed changed = Changed::refused;
  std::int64_t minimum = 0;     // below_committed: held + sold.
  std::int64_t total = 0;       // Stock changes: the total now.
  std::uint64_t change_id = 0;  // Stock changes: a number for `Gate::restock`.
  ItemNo item;                  // Stock changes and new items.
};

/// The ledger is the record: durable, the last word on who bought what.
///
/// Invariants, enforced by the schema (constraints never fire in a healthy system; they are the wall behind it):
///     per item: held >= 0, sold >= 0, held + sold <= total;
///     per buyer and sale: 0 <= units <= the limit in force when the units were taken;
///     per number of an item: at most one order that is live, or that was refunded and not restocked;
///     per order: one row; `status` moves only along `advance()`, by compare-and-set.
///
/// Time: deadlines are compared with the ledger's own clock, inside the statement that changes the state.
/// Threads: one owner thread, the ledger writer. Readers are `LedgerReader`s of their own.
/// Blocking: every call waits for storage, at most until `deadline`. Never from a reactor.
/// Failures: `unavailable` means nothing happened and the connection is good (disk full, busy). `timed_out` means it
/// may have happened: call `recover` until it succeeds, then ask again with the same ids. `corrupt`: stop.
class Ledger {
 public:
  virtual ~Ledger() = default;

  /// Records claims in one transaction, in order; `outcomes[i]` answers `claims[i]`. Success means durable.
  /// Requires: equal sizes, at most kLedgerBatchMax. A refused claim does not stop the others. Repeatable by order id.
  [[nodiscard]] virtual Result<void> record(std::span<const Claim> claims, std::span<Outcome> outcomes,
                                            Deadline deadline) = 0;

  /// Settles commands in one transaction, in order. Same rules as `record`.
  [[nodiscard]] virtual Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                                            Deadline deadline) = 0;

  /// Ends PENDING orders whose payBy the ledger's clock has reached, longest overdue first; returns how many. A full
  /// span means: ask again. What it returns was ended by this call and by no other.
  [[nodiscard]] virtual Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) = 0;

  /// The earliest payBy of a PENDING order; null when there is none.
  [[nodiscard]] virtual Result<std::optional<Instant>> next_expiry() = 0;

  [[nodiscard]] virtual Result<ChangeResult> create_tenant(std::string_view id,
                                                           std::span<const std::string> domains) = 0;
  [[nodiscard]] virtual Result<ChangeResult> create_sale(const SaleDraft& draft) = 0;
  [[nodiscard]] virtual Result<ChangeResult> change_sale(std::string_view tenant, std::string_view sale,
                                                         SaleAction action) = 0;
  [[nodiscard]] virtual Result<ChangeResult> add_item(const ItemDraft& draft) = 0;
  /// Changes an item's total by `delta`, once per `key`. `refused` for an item that has numbers.
  [[nodiscard]] virtual Result<ChangeResult> change_stock(std::string_view tenant, std::string_view item,
                                                          std::int64_t delta, std::string_view key) = 0;

  /// Keeps the item's draw: `repeated` when it has one, and then that one stays. `refused` unless the sale is closed,
  /// no order of the item is PENDING and its paid numbers are as many as the entrants. From then on the item sells
  /// nothing and late money is refunded.
  [[nodiscard]] virtual Result<ChangeResult> record_draw(ItemNo /*item*/, const Draw& /*draw*/) {
    return fail(Failure::unfit, "this ledger keeps no numbered stock");
  }

  /// Makes the ledger usable again after `timed_out` or `unavailable`. Repeatable.
  [[nodiscard]] virtual Result<void> recover(Deadline deadline) = 0;

  /// Asks storage to keep its log short. Called when there is time; bounded work.
  [[nodiscard]] virtual Result<void> tidy_up() = 0;

  /// The ledger's clock, for what is promised to buyers.
  [[nodiscard]] virtual Instant now() const = 0;
};

struct BuyerStanding {
  std::int32_t units = 0;
  std::optional<OrderId> last_order;
};

struct LifeLine {
  Instant at;
  std::string what;    // `recorded`, `payment_started`, `paid`, `expired`, …
  std::string detail;  // For a person.
};

/// One broken row, as an operator wants to see it.
struct AuditInvariant {
  std::string id;  // `I1` … `I7`.
  std::int64_t checked = 0;
  std::vector<std::string> violations;  // At most kAuditViolationsMax, the rest counted.
};
struct AuditItem {
  std::string id;
  Shelf shelf;
};
struct AuditReport {
  bool ok = false;
  std::vector<AuditInvariant> invariants;
  std::vector<AuditItem> items;
  std::vector<std::pair<OrderStatus, std::int64_t>> orders;
};

/// A read-only look at the ledger: every call sees one consistent state that includes all acknowledged commits.
///
/// Threads: one owner thread each; make as many as there are readers.
/// Blocking: waits for storage. Never from a reactor.
class LedgerReader {
 public:
  virtual ~LedgerReader() = default;

  [[nodiscard]] virtual Result<Catalog> catalog() = 0;
  [[nodiscard]] virtual Result<std::optional<Order>> order(OrderId id) = 0;
  /// The buyer's orders, newest first, after `cursor` (empty: from the newest). Writes the next cursor, empty at the
  /// end.
  [[nodiscard]] virtual Result<std::vector<Order>> orders_of(TenantNo tenant, std::string_view buyer, std::size_t count,
                                                             std::string& cursor) = 0;
  [[nodiscard]] virtual Result<BuyerStanding> standing(TenantNo tenant, SaleNo sale, std::string_view buyer) = 0;
  [[nodiscard]] virtual Result<std::optional<Payment>> payment(PaymentId id) = 0;
  /// The order that owns this number of an item, for support staff: a live one, or one that was refunded without
  /// restocking. Null when the number is free, or the item has none. `unfit` where no numbered stock is kept.
  [[nodiscard]] virtual Result<std::optional<OrderId>> owner_of(ItemNo item, std::uint32_t number) = 0;
  /// Null: there is no such item.
  [[nodiscard]] virtual Result<std::optional<DrawFacts>> draw_facts(ItemNo /*item*/) {
    return fail(Failure::unfit, "this ledger keeps no numbered stock");
  }
  /// Null: it was not drawn yet.
  [[nodiscard]] virtual Result<std::optional<Draw>> draw_of(ItemNo /*item*/) {
    return fail(Failure::unfit, "this ledger keeps no numbered stock");
  }
  [[nodiscard]] virtual Result<std::vector<RefundDue>> refunds_due(std::size_t count) = 0;
  /// Captures that arrived after the end and are not decided: asked again after a restart.
  [[nodiscard]] virtual Result<std::vector<Payment>> undecided_late(std::size_t count) = 0;
  /// Calls `each` for every live order. For the rebuild of a gate: a million orders take well under two seconds.
  [[nodiscard]] virtual Result<void> live_orders(const std::function<void(const Ended&, bool sold)>& each) = 0;
  /// Calls `each` for the id of every order that ended. For the memory of ended ids.
  [[nodiscard]] virtual Result<void> ended_orders(const std::function<void(OrderId, SaleNo)>& each) = 0;
  /// The item's counts as the ledger has them: free = total - held - sold. `version` is 0.
  [[nodiscard]] virtual Result<std::vector<std::pair<ItemNo, Shelf>>> shelves() = 0;
  [[nodiscard]] virtual Result<std::vector<LifeLine>> life_of(OrderId id) = 0;
  /// Recomputes I1 to I7 from the rows, independently of the counters.
  [[nodiscard]] virtual Result<AuditReport> audit() = 0;
};

inline constexpr std::size_t kAuditViolationsMax = 20;

}  // namespace weir
