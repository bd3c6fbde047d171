#include "ledger/postgres_rows.h"

namespace weir::postgres {

Order read_order(const Rows& rows, int row) {
  return {.id = rows.id<OrderId>(row, 0),
          .tenant = rows.number<TenantNo>(row, 1),
          .sale = rows.number<SaleNo>(row, 2),
          .item = rows.number<ItemNo>(row, 3),
          .buyer = std::string{rows.text(row, 4)},
          .units = static_cast<std::int32_t>(rows.whole(row, 5)),
          .numbers = {},
          .amount = rows.money(row, 6, 7),
          .status = static_cast<OrderStatus>(rows.whole(row, 8)),
          .reason = std::string{rows.text(row, 9)},
          .digest = {static_cast<std::uint64_t>(rows.whole(row, 10))},
          .created_at = rows.moment(row, 11),
          .pay_by = rows.moment(row, 12),
          .paid_at = rows.maybe_moment(row, 13),
          .ended_at = rows.maybe_moment(row, 14),
          .refund = std::nullopt};
}

Payment read_payment(const Rows& rows, int row) {
  return {.id = rows.id<PaymentId>(row, 0),
          .order = rows.id<OrderId>(row, 1),
          .tenant = rows.number<TenantNo>(row, 2),
          .gateway = std::string{rows.text(row, 3)},
          .amount = rows.money(row, 4, 5),
          .state = static_cast<PaymentState>(rows.whole(row, 6)),
          .created_at = rows.moment(row, 7),
          .expires_at = rows.moment(row, 8)};
}

std::vector<GateState> read_gates(const Rows& rows) {
  std::vector<GateState> gates;
  for (int row = 0; row < rows.size(); ++row) {
    gates.push_back({.sale = rows.number<SaleNo>(row, 0),
                     .epoch = rows.whole(row, 1),
                     .phase = rows.truth(row, 2) ? GatePhase::open : GatePhase::building,
                     .last_open = rows.whole(row, 3),
                     .pin = std::string{rows.text(row, 4)},
                     .builder = std::string{rows.text(row, 5)},
                     .builder_seen_at = rows.moment(row, 6)});
  }
  return gates;
}

}  // namespace weir::postgres
