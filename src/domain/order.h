#pragma once

#include "base/time.h"
#include "domain/ids.h"
#include "domain/money.h"
#include "domain/numbers.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// The states of an order. `pending` and `paid` are live: they hold units. Stored by these numbers; never renumber.
enum class OrderStatus : std::uint8_t { pending = 0, paid = 1, expired = 2, cancelled = 3, rejected = 4, refunded = 5 };

inline constexpr std::array kOrderStatuses{OrderStatus::pending,   OrderStatus::paid,     OrderStatus::expired,
                                           OrderStatus::cancelled, OrderStatus::rejected, OrderStatus::refunded};

[[nodiscard]] constexpr std::string_view name(OrderStatus status) {
  switch (status) {
    case OrderStatus::pending: return "PENDING";
    case OrderStatus::paid: return "PAID";
    case OrderStatus::expired: return "EXPIRED";
    case OrderStatus::cancelled: return "CANCELLED";
    case OrderStatus::rejected: return "REJECTED";
    case OrderStatus::refunded: return "REFUNDED";
  }
  return "?";
}

[[nodiscard]] constexpr bool is_live(OrderStatus status) {
  return status == OrderStatus::pending || status == OrderStatus::paid;
}

/// What can happen to an order after it was recorded.
enum class OrderEvent : std::uint8_t { pay, expire, cancel, reject, refund, retake };

/// The whole life of an order. Pure: it reads no clock and does no I/O.
///
///     PENDING --pay-----> PAID --refund--> REFUNDED
///             --expire--> EXPIRED --retake--> PAID    only by taking the units again, in one transaction
///             --cancel--> CANCELLED
///             --reject--> REJECTED
///
/// The state after the event, or null: the event is refused and nothing changes. A repeat of the event that made the
/// present state is refused too; callers compare the state to tell a repeat from a loser.
[[nodiscard]] constexpr std::optional<OrderStatus> advance(OrderStatus status, OrderEvent event) {
  switch (event) {
    case OrderEvent::pay: return status == OrderStatus::pending ? std::optional{OrderStatus::paid} : std::nullopt;
    case OrderEvent::expire: return status == OrderStatus::pending ? std::optional{OrderStatus::expired} : std::nullopt;
    case OrderEvent::cancel:
      return status == OrderStatus::pending ? std::optional{OrderStatus::cancelled} : std::nullopt;
    case OrderEvent::reject:
      return status == OrderStatus::pending ? std::optional{OrderStatus::rejected} : std::nullopt;
    case OrderEvent::refund: return status == OrderStatus::paid ? std::optional{OrderStatus::refunded} : std::nullopt;
    case OrderEvent::retake: return status == OrderStatus::expired ? std::optional{OrderStatus::paid} : std::nullopt;
  }
  return std::nullopt;
}

static_assert(advance(OrderStatus::pending, OrderEvent::pay) == OrderStatus::paid);
static_assert(!advance(OrderStatus::paid, OrderEvent::expire), "a paid order never expires");
static_assert(!advance(OrderStatus::paid, OrderEvent::cancel), "a paid order is refunded, not cancelled");
static_assert(!advance(OrderStatus::expired, OrderEvent::pay), "late money retakes or is refunded");
static_assert(advance(OrderStatus::expired, OrderEvent::retake) == OrderStatus::paid);
static_assert(!advance(OrderStatus::cancelled, OrderEvent::retake), "who let go has let go");
static_assert(!advance(OrderStatus::refunded, OrderEvent::pay), "an end is an end");

enum class RefundState : std::uint8_t { due = 0, done = 1 };
[[nodiscard]] constexpr std::string_view name(RefundState state) { return state == RefundState::due ? "DUE" : "DONE"; }

/// What a gateway can tell. Events may come in any order and any number of times.
enum class PaymentEventKind : std::uint8_t { captured, declined, refund_done, other };

struct Refund {
  RefundId id;
  RefundState state = RefundState::due;
  Money amount;
};

/// The record that a claim was admitted.
struct Order {
  OrderId id;
  TenantNo tenant;
  SaleNo sale;
  ItemNo item;
  std::string buyer;
  std::int32_t units = 0;
  NumberList numbers{};  // Of numbered stock; they stay when the order has ended.
  Money amount;          // Frozen when recorded.
  OrderStatus status = OrderStatus::pending;
  std::string reason;  // Why it ended, when that is not said by the status.
  RequestDigest digest;
  Instant created_at;
  Instant pay_by;
  std::optional<Instant> paid_at;
  std::optional<Instant> ended_at;
  std::optional<Refund> refund;
};

}  // namespace weir
