#include "ledger/postgres_reader.h"

#include "base/time_text.h"
#include "config/limits.h"
#include "ledger/postgres_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace weir {

using postgres::Countdown;
using postgres::PostgresFailure;
using postgres::Rows;
using postgres::Session;
using postgres::Stage;
using postgres::Statement;
using postgres::Values;

namespace {

constexpr Statement kBegin{"read_begin", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
constexpr Statement kEnd{"read_end", "COMMIT"};

constexpr Statement kTenants{
    "read_tenants",
    "SELECT tenant_no, id, domains, order_key_0, order_key_1 FROM flash_sale_tenant ORDER BY tenant_no"};
constexpr Statement kSales{
    "read_all_sales",
    "SELECT sale_no, tenant_no, id, title, opens_at, closes_at, paused, closed, limit_per_buyer, pay_within_us, secret "
    "FROM flash_sale ORDER BY sale_no"};
constexpr Statement kItems{
    "read_items",
    "SELECT item_no, sale_no, id, title, price, currency, total, held, sold FROM flash_sale_item ORDER BY item_no"};

/// An order with the refund that is shown with it: what was asked for before what was owed, then the newest.
#define WEIR_ORDER_AND_REFUND                                                                                       \
  "SELECT " WEIR_ORDER_COLUMNS                                                                                      \
  ", r.refund_id, r.done, r.amount, r.currency FROM flash_sale_order o LEFT JOIN LATERAL (SELECT refund_id, done, " \
  "amount, currency FROM flash_sale_refund r WHERE r.order_id = o.order_id "                                        \
  "ORDER BY of_order DESC, created_at DESC, refund_id LIMIT 1) r ON true "
constexpr Statement kOrder{"read_order", WEIR_ORDER_AND_REFUND "WHERE o.order_id = $1"};
constexpr Statement kOrdersOf{"read_orders_of", WEIR_ORDER_AND_REFUND
                              "WHERE o.tenant_no = $1 AND o.buyer = $2 AND (o.created_at, o.order_id) < ($3, $4) "
                              "ORDER BY o.created_at DESC, o.order_id DESC LIMIT $5"};

constexpr Statement kStanding{"read_standing",
                              "SELECT b.units, b.last_order FROM flash_sale_buyer b JOIN flash_sale s USING (sale_no) "
                              "WHERE b.sale_no = $1 AND b.buyer = $2 AND s.tenant_no = $3"};
constexpr Statement kPayment{"read_payment",
                             "SELECT " WEIR_PAYMENT_COLUMNS " FROM flash_sale_payment p WHERE p.payment_id = $1"};
constexpr Statement kLate{"read_late", "SELECT " WEIR_PAYMENT_COLUMNS
                                       " FROM flash_sale_payment p WHERE p.state = 3 ORDER BY p.created_at LIMIT $1"};
constexpr Statement kRefundsDue{
    "read_refunds_due",
    "SELECT r.refund_id, r.amount, r.currency, r.payment_id, p.gateway, r.order_id, r.created_at "
    "FROM flash_sale_refund r JOIN flash_sale_payment p USING (payment_id) WHERE NOT r.done "
    "ORDER BY r.created_at LIMIT $1"};
constexpr Statement kEvents{"read_events",
                            "SELECT event, at, detail FROM flash_sale_event WHERE order_id = $1 ORDER BY seq"};
constexpr Statement kWebhooks{
    "read_webhooks",
    "SELECT i.gateway, i.event_id, i.kind, i.amount, i.currency, i.received_at FROM flash_sale_payment p "
    "JOIN flash_sale_inbox i USING (payment_id) WHERE p.order_id = $1 ORDER BY i.received_at, i.event_id"};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
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

Order read_order_and_refund(const Rows& rows, int row) {
  Order order = postgres::read_order(rows, row);
  constexpr int kRefund = postgres::kOrderColumns;
  if (!rows.is_null(row, kRefund)) {
    order.refund = Refund{.id = rows.id<RefundId>(row, kRefund),
                          .state = rows.truth(row, kRefund + 1) ? RefundState::done : RefundState::due,
                          .amount = rows.money(row, kRefund + 2, kRefund + 3)};
  }
  return order;
}

SipKey read_key(const Rows& rows, int row, int column) {
  const auto id = rows.id<OrderId>(row, column);
  return {id.high, id.low};
}

Catalog read_catalog(const Rows& tenant_rows, const Rows& sale_rows, const Rows& item_rows) {
  std::vector<Tenant> tenants;
  for (int row = 0; row < tenant_rows.size(); ++row) {
    tenants.push_back({.no = tenant_rows.number<TenantNo>(row, 0),
                       .id = std::string{tenant_rows.text(row, 1)},
                       .domains = lines_of(tenant_rows.text(row, 2)),
                       .order_id_key_0 = read_key(tenant_rows, row, 3),
                       .order_id_key_1 = read_key(tenant_rows, row, 4)});
  }
  std::vector<Sale> sales;
  for (int row = 0; row < sale_rows.size(); ++row) {
    sales.push_back({.no = sale_rows.number<SaleNo>(row, 0),
                     .tenant = sale_rows.number<TenantNo>(row, 1),
                     .id = std::string{sale_rows.text(row, 2)},
                     .title = std::string{sale_rows.text(row, 3)},
                     .opens_at = sale_rows.moment(row, 4),
                     .closes_at = sale_rows.moment(row, 5),
                     .paused = sale_rows.truth(row, 6),
                     .closed = sale_rows.truth(row, 7),
                     .limit_per_buyer = static_cast<std::int32_t>(sale_rows.whole(row, 8)),
                     .pay_within = Micros{sale_rows.whole(row, 9)},
                     .secret = std::string{sale_rows.text(row, 10)}});
  }
  std::vector<Item> items;
  for (int row = 0; row < item_rows.size(); ++row) {
    items.push_back({.no = item_rows.number<ItemNo>(row, 0),
                     .sale = item_rows.number<SaleNo>(row, 1),
                     .id = std::string{item_rows.text(row, 2)},
                     .title = std::string{item_rows.text(row, 3)},
                     .price = item_rows.money(row, 4, 5),
                     .total = item_rows.whole(row, 6),
                     .numbered = false,
                     .first_number = 0,
                     .labels = {}});
  }
  return Catalog{std::move(tenants), std::move(sales), std::move(items)};
}

std::vector<LifeLine> read_life(const Order& order, const Rows& webhooks, const Rows& events, Instant now) {
  std::vector<LifeLine> life;
  life.push_back({order.created_at, "recorded",
                  fmt::format("{} units for {}, {} {}", order.units, order.buyer, order.amount.value,
                              order.amount.currency.view())});
  for (int row = 0; row < webhooks.size(); ++row) {
    static constexpr std::array kKinds{"captured", "declined", "refund_done", "other"};
    const auto kind = static_cast<std::size_t>(webhooks.whole(row, 2));
    life.push_back({webhooks.moment(row, 5), "webhook",
                    fmt::format("{} of {}, event {}: {} {}", kKinds.at(kind), webhooks.text(row, 0),
                                webhooks.text(row, 1), webhooks.whole(row, 3), webhooks.text(row, 4))});
  }
  for (int row = 0; row < events.size(); ++row) {
    life.push_back({events.moment(row, 1), std::string{events.text(row, 0)}, std::string{events.text(row, 2)}});
  }
  // Lines of one moment stay in the order in which they were found.
  std::ranges::stable_sort(life, {}, &LifeLine::at);
  std::string last{name(order.status)};
  if (order.status == OrderStatus::pending) last += fmt::format(", to be paid by {}", iso_text(order.pay_by));
  if (order.refund) last += fmt::format(", refund {} {}", order.refund->id.text(), name(order.refund->state));
  life.push_back({now, "now", std::move(last)});
  return life;
}

}  // namespace

PostgresReader::PostgresReader(PostgresOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

PostgresReader::~PostgresReader() = default;

Result<std::unique_ptr<PostgresReader>> PostgresReader::open(PostgresOptions options, const Clock& clock) {
  std::unique_ptr<PostgresReader> reader{new PostgresReader{std::move(options), clock}};
  const auto done = reader->look(Micros{kPostgresCallUsMax}, [](Session& session) {
    static constexpr Statement kHasLedger{"has_ledger", "SELECT to_regclass('flash_sale_meta') IS NOT NULL"};
    if (!session.run(kHasLedger).truth(0, 0)) {
      throw PostgresFailure{.state = {},
                            .message = "the database holds no ledger: `weir migrate` makes one (postgres.dsn)",
                            .is_lost = false,
                            .is_unfit = true};
    }
    static_cast<void>(session.run(kTenants));
  });
  if (!done) return std::unexpected(done.error());
  return reader;
}

void PostgresReader::connect(Countdown& countdown) {
  connection_ = std::make_unique<postgres::Connection>(
      options_.dsn,
      fmt::format("SET synchronous_commit = on; SET client_min_messages = error; SET jit = off; "
                  "SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}",
                  kPostgresLongUsMax / 1000, kPostgresLongUsMax / 1000),
      options_.allows_unsafe_storage, countdown);
}

Result<void> PostgresReader::look(Micros span, const std::function<void(Session&)>& work) {
  Countdown countdown{span};
  has_given_ = false;
  for (bool may_reconnect = true;; may_reconnect = false) {
    auto stage = Stage::connecting;
    try {
      if (connection_ == nullptr) connect(countdown);
      stage = Stage::working;
      Session session{*connection_, countdown,
                      options_.takes_time_from_clock ? std::optional{clock_.now()} : std::nullopt};
      session.queue(kBegin);
      work(session);
      session.queue(kEnd);
      static_cast<void>(session.run());
      return {};
    } catch (const PostgresFailure& failure) {
      connection_.reset();  // Nothing on it is worth a clean-up.
      const bool tries_again =
          failure.is_lost && stage == Stage::working && may_reconnect && !has_given_ && !countdown.is_over();
      if (!tries_again) return std::unexpected(error_of(failure, stage));
    }
  }
}

template <typename T>
Result<T> PostgresReader::look_for(const std::function<T(Session&)>& work) {
  T found{};
  const auto done = look(Micros{kPostgresCallUsMax}, [&](Session& session) { found = work(session); });
  if (!done) return std::unexpected(done.error());
  return found;
}

Result<Catalog> PostgresReader::catalog() {
  return look_for<Catalog>([](Session& session) {
    session.queue(kTenants);
    session.queue(kSales);
    session.queue(kItems);
    const std::vector<Rows> answers = session.run();
    return read_catalog(answers[1], answers[2], answers[3]);
  });
}

Result<std::optional<Order>> PostgresReader::order(OrderId id) {
  return look_for<std::optional<Order>>([&](Session& session) -> std::optional<Order> {
    const Rows rows = session.run(kOrder, Values{}.add(id));
    if (rows.size() == 0) return std::nullopt;
    return read_order_and_refund(rows, 0);
  });
}

Result<std::vector<Order>> PostgresReader::orders_of(TenantNo tenant, std::string_view buyer, std::size_t count,
                                                     std::string& cursor) {
  const auto after = parse_cursor(cursor);
  if (!after && !cursor.empty()) return fail(Failure::unfit, "The cursor is not one that this list gave out.");
  if (!postgres::is_storable(buyer)) return std::vector<Order>{};
  const Place from = after.value_or(Place{{INT64_MAX}, {}});
  const std::size_t most = std::min(count, kOrdersPerBuyerMax);
  auto orders = look_for<std::vector<Order>>([&](Session& session) {
    const Rows rows = session.run(
        kOrdersOf,
        Values{}.add(tenant).add(buyer).add(from.first).add(from.second).add(static_cast<std::int64_t>(most + 1)));
    std::vector<Order> found;
    for (int row = 0; row < rows.size(); ++row) found.push_back(read_order_and_refund(rows, row));
    return found;
  });
  if (!orders) return orders;
  const bool has_more = orders->size() > most;
  if (has_more) orders->resize(most);
  cursor = has_more && most > 0 ? cursor_text({orders->back().created_at, orders->back().id}) : std::string{};
  return orders;
}

Result<BuyerStanding> PostgresReader::standing(TenantNo tenant, SaleNo sale, std::string_view buyer) {
  if (!postgres::is_storable(buyer)) return BuyerStanding{};
  return look_for<BuyerStanding>([&](Session& session) -> BuyerStanding {
    const Rows rows = session.run(kStanding, Values{}.add(sale).add(buyer).add(tenant));
    if (rows.size() == 0) return {};
    return {.units = static_cast<std::int32_t>(rows.whole(0, 0)), .last_order = rows.maybe_id<OrderId>(0, 1)};
  });
}

Result<std::optional<Payment>> PostgresReader::payment(PaymentId id) {
  return look_for<std::optional<Payment>>([&](Session& session) -> std::optional<Payment> {
    const Rows rows = session.run(kPayment, Values{}.add(id));
    if (rows.size() == 0) return std::nullopt;
    return postgres::read_payment(rows, 0);
  });
}

Result<std::optional<OrderId>> PostgresReader::owner_of(ItemNo, std::uint32_t) {
  return fail(Failure::unfit, "this ledger keeps no numbered stock");
}

Result<std::vector<RefundDue>> PostgresReader::refunds_due(std::size_t count) {
  return look_for<std::vector<RefundDue>>([&](Session& session) {
    const Rows rows = session.run(kRefundsDue, Values{}.add(static_cast<std::int64_t>(count)));
    std::vector<RefundDue> due;
    for (int row = 0; row < rows.size(); ++row) {
      due.push_back(
          {.refund = {.id = rows.id<RefundId>(row, 0), .state = RefundState::due, .amount = rows.money(row, 1, 2)},
           .payment = rows.id<PaymentId>(row, 3),
           .gateway = std::string{rows.text(row, 4)},
           .order = rows.id<OrderId>(row, 5),
           .since = rows.moment(row, 6)});
    }
    return due;
  });
}

Result<std::vector<Payment>> PostgresReader::undecided_late(std::size_t count) {
  return look_for<std::vector<Payment>>([&](Session& session) {
    const Rows rows = session.run(kLate, Values{}.add(static_cast<std::int64_t>(count)));
    std::vector<Payment> late;
    for (int row = 0; row < rows.size(); ++row) late.push_back(postgres::read_payment(rows, row));
    return late;
  });
}

Result<void> PostgresReader::live_orders(const std::function<void(const Ended&, bool sold)>& each) {
  return look(Micros{kPostgresLongUsMax}, [&](Session& session) {
    static_cast<void>(session.run());
    has_given_ = true;
    postgres::fetch_all(session,
                        "SELECT order_id, tenant_no, sale_no, item_no, quantity, buyer, status FROM flash_sale_order "
                        "WHERE status IN (0, 1) OR kept_units > 0",
                        [&](const Rows& rows, int row) {
                          const Ended live{.order = rows.id<OrderId>(row, 0),
                                           .tenant = rows.number<TenantNo>(row, 1),
                                           .sale = rows.number<SaleNo>(row, 2),
                                           .item = rows.number<ItemNo>(row, 3),
                                           .units = static_cast<std::int32_t>(rows.whole(row, 4)),
                                           .numbers = {},
                                           .buyer = std::string{rows.text(row, 5)}};
                          each(live, rows.whole(row, 6) != 0);
                        });
  });
}

Result<void> PostgresReader::ended_orders(const std::function<void(OrderId, SaleNo)>& each) {
  return look(Micros{kPostgresLongUsMax}, [&](Session& session) {
    static_cast<void>(session.run());
    has_given_ = true;
    postgres::fetch_all(
        session, "SELECT order_id, sale_no FROM flash_sale_order WHERE status NOT IN (0, 1) AND kept_units = 0",
        [&](const Rows& rows, int row) { each(rows.id<OrderId>(row, 0), rows.number<SaleNo>(row, 1)); });
  });
}

Result<std::vector<std::pair<ItemNo, Shelf>>> PostgresReader::shelves() {
  return look_for<std::vector<std::pair<ItemNo, Shelf>>>([](Session& session) {
    const Rows rows = session.run(kItems);
    std::vector<std::pair<ItemNo, Shelf>> all;
    for (int row = 0; row < rows.size(); ++row) {
      Shelf shelf{
          .total = rows.whole(row, 6), .free = 0, .held = rows.whole(row, 7), .sold = rows.whole(row, 8), .version = 0};
      shelf.free = shelf.total - shelf.held - shelf.sold;
      all.emplace_back(rows.number<ItemNo>(row, 0), shelf);
    }
    return all;
  });
}

Result<std::vector<LifeLine>> PostgresReader::life_of(OrderId id) {
  return look_for<std::vector<LifeLine>>([&](Session& session) -> std::vector<LifeLine> {
    session.queue(kOrder, Values{}.add(id));
    session.queue(kWebhooks, Values{}.add(id));
    session.queue(kEvents, Values{}.add(id));
    session.queue_now();
    const std::vector<Rows> answers = session.run();
    if (answers[1].size() == 0) return {};
    return read_life(read_order_and_refund(answers[1], 0), answers[2], answers[3], answers[4].moment(0, 0));
  });
}

Result<AuditReport> PostgresReader::audit() {
  AuditReport report;
  const auto done = look(Micros{kPostgresLongUsMax}, [&](Session& session) {
    static_cast<void>(session.run());
    report = postgres::audit_rows(session);
  });
  if (!done) return std::unexpected(done.error());
  return report;
}

}  // namespace weir
