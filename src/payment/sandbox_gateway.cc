#include "payment/sandbox_gateway.h"

#include "config/limits.h"
#include "payment/sandbox_event.h"
#include "payment/webhook_signature.h"

#include <utility>

namespace weir {

SandboxGateway::SandboxGateway(std::unique_ptr<SandboxNetwork> network, std::string key)
    : network_(std::move(network)), key_(std::move(key)) {}

Result<std::unique_ptr<SandboxGateway>> SandboxGateway::open(const std::string& path, std::string key,
                                                             const Clock& clock, Random& random) {
  Result<std::unique_ptr<SandboxNetwork>> network = SandboxNetwork::open(path, clock, random);
  if (!network) return std::unexpected(network.error());
  return std::unique_ptr<SandboxGateway>(new SandboxGateway(std::move(*network), std::move(key)));
}

Result<GatewayStarted> SandboxGateway::start(const GatewayStart& payment, Deadline) {
  if (const Result<void> started = network_->start(payment.payment, payment.amount); !started) {
    return std::unexpected(started.error());
  }
  return GatewayStarted{.client_secret = {}, .redirect_url = "/?pay=" + payment.payment.text()};
}

Result<void> SandboxGateway::refund(PaymentId payment, RefundId refund, Money amount, Deadline) {
  return network_->refund(payment, refund, amount);
}

Parsed<GatewayEvent> SandboxGateway::verify(const Webhook& webhook, Instant now) {
  if (webhook.body.size() > kBodyBytesMax) return std::unexpected<std::string>("the body is too long");
  const Parsed<void> genuine = check_webhook_signature(key_, webhook, now);
  if (!genuine) return std::unexpected(genuine.error());
  return parse_event(webhook.body);
}

std::string SandboxGateway::sign(std::string_view body, Instant now) const { return sign_webhook(key_, body, now); }

bool SandboxGateway::complete(PaymentId payment, bool approve, Micros delay, int times) {
  return network_->complete(payment, {approve, delay, times}) == SandboxOrder::taken;
}

std::optional<SandboxStatus> SandboxGateway::status(PaymentId payment) const {
  return network_->status(payment).value_or(std::nullopt);
}

}  // namespace weir
