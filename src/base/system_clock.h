#pragma once

#include "base/time.h"

namespace weir {

/// The machine's clock, guarded against steps: `now()` is the wall clock as it was at the start, carried on by the
/// monotonic clock. A wall clock that jumps by an hour therefore expires nobody; it shows in `step()`.
///
/// Threads: any. Blocking: never.
class SystemClock final : public Clock {
 public:
  SystemClock();
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] Ticks ticks() const override;

  /// How far the wall clock has moved away from `now()` since the start. More than two seconds is an alarm.
  [[nodiscard]] Micros step() const;

 private:
  Instant wall_at_start_;
  Ticks ticks_at_start_;
};

}  // namespace weir
