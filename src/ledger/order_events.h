#pragma once

#include <string_view>

/// What happens to an order, as `flash_sale_event` has it. The first six move its status along `advance()`.
namespace weir::order_event {

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

}  // namespace weir::order_event
