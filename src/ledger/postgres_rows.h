#pragma once

#include "ledger/postgres_connection.h"
#include "ledger/shared_ledger.h"

#include <string_view>
#include <vector>

/// Rows of the schema as values of the domain: one list of columns for each, and the one function that reads it.
namespace weir::postgres {

#define WEIR_ORDER_COLUMNS                                                                                         \
  "o.order_id, o.tenant_no, o.sale_no, o.item_no, o.buyer, o.quantity, o.amount, o.currency, o.status, o.reason, " \
  "o.digest, o.created_at, o.pay_by, o.paid_at, o.ended_at"
inline constexpr int kOrderColumns = 15;
[[nodiscard]] Order read_order(const Rows& rows, int row);

#define WEIR_PAYMENT_COLUMNS \
  "p.payment_id, p.order_id, p.tenant_no, p.gateway, p.amount, p.currency, p.state, p.created_at, p.expires_at"
inline constexpr int kPaymentColumns = 9;
[[nodiscard]] Payment read_payment(const Rows& rows, int row);

/// As `sql::kReadGates` lists them.
[[nodiscard]] std::vector<GateState> read_gates(const Rows& rows);

}  // namespace weir::postgres
