#include "ledger/sqlite_reader.h"

#include "base/encoding.h"
#include "base/sha256.h"
#include "base/time_text.h"
#include "config/limits.h"
#include "ledger/schema.h"
#include "ledger/sqlite_rows.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace weir {

using sqlite::ResetLater;
using sqlite::Statement;

struct SqliteReader::Statements {
  explicit Statements(const sqlite::Connection& db)
      : begin(db.prepare("BEGIN")),
        commit(db.prepare("COMMIT")),
        order(db.prepare(fmt::format("SELECT {} FROM flash_sale_order WHERE order_id = ?1", sqlite::kOrderColumns))),
        previous(db.prepare("SELECT created_at, previous_order FROM flash_sale_order WHERE order_id = ?1")),
        refund(db.prepare(fmt::format("SELECT {} {}", sqlite::kRefundColumns, sqlite::kRefundOfOrder))),
        chains(db.prepare("SELECT last_order FROM flash_sale_buyer WHERE tenant_no = ?1 AND buyer = ?2")),
        standing(db.prepare("SELECT units, last_order FROM flash_sale_buyer "
                            "WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
        payment(db.prepare(
            fmt::format("SELECT {} FROM flash_sale_payment WHERE payment_id = ?1", sqlite::kPaymentColumns))),
        owner(db.prepare("SELECT order_id FROM flash_sale_number WHERE item_no = ?1 AND number = ?2")) {}

  Statement begin, commit, order, previous, refund, chains, standing, payment, owner;
};

namespace {

/// Lines of one moment stay in the order in which they were found.
void sort_by_moment(std::vector<LifeLine>& life) {
  std::multimap<Instant, LifeLine> sorted;
  for (LifeLine& line : life) sorted.emplace(line.at, std::move(line));
  life.clear();
  for (auto& [at, line] : sorted) life.push_back(std::move(line));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

SipKey key_of(std::string_view bytes) {
  const auto id = OrderId::from_bytes(bytes);
  return id ? SipKey{id->high, id->low} : SipKey{};
}

/// The place in a list of orders, newest first: everything after it was made earlier, or at once with a smaller id.
using Place = std::pair<Instant, OrderId>;

std::string cursor_text(const Place& place) { return fmt::format("{}-{}", place.first.us, place.second.text()); }

std::optional<Place> parse_cursor(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  Place place;
  const char* end = text.data() + dash;
  const auto read = std::from_chars(text.data(), end, place.first.us);
  const auto id = OrderId::parse(text.substr(dash + 1));
  if (read.ec != std::errc{} || read.ptr != end || place.first.us < 0 || !id) return std::nullopt;
  place.second = *id;
  return place;
}

std::vector<Tenant> read_tenants(const sqlite::Connection& db) {
  std::vector<Tenant> tenants;
  Statement row =
      db.prepare("SELECT tenant_no, id, domains, order_key_0, order_key_1 FROM flash_sale_tenant ORDER BY tenant_no");
  while (row.step()) {
    tenants.push_back({.no = row.number<TenantNo>(0),
                       .id = std::string{row.text(1)},
                       .domains = lines_of(row.text(2)),
                       .order_id_key_0 = key_of(row.blob(3)),
                       .order_id_key_1 = key_of(row.blob(4))});
  }
  return tenants;
}

std::vector<Sale> read_sales(const sqlite::Connection& db) {
  std::vector<Sale> sales;
  Statement row = db.prepare(
      "SELECT sale_no, tenant_no, id, title, opens_at, closes_at, paused, closed, limit_per_buyer, pay_within_us, "
      "secret FROM flash_sale ORDER BY sale_no");
  while (row.step()) {
    sales.push_back({.no = row.number<SaleNo>(0),
                     .tenant = row.number<TenantNo>(1),
                     .id = std::string{row.text(2)},
                     .title = std::string{row.text(3)},
                     .opens_at = row.moment(4),
                     .closes_at = row.moment(5),
                     .paused = row.whole(6) != 0,
                     .closed = row.whole(7) != 0,
                     .limit_per_buyer = static_cast<std::int32_t>(row.whole(8)),
                     .pay_within = Micros{row.whole(9)},
                     .secret = std::string{row.text(10)}});
  }
  return sales;
}

std::vector<Item> read_items(const sqlite::Connection& db) {
  std::vector<Item> items;
  Statement row = db.prepare(
      "SELECT item_no, sale_no, id, title, price, currency, total, numbered, first_number, labels, seed "
      "FROM flash_sale_item LEFT JOIN flash_sale_draw USING (item_no) ORDER BY item_no");
  while (row.step()) {
    items.push_back({.no = row.number<ItemNo>(0),
                     .sale = row.number<SaleNo>(1),
                     .id = std::string{row.text(2)},
                     .title = std::string{row.text(3)},
                     .price = row.money(4, 5),
                     .total = row.whole(6),
                     .numbered = row.whole(7) != 0,
                     .first_number = static_cast<std::uint32_t>(row.whole(8)),
                     .labels = std::string{row.text(9)},
                     .draw_commitment = row.is_null(10) ? "" : sha256_hex(row.blob(10))});
  }
  return items;
}

/// What the gateways said about an order's payments, as lines of its life.
void add_webhooks(const sqlite::Connection& db, OrderId order, std::vector<LifeLine>& life) {
  Statement row = db.prepare(
      "SELECT i.gateway, i.event_id, i.kind, i.amount, i.currency, i.received_at FROM flash_sale_payment p "
      "JOIN flash_sale_inbox i USING (payment_id) WHERE p.order_id = ?1 ORDER BY i.received_at, i.event_id");
  row.bind(1, order);
  while (row.step()) {
    static constexpr std::array kKinds{"captured", "declined", "refund_done", "other"};
    const auto kind = static_cast<std::size_t>(row.whole(2));
    life.push_back({row.moment(5), "webhook",
                    fmt::format("{} of {}, event {}: {} {}", kKinds.at(kind), row.text(0), row.text(1), row.whole(3),
                                row.text(4))});
  }
}

}  // namespace

SqliteReader::SqliteReader(const SqliteOptions& options, const Clock& clock) : clock_(clock) {
  connection_ =
      std::make_unique<sqlite::Connection>(sqlite::ConnectionOptions{.path = fmt::format("{}/ledger.db", options.data),
                                                                     .vfs = options.vfs,
                                                                     .access = sqlite::Access::read,
                                                                     .log_keep_bytes = 0});
  Statement version = connection_->prepare("PRAGMA user_version");
  const std::int64_t found = version.step() ? version.whole(0) : 0;
  if (found != static_cast<std::int64_t>(kSchemaSteps.size())) {
    throw sqlite::SqliteFailure{SQLITE_MISUSE,
                                fmt::format("its schema is {}, this program reads {}", found, kSchemaSteps.size())};
  }
  statements_ = std::make_unique<Statements>(*connection_);
}

SqliteReader::~SqliteReader() = default;

Result<std::unique_ptr<SqliteReader>> SqliteReader::open(const SqliteOptions& options, const Clock& clock) {
  try {
    return std::unique_ptr<SqliteReader>{new SqliteReader{options, clock}};
  } catch (const sqlite::SqliteFailure& failure) {
    Error error = sqlite::error_of(failure, sqlite::Stage::opening);
    if (failure.kind() == SQLITE_CANTOPEN) {
      error.message = fmt::format("there is no ledger in '{}': {} (data)", options.data, failure.message);
    }
    return std::unexpected(std::move(error));
  }
}

template <typename T>
Result<T> SqliteReader::look(const std::function<T()>& work) {
  struct End {
    SqliteReader& reader;
    ~End() {
      // A read that cannot be ended holds nothing but its snapshot; the next BEGIN tells.
      try {
        if (sqlite3_get_autocommit(reader.connection_->get()) == 0) reader.statements_->commit.run();
      } catch (const sqlite::SqliteFailure&) {
      }
    }
  };
  try {
    const End end{*this};
    statements_->begin.run();
    return work();
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(sqlite::error_of(failure, sqlite::Stage::reading));
  }
}

Result<Catalog> SqliteReader::catalog() {
  return look<Catalog>([&] {
    std::vector<Tenant> tenants = read_tenants(*connection_);
    std::vector<Sale> sales = read_sales(*connection_);
    return Catalog{std::move(tenants), std::move(sales), read_items(*connection_)};
  });
}

std::optional<Order> SqliteReader::find_order(OrderId id) {
  auto& row = statements_->order.bind(1, id);
  const ResetLater later{row};
  if (!row.step()) return std::nullopt;
  Order order = sqlite::read_order(row);
  auto& refund = statements_->refund.bind(1, id);
  const ResetLater refund_later{refund};
  if (refund.step()) order.refund = sqlite::read_refund(refund);
  return order;
}

Result<std::optional<Order>> SqliteReader::order(OrderId id) {
  return look<std::optional<Order>>([&] { return find_order(id); });
}

std::vector<std::pair<Instant, OrderId>> SqliteReader::walk_chains(TenantNo tenant, std::string_view buyer) {
  std::vector<Place> found;
  auto& chains = statements_->chains.bind(1, tenant).bind(2, buyer);
  const ResetLater later{chains};
  while (chains.step()) {
    auto at = std::optional{chains.id<OrderId>(0)};
    for (std::size_t steps = 0; at && steps < kOrdersPerBuyerMax; ++steps) {
      auto& row = statements_->previous.bind(1, *at);
      const ResetLater row_later{row};
      if (!row.step()) break;
      found.emplace_back(row.moment(0), *at);
      at = row.is_null(1) ? std::nullopt : std::optional{row.id<OrderId>(1)};
    }
  }
  return found;
}

Result<std::vector<Order>> SqliteReader::orders_of(TenantNo tenant, std::string_view buyer, std::size_t count,
                                                   std::string& cursor) {
  const auto after = parse_cursor(cursor);
  if (!after && !cursor.empty()) return fail(Failure::unfit, "The cursor is not one that this list gave out.");
  return look<std::vector<Order>>([&] {
    std::vector<Place> places = walk_chains(tenant, buyer);
    if (after) std::erase_if(places, [&](const Place& place) { return place >= *after; });
    std::ranges::sort(places, std::greater<>{});
    const bool has_more = places.size() > count;
    if (has_more) places.resize(count);
    std::vector<Order> orders;
    for (const Place& place : places) {
      if (auto order = find_order(place.second)) orders.push_back(*std::move(order));
    }
    cursor = has_more && !places.empty() ? cursor_text(places.back()) : std::string{};
    return orders;
  });
}

Result<BuyerStanding> SqliteReader::standing(TenantNo tenant, SaleNo sale, std::string_view buyer) {
  return look<BuyerStanding>([&]() -> BuyerStanding {
    auto& row = statements_->standing.bind(1, tenant).bind(2, buyer).bind(3, sale);
    const ResetLater later{row};
    if (!row.step()) return {};
    return {.units = static_cast<std::int32_t>(row.whole(0)), .last_order = row.id<OrderId>(1)};
  });
}

Result<std::optional<Payment>> SqliteReader::payment(PaymentId id) {
  return look<std::optional<Payment>>([&]() -> std::optional<Payment> {
    auto& row = statements_->payment.bind(1, id);
    const ResetLater later{row};
    if (!row.step()) return std::nullopt;
    return sqlite::read_payment(row);
  });
}

Result<std::optional<OrderId>> SqliteReader::owner_of(ItemNo item, std::uint32_t number) {
  return look<std::optional<OrderId>>([&]() -> std::optional<OrderId> {
    auto& row = statements_->owner.bind(1, item).bind(2, std::int64_t{number});
    const ResetLater later{row};
    if (!row.step()) return std::nullopt;
    return row.id<OrderId>(0);
  });
}

Result<std::vector<RefundDue>> SqliteReader::refunds_due(std::size_t count) {
  return look<std::vector<RefundDue>>([&] {
    std::vector<RefundDue> due;
    Statement row = connection_->prepare(
        "SELECT r.refund_id, r.state, r.amount, r.currency, r.payment_id, p.gateway, r.order_id, r.created_at "
        "FROM flash_sale_refund r JOIN flash_sale_payment p USING (payment_id) WHERE r.state = 0 "
        "ORDER BY r.created_at LIMIT ?1");
    row.bind(1, static_cast<std::int64_t>(count));
    while (row.step()) {
      due.push_back({.refund = sqlite::read_refund(row),
                     .payment = row.id<PaymentId>(4),
                     .gateway = std::string{row.text(5)},
                     .order = row.id<OrderId>(6),
                     .since = row.moment(7)});
    }
    return due;
  });
}

Result<std::vector<Payment>> SqliteReader::undecided_late(std::size_t count) {
  return look<std::vector<Payment>>([&] {
    std::vector<Payment> late;
    Statement row = connection_->prepare(fmt::format(
        "SELECT {} FROM flash_sale_payment WHERE state = 3 ORDER BY created_at LIMIT ?1", sqlite::kPaymentColumns));
    row.bind(1, static_cast<std::int64_t>(count));
    while (row.step()) late.push_back(sqlite::read_payment(row));
    return late;
  });
}

Result<void> SqliteReader::live_orders(const std::function<void(const Ended&, bool sold)>& each) {
  const auto done = look<bool>([&] {
    Statement row = connection_->prepare(
        "SELECT order_id, tenant_no, sale_no, item_no, quantity, buyer, status, numbers FROM flash_sale_order "
        "WHERE status IN (0, 1) OR kept_units > 0");
    Ended live;
    while (row.step()) {
      live.order = row.id<OrderId>(0);
      live.tenant = row.number<TenantNo>(1);
      live.sale = row.number<SaleNo>(2);
      live.item = row.number<ItemNo>(3);
      live.units = static_cast<std::int32_t>(row.whole(4));
      live.numbers = sqlite::read_numbers(row, 7);
      live.buyer = row.text(5);
      each(live, row.whole(6) != 0);
    }
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<void> SqliteReader::ended_orders(const std::function<void(OrderId, SaleNo)>& each) {
  const auto done = look<bool>([&] {
    Statement row = connection_->prepare(
        "SELECT order_id, sale_no FROM flash_sale_order WHERE status NOT IN (0, 1) AND kept_units = 0");
    while (row.step()) each(row.id<OrderId>(0), row.number<SaleNo>(1));
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<std::vector<std::pair<ItemNo, Shelf>>> SqliteReader::shelves() {
  return look<std::vector<std::pair<ItemNo, Shelf>>>([&] {
    std::vector<std::pair<ItemNo, Shelf>> all;
    Statement row = connection_->prepare("SELECT item_no, total, held, sold FROM flash_sale_item ORDER BY item_no");
    while (row.step()) {
      Shelf shelf{.total = row.whole(1), .free = 0, .held = row.whole(2), .sold = row.whole(3), .version = 0};
      shelf.free = shelf.total - shelf.held - shelf.sold;
      all.emplace_back(row.number<ItemNo>(0), shelf);
    }
    return all;
  });
}

Result<std::vector<LifeLine>> SqliteReader::life_of(OrderId id) {
  return look<std::vector<LifeLine>>([&]() -> std::vector<LifeLine> {
    const auto order = find_order(id);
    if (!order) return {};
    std::vector<LifeLine> life;
    life.push_back({order->created_at, "recorded",
                    fmt::format("{} units for {}, {} {}", order->units, order->buyer, order->amount.value,
                                order->amount.currency.view())});
    add_webhooks(*connection_, id, life);
    Statement row = connection_->prepare(
        "SELECT event, at, detail FROM flash_sale_event WHERE order_id = ?1 "
        "ORDER BY seq");
    row.bind(1, id);
    while (row.step()) life.push_back({row.moment(1), std::string{row.text(0)}, std::string{row.text(2)}});
    sort_by_moment(life);
    std::string now{name(order->status)};
    if (order->status == OrderStatus::pending) now += fmt::format(", to be paid by {}", iso_text(order->pay_by));
    if (order->refund) now += fmt::format(", refund {} {}", order->refund->id.text(), name(order->refund->state));
    life.push_back({clock_.now(), "now", std::move(now)});
    return life;
  });
}

Result<AuditReport> SqliteReader::audit() {
  return look<AuditReport>([&] { return audit_rows(*connection_); });
}

}  // namespace weir
