#pragma once

#include "base/result.h"
#include "ledger/ledger.h"
#include "ledger/sqlite_connection.h"
#include "ledger/sqlite_options.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// A read-only connection to the ledger's file, beside the writer's or without one.
///
/// `live_orders` also names orders that were refunded without restocking, as sold: they go on holding their units.
/// A call keeps the writer's log from being copied while it runs; all but `live_orders`, `ended_orders` and `audit` are
/// a few look-ups.
class SqliteReader final : public LedgerReader {
 public:
  /// `unfit` when there is no ledger of this schema in the folder. `clock` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<SqliteReader>> open(const SqliteOptions& options, const Clock& clock);
  ~SqliteReader() override;

  [[nodiscard]] Result<Catalog> catalog() override;
  [[nodiscard]] Result<std::optional<Order>> order(OrderId id) override;
  [[nodiscard]] Result<std::vector<Order>> orders_of(TenantNo tenant, std::string_view buyer, std::size_t count,
                                                     std::string& cursor) override;
  [[nodiscard]] Result<BuyerStanding> standing(TenantNo tenant, SaleNo sale, std::string_view buyer) override;
  [[nodiscard]] Result<std::optional<Payment>> payment(PaymentId id) override;
  [[nodiscard]] Result<std::optional<OrderId>> owner_of(ItemNo item, std::uint32_t number) override;
  [[nodiscard]] Result<std::optional<DrawFacts>> draw_facts(ItemNo item) override;
  [[nodiscard]] Result<std::optional<Draw>> draw_of(ItemNo item) override;
  [[nodiscard]] Result<std::vector<RefundDue>> refunds_due(std::size_t count) override;
  [[nodiscard]] Result<std::vector<Payment>> undecided_late(std::size_t count) override;
  [[nodiscard]] Result<void> live_orders(const std::function<void(const Ended&, bool sold)>& each) override;
  [[nodiscard]] Result<void> ended_orders(const std::function<void(OrderId, SaleNo)>& each) override;
  [[nodiscard]] Result<std::vector<std::pair<ItemNo, Shelf>>> shelves() override;
  [[nodiscard]] Result<std::vector<LifeLine>> life_of(OrderId id) override;
  [[nodiscard]] Result<AuditReport> audit() override;

 private:
  struct Statements;
  SqliteReader(const SqliteOptions& options, const Clock& clock);
  /// Runs `work` inside one read transaction, so that it sees one state.
  template <typename T>
  [[nodiscard]] Result<T> look(const std::function<T()>& work);
  [[nodiscard]] std::optional<Order> find_order(OrderId id);
  /// The ids of the buyer's orders with the time they were made, in no order.
  [[nodiscard]] std::vector<std::pair<Instant, OrderId>> walk_chains(TenantNo tenant, std::string_view buyer);

  const Clock& clock_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<Statements> statements_;
};

/// Recomputes the invariants from the rows that `db` sees.
[[nodiscard]] AuditReport audit_rows(const sqlite::Connection& db);

}  // namespace weir
