#include "config/limits.h"
#include "ledger/sqlite_reader.h"
#include "ledger/sqlite_rows.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

using sqlite::Connection;
using sqlite::Statement;

// What an order holds: PENDING and PAID ones their units, refunded ones what was not put back on sale.
constexpr std::string_view kHeld = "sum(CASE WHEN status = 0 THEN quantity ELSE 0 END)";
constexpr std::string_view kSold = "sum(CASE WHEN status = 1 THEN quantity ELSE kept_units END)";
constexpr std::string_view kLive = "sum(CASE WHEN status IN (0, 1) THEN quantity ELSE kept_units END)";

std::int64_t count(const Connection& db, std::string_view sql) {
  Statement row = db.prepare(sql);
  return row.step() ? row.whole(0) : 0;
}

/// Gathers the violations of one invariant: the first of them by name, the rest as a number.
class Findings {
 public:
  Findings(std::string_view id, std::int64_t checked) {
    invariant_.id = id;
    invariant_.checked = checked;
  }

  void set_checked(std::int64_t checked) { invariant_.checked = checked; }

  void add(std::string violation) {
    if (invariant_.violations.size() < kAuditViolationsMax)
      invariant_.violations.push_back(std::move(violation));
    else
      ++more_;
  }

  /// Every row of the query is a violation; its first column is the sentence.
  void add_rows(const Connection& db, std::string_view sql) {
    Statement row = db.prepare(sql);
    while (row.step()) add(std::string{row.text(0)});
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

AuditInvariant audit_counts(const Connection& db) {
  Findings findings{"I1", count(db, "SELECT count(*) FROM flash_sale_item")};
  findings.add_rows(
      db, fmt::format("SELECT 'item ' || i.id || ': held ' || i.held || ', sold ' || i.sold || ', but its orders say ' "
                      "|| coalesce(o.h, 0) || ' and ' || coalesce(o.s, 0) FROM flash_sale_item i LEFT JOIN "
                      "(SELECT item_no, {} AS h, {} AS s FROM flash_sale_order GROUP BY item_no) o USING (item_no) "
                      "WHERE i.held <> coalesce(o.h, 0) OR i.sold <> coalesce(o.s, 0)",
                      kHeld, kSold));
  findings.add_rows(
      db, fmt::format("SELECT 'item ' || i.id || ': ' || coalesce(o.l, 0) || ' units are held or sold of ' || i.total "
                      "FROM flash_sale_item i LEFT JOIN "
                      "(SELECT item_no, {} AS l FROM flash_sale_order GROUP BY item_no) o USING (item_no) "
                      "WHERE coalesce(o.l, 0) > i.total OR i.held + i.sold > i.total",
                      kLive));
  return std::move(findings).take();
}

/// Whether a list of numbers as it is stored, four bytes each and ascending, has this one.
bool lists(std::string_view stored, std::uint32_t number) {
  std::size_t from = 0;
  std::size_t to = stored.size() / 4;
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    std::uint32_t there = 0;
    for (const char byte : stored.substr(middle * 4, 4)) there = there << 8 | static_cast<unsigned char>(byte);
    if (there == number) return true;
    if (there < number)
      from = middle + 1;
    else
      to = middle;
  }
  return false;
}

/// Who owns which number, as the orders say it. The table of numbers is held against that and never believed.
class NumberAudit {
 public:
  explicit NumberAudit(const Connection& db)
      : db_(db), row_of_(db.prepare("SELECT order_id FROM flash_sale_number WHERE item_no = ?1 AND number = ?2")) {}

  [[nodiscard]] AuditInvariant take() && {
    walk_orders();
    walk_rows();
    findings_.set_checked(owned_);
    return std::move(findings_).take();
  }

 private:
  struct Owner {
    OrderId order;
    ItemNo item;
    std::string item_id;
    std::int64_t first = 0;
    std::int64_t total = 0;
  };

