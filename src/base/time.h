#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace weir {

/// A span of time. Microseconds are fine enough for deadlines and exact in SQL integers.
using Micros = std::chrono::microseconds;

/// A moment in UTC, microseconds since 1970-01-01. For what people and records see.
struct Instant {
  std::int64_t us = 0;
  auto operator<=>(const Instant&) const = default;
};
[[nodiscard]] constexpr Instant operator+(Instant at, Micros span) { return {at.us + span.count()}; }
[[nodiscard]] constexpr Instant operator-(Instant at, Micros span) { return {at.us - span.count()}; }
[[nodiscard]] constexpr Micros operator-(Instant a, Instant b) { return Micros{a.us - b.us}; }

/// A reading of the monotonic clock, microseconds from an arbitrary start. For waits and latencies.
struct Ticks {
  std::int64_t us = 0;
  auto operator<=>(const Ticks&) const = default;
};
[[nodiscard]] constexpr Ticks operator+(Ticks at, Micros span) { return {at.us + span.count()}; }
[[nodiscard]] constexpr Micros operator-(Ticks a, Ticks b) { return Micros{a.us - b.us}; }

/// The moment after which nobody waits for the answer any more.
using Deadline = Ticks;

/// The clock that is handed in. Only `base/system_clock` reads the machine's.
///
/// Threads: every implementation may be read from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual Ticks ticks() const = 0;
};

}  // namespace weir
