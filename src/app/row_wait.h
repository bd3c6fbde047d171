#pragma once

#include "base/result.h"
#include "base/time.h"
#include "flow/settle.h"
#include "ledger/ledger.h"

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace weir {

/// Cancels and payments of orders that are admitted and not recorded yet: each waits for its order's row, up to
/// kRowWaitUs, and is then settled, or answered that it cannot be done now.
///
/// Bounded: kRowWaitersMax; more are answered at once.
/// Threads: `step` from one owner; `add` and `stop` from any. Blocking: `step` as the ledger, once for each waiter.
class RowWait {
 public:
  /// `submit` hands a request to the ledger writer. False: it is full.
  RowWait(std::function<bool(SettleRequest)> submit, const Clock& clock) : submit_(std::move(submit)), clock_(clock) {}

  void add(SettleRequest request);
  /// Looks for each row once; how many waits have ended.
  std::size_t step(LedgerReader& ledger);
  /// Ends every wait, those to come as well.
  void stop();

 private:
  struct Waiter {
    SettleRequest request;
    OrderId order;
    Ticks until;
  };
  [[nodiscard]] bool is_over(Waiter& waiter, LedgerReader& ledger);

  const std::function<bool(SettleRequest)> submit_;
  const Clock& clock_;
  std::mutex mutex_;
  std::vector<Waiter> waiters_;  // With `is_stopped_` under `mutex_`.
  bool is_stopped_ = false;
};

/// The order that a buyer's command is about; null for commands that are not a buyer's.
[[nodiscard]] std::optional<OrderId> order_of(const SettleCommand& command);
/// Whether the claim is that of the buyer who gave the command.
[[nodiscard]] bool is_of_buyer(const Claim& claim, const SettleCommand& command);

}  // namespace weir
