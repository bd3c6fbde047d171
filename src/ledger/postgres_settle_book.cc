#include "ledger/postgres_settle_book.h"

#include "base/check.h"
#include "config/limits.h"
#include "ledger/postgres_rows.h"

#include <algorithm>

namespace weir::postgres {
namespace {

constexpr Statement kFindOrders{
    "settle_find_orders",
    "SELECT order_id, sale_no, item_no, buyer FROM flash_sale_order WHERE order_id = ANY($1::uuid[]) UNION "
    "SELECT o.order_id, o.sale_no, o.item_no, o.buyer FROM flash_sale_payment p JOIN flash_sale_order o "
    "ON o.order_id = p.order_id WHERE p.payment_id = ANY($2::uuid[])"};
constexpr Statement kLockOrders{"settle_lock_orders",
                                "SELECT " WEIR_ORDER_COLUMNS
                                ", o.extended, o.kept_units, o.hold_id FROM flash_sale_order o "
                                "WHERE o.order_id = ANY($1::uuid[]) ORDER BY o.order_id FOR NO KEY UPDATE"};
constexpr Statement kReadPayments{"settle_read_payments",
                                  "SELECT " WEIR_PAYMENT_COLUMNS
                                  ", p.captured FROM flash_sale_payment p WHERE p.order_id = ANY($1::uuid[])"};
constexpr Statement kReadRefunds{
    "settle_read_refunds",
    "SELECT refund_id, payment_id, order_id, amount, currency, done, of_order, restock, created_at "
    "FROM flash_sale_refund WHERE order_id = ANY($1::uuid[]) UNION "
    "SELECT refund_id, payment_id, order_id, amount, currency, done, of_order, restock, created_at "
    "FROM flash_sale_refund WHERE refund_id = ANY($2::uuid[])"};
constexpr Statement kReadInbox{
    "settle_read_inbox",
    "SELECT i.gateway, i.event_id, i.payment_id, i.kind, i.refund_id, i.amount, i.currency, i.received_at, i.applied "
    "FROM unnest($1::text[], $2::text[]) AS w(gateway, event_id) JOIN flash_sale_inbox i "
    "ON i.gateway = w.gateway AND i.event_id = w.event_id UNION "
    "SELECT gateway, event_id, payment_id, kind, refund_id, amount, currency, received_at, applied "
    "FROM flash_sale_inbox WHERE payment_id = ANY($3::uuid[]) AND NOT applied"};
constexpr Statement kReadKeyOrders{"settle_read_key_orders",
                                   "SELECT order_id FROM flash_sale_order WHERE order_id = ANY($1::uuid[])"};
constexpr Statement kReadRetakes{
    "settle_read_retakes",
    "SELECT payment_id, hold_id, order_id, sale_no, kept, created_at FROM flash_sale_retake "
    "WHERE payment_id = ANY($1::uuid[])"};

constexpr Statement kSetOrders{
    "settle_set_orders",
    "WITH changed AS (UPDATE flash_sale_order o SET status = d.status, pay_by = d.pay_by, paid_at = d.paid_at, "
    "ended_at = d.ended_at, extended = d.extended, kept_units = d.kept_units, hold_id = d.hold_id "
    "FROM unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], "
    "$7::boolean[], $8::int[], $9::uuid[]) "
    "AS d(order_id, was, status, pay_by, paid_at, ended_at, extended, kept_units, hold_id) "
    "WHERE o.order_id = d.order_id AND o.status = d.was RETURNING 1) "
    "SELECT flash_sale_all(count(*), $10) FROM changed"};
constexpr Statement kSetPayments{
    "settle_set_payments",
    "WITH changed AS (UPDATE flash_sale_payment p SET state = d.state, captured = d.captured "
    "FROM unnest($1::uuid[], $2::smallint[], $3::bigint[]) AS d(payment_id, state, captured) "
    "WHERE p.payment_id = d.payment_id RETURNING 1) SELECT flash_sale_all(count(*), $4) FROM changed"};
constexpr Statement kPutPayments{
    "settle_put_payments",
    "INSERT INTO flash_sale_payment (payment_id, order_id, tenant_no, gateway, amount, currency, state, captured, "
    "created_at, expires_at) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::bigint[], "
    "$6::text[], $7::smallint[], $8::bigint[], $9::bigint[], $10::bigint[])"};
constexpr Statement kSetRefunds{
    "settle_set_refunds",
    "WITH changed AS (UPDATE flash_sale_refund r SET done = true, done_at = d.done_at "
    "FROM unnest($1::uuid[], $2::bigint[]) AS d(refund_id, done_at) WHERE r.refund_id = d.refund_id AND NOT r.done "
    "RETURNING 1) SELECT flash_sale_all(count(*), $3) FROM changed"};
constexpr Statement kPutRefunds{
    "settle_put_refunds",
    "INSERT INTO flash_sale_refund (refund_id, payment_id, order_id, amount, currency, done, of_order, restock, "
    "reason, created_at, done_at) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], "
    "$6::boolean[], $7::boolean[], $8::boolean[], $9::text[], $10::bigint[], $11::bigint[])"};
constexpr Statement kSetInbox{
    "settle_set_inbox",
    "WITH changed AS (UPDATE flash_sale_inbox i SET applied = true FROM unnest($1::text[], $2::text[]) "
    "AS d(gateway, event_id) WHERE i.gateway = d.gateway AND i.event_id = d.event_id RETURNING 1) "
    "SELECT flash_sale_all(count(*), $3) FROM changed"};
constexpr Statement kPutInbox{
    "settle_put_inbox",
    "INSERT INTO flash_sale_inbox (gateway, event_id, payment_id, kind, refund_id, amount, currency, body, "
    "received_at, applied) SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::smallint[], $5::uuid[], "
    "$6::bigint[], $7::text[], $8::bytea[], $9::bigint[], $10::boolean[])"};
constexpr Statement kPutKeys{"settle_put_keys",
                             "INSERT INTO flash_sale_request_key (id, digest, created_at) SELECT k.id, k.digest, $3 "
                             "FROM unnest($1::uuid[], $2::bigint[]) AS k(id, digest)"};
constexpr Statement kSetRetakes{
    "settle_set_retakes",
    "WITH changed AS (UPDATE flash_sale_retake r SET kept = d.kept FROM unnest($1::uuid[], $2::boolean[]) "
    "AS d(hold_id, kept) WHERE r.hold_id = d.hold_id AND r.kept IS NULL RETURNING 1) "
    "SELECT flash_sale_all(count(*), $3) FROM changed"};
constexpr Statement kPutRetakes{"settle_put_retakes",
                                "INSERT INTO flash_sale_retake (hold_id, order_id, payment_id, sale_no, created_at) "
                                "SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::bigint[])"};

template <typename Ids>
Array array_of(const Ids& ids) {
  Array array;
  for (const auto& id : ids) array.add(id);
  return array;
}

void send(Session& session, const Statement& statement, std::initializer_list<Array*> columns,
          std::optional<std::int64_t> count = std::nullopt) {
  Values values;
  for (Array* column : columns) values.add(std::move(*column));
  if (count) values.add(*count);
  session.queue(statement, values);
}

}  // namespace

void SettleBook::want_key(const std::optional<RequestKey>& key) {
  if (key) keys_wanted_.insert(key->id);
}

void SettleBook::add(const SettleCommand& command) {
  struct Wants {
    SettleBook& book;
    void operator()(const StartPayment& start) const {
      book.orders_wanted_.insert(start.order);
      book.payments_wanted_.insert(start.payment);
      book.want_key(start.key);
    }
    void operator()(const PaymentEvent& event) const {
      book.payments_wanted_.insert(event.payment);
      if (is_storable(event.gateway) && is_storable(event.event_id)) {
        book.events_wanted_.emplace(event.gateway, event.event_id);
      }
    }
    void operator()(const CancelOrder& cancel) const {
      book.orders_wanted_.insert(cancel.order);
      book.want_key(cancel.key);
    }
    void operator()(const DecideLate& late) const { book.payments_wanted_.insert(late.payment); }
    void operator()(const RefundOrder& refund) const {
      book.orders_wanted_.insert(refund.order);
      book.refunds_wanted_.insert(refund.refund);
      book.want_key(refund.key);
    }
  };
  std::visit(Wants{*this}, command);
}

void SettleBook::queue_search(Session& session) const {
  std::set<std::uint64_t> buckets;
  for (const PaymentId& id : payments_wanted_) buckets.insert((id.high ^ id.low) % kPostgresLockBuckets);
  for (const OrderId& id : keys_wanted_) buckets.insert((id.high ^ id.low) % kPostgresLockBuckets);
  Array numbers;
  for (const std::uint64_t bucket : buckets) numbers.add(static_cast<std::int64_t>(bucket));
  session.queue(sql::kLockBuckets, Values{}.add(std::move(numbers)));
  session.queue(kFindOrders, Values{}.add(array_of(orders_wanted_)).add(array_of(payments_wanted_)));
}

void SettleBook::read_search(const Rows& found) {
  for (int row = 0; row < found.size(); ++row) {
    found_[found.id<OrderId>(row, 0)] = {.sale = found.number<SaleNo>(row, 1),
                                         .item = found.number<ItemNo>(row, 2),
                                         .buyer = std::string{found.text(row, 3)}};
  }
}

void SettleBook::queue_locks(Session& session) const {
  std::set<std::uint32_t> sales, items;
  std::set<BuyerOfSale> buyers;
  Array orders, buyer_sales, buyer_names, gateways, events;
  for (const auto& [order, place] : found_) {
    sales.insert(place.sale.value);
    items.insert(place.item.value);
    buyers.emplace(place.sale.value, place.buyer);
    orders.add(order);
  }
  for (const auto& [sale, buyer] : buyers) {
    buyer_sales.add(std::int64_t{sale});
    buyer_names.add(std::string_view{buyer});
  }
  for (const auto& [gateway, event] : events_wanted_) {
    gateways.add(std::string_view{gateway});
    events.add(std::string_view{event});
  }
  const auto numbers = [](const std::set<std::uint32_t>& set) {
    Array array;
    for (const std::uint32_t number : set) array.add(std::int64_t{number});
    return array;
  };
  const Values order_values = Values{}.add(std::move(orders));
  session.queue(sql::kShareGates, Values{}.add(numbers(sales)));
  session.queue(sql::kReadGates, Values{}.add(numbers(sales)));
  session.queue(sql::kLockItems, Values{}.add(numbers(items)));
  session.queue(sql::kReadSales, Values{}.add(numbers(sales)));
  send(session, sql::kLockBuyers, {&buyer_sales, &buyer_names});
  session.queue(kLockOrders, order_values);
  session.queue(kReadPayments, order_values);
  Array order_ids;
  for (const auto& [order, place] : found_) order_ids.add(order);
  session.queue(kReadRefunds, Values{}.add(std::move(order_ids)).add(array_of(refunds_wanted_)));
  session.queue(kReadInbox, Values{}.add(std::move(gateways)).add(std::move(events)).add(array_of(payments_wanted_)));
  session.queue(sql::kReadKeys, Values{}.add(array_of(keys_wanted_)));
  session.queue(kReadKeyOrders, Values{}.add(array_of(keys_wanted_)));
  session.queue(kReadRetakes, Values{}.add(array_of(payments_wanted_)));
  session.queue_now();
}

void SettleBook::read_locks(std::span<const Rows> answers) {
  CHECK(answers.size() == 13, "answers={}", answers.size());
  gates_ = read_gates(answers[1]);
  const Rows& items = answers[2];
  for (int row = 0; row < items.size(); ++row) {
    items_[static_cast<std::uint32_t>(items.whole(row, 0))].room =
        items.whole(row, 4) - items.whole(row, 5) - items.whole(row, 6);
  }
  const Rows& sales = answers[3];
  for (int row = 0; row < sales.size(); ++row) {
    const auto key = [&](int column) {
      const auto id = sales.id<OrderId>(row, column);
      return SipKey{id.high, id.low};
    };
    sales_[static_cast<std::uint32_t>(sales.whole(row, 0))] = {
        .limit = static_cast<std::int32_t>(sales.whole(row, 2)), .key_0 = key(4), .key_1 = key(5)};
  }
  const Rows& buyers = answers[4];
  for (int row = 0; row < buyers.size(); ++row) {
    units_[{static_cast<std::uint32_t>(buyers.whole(row, 0)), std::string{buyers.text(row, 1)}}] = buyers.whole(row, 2);
  }
  read_orders(answers[5]);
  read_payments(answers[6]);
  read_refunds(answers[7]);
  read_inbox(answers[8]);
  for (int row = 0; row < answers[9].size(); ++row) {
    keys_[answers[9].id<OrderId>(row, 0)] = static_cast<std::uint64_t>(answers[9].whole(row, 1));
  }
  for (int row = 0; row < answers[10].size(); ++row) keys_of_orders_.insert(answers[10].id<OrderId>(row, 0));
  read_retakes(answers[11]);
  now_ = answers[12].moment(0, 0);
}

void SettleBook::read_orders(const Rows& rows) {
  for (int row = 0; row < rows.size(); ++row) {
    OrderRow one;
    one.order = read_order(rows, row);
    one.was = one.order.status;
    one.is_extended = rows.truth(row, kOrderColumns);
    one.kept_units = rows.whole(row, kOrderColumns + 1);
    one.hold = rows.maybe_id<OrderId>(row, kOrderColumns + 2);
    orders_.emplace(one.order.id, std::move(one));
  }
}

void SettleBook::read_payments(const Rows& rows) {
  for (int row = 0; row < rows.size(); ++row) {
    PaymentRow one;
    one.payment = read_payment(rows, row);
    if (!rows.is_null(row, kPaymentColumns)) one.captured = rows.whole(row, kPaymentColumns);
    payments_.emplace(one.payment.id, std::move(one));
  }
}

void SettleBook::read_refunds(const Rows& rows) {
  for (int row = 0; row < rows.size(); ++row) {
    RefundRow one;
    one.refund = {.id = rows.id<RefundId>(row, 0),
                  .state = rows.truth(row, 5) ? RefundState::done : RefundState::due,
                  .amount = rows.money(row, 3, 4)};
    one.payment = rows.id<PaymentId>(row, 1);
    one.order = rows.id<OrderId>(row, 2);
    one.is_of_order = rows.truth(row, 6);
    one.is_restocked = rows.truth(row, 7);
    one.created_at = rows.moment(row, 8);
    refunds_.emplace(one.refund.id, std::move(one));
  }
}

void SettleBook::read_inbox(const Rows& rows) {
  for (int row = 0; row < rows.size(); ++row) {
    InboxRow one;
    one.event = {.gateway = std::string{rows.text(row, 0)},
                 .event_id = std::string{rows.text(row, 1)},
                 .kind = static_cast<PaymentEventKind>(rows.whole(row, 3)),
                 .payment = rows.id<PaymentId>(row, 2),
                 .refund = rows.id<RefundId>(row, 4),
                 .amount = rows.money(row, 5, 6),
                 .body = {}};
    one.received_at = rows.moment(row, 7);
    one.is_applied = rows.truth(row, 8);
    inbox_.emplace(std::pair{one.event.gateway, one.event.event_id}, std::move(one));
  }
}

void SettleBook::read_retakes(const Rows& rows) {
  for (int row = 0; row < rows.size(); ++row) {
    RetakeRow one;
    one.hold = rows.id<OrderId>(row, 1);
    one.order = rows.id<OrderId>(row, 2);
    one.sale = rows.number<SaleNo>(row, 3);
    if (!rows.is_null(row, 4)) one.is_kept = rows.truth(row, 4);
    one.created_at = rows.moment(row, 5);
    retakes_.emplace(rows.id<PaymentId>(row, 0), one);
  }
}

void SettleBook::queue_writes(Session& session) const {
  queue_orders(session);
  queue_payments(session);
  queue_refunds(session);
  queue_inbox(session);
  queue_keys(session);
  queue_retakes(session);
  effects_.queue(session);
}

void SettleBook::queue_orders(Session& session) const {
  Array ids, was, status, pay_by, paid_at, ended_at, extended, kept, holds;
  for (const auto& [id, row] : orders_) {
    if (!row.is_changed) continue;
    ids.add(id);
    was.add(static_cast<std::int64_t>(row.was));
    status.add(static_cast<std::int64_t>(row.order.status));
    pay_by.add(row.order.pay_by);
    paid_at.add(row.order.paid_at);
    ended_at.add(row.order.ended_at);
    extended.add(row.is_extended);
    kept.add(row.kept_units);
    holds.add(row.hold);
  }
  const std::int64_t count = ids.size();
  if (count == 0) return;
  send(session, kSetOrders, {&ids, &was, &status, &pay_by, &paid_at, &ended_at, &extended, &kept, &holds}, count);
}

/// What has changed first: a payment that makes room for another one of its order is seen to do so.
void SettleBook::queue_payments(Session& session) const {
  Array set_ids, set_states, set_captured;
  Array ids, orders, tenants, gateways, amounts, currencies, states, captured, made, expires;
  for (const auto& [id, row] : payments_) {
    if (row.is_new) {
      ids.add(id);
      orders.add(row.payment.order);
      tenants.add(row.payment.tenant);
      gateways.add(std::string_view{row.payment.gateway});
      amounts.add(row.payment.amount.value);
      currencies.add(row.payment.amount.currency.view());
      states.add(static_cast<std::int64_t>(row.payment.state));
      captured.add(row.captured);
      made.add(row.payment.created_at);
      expires.add(row.payment.expires_at);
    } else if (row.is_changed) {
      set_ids.add(id);
      set_states.add(static_cast<std::int64_t>(row.payment.state));
      set_captured.add(row.captured);
    }
  }
  const std::int64_t count = set_ids.size();
  if (count > 0) send(session, kSetPayments, {&set_ids, &set_states, &set_captured}, count);
  if (ids.is_empty()) return;
  send(session, kPutPayments,
       {&ids, &orders, &tenants, &gateways, &amounts, &currencies, &states, &captured, &made, &expires});
}

void SettleBook::queue_refunds(Session& session) const {
  Array set_ids, set_done;
  Array ids, payments, orders, amounts, currencies, done, of_order, restock, reasons, made, done_at;
  for (const auto& [id, row] : refunds_) {
    if (row.is_new) {
      ids.add(id);
      payments.add(row.payment);
      orders.add(row.order);
      amounts.add(row.refund.amount.value);
      currencies.add(row.refund.amount.currency.view());
      done.add(row.refund.state == RefundState::done);
      of_order.add(row.is_of_order);
      restock.add(row.is_restocked);
      reasons.add(std::string_view{storable(row.reason)});
      made.add(row.created_at);
      done_at.add(row.done_at);
    } else if (row.is_changed) {
      set_ids.add(id);
      set_done.add(row.done_at);
    }
  }
  const std::int64_t count = set_ids.size();
  if (count > 0) send(session, kSetRefunds, {&set_ids, &set_done}, count);
  if (ids.is_empty()) return;
  send(session, kPutRefunds,
       {&ids, &payments, &orders, &amounts, &currencies, &done, &of_order, &restock, &reasons, &made, &done_at});
}

void SettleBook::queue_inbox(Session& session) const {
  Array set_gateways, set_events;
  Array gateways, events, payments, kinds, refunds, amounts, currencies, bodies, moments, applied;
  for (const auto& [key, row] : inbox_) {
    if (row.is_new) {
      gateways.add(std::string_view{key.first});
      events.add(std::string_view{key.second});
      payments.add(row.event.payment);
      kinds.add(static_cast<std::int64_t>(row.event.kind));
      refunds.add(row.event.refund);
      amounts.add(row.event.amount.value);
      currencies.add(row.event.amount.currency.view());
      bodies.add_bytes(row.event.body);
      moments.add(row.received_at);
      applied.add(row.is_applied);
    } else if (row.is_changed) {
      set_gateways.add(std::string_view{key.first});
      set_events.add(std::string_view{key.second});
    }
  }
  const std::int64_t count = set_gateways.size();
  if (count > 0) send(session, kSetInbox, {&set_gateways, &set_events}, count);
  if (gateways.is_empty()) return;
  send(session, kPutInbox,
       {&gateways, &events, &payments, &kinds, &refunds, &amounts, &currencies, &bodies, &moments, &applied});
}

void SettleBook::queue_keys(Session& session) const {
  if (new_keys_.empty()) return;
  Array ids, digests;
  for (const RequestKey& key : new_keys_) {
    ids.add(key.id);
    digests.add(static_cast<std::int64_t>(key.digest.value));
  }
  session.queue(kPutKeys, Values{}.add(std::move(ids)).add(std::move(digests)).add(now_));
}

void SettleBook::queue_retakes(Session& session) const {
  Array set_holds, set_kept;
  Array holds, orders, payments, sales, made;
  for (const auto& [payment, row] : retakes_) {
    if (row.is_new) {
      holds.add(row.hold);
      orders.add(row.order);
      payments.add(payment);
      sales.add(row.sale);
      made.add(row.created_at);
    } else if (row.is_changed) {
      set_holds.add(row.hold);
      set_kept.add(row.is_kept);
    }
  }
  const std::int64_t count = set_holds.size();
  if (count > 0) send(session, kSetRetakes, {&set_holds, &set_kept}, count);
  if (!holds.is_empty()) send(session, kPutRetakes, {&holds, &orders, &payments, &sales, &made});
}

}  // namespace weir::postgres