  void walk_orders() {
    Statement row = db_.prepare(
        "SELECT o.order_id, o.quantity, o.numbers, o.status IN (0, 1) OR o.kept_units > 0, i.item_no, i.id, "
        "i.numbered, i.first_number, i.total FROM flash_sale_order o JOIN flash_sale_item i USING (item_no) "
        "WHERE o.numbers IS NOT NULL OR i.numbered <> 0");
    while (row.step()) {
      const Owner owner{.order = row.id<OrderId>(0),
                        .item = row.number<ItemNo>(4),
                        .item_id = std::string{row.text(5)},
                        .first = row.whole(7),
                        .total = std::min(row.whole(8), kNumbersPerItemMax)};
      const auto numbers = NumberList::from_bytes(row.blob(2));
      if (row.whole(6) == 0) {
        add(owner, "has numbers, and the item has none");
      } else if (!numbers) {
        add(owner, "its numbers do not ascend, or cannot be read");
      } else if (numbers->size() != static_cast<std::size_t>(row.whole(1))) {
        add(owner, fmt::format("has {} numbers for {} units", numbers->size(), row.whole(1)));
      }
      const bool is_live = row.whole(3) != 0;
      if (!numbers || !is_live) continue;
      for (const std::uint32_t number : numbers->view()) see_owned(owner, number);
    }
  }

  void see_owned(const Owner& owner, std::uint32_t number) {
    ++owned_;
    const std::int64_t place = std::int64_t{number} - owner.first;
    if (place < 0 || place >= owner.total) {
      add(owner, fmt::format("number {} is not one of the item's", number));
    } else {
      auto& taken = taken_[owner.item];
      taken.resize(static_cast<std::size_t>(owner.total));
      auto is_taken = taken[static_cast<std::size_t>(place)];
      if (is_taken) add(owner, fmt::format("number {} has another live order too", number));
      is_taken = true;
    }
    const sqlite::ResetLater later{row_of_};
    if (!row_of_.bind(1, owner.item).bind(2, std::int64_t{number}).step()) {
      add(owner, fmt::format("number {} has no row that keeps it", number));
    } else if (row_of_.id<OrderId>(0) != owner.order) {
      add(owner, fmt::format("number {} is kept for order {}", number, row_of_.id<OrderId>(0).text()));
    }
  }

  void walk_rows() {
    Statement row = db_.prepare(
        "SELECT n.order_id, n.item_no, n.number, o.numbers, o.status, o.status IN (0, 1) OR o.kept_units > 0, "
        "o.item_no FROM flash_sale_number n LEFT JOIN flash_sale_order o USING (order_id)");
    while (row.step()) {
      const auto order = row.id<OrderId>(0).text();
      const std::string kept =
          fmt::format("number {} of item {} is kept for order {}", row.whole(2), row.whole(1), order);
      if (row.is_null(4)) {
        findings_.add(fmt::format("{}, which does not exist", kept));
      } else if (row.whole(5) == 0) {
        findings_.add(fmt::format("{}, which is {}", kept, name(static_cast<OrderStatus>(row.whole(4)))));
      } else if (row.whole(6) != row.whole(1) || !lists(row.blob(3), static_cast<std::uint32_t>(row.whole(2)))) {
        findings_.add(fmt::format("{}, which does not have it", kept));
      }
    }
  }

  void add(const Owner& owner, std::string_view what) {
    findings_.add(fmt::format("order {} of item '{}': {}", owner.order.text(), owner.item_id, what));
  }

