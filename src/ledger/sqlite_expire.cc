#include "base/check.h"
#include "config/limits.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_rows.h"
#include "ledger/sqlite_statements.h"

#include <map>

namespace weir {

Result<std::size_t> SqliteLedger::expire(std::span<Ended> ended, Deadline deadline) {
  CHECK(ended.size() <= kExpireBatchMax, "ended={}", ended.size());
  std::size_t count = 0;
  const auto done = transact_on_reserve(deadline, [&] {
    Statements& sql = *statements_;
    const Instant at = clock_.now();
    count = 0;
    auto& due = sql.due_orders.bind(1, at).bind(2, static_cast<std::int64_t>(ended.size()));
    while (due.step()) {
      ended[count++] = {.order = due.id<OrderId>(0),
                        .tenant = due.number<TenantNo>(1),
                        .sale = due.number<SaleNo>(2),
                        .item = due.number<ItemNo>(3),
                        .units = static_cast<std::int32_t>(due.whole(4)),
                        .numbers = sqlite::read_numbers(due, 5),
                        .buyer = std::string{due.text(6)}};
    }
    std::map<ItemNo, std::int64_t> back;
    for (const Ended& one : ended.first(count)) {
      sql.end_order.bind(1, one.order).bind(2, static_cast<std::int64_t>(OrderStatus::expired)).bind(3, at);
      CHECK(sql.end_order.run_counted() == 1, "order {} was due in this transaction", one.order.text());
      sql.move_buyer.bind(1, one.tenant).bind_kept(2, one.buyer).bind(3, one.sale).bind(4, std::int64_t{-one.units});
      sql.move_buyer.run();
      free_numbers(one.item, one.order, one.numbers.view());
      add_event(one.order, sqlite::event::kExpired, "");
      back[one.item] += one.units;
    }
    for (const auto& [item, units] : back) move_units(item, -units, 0);
  });
  if (!done) return std::unexpected(done.error());
  return count;
}

Result<std::optional<Instant>> SqliteLedger::next_expiry() {
  if (is_unknown_) return fail(Failure::timed_out, "a commit is unknown: the ledger has to recover first");
  try {
    auto& first = statements_->first_due;
    const sqlite::ResetLater later{first};
    return first.step() ? std::optional{first.moment(0)} : std::nullopt;
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(sqlite::error_of(failure, sqlite::Stage::reading));
  }
}

}  // namespace weir
