#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "payment/gateway.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The money of one payment as the pretend network sees it.
struct SandboxStatus {
  Money amount;
  std::int64_t captured = 0;
  std::int64_t refunded = 0;
  std::vector<Refund> refunds;
};

/// A webhook that is on its way.
struct SandboxDelivery {
  Ticks due;
  std::string body;
  int attempts = 0;
};

/// A pretend card network and our gateway to it: for development, demonstrations and tests; never in production.
///
/// What it has captured and refunded is kept in a journal file of its own, synced line by line, because a network
/// remembers when our server crashes. Events that wait to be sent are in memory: a crash loses them, as real ones lose.
/// Threads: any. Blocking: a sync of the journal; never from a reactor.
class SandboxGateway final : public Gateway {
 public:
  static constexpr std::string_view kName = "sandbox";
  static constexpr std::size_t kWaitingMax = 10'000;

  /// `secret`: the key of the signatures. Fails with `unfit` when the journal cannot be read or written.
  [[nodiscard]] static Result<std::unique_ptr<SandboxGateway>> open(const std::string& journal, std::string secret,
                                                                    const Clock& clock, Random& random);
  ~SandboxGateway() override;

  [[nodiscard]] std::string_view gateway_name() const override { return kName; }
  [[nodiscard]] Result<GatewayStarted> start(const GatewayStart& payment, Deadline deadline) override;
  [[nodiscard]] Result<void> refund(PaymentId payment, RefundId refund, Money amount, Deadline deadline) override;
  [[nodiscard]] std::string_view signature_header() const override { return "x-sandbox-signature"; }
  [[nodiscard]] Parsed<GatewayEvent> verify(const Webhook& webhook, Instant now) override;

  /// The buyer's bank decides: one event with an id of its own, sent `times` times after `delay`. False: no such payment,
  /// or too many events wait.
  [[nodiscard]] bool complete(PaymentId payment, bool approve, Micros delay, int times);
  [[nodiscard]] std::optional<SandboxStatus> status(PaymentId payment) const;

  /// Deliveries whose time has come; those of approvals are captured at this moment. To be posted to the webhook.
  [[nodiscard]] std::vector<SandboxDelivery> take_due(Ticks now);
  /// One that could not be posted comes again later, at most kAttemptsMax times.
  void put_back(SandboxDelivery delivery, Ticks now);
  /// The value of the signature header for a body that is sent now.
  [[nodiscard]] std::string sign(std::string_view body, Instant now) const;

 private:
  struct Waiting {
    SandboxDelivery delivery;
    PaymentId payment;
    bool captures = false;
    int times = 1;
  };
  static constexpr int kAttemptsMax = 5;

  SandboxGateway(int journal, std::string secret, const Clock& clock, Random& random);
  [[nodiscard]] bool replay(std::string_view text);
  [[nodiscard]] bool append(const std::string& line);
  [[nodiscard]] std::string event_body(std::string_view type, PaymentId payment, const RefundId* refund, Money amount);

  const int journal_;
  const std::string secret_;
  const Clock& clock_;
  Random& random_;
  mutable std::mutex mutex_;  // Guards everything below.
  std::map<PaymentId, SandboxStatus> payments_;
  std::vector<Waiting> waiting_;
};

}  // namespace weir
