#pragma once

#include "ledger/ledger.h"
#include "ledger/order_events.h"
#include "ledger/sqlite_connection.h"

#include <string_view>

/// Rows of the schema as values of the domain: one list of columns for each, and the one function that reads it.
namespace weir::sqlite {

inline constexpr std::string_view kOrderColumns =
    "order_id, tenant_no, sale_no, item_no, buyer, quantity, amount, currency, status, reason, digest, created_at, "
    "pay_by, paid_at, ended_at";
[[nodiscard]] Order read_order(const Statement& row);

inline constexpr std::string_view kPaymentColumns =
    "payment_id, order_id, tenant_no, gateway, amount, currency, state, created_at, expires_at";
[[nodiscard]] Payment read_payment(const Statement& row);

inline constexpr std::string_view kRefundColumns = "refund_id, state, amount, currency";
[[nodiscard]] Refund read_refund(const Statement& row);

/// The refund that an order shows: the one that was asked for, else the newest of money that could not be kept.
inline constexpr std::string_view kRefundOfOrder =
    "FROM flash_sale_refund WHERE order_id = ?1 ORDER BY of_order DESC, created_at DESC, refund_id LIMIT 1";

namespace event = order_event;

}  // namespace weir::sqlite
