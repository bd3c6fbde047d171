#pragma once

#include "base/time.h"
#include "http/services.h"
#include "ledger/ledger.h"
#include "payment/sandbox_gateway.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace weir {

/// Carries money's slow errands on a thread of its own: asks gateways for refunds that are due, and posts the sandbox's
/// webhooks. Neither a reactor nor the ledger writer ever waits for it.
class Cashier {
 public:
  /// `sandbox` may be null. `webhook_url` is where its events are posted.
  Cashier(http::Services& services, std::unique_ptr<LedgerReader> reader, SandboxGateway* sandbox,
          std::string webhook_url, const Clock& clock);
  ~Cashier();

  void start();
  void stop();
  /// A refund has become due: look soon.
  void hurry();

 private:
  void run();
  void ask_for_refunds();
  void deliver();

  http::Services& services_;
  std::unique_ptr<LedgerReader> reader_;
  SandboxGateway* sandbox_;
  const std::string webhook_url_;
  const Clock& clock_;
  std::map<RefundId, Ticks> asked_;  // Not to be asked again before.
  Ticks next_look_;
  std::mutex mutex_;
  std::condition_variable hurry_;
  bool is_hurried_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir
