#pragma once

#include "app/cashier.h"
#include "app/seller.h"
#include "base/random.h"
#include "base/result.h"
#include "base/siphash.h"
#include "base/system_clock.h"
#include "base/system_random.h"
#include "base/time.h"
#include "config/settings.h"
#include "config/stores.h"
#include "http/doorman.h"
#include "http/front_door.h"
#include "http/server.h"
#include "identity/token_issuer.h"
#include "ledger/ledger.h"
#include "payment/sandbox_gateway.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// Opens the configured ledger for writing; refused with `unfit` while another process holds it, or while it is a copy
/// whose gap nobody has confirmed.
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_ledger(const Settings& settings, const Clock& clock, Random& random);
/// A person knows what is missing in the copy that is the ledger.
[[nodiscard]] Result<void> confirm_ledger_gap(const Settings& settings);
/// Opens it for reading, beside a server or without one.
[[nodiscard]] Result<std::unique_ptr<LedgerReader>> open_reader(const Settings& settings, const Clock& clock);
/// The issuer that signs with the configured key; the key file is made if it is the default one and missing.
[[nodiscard]] Result<std::unique_ptr<TokenIssuer>> open_issuer(const Settings& settings, Random& random);

using Gateways = std::map<std::string, Gateway*, std::less<>>;

/// What a seller is made with by the shop around it.
struct SellerNeeds {
  std::size_t reactors = 1;
  SipKey buyer_hash;
  /// Called once, when the seller is sure to be the only one on its data.
  std::function<Result<Gateways>()> open_gateways;
  std::function<void()> refund_due;
  std::function<void(const Error&)> corrupt;
};

/// Which stores a shop sells from, and who does it.
struct SellerKind {
  ProcessRole role = ProcessRole::serve;
  std::function<Result<std::unique_ptr<Seller>>(const Settings&, const SystemClock&, SellerNeeds)> open;
  std::function<Result<std::unique_ptr<LedgerReader>>(const Settings&, const Clock&)> open_reader;
};

/// Gate and writer in this process. `node_wiring.h` has the other kind.
[[nodiscard]] SellerKind embedded_seller();

/// A whole shop in this process: seller, threads, front door and operations listener, built top to bottom here and
/// nowhere else.
class Shop final : public http::SandboxDesk {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Shop>> open(const Settings& settings, const SystemClock& clock,
                                                          const SellerKind& kind = embedded_seller());
  ~Shop() override;

  [[nodiscard]] Result<void> start();
  /// Stops accepting, finishes what is under way, flushes. At most ten seconds.
  void stop();
  /// Reads the key files again (SIGHUP). The old keys stay when the new ones are not fit.
  void reload_keys();
  /// Once a second: what no request would take up or notice.
  void look_around();

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] std::uint16_t ops_port() const { return ops_->port(); }
  [[nodiscard]] bool is_corrupt() const { return is_corrupt_.load(); }

  // SandboxDesk.
  [[nodiscard]] bool complete(PaymentId payment, const Completion& completion) override;
  [[nodiscard]] std::string status_json(PaymentId payment) override;
  [[nodiscard]] GuestToken guest_token(std::string_view tenant) override;

 private:
  Shop(const Settings& settings, const SystemClock& clock, SellerKind kind)
      : settings_(settings), clock_(clock), kind_(std::move(kind)), started_at_(clock.now()) {}
  [[nodiscard]] Result<void> open_seller();
  [[nodiscard]] Result<Gateways> open_gateways();
  [[nodiscard]] Result<void> open_identity();
  [[nodiscard]] Result<void> open_payments();
  [[nodiscard]] Result<std::shared_ptr<const KeySet>> read_keys();
  [[nodiscard]] Result<void> open_servers();
  [[nodiscard]] std::string metrics_text();  // shop_metrics.cc

  const Settings settings_;
  const SystemClock& clock_;
  const SellerKind kind_;
  const Instant started_at_;
  SystemRandom random_;          // Of the thread that opens the shop and reads its keys again.
  SystemRandom sandbox_random_;  // Under the sandbox's lock.
  SystemRandom guest_random_;    // Under `issuer_mutex_`.
  std::size_t reactors_ = 1;
  std::unique_ptr<TokenIssuer> issuer_;
  std::mutex issuer_mutex_;
  http::DoormanParts doorman_;
  std::unique_ptr<RateLimiter> per_buyer_;
  std::unique_ptr<RateLimiter> per_address_;
  std::unique_ptr<SandboxGateway> sandbox_;
  std::unique_ptr<http::StaticFiles> page_;
  std::unique_ptr<Seller> seller_;
  std::unique_ptr<Cashier> cashier_;
  http::FrontDoorParts front_;
  std::vector<http::FrontDoor*> doors_;  // Owned by the server; read for metrics.
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> ops_;
  std::vector<http::ReactorPort*> ports_;
  std::mutex ports_mutex_;  // Guards the two lists while reactors are made.
  std::atomic<bool> is_corrupt_{false};
};

}  // namespace weir
