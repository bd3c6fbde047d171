#include "sim/world/world.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace weir::sim {

/// The wires between the network and the process: what is told may be late, doubled or lost, and is told again.
void World::send_notices() {
  while (auto notice = network_.take_notice()) {
    Micros delay = notice->delay + chance_.span(0, swarm_.wire_most.count());
    if (!is_healed_ && chance_.hits(swarm_.webhooks_delayed)) {
      count(Trouble::webhook_delayed);
      delay += chance_.span(500'000, 20'000'000);
    }
    at(delay, [this, event = notice->event] { deliver(event, 0); });
    if (is_healed_ || !chance_.hits(swarm_.webhooks_doubled)) continue;
    count(Trouble::webhook_doubled);
    at(delay + chance_.span(0, 2'000'000), [this, event = notice->event] { deliver(event, 0); });
  }
}

void World::deliver(const PaymentEvent& event, std::int64_t tries) {
  const auto again = [this, event, tries] {
    at(Micros{std::min<std::int64_t>(500'000 << std::min<std::int64_t>(tries, 3), 3'000'000)},
       [this, event, tries] { deliver(event, tries + 1); });
  };
  if (!is_up()) {
    count(Trouble::webhook_found_no_process);
    return again();
  }
  if (!is_healed_ && chance_.hits(swarm_.webhooks_lost)) {
    count(Trouble::webhook_lost);
    return again();
  }
  // Who posts gives up after a while and posts again, also when the process dies with the post in its hands.
  const auto is_heard = std::make_shared<bool>(false);
  const bool is_taken = engine_->settle({event, [this, event, tries, is_heard](const Result<Settlement>& settled) {
                                           *is_heard = true;
                                           hear_settled(event, settled, tries);
                                         }});
  wake_all();
  if (!is_taken) return again();
  at(Micros{6'000'000}, [is_heard, again] {
    if (!*is_heard) again();
  });
}

void World::hear_settled(const PaymentEvent& event, const Result<Settlement>& settled, std::int64_t tries) {
  if (!settled) {
    return at(Micros{1'000'000}, [this, event, tries] { deliver(event, tries + 1); });
  }
  trace_.note(clock_.ticks(), "{} of payment {}: {}", event.event_id, event.payment.text().substr(0, 8),
              name(settled->settled));
  if (settled->settled == Settled::refund_due) is_refund_hurried_ = true;
  if (settled->settled == Settled::late) {
    count(Trouble::paid_late);
    disturbed_at_ = clock_.ticks();
    // A comparison that sees the units on their way is the hardest one.
    if (!is_healed_ && chance_.hits(8 * swarm_.reconciles)) {
      count(Trouble::reconciled_during_load);
      in_process(chance_.span(0, 3'000), [this] {
        static_cast<void>(engine_->reconcile(false, [](const Result<Findings>&) {}));
        wake_all();
      });
    }
  }
  const bool is_paid = settled->settled == Settled::done && event.kind == PaymentEventKind::captured;
  if (is_paid) ++report_.paid;
}

}  // namespace weir::sim
