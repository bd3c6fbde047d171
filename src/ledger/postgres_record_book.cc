#include "ledger/postgres_record_book.h"

#include "base/check.h"
#include "config/limits.h"
#include "domain/money.h"
#include "ledger/order_events.h"

#include <algorithm>

namespace weir::postgres {
namespace {

constexpr Statement kReadOrders{
    "record_read_orders",
    "SELECT order_id, status, digest, tenant_no, buyer, pay_by FROM flash_sale_order WHERE order_id = ANY($1::uuid[])"};

/// Sorted, as `kPutBuyers`, so that two recorders wait for each other in one direction only.
constexpr Statement kMakeBuyers{
    "record_make_buyers",
    "INSERT INTO flash_sale_buyer (sale_no, buyer, units, max_units) SELECT w.sale_no, w.buyer, 0, 0 "
    "FROM unnest($1::int[], $2::text[]) AS w(sale_no, buyer) JOIN flash_sale s ON s.sale_no = w.sale_no "
    "ORDER BY w.sale_no, w.buyer ON CONFLICT DO NOTHING"};

constexpr Statement kPutBuyers{
    "record_put_buyers",
    "INSERT INTO flash_sale_buyer (sale_no, buyer, units, max_units, last_order) SELECT * FROM "
    "unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[]) AS n(sale_no, buyer, units, most, last) "
    "ORDER BY n.sale_no, n.buyer"};

constexpr Statement kPutOrders{
    "record_put_orders",
    "INSERT INTO flash_sale_order (order_id, tenant_no, sale_no, item_no, buyer, quantity, amount, currency, status, "
    "reason, digest, epoch, created_at, pay_by, ended_at) SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[], "
    "$4::int[], $5::text[], $6::int[], $7::bigint[], $8::text[], $9::smallint[], $10::text[], $11::bigint[], "
    "$12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[])"};

}  // namespace

void RecordBook::add(const Claim& claim) {
  orders_wanted_.insert(claim.order);
  if (claim.keyed) keys_wanted_.insert(claim.order);
  items_wanted_.insert(claim.item.value);
  sales_wanted_.insert(claim.sale.value);
  if (is_storable(claim.buyer.view())) buyers_wanted_.emplace(claim.sale.value, claim.buyer.view());
}

void RecordBook::queue_locks(Session& session, NewBuyers new_buyers) const {
  Array items, sales, orders, keys, buyer_sales, buyers;
  for (const std::uint32_t item : items_wanted_) items.add(std::int64_t{item});
  for (const std::uint32_t sale : sales_wanted_) sales.add(std::int64_t{sale});
  for (const OrderId& id : orders_wanted_) orders.add(id);
  for (const OrderId& id : keys_wanted_) keys.add(id);
  for (const auto& [sale, buyer] : buyers_wanted_) {
    buyer_sales.add(std::int64_t{sale});
    buyers.add(buyer);
  }
  const Values buyer_values = Values{}.add(std::move(buyer_sales)).add(std::move(buyers));
  session.queue(sql::kLockItems, Values{}.add(std::move(items)));
  session.queue(sql::kReadSales, Values{}.add(std::move(sales)));
  session.queue(kReadOrders, Values{}.add(std::move(orders)));  // After the items: same id, same item, one at a time.
  session.queue(sql::kReadKeys, Values{}.add(std::move(keys)));
  if (new_buyers == NewBuyers::by_locking) session.queue(kMakeBuyers, buyer_values);
  session.queue(sql::kLockBuyers, buyer_values);
  session.queue_now();
}

void RecordBook::read_locks(std::span<const Rows> answers) {
  CHECK(answers.size() >= 6, "answers={}", answers.size());
  const Rows& items = answers[0];
  for (int row = 0; row < items.size(); ++row) {
    items_[static_cast<std::uint32_t>(items.whole(row, 0))] = {
        .sale = items.number<SaleNo>(row, 1),
        .price = items.money(row, 2, 3),
        .room = items.whole(row, 4) - items.whole(row, 5) - items.whole(row, 6)};
  }
  const Rows& sales = answers[1];
  for (int row = 0; row < sales.size(); ++row) {
    sales_[static_cast<std::uint32_t>(sales.whole(row, 0))] = {.tenant = sales.number<TenantNo>(row, 1),
                                                               .limit = static_cast<std::int32_t>(sales.whole(row, 2)),
                                                               .pay_within = Micros{sales.whole(row, 3)}};
  }
  const Rows& orders = answers[2];
  for (int row = 0; row < orders.size(); ++row) {
    orders_[orders.id<OrderId>(row, 0)] = {.status = static_cast<OrderStatus>(orders.whole(row, 1)),
                                           .digest = {static_cast<std::uint64_t>(orders.whole(row, 2))},
                                           .tenant = orders.number<TenantNo>(row, 3),
                                           .buyer = std::string{orders.text(row, 4)},
                                           .pay_by = orders.moment(row, 5)};
  }
  const Rows& keys = answers[3];
  for (int row = 0; row < keys.size(); ++row) keys_.insert(keys.id<OrderId>(row, 0));
  const Rows& buyers = answers[answers.size() - 2];
  for (int row = 0; row < buyers.size(); ++row) {
    units_[{static_cast<std::uint32_t>(buyers.whole(row, 0)), std::string{buyers.text(row, 1)}}] = buyers.whole(row, 2);
  }
  now_ = answers.back().moment(0, 0);
}

Outcome RecordBook::decide(const Claim& claim, std::int64_t epoch) {
  CHECK(!claim.retake, "late money is decided by DecideLate, order {}", claim.order.text());
  Outcome outcome{.order = claim.order,
                  .fate = Fate::durable,
                  .recording = Recording::recorded,
                  .status = OrderStatus::pending,
                  .pay_by = {}};
  if (const auto earlier = meet_earlier(claim, outcome)) {
    outcome.recording = *earlier;
    return outcome;
  }
  outcome.recording = judge(claim);
  if (outcome.recording == Recording::recorded) admit(claim, epoch, outcome);
  return outcome;
}

/// The id stands for an order, or for another request: the first answer holds.
std::optional<Recording> RecordBook::meet_earlier(const Claim& claim, Outcome& outcome) const {
  const auto known = orders_.find(claim.order);
  if (known == orders_.end()) {
    if (claim.keyed && keys_.contains(claim.order)) return Recording::key_reused;
    return std::nullopt;
  }
  const KnownOrder& order = known->second;
  outcome.status = order.status;
  outcome.pay_by = order.pay_by;
  const bool is_same =
      order.digest == claim.digest && order.buyer == claim.buyer.view() && order.tenant == claim.tenant;
  if (!is_same) return Recording::key_reused;
  return is_live(order.status) ? Recording::repeated : Recording::ended;
}

const RecordBook::ItemRow* RecordBook::item_of(const Claim& claim) const {
  const auto item = items_.find(claim.item.value);
  const auto sale = sales_.find(claim.sale.value);
  const bool is_known = item != items_.end() && sale != sales_.end() && item->second.sale == claim.sale &&
                        sale->second.tenant == claim.tenant;
  return is_known ? &item->second : nullptr;
}

bool RecordBook::knows_item(const Claim& claim) const {
  return item_of(claim) != nullptr && claim.units >= 1 && claim.units <= kUnitsPerClaimMax &&
         is_storable(claim.buyer.view());
}

Recording RecordBook::judge(const Claim& claim) const {
  if (!knows_item(claim)) return Recording::unknown_item;
  const SaleRow& sale = sales_.at(claim.sale.value);
  const BuyerOfSale buyer{claim.sale.value, std::string{claim.buyer.view()}};
  const auto known = units_.find(buyer);
  const auto fresh = new_buyers_.find(buyer);
  const std::int64_t has = known != units_.end() ? known->second : fresh != new_buyers_.end() ? fresh->second.units : 0;
  if (has + claim.units > sale.limit) return Recording::over_limit;
  return claim.units <= item_of(claim)->room ? Recording::recorded : Recording::exceeds_stock;
}

void RecordBook::admit(const Claim& claim, std::int64_t epoch, Outcome& outcome) {
  const SaleRow& sale = sales_.at(claim.sale.value);
  ItemRow& item = items_.at(claim.item.value);
  const auto amount = times(item.price, claim.units);
  CHECK(amount, "price={} units={}", item.price.value, claim.units);
  const Instant own = now_ + sale.pay_within;
  outcome.pay_by = std::max(own, std::min(claim.promised_pay_by, own + Micros{kPromiseSlackUs}));
  item.room -= claim.units;
  effects_.move_item(claim.item, claim.units, 0);
  take_for_buyer(claim, sale.limit);
  put({.claim = &claim,
       .epoch = epoch,
       .amount = amount->value,
       .currency = item.price.currency,
       .status = OrderStatus::pending,
       .pay_by = outcome.pay_by});
}

void RecordBook::take_for_buyer(const Claim& claim, std::int32_t limit) {
  const BuyerOfSale buyer{claim.sale.value, std::string{claim.buyer.view()}};
  if (const auto known = units_.find(buyer); known != units_.end()) {
    known->second += claim.units;
    effects_.move_buyer(claim.sale, claim.buyer.view(), claim.units);
    effects_.set_buyer(claim.sale, claim.buyer.view(), limit, claim.order);
    return;
  }
  NewBuyer& fresh = new_buyers_[buyer];
  fresh.units += claim.units;
  fresh.max_units = limit;
  fresh.last_order = claim.order;
}

std::optional<OrderStatus> RecordBook::status_of(OrderId id) const {
  const auto known = orders_.find(id);
  return known == orders_.end() ? std::nullopt : std::optional{known->second.status};
}

void RecordBook::reject(const Claim& claim, std::int64_t epoch, Rejection why) {
  const ItemRow* item = item_of(claim);
  CHECK(item != nullptr, "order {} is of no item", claim.order.text());
  const auto amount = times(item->price, claim.units);
  CHECK(amount, "price={} units={}", item->price.value, claim.units);
  put({.claim = &claim,
       .epoch = epoch,
       .amount = amount->value,
       .currency = item->price.currency,
       .status = OrderStatus::rejected,
       .pay_by = now_});
  effects_.add_event(claim.order, order_event::kRejected, now_, std::string{name(why)});
  effects_.release(claim.sale, claim.order);
}

/// The row waits for `queue_writes`; the id is known from now on, also to the rest of the batch.
void RecordBook::put(const NewOrder& order) {
  const Claim& claim = *order.claim;
  orders_[claim.order] = {.status = order.status,
                          .digest = claim.digest,
                          .tenant = claim.tenant,
                          .buyer = std::string{claim.buyer.view()},
                          .pay_by = order.pay_by};
  new_orders_.push_back(order);
}

void RecordBook::queue_writes(Session& session) const {
  if (!new_orders_.empty()) queue_orders(session);
  if (!new_buyers_.empty()) queue_new_buyers(session);
  effects_.queue(session);
}

void RecordBook::queue_orders(Session& session) const {
  Array ids, tenants, sales, items, buyers, units, amounts, currencies, statuses, reasons, digests, epochs, made,
      pay_bys, ends;
  for (const NewOrder& order : new_orders_) {
    const Claim& claim = *order.claim;
    const bool is_rejected = order.status == OrderStatus::rejected;
    ids.add(claim.order);
    tenants.add(claim.tenant);
    sales.add(claim.sale);
    items.add(claim.item);
    buyers.add(claim.buyer.view());
    units.add(std::int64_t{claim.units});
    amounts.add(order.amount);
    currencies.add(order.currency.view());
    statuses.add(static_cast<std::int64_t>(order.status));
    reasons.add(std::string_view{is_rejected ? "GATE_LOST" : ""});
    digests.add(static_cast<std::int64_t>(claim.digest.value));
    epochs.add(order.epoch);
    made.add(now_);
    pay_bys.add(order.pay_by);
    ends.add(is_rejected ? std::optional{now_} : std::nullopt);
  }
  Values values;
  for (Array* column : {&ids, &tenants, &sales, &items, &buyers, &units, &amounts, &currencies, &statuses, &reasons,
                        &digests, &epochs, &made, &pay_bys, &ends}) {
    values.add(std::move(*column));
  }
  session.queue(kPutOrders, values);
}

void RecordBook::queue_new_buyers(Session& session) const {
  Array sales, buyers, units, most, last;
  for (const auto& [buyer, row] : new_buyers_) {
    sales.add(std::int64_t{buyer.first});
    buyers.add(std::string_view{buyer.second});
    units.add(row.units);
    most.add(row.max_units);
    last.add(row.last_order);
  }
  Values values;
  for (Array* column : {&sales, &buyers, &units, &most, &last}) values.add(std::move(*column));
  session.queue(kPutBuyers, values);
}

}  // namespace weir::postgres
