#include "ledger/order_events.h"
#include "ledger/postgres_reader.h"

#include <initializer_list>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace weir::postgres {
namespace {

// What an order holds: PENDING and PAID ones their units, refunded ones what was not put back on sale.
constexpr std::string_view kHeld = "sum(CASE WHEN status = 0 THEN quantity ELSE 0 END)";
constexpr std::string_view kSold = "sum(CASE WHEN status = 1 THEN quantity ELSE kept_units END)";
constexpr std::string_view kLive = "sum(CASE WHEN status IN (0, 1) THEN quantity ELSE kept_units END)";

std::int64_t count(Session& session, std::string_view sql) { return session.ask(std::string{sql}).whole(0, 0); }

/// Gathers the violations of one invariant: the first of them by name, the rest as a number.
class Findings {
 public:
  Findings(std::string_view id, std::int64_t checked) {
    invariant_.id = id;
    invariant_.checked = checked;
  }

  void add(std::string violation) {
    if (invariant_.violations.size() < kAuditViolationsMax)
      invariant_.violations.push_back(std::move(violation));
    else
      ++more_;
  }

  /// Every row of the query is a violation; its first column is the sentence.
  void add_rows(Session& session, std::string_view sql) {
    fetch_all(session, sql, [&](const Rows& rows, int row) { add(std::string{rows.text(row, 0)}); });
  }

  [[nodiscard]] AuditInvariant take() && {
    // The last named one gives way to the number of those that are not named.
    if (more_ > 0) invariant_.violations.back() = fmt::format("and {} more", more_ + 1);
    return std::move(invariant_);
  }

 private:
  AuditInvariant invariant_;
  std::int64_t more_ = 0;
};

AuditInvariant audit_counts(Session& session) {
  Findings findings{"I1", count(session, "SELECT count(*) FROM flash_sale_item")};
  const std::string sums = fmt::format(
      "(SELECT item_no, {} AS h, {} AS s, {} AS l FROM flash_sale_order GROUP BY item_no)", kHeld, kSold, kLive);
  findings.add_rows(
      session, fmt::format("SELECT 'item ' || i.id || ': held ' || i.held || ', sold ' || i.sold || ', but its orders "
                           "say ' || coalesce(o.h, 0) || ' and ' || coalesce(o.s, 0) FROM flash_sale_item i LEFT JOIN "
                           "{} o USING (item_no) WHERE i.held <> coalesce(o.h, 0) OR i.sold <> coalesce(o.s, 0)",
                           sums));
  findings.add_rows(
      session, fmt::format("SELECT 'item ' || i.id || ': ' || coalesce(o.l, 0) || ' units are held or sold of ' || "
                           "i.total FROM flash_sale_item i LEFT JOIN {} o USING (item_no) "
                           "WHERE coalesce(o.l, 0) > i.total OR i.held + i.sold > i.total",
                           sums));
  return std::move(findings).take();
}

AuditInvariant audit_limits(Session& session) {
  Findings findings{"I3", count(session, "SELECT count(*) FROM flash_sale_buyer")};
  findings.add_rows(session,
                    fmt::format("SELECT 'buyer ' || b.buyer || ': ' || b.units || ' units, but live orders say ' || "
                                "coalesce(o.l, 0) || ', limit ' || b.max_units FROM flash_sale_buyer b LEFT JOIN "
                                "(SELECT buyer, sale_no, {} AS l FROM flash_sale_order GROUP BY buyer, sale_no) o "
                                "USING (buyer, sale_no) WHERE b.units <> coalesce(o.l, 0) OR b.units > b.max_units",
                                kLive));
  findings.add_rows(session,
                    "SELECT 'order ' || o.order_id || ': its buyer has no row' FROM flash_sale_order o "
                    "WHERE o.status <> 4 AND NOT EXISTS (SELECT 1 FROM flash_sale_buyer b WHERE b.buyer = o.buyer "
                    "AND b.sale_no = o.sale_no)");
  return std::move(findings).take();
}

/// Every order is of something that is for sale, and its row says what its state needs.
AuditInvariant audit_orders(Session& session) {
  Findings findings{"I4", count(session, "SELECT count(*) FROM flash_sale_order")};
  findings.add_rows(session,
                    "SELECT 'order ' || order_id || ': was paid, but no time says when' "
                    "FROM flash_sale_order WHERE status IN (1, 5) AND paid_at IS NULL");
  findings.add_rows(session,
                    "SELECT 'order ' || order_id || ': status and time of its end differ' "
                    "FROM flash_sale_order WHERE (status IN (2, 3, 4, 5)) <> (ended_at IS NOT NULL)");
  findings.add_rows(session,
                    "SELECT 'order ' || o.order_id || ': its item is not of its sale' FROM flash_sale_order o "
                    "LEFT JOIN flash_sale_item i USING (item_no) WHERE o.item_no > 0 "
                    "AND (i.item_no IS NULL OR i.sale_no <> o.sale_no OR i.tenant_no <> o.tenant_no)");
  findings.add_rows(session,
                    "SELECT 'order ' || b.last_order || ': is the last one of ' || b.buyer || ' and does not exist' "
                    "FROM flash_sale_buyer b WHERE b.last_order IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "
                    "flash_sale_order o WHERE o.order_id = b.last_order AND o.buyer = b.buyer)");
  return std::move(findings).take();
}

std::optional<OrderEvent> moving_event(std::string_view text) {
  using namespace order_event;
  if (text == kPaid) return OrderEvent::pay;
  if (text == kExpired) return OrderEvent::expire;
  if (text == kCancelled) return OrderEvent::cancel;
  if (text == kRejected) return OrderEvent::reject;
  if (text == kRetaken) return OrderEvent::retake;
  if (text == kRefunded) return OrderEvent::refund;
  return std::nullopt;
}

/// One order's life as its events tell it, from PENDING on.
struct Replay {
  OrderId order;
  OrderStatus stored = OrderStatus::pending;
  bool has_kept = false;
  OrderStatus status = OrderStatus::pending;
  std::int64_t returned = 0;  // How often its units went back, less how often they were taken again.
  std::string unlawful;       // The first event that no rule allows.

