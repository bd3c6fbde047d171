#pragma once

#include "base/result.h"
#include "base/siphash.h"
#include "base/time.h"
#include "flow/settle.h"
#include "ledger/ledger.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace weir {

/// Ends orders that were not paid in time, by the ledger's clock and without anybody asking.
///
/// One bounded batch a step, so that ten thousand that end together share the writer with sales.
///
/// Threads: the ledger writer's. Blocking: as the ledger, up to a deadline a step.
class Expire {
 public:
  Expire(Ledger& ledger, SettlePort& port, const SipKey& buyer_hash);

  /// How many orders it ended. A failure after which the ledger recovers may have ended some unseen: the owner then
  /// lets `Reconcile` compare gate and ledger.
  [[nodiscard]] Result<std::size_t> step(Ticks now);

  [[nodiscard]] std::uint64_t expired() const { return expired_; }

 private:
  Ledger& ledger_;
  SettlePort& port_;
  SipKey buyer_hash_;
  std::vector<Ended> ended_;
  std::optional<Instant> next_;
  Ticks looked_at_;
  bool has_looked_ = false;
  std::uint64_t expired_ = 0;
};

}  // namespace weir
