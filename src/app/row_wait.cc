#include "app/row_wait.h"

#include "config/limits.h"

#include <iterator>
#include <utility>
#include <variant>

namespace weir {
namespace {

void refuse(const SettleRequest& request, Failure failure, const char* why) { request.done(fail(failure, why)); }

}  // namespace

std::optional<OrderId> order_of(const SettleCommand& command) {
  if (const auto* start = std::get_if<StartPayment>(&command)) return start->order;
  if (const auto* cancel = std::get_if<CancelOrder>(&command)) return cancel->order;
  return std::nullopt;
}

bool is_of_buyer(const Claim& claim, const SettleCommand& command) {
  const auto is_his = [&](const auto& one) { return claim.tenant == one.tenant && claim.buyer == one.buyer; };
  if (const auto* start = std::get_if<StartPayment>(&command)) return is_his(*start);
  if (const auto* cancel = std::get_if<CancelOrder>(&command)) return is_his(*cancel);
  return false;
}

void RowWait::add(SettleRequest request) {
  const OrderId order = order_of(request.command).value_or(OrderId{});
  {
    const std::lock_guard lock{mutex_};
    if (!is_stopped_ && waiters_.size() < kRowWaitersMax) {
      waiters_.push_back({std::move(request), order, clock_.ticks() + Micros{kRowWaitUs}});
      return;
    }
  }
  refuse(request, Failure::overloaded, "too many wait for their orders to be recorded");
}

bool RowWait::is_over(Waiter& waiter, LedgerReader& ledger) {
  const auto row = ledger.order(waiter.order);
  if (row && *row) {
    const auto done = waiter.request.done;
    if (!submit_(std::move(waiter.request))) done(fail(Failure::overloaded, "the ledger writer is full"));
    return true;
  }
  if (clock_.ticks() < waiter.until) return false;
  refuse(waiter.request, Failure::unavailable, "the order is not recorded yet");
  return true;
}

std::size_t RowWait::step(LedgerReader& ledger) {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard lock{mutex_};
    waiters.swap(waiters_);
  }
  const std::size_t count = waiters.size();
  std::erase_if(waiters, [&](Waiter& waiter) { return is_over(waiter, ledger); });
  const std::size_t left = waiters.size();
  bool is_stopped = false;
  {
    const std::lock_guard lock{mutex_};
    is_stopped = is_stopped_;
    if (!is_stopped) {
      waiters_.insert(waiters_.end(), std::make_move_iterator(waiters.begin()), std::make_move_iterator(waiters.end()));
    }
  }
  if (is_stopped) {
    for (const Waiter& waiter : waiters) refuse(waiter.request, Failure::unavailable, "the process ends");
  }
  return count - left;
}

void RowWait::stop() {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard lock{mutex_};
    is_stopped_ = true;
    waiters.swap(waiters_);
  }
  for (const Waiter& waiter : waiters) refuse(waiter.request, Failure::unavailable, "the process ends");
}

}  // namespace weir
