#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/ids.h"
#include "domain/money.h"
#include "domain/order.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// A payment that a buyer is about to make.
struct GatewayStart {
  PaymentId payment;  // Ours; the idempotency key at the gateway.
  Money amount;
};
struct GatewayStarted {
  std::string client_secret;  // One of the two is empty.
  std::string redirect_url;
};

/// A webhook as it came: raw bytes and the signature header of this gateway.
struct Webhook {
  std::string_view body;
  std::string_view signature;
};

struct GatewayEvent {
  std::string id;
  PaymentEventKind kind = PaymentEventKind::other;
  PaymentId payment;
  RefundId refund;
  Money amount;
};

/// A payment gateway as seen from here.
///
/// Threads: any; implementations guard themselves.
/// Blocking: `start` and `refund` may wait for the network, at most until `deadline`; never from a reactor, never
/// inside a ledger transaction. `verify` does not wait.
class Gateway {
 public:
  virtual ~Gateway() = default;

  [[nodiscard]] virtual std::string_view gateway_name() const = 0;

  /// Repeatable by payment id.
  [[nodiscard]] virtual Result<GatewayStarted> start(const GatewayStart& payment, Deadline deadline) = 0;

  /// Repeatable by refund id: the money goes back once. Success: the gateway has taken the order to refund.
  [[nodiscard]] virtual Result<void> refund(PaymentId payment, RefundId refund, Money amount, Deadline deadline) = 0;

  /// The header that carries the signature, lower case.
  [[nodiscard]] virtual std::string_view signature_header() const = 0;

  /// Checks signature and age over the raw bytes, in constant time, then reads the event. The text says what is wrong.
  [[nodiscard]] virtual Parsed<GatewayEvent> verify(const Webhook& webhook, Instant now) = 0;
};

}  // namespace weir
