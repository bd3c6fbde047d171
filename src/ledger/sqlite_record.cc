#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_statements.h"

#include <algorithm>

namespace weir {
namespace {

constexpr Micros kPromiseSlack{120'000'000};  // How far a promised payBy may lie beyond our own.

}  // namespace

Result<void> SqliteLedger::record(std::span<const Claim> claims, std::span<Outcome> outcomes, Deadline deadline) {
  if (const auto room = check_room(); !room) return room;
  if (claims.empty()) {
    // A probe: whether a commit would be taken now.
    return transact(deadline, [&] { connection_->execute("UPDATE flash_sale_meta SET value = value WHERE name = 'epoch'"); });
  }
  forget_rows();
  return transact(deadline, [&] { record_batch(claims, outcomes); });
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
  const sqlite::ResetLater later{read};
  if (read.step()) {
    row.tenant = {static_cast<std::uint32_t>(read.whole(0))};
    row.limit = static_cast<std::int32_t>(read.whole(1));
    row.pay_within = Micros{read.whole(2)};
  }
  return sales_.emplace(sale.value, row).first->second;
}

SqliteLedger::ItemRow* SqliteLedger::item_row(ItemNo item) {
  const auto found = items_.find(item.value);
  if (found != items_.end()) return &found->second;
  auto& read = statements_->read_item.bind(1, item);
  const sqlite::ResetLater later{read};
  if (!read.step()) return nullptr;
  const ItemRow row{.sale = {static_cast<std::uint32_t>(read.whole(0))}, .price = read.money(1, 2), .room = read.whole(3), .taken = 0};
  return &items_.emplace(item.value, row).first->second;
}

bool SqliteLedger::meet_earlier(const Claim& claim, Outcome& outcome) {
  auto& earlier = statements_->find_order.bind(1, claim.order);
  const sqlite::ResetLater later{earlier};
  if (earlier.step()) {
    const Order order = read_order(earlier);
    outcome.status = order.status;
    outcome.pay_by = order.pay_by;
    const bool is_same = order.digest == claim.digest && order.buyer == claim.buyer.view() && order.tenant == claim.tenant;
    if (!is_same) outcome.recording = Recording::key_reused;
    else outcome.recording = is_live(order.status) ? Recording::repeated : Recording::ended;
    return true;
  }
  if (!claim.keyed) return false;
  auto& key = statements_->find_request_key.bind(1, claim.order);
  const sqlite::ResetLater key_later{key};
  if (!key.step()) return false;
  outcome.recording = Recording::key_reused;
  return true;
}

void SqliteLedger::record_batch(std::span<const Claim> claims, std::span<Outcome> outcomes) {
  Statements& sql = *statements_;
  const Instant at = clock_.now();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    Outcome& outcome = outcomes[i];
    outcome = {.order = claim.order, .fate = Fate::durable, .recording = Recording::recorded, .status = OrderStatus::pending, .pay_by = {}};
    if (meet_earlier(claim, outcome)) continue;
    ItemRow* item = item_row(claim.item);
    const SaleRow& sale = sale_row(claim.sale);
    const auto amount = item == nullptr ? std::nullopt : times(item->price, claim.units);
    if (!amount || item->sale != claim.sale || sale.tenant != claim.tenant || claim.units < 1) {
      outcome.recording = Recording::unknown_item;
      continue;
    }
    std::int64_t held = 0;
    std::string previous;
    {
      auto& buyer = sql.read_buyer.bind(1, claim.tenant).bind(2, claim.buyer.view()).bind(3, claim.sale);
      const sqlite::ResetLater later{buyer};
      if (buyer.step()) {
        held = buyer.whole(0);
        previous = buyer.blob(1);
      }
    }
    if (held + claim.units > sale.limit) {
      outcome.recording = Recording::over_limit;
      continue;
    }
    if (claim.units > item->room) {
      outcome.recording = Recording::exceeds_stock;
      continue;
    }
    item->room -= claim.units;
    item->taken += claim.units;
    const Instant own = at + sale.pay_within;
    outcome.pay_by = std::max(own, std::min(claim.promised_pay_by, own + kPromiseSlack));
    sql.put_order.bind(1, claim.order).bind(2, claim.tenant).bind(3, claim.sale).bind(4, claim.item).bind(5, claim.buyer.view());
    sql.put_order.bind(6, std::int64_t{claim.units}).bind(7, amount->value).bind(8, amount->currency.view());
    sql.put_order.bind(9, static_cast<std::int64_t>(claim.digest.value)).bind(10, at).bind(11, outcome.pay_by);
    if (previous.empty()) sql.put_order.bind_null(12);
    else sql.put_order.bind_blob(12, previous);
    sql.put_order.run();
    sql.put_buyer.bind(1, claim.tenant).bind(2, claim.buyer.view()).bind(3, claim.sale).bind(4, std::int64_t{claim.units});
    sql.put_buyer.bind(5, std::int64_t{sale.limit}).bind(6, claim.order).run();
  }
  for (const auto& [item, row] : items_) {
    if (row.taken > 0) sql.take_held.bind(1, std::int64_t{item}).bind(2, row.taken).run();
  }
}

}  // namespace weir
