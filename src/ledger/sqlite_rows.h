#pragma once

#include "ledger/ledger.h"
#include "ledger/sqlite_connection.h"

#include <string_view>

/// Rows of the schema as values of the domain: one list of columns for each, and the one function that reads it.
namespace weir::sqlite {

inline constexpr std::string_view kOrderColumns =
    "order_id, tenant_no, sale_no, item_no, buyer, quantity, amount, currency, status, reason, digest, created_at, "
    "pay_by, paid_at, ended_at, numbers";
[[nodiscard]] Order read_order(const Statement& row);

/// An order's numbers; none for a count, and none that could not be read: an audit names those.
[[nodiscard]] NumberList read_numbers(const Statement& row, int at);

inline constexpr std::string_view kPaymentColumns =
    "payment_id, order_id, tenant_no, gateway, amount, currency, state, created_at, expires_at";
[[nodiscard]] Payment read_payment(const Statement& row);

inline constexpr std::string_view kRefundColumns = "refund_id, state, amount, currency";
[[nodiscard]] Refund read_refund(const Statement& row);

/// The refund that an order shows: the one that was asked for, else the newest of money that could not be kept.
inline constexpr std::string_view kRefundOfOrder =
    "FROM flash_sale_refund WHERE order_id = ?1 ORDER BY of_order DESC, created_at DESC, refund_id LIMIT 1";

/// What happened to an order, as flash_sale_event has it. The first six move its status along `advance()`.
namespace event {
inline constexpr std::string_view kPaid = "paid";
inline constexpr std::string_view kExpired = "expired";
inline constexpr std::string_view kCancelled = "cancelled";
inline constexpr std::string_view kRejected = "rejected";
inline constexpr std::string_view kRetaken = "retaken";
inline constexpr std::string_view kRefunded = "refunded";
inline constexpr std::string_view kRestocked = "restocked";  // The units of a refunded order are for sale again.
inline constexpr std::string_view kExtended = "extended";
inline constexpr std::string_view kPaymentStarted = "payment_started";
inline constexpr std::string_view kPaymentDeclined = "payment_declined";
inline constexpr std::string_view kPaidLate = "paid_late";
inline constexpr std::string_view kAmountMismatch = "amount_mismatch";
inline constexpr std::string_view kRefundDue = "refund_due";
inline constexpr std::string_view kRefundDone = "refund_done";
}  // namespace event

}  // namespace weir::sqlite
