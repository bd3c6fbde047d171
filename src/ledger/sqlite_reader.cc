#include "ledger/sqlite_ledger.h"

#include "base/encoding.h"
#include "base/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weir {

using sqlite::Statement;

struct SqliteReader::Statements {
  explicit Statements(const sqlite::Connection& db)
      : begin(db.prepare("BEGIN")),
        commit(db.prepare("COMMIT")),
        order(db.prepare(fmt::format("SELECT {} FROM flash_sale_order WHERE order_id = ?1", kOrderColumns))),
        previous(db.prepare("SELECT previous_order FROM flash_sale_order WHERE order_id = ?1")),
        refund(db.prepare("SELECT refund_id, state, amount, currency FROM flash_sale_refund WHERE order_id = ?1 ORDER BY created_at DESC, refund_id LIMIT 1")),
        chains(db.prepare("SELECT last_order FROM flash_sale_buyer WHERE tenant_no = ?1 AND buyer = ?2")),
        standing(db.prepare("SELECT units, last_order FROM flash_sale_buyer WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
        payment(db.prepare(fmt::format("SELECT {} FROM flash_sale_payment WHERE payment_id = ?1", kPaymentColumns))) {}

  Statement begin, commit, order, previous, refund, chains, standing, payment;
};

namespace {

constexpr std::size_t kChainMax = 100'000;  // Orders of one buyer that a list looks at.

template <typename Tag>
Number<Tag> number_at(const Statement& row, int at) {
  return {static_cast<std::uint32_t>(row.whole(at))};
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
  SipKey key;
  if (const auto id = OrderId::from_bytes(bytes)) key = {id->high, id->low};
  return key;
}

std::string money_text(const Statement& row, int value_at, int currency_at) {
  return fmt::format("{} {}", row.whole(value_at), row.text(currency_at));
}

}  // namespace

SqliteReader::SqliteReader(const SqliteOptions& options, const Clock& clock) : clock_(clock) {
  connection_ = std::make_unique<sqlite::Connection>(options.data + "/ledger.db", options.vfs, sqlite::Access::read);
  statements_ = std::make_unique<Statements>(*connection_);
}

SqliteReader::~SqliteReader() = default;

Result<std::unique_ptr<SqliteReader>> SqliteReader::open(const SqliteOptions& options, const Clock& clock) {
  try {
    return std::unique_ptr<SqliteReader>{new SqliteReader{options, clock}};
  } catch (const sqlite::SqliteFailure& failure) {
    Error error = sqlite::error_of(failure, false);
    if ((failure.code & 0xff) == SQLITE_ERROR) error = {Failure::unfit, fmt::format("there is no ledger in '{}' yet: {} (data)", options.data, failure.message)};
    return std::unexpected(error);
  }
}

template <typename T>
Result<T> SqliteReader::look(const std::function<T()>& work) {
  try {
    statements_->begin.run();
    struct End {
      SqliteReader& reader;
      ~End() {
        // A read transaction that cannot be ended is ended by the next one's failure, or by closing.
        try {
          reader.statements_->commit.run();
        } catch (const sqlite::SqliteFailure&) {
        }
      }
    };
    const End end{*this};
    return work();
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(sqlite::error_of(failure, false));
  }
}

Result<Catalog> SqliteReader::catalog() {
  return look<Catalog>([&] {
    std::vector<Tenant> tenants;
    std::vector<Sale> sales;
    std::vector<Item> items;
    Statement row = connection_->prepare("SELECT tenant_no, id, domains, order_key_0, order_key_1 FROM flash_sale_tenant ORDER BY tenant_no");
    while (row.step()) {
      tenants.push_back({.no = number_at<TenantTag>(row, 0), .id = std::string{row.text(1)}, .domains = lines_of(row.text(2)),
                         .order_id_key_0 = key_of(row.blob(3)), .order_id_key_1 = key_of(row.blob(4))});
    }
    row = connection_->prepare("SELECT sale_no, tenant_no, id, title, opens_at, closes_at, paused, closed, limit_per_buyer, pay_within_us, secret FROM flash_sale ORDER BY sale_no");
    while (row.step()) {
      sales.push_back({.no = number_at<SaleTag>(row, 0), .tenant = number_at<TenantTag>(row, 1), .id = std::string{row.text(2)},
                       .title = std::string{row.text(3)}, .opens_at = row.moment(4), .closes_at = row.moment(5),
                       .paused = row.whole(6) != 0, .closed = row.whole(7) != 0,
                       .limit_per_buyer = static_cast<std::int32_t>(row.whole(8)), .pay_within = Micros{row.whole(9)},
                       .secret = std::string{row.text(10)}});
    }
    row = connection_->prepare("SELECT item_no, sale_no, id, title, price, currency, total FROM flash_sale_item ORDER BY item_no");
    while (row.step()) {
      items.push_back({.no = number_at<ItemTag>(row, 0), .sale = number_at<SaleTag>(row, 1), .id = std::string{row.text(2)},
                       .title = std::string{row.text(3)}, .price = row.money(4, 5), .total = row.whole(6)});
    }
    return Catalog{std::move(tenants), std::move(sales), std::move(items)};
  });
}

Result<std::optional<Order>> SqliteReader::order(OrderId id) {
  return look<std::optional<Order>>([&]() -> std::optional<Order> {
    std::optional<Order> order;
    {
      auto& row = statements_->order.bind(1, id);
      const sqlite::ResetLater later{row};
      if (!row.step()) return std::nullopt;
      order = read_order(row);
    }
    auto& refund = statements_->refund.bind(1, id);
    const sqlite::ResetLater later{refund};
    if (refund.step()) {
      order->refund = Refund{.id = refund.id<RefundId>(0), .state = static_cast<RefundState>(refund.whole(1)), .amount = refund.money(2, 3)};
    }
    return order;
  });
}

Result<std::vector<Order>> SqliteReader::orders_of(TenantNo tenant, std::string_view buyer, std::size_t count, std::string& cursor) {
  // The cursor is `microseconds-orderid` of the last order that was shown.
  std::int64_t before_us = INT64_MAX;
  std::optional<OrderId> before_id;
  if (!cursor.empty()) {
    const std::size_t dash = cursor.find('-');
    before_id = dash == std::string::npos ? std::nullopt : OrderId::parse(std::string_view{cursor}.substr(dash + 1));
    before_us = before_id ? std::strtoll(cursor.c_str(), nullptr, 10) : 0;
    if (!before_id || before_us <= 0) return fail(Failure::unfit, "The cursor is not one that this list gave out.");
  }
  std::vector<std::pair<std::int64_t, OrderId>> found;
  const auto walked = look<bool>([&] {
    std::vector<OrderId> heads;
    auto& chains = statements_->chains.bind(1, tenant).bind(2, buyer);
    while (chains.step()) heads.push_back(chains.id<OrderId>(0));
    for (OrderId at : heads) {
      for (std::size_t steps = 0; !at.is_none() && steps < kChainMax; ++steps) {
        auto& row = statements_->order.bind(1, at);
        const sqlite::ResetLater later{row};
        if (!row.step()) break;
        const std::int64_t created = row.whole(11);
        if (created < before_us || (created == before_us && before_id && at < *before_id)) found.emplace_back(created, at);
        auto& previous = statements_->previous.bind(1, at);
        const sqlite::ResetLater previous_later{previous};
        at = previous.step() ? previous.id<OrderId>(0) : OrderId{};
      }
    }
    return true;
  });
  if (!walked) return std::unexpected(walked.error());
  std::ranges::sort(found, std::greater<>{});
  std::vector<Order> orders;
  for (std::size_t i = 0; i < found.size() && i < count; ++i) {
    const auto one = order(found[i].second);
    if (!one) return std::unexpected(one.error());
    if (*one) orders.push_back(**one);
  }
  cursor = found.size() > count ? fmt::format("{}-{}", orders.back().created_at.us, orders.back().id.text()) : std::string{};
  return orders;
}

Result<BuyerStanding> SqliteReader::standing(TenantNo tenant, SaleNo sale, std::string_view buyer) {
  return look<BuyerStanding>([&] {
    BuyerStanding standing;
    auto& row = statements_->standing.bind(1, tenant).bind(2, buyer).bind(3, sale);
    const sqlite::ResetLater later{row};
    if (row.step()) standing = {static_cast<std::int32_t>(row.whole(0)), row.id<OrderId>(1)};
    return standing;
  });
}

Result<std::optional<Payment>> SqliteReader::payment(PaymentId id) {
  return look<std::optional<Payment>>([&]() -> std::optional<Payment> {
    auto& row = statements_->payment.bind(1, id);
    const sqlite::ResetLater later{row};
    if (!row.step()) return std::nullopt;
    return read_payment(row);
  });
}

Result<std::vector<RefundDue>> SqliteReader::refunds_due(std::size_t count) {
  return look<std::vector<RefundDue>>([&] {
    std::vector<RefundDue> due;
    Statement row = connection_->prepare(
        "SELECT r.refund_id, r.state, r.amount, r.currency, r.payment_id, p.gateway, r.order_id, r.created_at "
        "FROM flash_sale_refund r JOIN flash_sale_payment p USING (payment_id) WHERE r.state = 0 ORDER BY r.created_at LIMIT ?1");
    row.bind(1, static_cast<std::int64_t>(count));
    while (row.step()) {
      due.push_back({.refund = {.id = row.id<RefundId>(0), .state = static_cast<RefundState>(row.whole(1)), .amount = row.money(2, 3)},
                     .payment = row.id<PaymentId>(4), .gateway = std::string{row.text(5)}, .order = row.id<OrderId>(6), .since = row.moment(7)});
    }
    return due;
  });
}

Result<std::vector<Payment>> SqliteReader::undecided_late(std::size_t count) {
  return look<std::vector<Payment>>([&] {
    std::vector<Payment> late;
    Statement row = connection_->prepare(fmt::format("SELECT {} FROM flash_sale_payment WHERE state = 3 ORDER BY created_at LIMIT ?1", kPaymentColumns));
    row.bind(1, static_cast<std::int64_t>(count));
    while (row.step()) late.push_back(read_payment(row));
    return late;
  });
}

Result<void> SqliteReader::live_orders(const std::function<void(const Ended&, bool sold)>& each) {
  const auto done = look<bool>([&] {
    Statement row = connection_->prepare("SELECT order_id, tenant_no, sale_no, item_no, quantity, buyer, status FROM flash_sale_order "
                                         "WHERE status IN (0, 1) OR kept_units > 0");
    Ended live;
    while (row.step()) {
      live.order = row.id<OrderId>(0);
      live.tenant = number_at<TenantTag>(row, 1);
      live.sale = number_at<SaleTag>(row, 2);
      live.item = number_at<ItemTag>(row, 3);
      live.units = static_cast<std::int32_t>(row.whole(4));
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
    Statement row = connection_->prepare("SELECT order_id, sale_no FROM flash_sale_order WHERE status NOT IN (0, 1) AND kept_units = 0");
    while (row.step()) each(row.id<OrderId>(0), number_at<SaleTag>(row, 1));
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
      const Shelf shelf{.total = row.whole(1), .free = row.whole(1) - row.whole(2) - row.whole(3), .held = row.whole(2), .sold = row.whole(3), .version = 0};
      all.emplace_back(number_at<ItemTag>(row, 0), shelf);
    }
    return all;
  });
}

Result<std::vector<LifeLine>> SqliteReader::life_of(OrderId id) {
  const auto found = order(id);
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::vector<LifeLine>{};
  return look<std::vector<LifeLine>>([&] {
    const Order& one = **found;
    std::vector<LifeLine> life;
    life.push_back({one.created_at, "recorded", fmt::format("{} units for {}, {} {}, pay by {}", one.units, one.buyer, one.amount.value, one.amount.currency.view(), iso_text(one.pay_by))});
    Statement row = connection_->prepare("SELECT event, at, detail FROM flash_sale_event WHERE order_id = ?1 ORDER BY seq");
    row.bind(1, id);
    while (row.step()) life.push_back({row.moment(1), std::string{row.text(0)}, std::string{row.text(2)}});
    row = connection_->prepare("SELECT i.event_id, i.kind, i.amount, i.currency, i.received_at FROM flash_sale_inbox i JOIN flash_sale_payment p USING (payment_id) WHERE p.order_id = ?1");
    row.bind(1, id);
    while (row.step()) {
      static constexpr std::array kKinds{"captured", "declined", "refund done", "other"};
      life.push_back({row.moment(4), "webhook", fmt::format("{} {}, {}", kKinds.at(static_cast<std::size_t>(row.whole(1))), row.text(0), money_text(row, 2, 3))});
    }
    std::ranges::stable_sort(life, {}, &LifeLine::at);
    life.push_back({clock_.now(), "now", fmt::format("{}{}{}", name(one.status), one.reason.empty() ? "" : ": ", one.reason)});
    return life;
  });
}

Result<AuditReport> SqliteReader::audit() {
  return look<AuditReport>([&] {
    AuditReport report;
    run_audit(report);
    return report;
  });
}

}  // namespace weir