  const Connection& db_;
  Statement row_of_;
  Findings findings_{"I2", 0};
  std::map<ItemNo, std::vector<bool>> taken_;  // Counted from the item's first number.
  std::int64_t owned_ = 0;
};

AuditInvariant audit_limits(const Connection& db) {
  Findings findings{"I3", count(db, "SELECT count(*) FROM flash_sale_buyer")};
  findings.add_rows(db,
                    fmt::format("SELECT 'buyer ' || b.buyer || ': ' || b.units || ' units, but live orders say ' || "
                                "coalesce(o.l, 0) || ', limit ' || b.max_units FROM flash_sale_buyer b LEFT JOIN "
                                "(SELECT tenant_no, buyer, sale_no, {} AS l FROM flash_sale_order "
                                "GROUP BY tenant_no, buyer, sale_no) o USING (tenant_no, buyer, sale_no) "
                                "WHERE b.units <> coalesce(o.l, 0) OR coalesce(o.l, 0) > b.max_units",
                                kLive));
  findings.add_rows(db,
                    "SELECT 'order ' || lower(hex(o.order_id)) || ': its buyer has no row' FROM flash_sale_order o "
                    "WHERE NOT EXISTS (SELECT 1 FROM flash_sale_buyer b WHERE b.tenant_no = o.tenant_no "
                    "AND b.buyer = o.buyer AND b.sale_no = o.sale_no)");
  return std::move(findings).take();
}

/// Every order is found from its buyer, and its row says what its state needs.
AuditInvariant audit_orders(const Connection& db) {
  Findings findings{"I4", count(db, "SELECT count(*) FROM flash_sale_order")};
  findings.add_rows(db,
                    "SELECT 'order ' || lower(hex(order_id)) || ': was paid, but no time says when' "
                    "FROM flash_sale_order WHERE status IN (1, 5) AND paid_at IS NULL");
  findings.add_rows(db,
                    "SELECT 'order ' || lower(hex(order_id)) || ': status and time of its end differ' "
                    "FROM flash_sale_order WHERE (status IN (2, 3, 4, 5)) <> (ended_at IS NOT NULL)");
  findings.add_rows(db,
                    "SELECT 'order ' || lower(hex(o.order_id)) || ': its item is not of its sale' FROM "
                    "flash_sale_order o LEFT JOIN flash_sale_item i USING (item_no) "
                    "WHERE i.item_no IS NULL OR i.sale_no <> o.sale_no OR i.tenant_no <> o.tenant_no");
  findings.add_rows(db,
                    "SELECT 'order ' || lower(hex(order_id)) || ': cannot be found from its buyer' "
                    "FROM flash_sale_order WHERE order_id NOT IN (SELECT last_order FROM flash_sale_buyer) "
                    "AND order_id NOT IN "
                    "(SELECT previous_order FROM flash_sale_order WHERE previous_order IS NOT NULL)");
  return std::move(findings).take();
}

std::optional<OrderEvent> moving_event(std::string_view text) {
  using namespace sqlite::event;
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
  OrderStatus status = OrderStatus::pending;
  std::int64_t returned = 0;  // How often its units went back, less how often they were taken again.
  std::string unlawful;       // The first event that no rule allows.

  void apply(std::string_view text) {
    if (text == sqlite::event::kRestocked) ++returned;
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
};

/// Walks orders and their events side by side, both by order id.
void audit_lives(const Connection& db, Findings& edges, Findings& returns) {
  Statement order = db.prepare("SELECT order_id, status, kept_units FROM flash_sale_order ORDER BY order_id");
  Statement event = db.prepare("SELECT order_id, event FROM flash_sale_event ORDER BY order_id, seq");
  bool has_event = event.step();
  const auto skip_strays = [&](std::optional<OrderId> up_to) {
    while (has_event && (!up_to || event.id<OrderId>(0) < *up_to)) {
      edges.add(
          fmt::format("order {}: does not exist, but '{}' happened to it", event.id<OrderId>(0).text(), event.text(1)));
      has_event = event.step();
    }
  };
  while (order.step()) {
    const auto id = order.id<OrderId>(0);
    const auto status = static_cast<OrderStatus>(order.whole(1));
    skip_strays(id);
    Replay replay;
    for (; has_event && event.id<OrderId>(0) == id; has_event = event.step()) replay.apply(event.text(1));
    if (!replay.unlawful.empty()) edges.add(fmt::format("order {}: {}", id.text(), replay.unlawful));
    if (replay.status != status) {
      edges.add(
          fmt::format("order {}: is {}, but its events lead to {}", id.text(), name(status), name(replay.status)));
    }
    const bool has_returned = !is_live(status) && order.whole(2) == 0;
    if (replay.returned != (has_returned ? 1 : 0)) {
      returns.add(
          fmt::format("order {}: {}, and its units went back {} times", id.text(), name(status), replay.returned));
    }
  }
  skip_strays(std::nullopt);
}

AuditInvariant audit_money(const Connection& db) {
  Findings findings{"I7", count(db, "SELECT count(*) FROM flash_sale_payment WHERE captured IS NOT NULL")};
  // Captured and kept: the order is paid by it, to the minor unit, and by nothing else.
  findings.add_rows(db,
                    "SELECT 'payment ' || lower(hex(p.payment_id)) || ': captured ' || coalesce(p.captured, 'nothing') "
                    "|| ' of ' || o.amount || ', and its order has status ' || o.status FROM flash_sale_payment p "
                    "JOIN flash_sale_order o USING (order_id) WHERE p.state = 2 "
                    "AND (o.status <> 1 OR p.captured IS NOT o.amount OR p.amount <> o.amount "
                    "OR p.currency <> o.currency)");
  findings.add_rows(db,
                    "SELECT 'order ' || lower(hex(o.order_id)) || ': PAID by ' || (SELECT count(*) FROM "
                    "flash_sale_payment p WHERE p.order_id = o.order_id AND p.state = 2) || ' payments' "
                    "FROM flash_sale_order o WHERE o.status = 1 AND (SELECT count(*) FROM flash_sale_payment p "
                    "WHERE p.order_id = o.order_id AND p.state = 2) <> 1");
  // Captured and not kept: one refund of exactly that.
  findings.add_rows(db,
                    "SELECT 'payment ' || lower(hex(p.payment_id)) || ': captured ' || coalesce(p.captured, 'nothing') "
                    "|| ', refund of ' || coalesce(r.amount, 'nothing') FROM flash_sale_payment p "
                    "LEFT JOIN flash_sale_refund r USING (payment_id) WHERE p.state IN (4, 5) "
                    "AND (p.captured IS NULL OR r.amount IS NOT p.captured OR r.state IS NOT (p.state = 5))");
  findings.add_rows(db,
                    "SELECT 'payment ' || lower(hex(p.payment_id)) || ': refund of ' || r.amount || ', captured ' || "
                    "coalesce(p.captured, 'nothing') FROM flash_sale_refund r JOIN flash_sale_payment p "
                    "USING (payment_id) WHERE p.captured IS NULL OR r.amount > p.captured OR p.state NOT IN (2, 4, 5) "
                    "OR (p.state = 2 AND r.of_order = 0)");
  findings.add_rows(db,
                    "SELECT 'payment ' || lower(hex(p.payment_id)) || ': captured ' || p.captured || ', but its state "
                    "is ' || p.state FROM flash_sale_payment p WHERE p.captured IS NOT NULL AND p.state IN (0, 1)");
  // Late and undecided: the order has ended, and nothing was sent back yet.
  findings.add_rows(db,
                    "SELECT 'payment ' || lower(hex(p.payment_id)) || ': waits for a decision, and its order has "
                    "status ' || o.status FROM flash_sale_payment p JOIN flash_sale_order o USING (order_id) "
                    "WHERE p.state = 3 AND (o.status <> 2 OR p.captured IS NULL)");
  findings.add_rows(db,
                    "SELECT 'order ' || lower(hex(o.order_id)) || ': REFUNDED without a refund that is done' FROM "
                    "flash_sale_order o WHERE o.status = 5 AND NOT EXISTS (SELECT 1 FROM flash_sale_refund r "
                    "WHERE r.order_id = o.order_id AND r.of_order = 1 AND r.state = 1 AND r.amount = o.amount)");
  return std::move(findings).take();
}

void list_counts(const Connection& db, AuditReport& report) {
  Statement items = db.prepare("SELECT id, total, held, sold FROM flash_sale_item ORDER BY item_no");
  while (items.step()) {
    Shelf shelf{.total = items.whole(1), .free = 0, .held = items.whole(2), .sold = items.whole(3), .version = 0};
    shelf.free = shelf.total - shelf.held - shelf.sold;
    report.items.push_back({std::string{items.text(0)}, shelf});
  }
  Statement orders = db.prepare("SELECT status, count(*) FROM flash_sale_order GROUP BY status ORDER BY status");
  while (orders.step()) report.orders.emplace_back(static_cast<OrderStatus>(orders.whole(0)), orders.whole(1));
}

}  // namespace

AuditReport audit_rows(const Connection& db) {
  AuditReport report;
  Findings edges{"I5", count(db, "SELECT count(*) FROM flash_sale_event")};
  Findings returns{"I6", count(db, "SELECT count(*) FROM flash_sale_order WHERE status NOT IN (0, 1)")};
  audit_lives(db, edges, returns);
  report.invariants.push_back(audit_counts(db));
  report.invariants.push_back(NumberAudit{db}.take());
  report.invariants.push_back(audit_limits(db));
  report.invariants.push_back(audit_orders(db));
  report.invariants.push_back(std::move(edges).take());
  report.invariants.push_back(std::move(returns).take());
  report.invariants.push_back(audit_money(db));
  list_counts(db, report);
  report.ok = true;
  for (const AuditInvariant& invariant : report.invariants) report.ok = report.ok && invariant.violations.empty();
  return report;
}

}  // namespace weir
