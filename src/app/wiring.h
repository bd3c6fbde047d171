#pragma once

#include "app/cashier.h"
#include "app/engine.h"
#include "base/random.h"
#include "base/result.h"
#include "base/system_clock.h"
#include "base/system_random.h"
#include "base/time.h"
#include "config/settings.h"
#include "http/doorman.h"
#include "http/front_door.h"
#include "http/server.h"
#include "identity/token_issuer.h"
#include "ledger/ledger.h"
#include "payment/sandbox_gateway.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weir {

/// Opens the configured ledger for writing; refused with `unfit` while another process holds it.
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_ledger(const Settings& settings, const Clock& clock, Random& random);
/// Opens it for reading, beside a server or without one.
[[nodiscard]] Result<std::unique_ptr<LedgerReader>> open_reader(const Settings& settings, const Clock& clock);
/// The issuer that signs with the configured key; the key file is made if it is the default one and missing.
[[nodiscard]] Result<std::unique_ptr<TokenIssuer>> open_issuer(const Settings& settings, Random& random);

/// A whole embedded shop in this process: ledger, gate, threads, front door and operations listener, built top to
/// bottom here and nowhere else.
class Shop final : public http::SandboxDesk {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Shop>> open(const Settings& settings, const SystemClock& clock);
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
  Shop(const Settings& settings, const SystemClock& clock)
      : settings_(settings), clock_(clock), started_at_(clock.now()) {}
  [[nodiscard]] Result<void> open_engine();
  [[nodiscard]] Result<void> open_identity();
  [[nodiscard]] Result<void> open_payments();
  [[nodiscard]] Result<std::shared_ptr<const KeySet>> read_keys();
  [[nodiscard]] Result<void> open_servers();
  [[nodiscard]] std::string metrics_text();  // shop_metrics.cc

  const Settings settings_;
  const SystemClock& clock_;
  const Instant started_at_;
  SystemRandom random_;          // Of the thread that opens the shop, then the ledger writer's.
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
  std::unique_ptr<Engine> engine_;
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
