#pragma once

#include "base/result.h"
#include "base/time.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::crowd {

/// How a crowd arrives.
enum class Shape : std::uint8_t {
  burst,   // Everybody waits for the opening: the density falls exponentially, half come in the first quarter.
  steady,  // A Poisson stream of constant rate.
};

struct PlanOptions {
  std::uint32_t buyers = 0;  // 1 to kCrowdBuyersMax.
  Shape shape = Shape::burst;
  Micros burst_over{2'000'000};  // Of a burst: first arrival to last.
  double rate_per_s = 0;         // Of a steady stream.
  double repeat_share = 0.05;    // Of the buyers: they press twice, half of them three times.
  double impatient_share = 0.3;  // Of the buyers: they try again when they get no useful answer.
  std::uint64_t seed = 1;
};

/// One press of the button. Buyers are numbered from 1 in the order of their first press, so that their tokens are read
/// from memory one after the other; `click` 0 is a buyer's first press.
struct Arrival {
  std::uint32_t at_us = 0;  // From the opening, in whole slices of kCrowdSliceUs.
  std::uint32_t buyer = 0;
  std::uint8_t click = 0;
  bool impatient = false;
};
static_assert(sizeof(Arrival) <= 16, "half a million buyers cost a few megabytes");

/// Who presses the button when, decided before the first request leaves. The engine measures from these moments, so a
/// server that stalls cannot make its own load lighter.
///
/// The same options give the same plan. Threads: never changes once made.
class Plan {
 public:
  /// Refuses: no buyers or too many, shares outside 0 to 1, a span of 0 or beyond kCrowdSpanUsMax.
  [[nodiscard]] static Parsed<Plan> make(const PlanOptions& options);

  [[nodiscard]] std::span<const Arrival> arrivals() const { return arrivals_; }  // In order of `at_us`.
  [[nodiscard]] std::uint32_t buyers() const { return buyers_; }
  /// The last planned moment.
  [[nodiscard]] std::uint32_t span_us() const { return arrivals_.empty() ? 0 : arrivals_.back().at_us; }

 private:
  std::uint32_t buyers_ = 0;
  std::vector<Arrival> arrivals_;
};

}  // namespace weir::crowd
