#include "base/check.h"
#include "config/limits.h"
#include "ledger/order_events.h"
#include "ledger/postgres_ledger.h"

#include <set>
#include <unordered_map>

namespace weir {

using postgres::Array;
using postgres::BuyerOfSale;
using postgres::Effects;
using postgres::Rows;
using postgres::Session;
using postgres::Statement;
using postgres::Values;

namespace {

/// Candidates, seen without a lock: another expirer, a payment or a cancel may be faster.
constexpr Statement kFindDue{"expire_find_due",
                             "SELECT order_id, tenant_no, sale_no, item_no, quantity, buyer FROM flash_sale_order "
                             "WHERE status = 0 AND pay_by <= (SELECT flash_sale_now($1)) ORDER BY pay_by LIMIT $2"};

/// The deadline is compared once more, by the ledger's clock, in the statement that ends the order (R9).
constexpr Statement kEnd{
    "expire_end",
    "WITH t AS MATERIALIZED (SELECT flash_sale_now($2) AS at) UPDATE flash_sale_order o "
    "SET status = 2, ended_at = t.at FROM t WHERE o.order_id = ANY($1::uuid[]) AND o.status = 0 AND o.pay_by <= t.at "
    "RETURNING o.order_id, o.ended_at, coalesce(o.hold_id, o.order_id)"};

constexpr Statement kFirstDue{"expire_first_due",
                              "SELECT pay_by FROM flash_sale_order WHERE status = 0 ORDER BY pay_by LIMIT 1"};

Ended read_candidate(const Rows& rows, int row) {
  return {.order = rows.id<OrderId>(row, 0),
          .tenant = rows.number<TenantNo>(row, 1),
          .sale = rows.number<SaleNo>(row, 2),
          .item = rows.number<ItemNo>(row, 3),
          .units = static_cast<std::int32_t>(rows.whole(row, 4)),
          .numbers = {},
          .buyer = std::string{rows.text(row, 5)}};
}

/// Locks what the candidates touch, and ends those that are still due.
void queue_end(Session& session, std::span<const Ended> candidates) {
  std::set<std::uint32_t> sales, items;
  std::set<BuyerOfSale> buyers;
  Array orders;
  for (const Ended& one : candidates) {
    sales.insert(one.sale.value);
    items.insert(one.item.value);
    buyers.emplace(one.sale.value, one.buyer);
    orders.add(one.order);
  }
  Array sale_numbers, item_numbers, buyer_sales, buyer_names;
  for (const std::uint32_t sale : sales) sale_numbers.add(std::int64_t{sale});
  for (const std::uint32_t item : items) item_numbers.add(std::int64_t{item});
  for (const auto& [sale, buyer] : buyers) {
    buyer_sales.add(std::int64_t{sale});
    buyer_names.add(std::string_view{buyer});
  }
  session.queue(postgres::sql::kShareGates, Values{}.add(std::move(sale_numbers)));
  session.queue(postgres::sql::kLockItems, Values{}.add(std::move(item_numbers)));
  session.queue(postgres::sql::kLockBuyers, Values{}.add(std::move(buyer_sales)).add(std::move(buyer_names)));
  session.queue(kEnd, Values{}.add(std::move(orders)).add(session.given()));
}

}  // namespace

Result<std::size_t> PostgresLedger::expire(std::span<Ended> ended, Deadline deadline) {
  CHECK(ended.size() <= kExpireBatchMax, "ended={}", ended.size());
  std::size_t count = 0;
  const auto done = transact(deadline, [&](Session& session) {
    count = 0;
    session.queue(kFindDue, Values{}.add(session.given()).add(static_cast<std::int64_t>(ended.size())));
    const Rows due = std::move(session.run().back());
    if (due.size() == 0) return Finish::roll_back;
    std::vector<Ended> candidates;
    for (int row = 0; row < due.size(); ++row) candidates.push_back(read_candidate(due, row));
    queue_end(session, candidates);
    const Rows rows = std::move(session.run().back());
    std::unordered_map<OrderId, int> row_of;
    for (int row = 0; row < rows.size(); ++row) row_of.emplace(rows.id<OrderId>(row, 0), row);
    Effects effects;
    for (Ended& one : candidates) {  // The longest overdue first, as they were found.
      const auto found = row_of.find(one.order);
      if (found == row_of.end()) continue;
      effects.move_item(one.item, -one.units, 0);
      effects.move_buyer(one.sale, one.buyer, -one.units);
      effects.add_event(one.order, order_event::kExpired, rows.moment(found->second, 1), "");
      effects.release(one.sale, rows.id<OrderId>(found->second, 2));
      ended[count++] = std::move(one);
    }
    effects.queue(session);
    return Finish::commit;
  });
  if (!done) return std::unexpected(done.error());
  return count;
}

Result<std::optional<Instant>> PostgresLedger::next_expiry() {
  std::optional<Instant> first;
  const auto done = look(clock_.ticks() + Micros{kLedgerWaitUs}, [&](Session& session) {
    const Rows rows = session.run(kFirstDue);
    first = rows.size() == 1 ? std::optional{rows.moment(0, 0)} : std::nullopt;
  });
  if (!done) return std::unexpected(done.error());
  return first;
}

}  // namespace weir
