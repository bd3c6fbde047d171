#include "ledger/postgres_session.h"

#include "config/limits.h"

#include <fmt/format.h>

namespace weir::postgres {

void fetch_all(Session& session, std::string_view query, const std::function<void(const Rows&, int row)>& each) {
  static_cast<void>(session.ask(fmt::format("DECLARE pieces NO SCROLL CURSOR FOR {}", query)));
  const std::string fetch = fmt::format("FETCH {} FROM pieces", kPostgresFetchRows);
  for (;;) {  // The cursor ends.
    const Rows rows = session.ask(fetch);
    for (int row = 0; row < rows.size(); ++row) each(rows, row);
    if (rows.size() < kPostgresFetchRows) break;
  }
  static_cast<void>(session.ask("CLOSE pieces"));
}

void Effects::queue(Session& session) const {
  if (!items_.empty()) queue_items(session);
  if (!buyers_.empty()) queue_buyers(session);
  if (!events_.empty()) {
    Array orders, names, moments, details;
    for (const Event& event : events_) {
      orders.add(event.order);
      names.add(event.event);
      moments.add(event.at);
      details.add(std::string_view{storable(event.detail)});
    }
    session.queue(
        sql::kAddEvents,
        Values{}.add(std::move(orders)).add(std::move(names)).add(std::move(moments)).add(std::move(details)));
  }
  if (!releases_.empty()) {
    Array sales, holds;
    for (const auto& [sale, hold] : releases_) {
      sales.add(sale);
      holds.add(hold);
    }
    session.queue(sql::kAddReleases, Values{}.add(std::move(sales)).add(std::move(holds)));
  }
}

void Effects::queue_items(Session& session) const {
  Array items, held, sold;
  for (const auto& [item, move] : items_) {
    items.add(std::int64_t{item});
    held.add(move.held);
    sold.add(move.sold);
  }
  const std::int64_t count = items.size();
  session.queue(sql::kMoveItems, Values{}.add(std::move(items)).add(std::move(held)).add(std::move(sold)).add(count));
}

void Effects::queue_buyers(Session& session) const {
  Array sales, buyers, units, most, last;
  for (const auto& [buyer, move] : buyers_) {
    sales.add(std::int64_t{buyer.first});
    buyers.add(std::string_view{buyer.second});
    units.add(move.units);
    most.add(move.max_units);
    last.add(move.last_order);
  }
  const std::int64_t count = sales.size();
  session.queue(sql::kMoveBuyers, Values{}
                                      .add(std::move(sales))
                                      .add(std::move(buyers))
                                      .add(std::move(units))
                                      .add(std::move(most))
                                      .add(std::move(last))
                                      .add(count));
}

}  // namespace weir::postgres
