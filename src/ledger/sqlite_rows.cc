#include "ledger/sqlite_rows.h"

namespace weir::sqlite {

NumberList read_numbers(const Statement& row, int at) {
  return NumberList::from_bytes(row.blob(at)).value_or(NumberList{});
}

Order read_order(const Statement& row) {
  return {.id = row.id<OrderId>(0),
          .tenant = row.number<TenantNo>(1),
          .sale = row.number<SaleNo>(2),
          .item = row.number<ItemNo>(3),
          .buyer = std::string{row.text(4)},
          .units = static_cast<std::int32_t>(row.whole(5)),
          .numbers = read_numbers(row, 15),
          .amount = row.money(6, 7),
          .status = static_cast<OrderStatus>(row.whole(8)),
          .reason = std::string{row.text(9)},
          .digest = {static_cast<std::uint64_t>(row.whole(10))},
          .created_at = row.moment(11),
          .pay_by = row.moment(12),
          .paid_at = row.maybe_moment(13),
          .ended_at = row.maybe_moment(14),
          .refund = std::nullopt};
}

Payment read_payment(const Statement& row) {
  return {.id = row.id<PaymentId>(0),
          .order = row.id<OrderId>(1),
          .tenant = row.number<TenantNo>(2),
          .gateway = std::string{row.text(3)},
          .amount = row.money(4, 5),
          .state = static_cast<PaymentState>(row.whole(6)),
          .created_at = row.moment(7),
          .expires_at = row.moment(8)};
}

Refund read_refund(const Statement& row) {
  return {.id = row.id<RefundId>(0), .state = static_cast<RefundState>(row.whole(1)), .amount = row.money(2, 3)};
}

}  // namespace weir::sqlite
