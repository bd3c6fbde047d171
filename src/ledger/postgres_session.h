#pragma once

#include "base/time.h"
#include "ledger/postgres_connection.h"
#include "ledger/postgres_statements.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::postgres {

/// One call's use of the connection: the countdown of its deadline, and the clock that decides.
class Session {
 public:
  /// `given` replaces the server's clock; tests only.
  Session(Connection& connection, Countdown& countdown, std::optional<Instant> given)
      : connection_(connection), countdown_(countdown), given_(given) {}

  void queue(const Statement& statement, const Values& values = {}) { connection_.queue(statement, values); }
  void queue_now() { connection_.queue(sql::kNow, Values{}.add(given_)); }
  [[nodiscard]] std::vector<Rows> run() { return connection_.run(countdown_); }
  [[nodiscard]] Rows run(const Statement& statement, const Values& values = {}) {
    return connection_.run(statement, values, countdown_);
  }
  [[nodiscard]] Rows ask(const std::string& sql) { return connection_.ask(sql, countdown_); }
  [[nodiscard]] std::optional<Instant> given() const { return given_; }

 private:
  Connection& connection_;
  Countdown& countdown_;
  std::optional<Instant> given_;
};

/// Reads a query of any length in pieces, inside of a transaction: memory is bounded whatever it finds.
void fetch_all(Session& session, std::string_view query, const std::function<void(const Rows&, int row)>& each);

/// A buyer of a sale, in the order in which buyers are locked.
using BuyerOfSale = std::pair<std::uint32_t, std::string>;

/// What a transaction does besides its own rows: counts that move, events, releases. Gathered while it decides, sent
/// set-wise at its end.
class Effects {
 public:
  void move_item(ItemNo item, std::int64_t held, std::int64_t sold) {
    items_[item.value].held += held;
    items_[item.value].sold += sold;
  }
  void move_buyer(SaleNo sale, std::string_view buyer, std::int64_t units) {
    buyers_[{sale.value, std::string{buyer}}].units += units;
  }
  void set_buyer(SaleNo sale, std::string_view buyer, std::int64_t max_units, OrderId last_order) {
    BuyerMove& move = buyers_[{sale.value, std::string{buyer}}];
    move.max_units = max_units;
    move.last_order = last_order;
  }
  void add_event(OrderId order, std::string_view event, Instant at, std::string detail) {
    events_.push_back({order, event, at, std::move(detail)});
  }
  void release(SaleNo sale, OrderId hold) { releases_.emplace_back(sale, hold); }

  void queue(Session& session) const;

 private:
  struct ItemMove {
    std::int64_t held = 0;
    std::int64_t sold = 0;
  };
  struct BuyerMove {
    std::int64_t units = 0;
    std::optional<std::int64_t> max_units;
    std::optional<OrderId> last_order;
  };
  struct Event {
    OrderId order;
    std::string_view event;
    Instant at;
    std::string detail;
  };
  void queue_items(Session& session) const;
  void queue_buyers(Session& session) const;

  std::map<std::uint32_t, ItemMove> items_;
  std::map<BuyerOfSale, BuyerMove> buyers_;
  std::vector<Event> events_;
  std::vector<std::pair<SaleNo, OrderId>> releases_;
};

}  // namespace weir::postgres
