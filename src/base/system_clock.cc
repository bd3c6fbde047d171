#include "base/system_clock.h"

#include <ctime>

namespace weir {
namespace {

std::int64_t read_us(clockid_t id) {
  timespec at{};
  ::clock_gettime(id, &at);
  return at.tv_sec * 1'000'000LL + at.tv_nsec / 1000;
}

}  // namespace

SystemClock::SystemClock() : wall_at_start_{read_us(CLOCK_REALTIME)}, ticks_at_start_{read_us(CLOCK_MONOTONIC)} {}

Instant SystemClock::now() const { return wall_at_start_ + (ticks() - ticks_at_start_); }

Ticks SystemClock::ticks() const { return Ticks{read_us(CLOCK_MONOTONIC)}; }

Micros SystemClock::step() const { return Instant{read_us(CLOCK_REALTIME)} - now(); }

}  // namespace weir
