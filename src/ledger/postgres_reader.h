#pragma once

#include "base/result.h"
#include "ledger/ledger.h"
#include "ledger/postgres_options.h"
#include "ledger/postgres_session.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// A reader of the primary: a standby may not have what was acknowledged.
///
/// `live_orders` also names orders that were refunded without restocking, as sold. A connection that is lost is opened
/// again by the next call. `live_orders`, `ended_orders` and `audit` keep a snapshot open on the server while they run;
/// all others are a few look-ups.
class PostgresReader final : public LedgerReader {
 public:
  /// `unfit` when there is no ledger of this schema. `clock` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<PostgresReader>> open(PostgresOptions options, const Clock& clock);
  ~PostgresReader() override;

  [[nodiscard]] Result<Catalog> catalog() override;
  [[nodiscard]] Result<std::optional<Order>> order(OrderId id) override;
  [[nodiscard]] Result<std::vector<Order>> orders_of(TenantNo tenant, std::string_view buyer, std::size_t count,
                                                     std::string& cursor) override;
  [[nodiscard]] Result<BuyerStanding> standing(TenantNo tenant, SaleNo sale, std::string_view buyer) override;
  [[nodiscard]] Result<std::optional<Payment>> payment(PaymentId id) override;
  [[nodiscard]] Result<std::optional<OrderId>> owner_of(ItemNo item, std::uint32_t number) override;
  [[nodiscard]] Result<std::vector<RefundDue>> refunds_due(std::size_t count) override;
  [[nodiscard]] Result<std::vector<Payment>> undecided_late(std::size_t count) override;
  [[nodiscard]] Result<void> live_orders(const std::function<void(const Ended&, bool sold)>& each) override;
  [[nodiscard]] Result<void> ended_orders(const std::function<void(OrderId, SaleNo)>& each) override;
  [[nodiscard]] Result<std::vector<std::pair<ItemNo, Shelf>>> shelves() override;
  [[nodiscard]] Result<std::vector<LifeLine>> life_of(OrderId id) override;
  [[nodiscard]] Result<AuditReport> audit() override;

 private:
  PostgresReader(PostgresOptions options, const Clock& clock);
  void connect(postgres::Countdown& countdown);
  /// Runs `work` inside one read transaction, so that it sees one state; once more if the connection was lost before.
  [[nodiscard]] Result<void> look(Micros span, const std::function<void(postgres::Session&)>& work);
  template <typename T>
  [[nodiscard]] Result<T> look_for(const std::function<T(postgres::Session&)>& work);

  const PostgresOptions options_;
  const Clock& clock_;
  std::unique_ptr<postgres::Connection> connection_;
  bool has_given_ = false;  // The look under way has handed out rows: it is not begun again.
};

namespace postgres {

/// Recomputes the invariants from the rows that the session's transaction sees.
[[nodiscard]] AuditReport audit_rows(Session& session);

}  // namespace postgres
}  // namespace weir
