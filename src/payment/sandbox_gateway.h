#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "payment/gateway.h"
#include "payment/sandbox_network.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Our gateway to the sandbox, a pretend card network in the same process: for development, demonstrations and tests;
/// never in production.
///
/// The buyer is sent to the shop's own page, which asks the network to approve or decline.
/// Threads: any. Blocking: short writes to a file of the network; never from a reactor. `verify` and `sign` do not
/// wait.
class SandboxGateway final : public Gateway {
 public:
  static constexpr std::string_view kName = "sandbox";

  /// `path`: the network's own file, made if it is not there. `key`: signs the webhooks. Fails with `unfit` when the
  /// file cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<SandboxGateway>> open(const std::string& path, std::string key,
                                                                    const Clock& clock, Random& random);

  [[nodiscard]] std::string_view gateway_name() const override { return kName; }
  [[nodiscard]] Result<GatewayStarted> start(const GatewayStart& payment, Deadline deadline) override;
  [[nodiscard]] Result<void> refund(PaymentId payment, RefundId refund, Money amount, Deadline deadline) override;
  [[nodiscard]] std::string_view signature_header() const override { return "x-sandbox-signature"; }
  [[nodiscard]] Parsed<GatewayEvent> verify(const Webhook& webhook, Instant now) override;

  /// The value of the signature header for a body that is sent at `now`.
  [[nodiscard]] std::string sign(std::string_view body, Instant now) const;

  /// The pretend network itself: what its buttons do, and the webhooks that it wants to have posted.
  [[nodiscard]] SandboxNetwork& network() { return *network_; }

  // The same in the short form that the process uses.
  [[nodiscard]] bool complete(PaymentId payment, bool approve, Micros delay, int times);
  [[nodiscard]] std::optional<SandboxStatus> status(PaymentId payment) const;
  [[nodiscard]] std::vector<SandboxDelivery> take_due(Ticks now) { return network_->take_due(now); }
  void put_back(const SandboxDelivery& delivery, Ticks now) { network_->put_back(delivery, now); }

 private:
  SandboxGateway(std::unique_ptr<SandboxNetwork> network, std::string key);

  const std::unique_ptr<SandboxNetwork> network_;
  const std::string key_;
};

}  // namespace weir
