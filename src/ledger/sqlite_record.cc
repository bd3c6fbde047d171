#include "base/check.h"
#include "config/limits.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_statements.h"

#include <algorithm>

namespace weir {

using sqlite::ResetLater;

Result<void> SqliteLedger::record(std::span<const Claim> claims, std::span<Outcome> outcomes, Deadline deadline) {
  CHECK(claims.size() == outcomes.size() && claims.size() <= kLedgerBatchMax, "claims={}", claims.size());
  if (is_unknown_) return fail(Failure::timed_out, "a commit is unknown: the ledger has to recover first");
  if (const auto room = check_room(); !room) return room;
  if (claims.empty()) {
    // A probe: whether storage would take a commit now. It writes, because an empty transaction would not ask.
    return transact(deadline, [&] { connection_->execute("UPDATE flash_sale_meta SET value = value"); });
  }
  return transact(deadline, [&] { record_batch(claims, outcomes); });
}

void SqliteLedger::record_batch(std::span<const Claim> claims, std::span<Outcome> outcomes) {
  forget_rows();
  const Instant at = clock_.now();
  for (std::size_t i = 0; i < claims.size(); ++i) outcomes[i] = record_one(claims[i], at);
  for (const auto& [item, row] : items_) {
    if (row.taken > 0) statements_->take_held.bind(1, std::int64_t{item}).bind(2, row.taken).run();
  }
}

Outcome SqliteLedger::record_one(const Claim& claim, Instant at) {
  CHECK(!claim.retake, "late money is decided by DecideLate, order {}", claim.order.text());
  Outcome outcome{.order = claim.order,
                  .fate = Fate::durable,
                  .recording = Recording::recorded,
                  .status = OrderStatus::pending,
                  .pay_by = {}};
  ItemRow* item = item_row(claim.item);
  const SaleRow& sale = sale_row(claim.sale);
  auto refusal = std::optional{Recording::unknown_item};
  const bool is_known = item != nullptr && item->sale == claim.sale && sale.tenant == claim.tenant;
  if (is_known && claim.units >= 1 && claim.units <= kUnitsPerClaimMax) {
    refusal = try_claim(claim, sale, *item, outcome, at);
    if (!refusal) {
      item->room -= claim.units;
      item->taken += claim.units;
      return outcome;
    }
  }
  if (!meet_earlier(claim, outcome)) outcome.recording = *refusal;
  return outcome;
}

/// Takes what is claimed and writes the order, or says why not and leaves nothing; whether its id was there before is
/// for the caller to find out.
std::optional<Recording> SqliteLedger::try_claim(const Claim& claim, const SaleRow& sale, ItemRow& item,
                                                 Outcome& outcome, Instant at) {
  if (claim.units > sale.limit) return Recording::over_limit;
  if (claim.units > item.room || !fits(claim, item)) return limit_or(Recording::exceeds_stock, claim, sale);
  if (claim.keyed) {
    auto& key = statements_->find_request_key.bind(1, claim.order);
    const ResetLater later{key};
    if (key.step()) return Recording::key_reused;
  }
  if (!take_numbers(claim.item, claim.order, claim.numbers)) return limit_or(Recording::number_taken, claim, sale);
  const auto refusal = put_claim(claim, sale, item, outcome, at);
  if (refusal) free_numbers(claim.item, claim.order, claim.numbers.view());
  return refusal;
}

/// The limit is named before the stock.
Recording SqliteLedger::limit_or(Recording refusal, const Claim& claim, const SaleRow& sale) {
  const std::int64_t held = buyer_row(claim.tenant, claim.sale, claim.buyer.view()).units;
  return held + claim.units > sale.limit ? Recording::over_limit : refusal;
}

/// Whether the item has what is claimed: a count, or these numbers.
bool SqliteLedger::fits(const Claim& claim, const ItemRow& item) {
  const auto numbers = claim.numbers.view();
  if (!item.is_numbered) return numbers.empty();
  return numbers.size() == static_cast<std::size_t>(claim.units) && numbers.front() >= item.first_number &&
         numbers.back() <= item.last_number;
}

/// The rows of the buyer and the order. A new buyer costs two statements, and nearly every buyer is new.
std::optional<Recording> SqliteLedger::put_claim(const Claim& claim, const SaleRow& sale, const ItemRow& item,
                                                 Outcome& outcome, Instant at) {
  Statements& sql = *statements_;
  const Instant own = at + sale.pay_within;
  outcome.pay_by = std::max(own, std::min(claim.promised_pay_by, own + Micros{kPromiseSlackUs}));
  const auto id = claim.order.bytes();
  const std::string_view order{id.data(), id.size()};
  sql.put_buyer.bind(1, claim.tenant).bind_kept(2, claim.buyer.view()).bind(3, claim.sale);
  sql.put_buyer.bind(4, std::int64_t{claim.units}).bind(5, std::int64_t{sale.limit}).bind_kept_blob(6, order);
  if (sql.put_buyer.run_counted() == 1) {
    if (put_order(claim, item, outcome, at, std::nullopt)) return std::nullopt;
    sql.drop_buyer.bind(1, claim.tenant).bind(2, claim.buyer.view()).bind(3, claim.sale).run();
    return Recording::key_reused;
  }
  const BuyerRow buyer = buyer_row(claim.tenant, claim.sale, claim.buyer.view());
  if (buyer.units + claim.units > sale.limit) return Recording::over_limit;
  if (!put_order(claim, item, outcome, at, buyer.last_order)) return Recording::key_reused;
  sql.add_to_buyer.bind(1, claim.tenant).bind_kept(2, claim.buyer.view()).bind(3, claim.sale);
  sql.add_to_buyer.bind(4, std::int64_t{claim.units}).bind(5, std::int64_t{sale.limit}).bind_kept_blob(6, order).run();
  return std::nullopt;
}

/// False: an order has this id already.
bool SqliteLedger::put_order(const Claim& claim, const ItemRow& item, const Outcome& outcome, Instant at,
                             std::optional<OrderId> previous) {
  const auto amount = times(item.price, claim.units);
  CHECK(amount, "price={} units={}", item.price.value, claim.units);
  const auto id = claim.order.bytes();
  auto& put = statements_->put_order;
  put.bind_kept_blob(1, {id.data(), id.size()}).bind(2, claim.tenant).bind(3, claim.sale).bind(4, claim.item);
  put.bind_kept(5, claim.buyer.view()).bind(6, std::int64_t{claim.units}).bind(7, amount->value);
  put.bind_kept(8, item.price.currency.view()).bind(9, static_cast<std::int64_t>(claim.digest.value));
  put.bind(10, at).bind(11, outcome.pay_by);
  if (previous)
    put.bind(12, *previous);
  else
    put.bind_null(12);
  const std::string numbers = claim.numbers.bytes();
  if (numbers.empty())
    put.bind_null(13);
  else
    put.bind_kept_blob(13, numbers);
  return put.run_counted() == 1;
}

/// The id stands for an order, or for another request: the first answer holds.
bool SqliteLedger::meet_earlier(const Claim& claim, Outcome& outcome) {
  if (const auto order = find_order(claim.order)) {
    outcome.status = order->status;
    outcome.pay_by = order->pay_by;
    const bool is_same =
        order->digest == claim.digest && order->buyer == claim.buyer.view() && order->tenant == claim.tenant;
    if (!is_same)
      outcome.recording = Recording::key_reused;
    else
      outcome.recording = is_live(order->status) ? Recording::repeated : Recording::ended;
    return true;
  }
  outcome.pay_by = {};
  if (!claim.keyed) return false;
  auto& key = statements_->find_request_key.bind(1, claim.order);
  const ResetLater later{key};
  if (!key.step()) return false;
  outcome.recording = Recording::key_reused;
  return true;
}

void SqliteLedger::forget_rows() {
  sales_.clear();
  items_.clear();
}

const SqliteLedger::SaleRow& SqliteLedger::sale_row(SaleNo sale) {
  const auto found = sales_.find(sale.value);
  if (found != sales_.end()) return found->second;
  SaleRow row;
  auto& read = statements_->read_sale.bind(1, sale);
  const ResetLater later{read};
  if (read.step()) {
    row.tenant = read.number<TenantNo>(0);
    row.limit = static_cast<std::int32_t>(read.whole(1));
    row.pay_within = Micros{read.whole(2)};
  }
  return sales_.emplace(sale.value, row).first->second;
}

SqliteLedger::ItemRow* SqliteLedger::item_row(ItemNo item) {
  const auto found = items_.find(item.value);
  if (found != items_.end()) return &found->second;
  auto& read = statements_->read_item.bind(1, item);
  const ResetLater later{read};
  if (!read.step()) return nullptr;
  ItemRow row{.sale = read.number<SaleNo>(0),
              .price = read.money(1, 2),
              .room = read.whole(3),
              .taken = 0,
              .is_numbered = read.whole(4) != 0,
              .first_number = read.whole(5),
              .last_number = read.whole(5) + read.whole(6) - 1};
  if (row.is_numbered && is_drawn(item)) row.room = 0;
  return &items_.emplace(item.value, row).first->second;
}

SqliteLedger::BuyerRow SqliteLedger::buyer_row(TenantNo tenant, SaleNo sale, std::string_view buyer) {
  auto& read = statements_->read_buyer.bind(1, tenant).bind(2, buyer).bind(3, sale);
  const ResetLater later{read};
  if (!read.step()) return {};
  return {.units = read.whole(0), .last_order = read.id<OrderId>(1)};
}

}  // namespace weir
