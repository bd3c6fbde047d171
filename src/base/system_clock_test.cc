#include "base/system_clock.h"

#include <ctime>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(SystemClock, NeverGoesBack) {
  const SystemClock clock;
  Instant now = clock.now();
  Ticks ticks = clock.ticks();
  for (int i = 0; i < 10'000; ++i) {
    const Instant now_next = clock.now();
    const Ticks ticks_next = clock.ticks();
    ASSERT_GE(now_next, now);
    ASSERT_GE(ticks_next, ticks);
    now = now_next;
    ticks = ticks_next;
  }
}

TEST(SystemClock, StartsAtTheWallClock) {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const SystemClock clock;
  const Instant before{wall.tv_sec * 1'000'000LL + wall.tv_nsec / 1000};
  EXPECT_GE(clock.now(), before);
  EXPECT_LT(clock.now() - before, Micros{60'000'000});
}

TEST(SystemClock, AWallClockThatWasNotMovedShowsNoStep) {
  const SystemClock clock;
  EXPECT_LT(std::chrono::abs(clock.step()), Micros{2'000'000});
}

}  // namespace
}  // namespace weir
