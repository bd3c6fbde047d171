#pragma once

#include "base/time.h"

namespace weir::sim {

/// The clock of a world: it stands still until the world moves it on, and never goes back. As the shipped clock does,
/// it carries the wall clock on by the monotonic one, so a step of the machine's wall clock cannot be seen through it.
class SimClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {kStart.us + ticks_.us + ahead_.count()}; }
  [[nodiscard]] Ticks ticks() const override { return ticks_; }
  void pass(Micros span) { ticks_ = ticks_ + span; }
  void pass_until(Ticks moment) {
    if (moment > ticks_) ticks_ = moment;
  }
  /// For a planted fault: a clock that runs ahead of the others.
  void set_ahead(Micros ahead) { ahead_ = ahead; }

 private:
  static constexpr Instant kStart{1'800'000'000'000'000};
  Ticks ticks_{1'000'000};
  Micros ahead_{0};
};

}  // namespace weir::sim
