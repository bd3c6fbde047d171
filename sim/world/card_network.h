#pragma once

#include "base/random.h"
#include "ledger/ledger.h"
#include "payment/gateway.h"
#include "sim/world/chance.h"
#include "sim/world/swarm.h"
#include "sim/world/trouble.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace weir::sim {

/// A card network that outlives every process: what it captured and gave back is the truth about the money.
///
/// Its notices go out through the world, which loses, doubles and delays them; the network itself tells each again
/// until it was stored.
class CardNetwork final : public Gateway {
 public:
  struct Card {
    Money amount;
    std::int64_t captured = 0;
    int captures = 0;  // How often the buyer's bank said yes. More than one captures nothing more.
    std::map<RefundId, std::int64_t> refunds;
    [[nodiscard]] std::int64_t refunded() const;
  };
  struct Notice {
    PaymentEvent event;
    Micros delay{0};  // Before the first try.
  };

  CardNetwork(Chance& chance, const Swarm& swarm, TroubleCounts& counts)
      : chance_(chance), swarm_(swarm), counts_(counts) {}

  [[nodiscard]] std::string_view gateway_name() const override { return "sandbox"; }
  [[nodiscard]] Result<GatewayStarted> start(const GatewayStart& payment, Deadline deadline) override;
  [[nodiscard]] Result<void> refund(PaymentId payment, RefundId refund, Money amount, Deadline deadline) override;
  [[nodiscard]] std::string_view signature_header() const override { return "x-signature"; }
  [[nodiscard]] Parsed<GatewayEvent> verify(const Webhook& webhook, Instant now) override;

  /// The buyer's bank decides. A wrong amount is what a broken terminal would take.
  void decide(PaymentId payment, bool approves, bool is_wrong_amount);
  /// The next notice to be sent.
  [[nodiscard]] std::optional<Notice> take_notice();

  [[nodiscard]] const std::map<PaymentId, Card>& cards() const { return cards_; }
  /// No more failures from now on.
  void heal() { is_healed_ = true; }
  /// What it has seen that no lawful shop asks for; empty when all is well.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  void tell(PaymentEventKind kind, PaymentId payment, RefundId refund, Money amount, Micros delay);

  Chance& chance_;
  const Swarm& swarm_;
  TroubleCounts& counts_;
  std::map<PaymentId, Card> cards_;
  std::deque<Notice> notices_;
  std::uint64_t events_ = 0;
  bool is_healed_ = false;
  std::string complaint_;
};

}  // namespace weir::sim
