#include "ledger/sqlite_ledger.h"

#include "base/encoding.h"

#include <fmt/format.h>

namespace weir {
namespace {

using sqlite::Connection;
using sqlite::Statement;

/// What an order holds: PENDING and PAID ones their units, refunded ones what was not put back on sale.
constexpr std::string_view kHeld = "sum(CASE WHEN status = 0 THEN quantity ELSE 0 END)";
constexpr std::string_view kSold = "sum(CASE WHEN status = 1 THEN quantity ELSE kept_units END)";
constexpr std::string_view kLive = "sum(CASE WHEN status IN (0, 1) THEN quantity ELSE kept_units END)";

std::int64_t count(const Connection& db, std::string_view sql) {
  Statement row = db.prepare(sql);
  return row.step() ? row.whole(0) : 0;
}

/// Runs a query whose rows are violations; its first column is the sentence.
AuditInvariant check(const Connection& db, std::string_view id, std::string_view checked, std::initializer_list<std::string> queries) {
  AuditInvariant invariant{.id = std::string{id}, .checked = checked.empty() ? 0 : count(db, checked), .violations = {}};
  std::size_t more = 0;
  for (const std::string& query : queries) {
    Statement row = db.prepare(query);
    while (row.step()) {
      if (invariant.violations.size() < kAuditViolationsMax) invariant.violations.emplace_back(row.text(0));
      else ++more;
    }
  }
  if (more > 0) invariant.violations.push_back(fmt::format("and {} more", more));
  return invariant;
}

}  // namespace

void SqliteReader::run_audit(AuditReport& report) {
  const Connection& db = *connection_;
  const auto add = [&](std::string_view id, std::string_view checked, std::initializer_list<std::string> queries) {
    report.invariants.push_back(check(db, id, checked, queries));
  };
  add("I1", "SELECT count(*) FROM flash_sale_item",
      {fmt::format("SELECT 'item ' || i.id || ': held ' || i.held || ', sold ' || i.sold || ', but its orders say ' || coalesce(o.h, 0) || ' and ' || coalesce(o.s, 0) "
                   "FROM flash_sale_item i LEFT JOIN (SELECT item_no, {} AS h, {} AS s FROM flash_sale_order GROUP BY item_no) o USING (item_no) "
                   "WHERE i.held <> coalesce(o.h, 0) OR i.sold <> coalesce(o.s, 0)", kHeld, kSold),
       fmt::format("SELECT 'item ' || i.id || ': ' || o.l || ' units are held or sold of ' || i.total FROM flash_sale_item i "
                   "JOIN (SELECT item_no, {} AS l FROM flash_sale_order GROUP BY item_no) o USING (item_no) WHERE o.l > i.total OR i.held + i.sold > i.total", kLive)});
  add("I2", "", {});
  add("I3", "SELECT count(*) FROM flash_sale_buyer",
      {fmt::format("SELECT 'buyer ' || b.buyer || ': ' || b.units || ' units, but live orders say ' || coalesce(o.l, 0) || ', limit ' || b.max_units FROM flash_sale_buyer b "
                   "LEFT JOIN (SELECT tenant_no, buyer, sale_no, {} AS l FROM flash_sale_order GROUP BY tenant_no, buyer, sale_no) o "
                   "USING (tenant_no, buyer, sale_no) WHERE b.units <> coalesce(o.l, 0) OR b.units > b.max_units", kLive),
       "SELECT 'order ' || lower(hex(order_id)) || ': its buyer has no row' FROM flash_sale_order o WHERE NOT EXISTS "
       "(SELECT 1 FROM flash_sale_buyer b WHERE b.tenant_no = o.tenant_no AND b.buyer = o.buyer AND b.sale_no = o.sale_no)"});
  add("I4", "SELECT count(*) FROM flash_sale_order",
      {"SELECT 'order ' || lower(hex(order_id)) || ': PAID without a time' FROM flash_sale_order WHERE status IN (1, 5) AND paid_at IS NULL",
       "SELECT 'order ' || lower(hex(order_id)) || ': ended without a time' FROM flash_sale_order WHERE status IN (2, 3, 4, 5) AND ended_at IS NULL",
       "SELECT 'order ' || lower(hex(order_id)) || ': of another sale than its item' FROM flash_sale_order o JOIN flash_sale_item i USING (item_no) WHERE i.sale_no <> o.sale_no",
       "SELECT 'order ' || lower(hex(o.order_id)) || ': its item does not exist' FROM flash_sale_order o LEFT JOIN flash_sale_item i USING (item_no) WHERE i.item_no IS NULL"});
  add("I5", "SELECT count(*) FROM flash_sale_event",
      {"SELECT 'order ' || lower(hex(o.order_id)) || ': status ' || o.status || ' does not follow from its last event ' || coalesce(e.event, 'none') FROM flash_sale_order o LEFT JOIN "
       "(SELECT order_id, event, max(seq) FROM flash_sale_event WHERE event IN ('paid', 'expired', 'cancelled', 'retaken') GROUP BY order_id) e USING (order_id) "
       "WHERE (o.status = 0 AND e.event IS NOT NULL) OR (o.status IN (1, 5) AND coalesce(e.event, '') NOT IN ('paid', 'retaken')) "
       "OR (o.status = 2 AND coalesce(e.event, '') <> 'expired') OR (o.status = 3 AND coalesce(e.event, '') <> 'cancelled')",
       "SELECT 'event ' || e.seq || ': of an order that does not exist' FROM flash_sale_event e LEFT JOIN flash_sale_order o USING (order_id) WHERE o.order_id IS NULL"});
  add("I6", "SELECT count(*) FROM flash_sale_order WHERE status IN (2, 3)",
      {"SELECT 'order ' || lower(hex(order_id)) || ': ended ' || count(*) || ' times' FROM flash_sale_event WHERE event IN ('expired', 'cancelled', 'rejected') GROUP BY order_id HAVING count(*) > 1",
       "SELECT 'order ' || lower(hex(order_id)) || ': refunded ' || count(*) || ' times' FROM flash_sale_event WHERE event = 'refunded' GROUP BY order_id, detail HAVING count(*) > 1"});
  add("I7", "SELECT count(*) FROM flash_sale_payment WHERE captured > 0",
      {"SELECT 'payment ' || lower(hex(p.payment_id)) || ': captured ' || p.captured || ', but its order is not PAID and nothing is refunded' FROM flash_sale_payment p "
       "JOIN flash_sale_order o USING (order_id) LEFT JOIN flash_sale_refund r USING (payment_id) WHERE p.captured > 0 AND p.state = 2 AND o.status NOT IN (1, 5)",
       "SELECT 'payment ' || lower(hex(p.payment_id)) || ': captured ' || p.captured || ', refund due of ' || coalesce(r.amount, 0) FROM flash_sale_payment p "
       "LEFT JOIN flash_sale_refund r USING (payment_id) WHERE p.state IN (4, 5) AND p.captured > 0 AND coalesce(r.amount, 0) <> p.captured AND p.amount <> coalesce(r.amount, 0)",
       "SELECT 'order ' || lower(hex(order_id)) || ': paid ' || count(*) || ' times' FROM flash_sale_payment WHERE state = 2 GROUP BY order_id HAVING count(*) > 1",
       "SELECT 'order ' || lower(hex(o.order_id)) || ': PAID without a captured payment' FROM flash_sale_order o WHERE o.status = 1 AND NOT EXISTS "
       "(SELECT 1 FROM flash_sale_payment p WHERE p.order_id = o.order_id AND p.state = 2 AND p.captured = o.amount)"});
  Statement items = db.prepare("SELECT id, total, held, sold FROM flash_sale_item ORDER BY item_no");
  while (items.step()) {
    const std::int64_t total = items.whole(1);
    report.items.push_back({std::string{items.text(0)}, {.total = total, .free = total - items.whole(2) - items.whole(3), .held = items.whole(2), .sold = items.whole(3), .version = 0}});
  }
  Statement orders = db.prepare("SELECT status, count(*) FROM flash_sale_order GROUP BY status ORDER BY status");
  while (orders.step()) report.orders.emplace_back(static_cast<OrderStatus>(orders.whole(0)), orders.whole(1));
  report.ok = true;
  for (const AuditInvariant& invariant : report.invariants) report.ok = report.ok && invariant.violations.empty();
}

}  // namespace weir
