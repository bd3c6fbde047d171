#include "app/order_finder.h"

#include "config/limits.h"

namespace weir {

template <typename T>
Result<T> OrderFinder::ask(Ticks& rests_until, const std::function<Result<T>(Deadline)>& question) {
  const std::unique_lock lock{mutex_, Micros{kSharedWaitUs}};
  if (!lock.owns_lock()) return fail(Failure::overloaded, "others wait for a store that answers slowly");
  if (clock_.ticks() < rests_until) return fail(Failure::unavailable, "a store did not answer a moment ago");
  auto answer = question(clock_.ticks() + Micros{kSharedWaitUs});
  if (!answer) rests_until = clock_.ticks() + Micros{kUpkeepRestUs};
  return answer;
}

Result<std::optional<Claim>> OrderFinder::held(OrderId order) {
  return ask<std::optional<Claim>>(gate_rests_until_, [&](Deadline deadline) { return gate_.find(order, deadline); });
}

Result<LogRanges> OrderFinder::log_end() {
  return ask<LogRanges>(log_rests_until_, [&](Deadline deadline) { return ask_log_end_(deadline); });
}

}  // namespace weir