  void apply(std::string_view text) {
    if (text == order_event::kRestocked) ++returned;
    const auto event = moving_event(text);
    if (!event) return;
    const auto next = advance(status, *event);
    if (!next) {
      if (unlawful.empty()) unlawful = fmt::format("'{}' while {}", text, name(status));
      return;
    }
    if (*event == OrderEvent::retake)
      --returned;
    else if (is_live(status) && !is_live(*next) && *event != OrderEvent::refund)
      ++returned;
    status = *next;
  }

  void judge(Findings& edges, Findings& returns) const {
    if (!unlawful.empty()) edges.add(fmt::format("order {}: {}", order.text(), unlawful));
    if (status != stored) {
      edges.add(fmt::format("order {}: is {}, but its events lead to {}", order.text(), name(stored), name(status)));
    }
    const bool has_returned = !is_live(stored) && !has_kept;
    if (returned != (has_returned ? 1 : 0)) {
      returns.add(fmt::format("order {}: {}, and its units went back {} times", order.text(), name(stored), returned));
    }
  }
};

/// Walks orders and their events side by side, both by order id.
void audit_lives(Session& session, Findings& edges, Findings& returns) {
  std::optional<Replay> replay;
  const auto see = [&](const Rows& rows, int row) {
    const auto id = rows.id<OrderId>(row, 0);
    if (rows.is_null(row, 1)) {
      edges.add(fmt::format("order {}: does not exist, but '{}' happened to it", id.text(), rows.text(row, 3)));
      return;
    }
    if (!replay || replay->order != id) {
      if (replay) replay->judge(edges, returns);
      replay = Replay{};
      replay->order = id;
      replay->stored = static_cast<OrderStatus>(rows.whole(row, 1));
      replay->has_kept = rows.whole(row, 2) != 0;
    }
    if (!rows.is_null(row, 3)) replay->apply(rows.text(row, 3));
  };
  fetch_all(session,
            "SELECT order_id, o.status, o.kept_units, e.event FROM flash_sale_order o "
            "FULL JOIN flash_sale_event e USING (order_id) ORDER BY order_id, e.seq",
            see);
  if (replay) replay->judge(edges, returns);
}

/// What the gate is told to give up is nothing that lives.
void audit_releases(Session& session, Findings& returns) {
  returns.add_rows(
      session,
      "SELECT 'order ' || o.order_id || ': lives, and its hold is to be released' FROM flash_sale_release r "
      "JOIN flash_sale_order o ON coalesce(o.hold_id, o.order_id) = r.hold_id "
      "WHERE o.status IN (0, 1) OR o.kept_units > 0");
}

AuditInvariant audit_money(Session& session) {
  Findings findings{"I7", count(session, "SELECT count(*) FROM flash_sale_payment WHERE captured IS NOT NULL")};
  // Captured and kept: the order is paid by it, to the minor unit, and by nothing else.
  findings.add_rows(session,
                    "SELECT 'payment ' || p.payment_id || ': captured ' || coalesce(p.captured::text, 'nothing') "
                    "|| ' of ' || o.amount || ', and its order has status ' || o.status FROM flash_sale_payment p "
                    "JOIN flash_sale_order o USING (order_id) WHERE p.state = 2 "
                    "AND (o.status <> 1 OR p.captured IS DISTINCT FROM o.amount OR p.amount <> o.amount "
                    "OR p.currency <> o.currency)");
  findings.add_rows(session,
                    "SELECT 'order ' || o.order_id || ': PAID by ' || p.n || ' payments' FROM flash_sale_order o "
                    "CROSS JOIN LATERAL (SELECT count(*) AS n FROM flash_sale_payment p "
                    "WHERE p.order_id = o.order_id AND p.state = 2) p WHERE o.status = 1 AND p.n <> 1");
  // Captured and not kept: one refund of exactly that.
  findings.add_rows(session,
                    "SELECT 'payment ' || p.payment_id || ': captured ' || coalesce(p.captured::text, 'nothing') "
                    "|| ', refund of ' || coalesce(r.amount::text, 'nothing') FROM flash_sale_payment p "
                    "LEFT JOIN flash_sale_refund r USING (payment_id) WHERE p.state IN (4, 5) "
                    "AND (p.captured IS NULL OR r.amount IS DISTINCT FROM p.captured "
                    "OR r.done IS DISTINCT FROM (p.state = 5))");
  findings.add_rows(session,
                    "SELECT 'payment ' || p.payment_id || ': refund of ' || r.amount || ', captured ' || "
                    "coalesce(p.captured::text, 'nothing') FROM flash_sale_refund r JOIN flash_sale_payment p "
                    "USING (payment_id) WHERE p.captured IS NULL OR r.amount > p.captured OR p.state NOT IN (2, 4, 5) "
                    "OR (p.state = 2 AND NOT r.of_order)");
  findings.add_rows(session,
                    "SELECT 'payment ' || p.payment_id || ': captured ' || p.captured || ', but its state is ' || "
                    "p.state FROM flash_sale_payment p WHERE p.captured IS NOT NULL AND p.state IN (0, 1)");
  // Late and undecided: the order has ended, and nothing was sent back yet.
  findings.add_rows(session,
                    "SELECT 'payment ' || p.payment_id || ': waits for a decision, and its order has status ' || "
                    "o.status FROM flash_sale_payment p JOIN flash_sale_order o USING (order_id) "
                    "WHERE p.state = 3 AND (o.status <> 2 OR p.captured IS NULL)");
  findings.add_rows(session,
                    "SELECT 'order ' || o.order_id || ': REFUNDED without a refund that is done' FROM "
                    "flash_sale_order o WHERE o.status = 5 AND NOT EXISTS (SELECT 1 FROM flash_sale_refund r "
                    "WHERE r.order_id = o.order_id AND r.of_order AND r.done AND r.amount = o.amount)");
  findings.add_rows(session,
                    "SELECT 'payment ' || r.payment_id || ': its second hold is ' || CASE WHEN r.kept IS NULL THEN "
                    "'open' WHEN r.kept THEN 'kept' ELSE 'refused' END || ', its state ' || p.state "
                    "FROM flash_sale_retake r JOIN flash_sale_payment p USING (payment_id) "
                    "WHERE (r.kept IS NULL) <> (p.state = 3) OR (r.kept AND p.state NOT IN (2, 5)) "
                    "OR (NOT r.kept AND p.state NOT IN (4, 5))");
  return std::move(findings).take();
}

void list_counts(Session& session, AuditReport& report) {
  const Rows items = session.ask("SELECT id, total, held, sold FROM flash_sale_item ORDER BY item_no");
  for (int row = 0; row < items.size(); ++row) {
    Shelf shelf{.total = items.whole(row, 1),
                .free = 0,
                .held = items.whole(row, 2),
                .sold = items.whole(row, 3),
                .version = 0};
    shelf.free = shelf.total - shelf.held - shelf.sold;
    report.items.push_back({std::string{items.text(row, 0)}, shelf});
  }
  const Rows orders = session.ask("SELECT status, count(*) FROM flash_sale_order GROUP BY status ORDER BY status");
  for (int row = 0; row < orders.size(); ++row) {
    report.orders.emplace_back(static_cast<OrderStatus>(orders.whole(row, 0)), orders.whole(row, 1));
  }
}

}  // namespace

AuditReport audit_rows(Session& session) {
  AuditReport report;
  Findings edges{"I5", count(session, "SELECT count(*) FROM flash_sale_event")};
  Findings returns{"I6", count(session, "SELECT count(*) FROM flash_sale_order WHERE status NOT IN (0, 1)")};
  audit_lives(session, edges, returns);
  audit_releases(session, returns);
  report.invariants.push_back(audit_counts(session));
  report.invariants.push_back({.id = "I2", .checked = 0, .violations = {}});  // No numbered stock in this schema.
  report.invariants.push_back(audit_limits(session));
  report.invariants.push_back(audit_orders(session));
  report.invariants.push_back(std::move(edges).take());
  report.invariants.push_back(std::move(returns).take());
  report.invariants.push_back(audit_money(session));
  list_counts(session, report);
  report.ok = true;
  for (const AuditInvariant& invariant : report.invariants) report.ok = report.ok && invariant.violations.empty();
  return report;
}

}  // namespace weir::postgres
