#pragma once

#include "base/result.h"
#include "base/siphash.h"
#include "base/time.h"
#include "flow/admit.h"
#include "ledger/ledger.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace weir {

/// One command and who hears what became of it. `done` is called once, on the ledger writer's thread, and must not
/// block; a failure means that nothing is known to have happened (503).
struct SettleRequest {
  SettleCommand command;
  std::function<void(const Result<Settlement>&)> done;
};

/// Where commands come from and where their effects on the gate go.
class SettlePort {
 public:
  virtual ~SettlePort() = default;
  [[nodiscard]] virtual std::size_t take_commands(std::span<SettleRequest> out) = 0;
  virtual void to_gate(const GateRequest& request) = 0;
};

struct SettleCounts {
  std::uint64_t commands = 0;
  std::uint64_t paid = 0;
  std::uint64_t late = 0;
  std::uint64_t refunds_due = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;
};

/// Settles payments, cancels and refunds: a batch of commands, one ledger transaction, then what the gate must do.
///
/// Effects follow the commit and are keyed, so doing one twice is harmless. A batch whose commit is unknown is settled
/// again as it is; what then comes back as `repeated` has its effect derived from the order's state.
///
/// Threads: the ledger writer's. Blocking: as the ledger, up to a deadline a step.
class Settle {
 public:
  Settle(Ledger& ledger, SettlePort& port, const SipKey& buyer_hash);

  [[nodiscard]] Result<std::size_t> step(Ticks now);
  [[nodiscard]] const SettleCounts& counts() const { return counts_; }

 private:
  void conclude(const Settlement& settlement, bool is_again);
  void count(const Settlement& settlement);

  Ledger& ledger_;
  SettlePort& port_;
  SipKey buyer_hash_;
  std::vector<SettleRequest> requests_;
  std::vector<SettleCommand> commands_;
  std::vector<Settlement> settlements_;
  std::size_t kept_ = 0;  // Commands of a batch whose commit is unknown.
  SettleCounts counts_;
};

/// The hold of an order, as the gate knows it.
[[nodiscard]] Hold hold_of(const Order& order, const SipKey& buyer_hash);

}  // namespace weir
