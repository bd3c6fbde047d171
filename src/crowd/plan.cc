#include "crowd/plan.h"

#include "base/random.h"
#include "config/limits.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

// A truncated exponential with this rate has half its mass in the first quarter: with y = exp(-rate / 4) that asks
// for y^3 + y^2 + y = 1. The density at the opening is then 2.67 times the mean.
constexpr double kBurstDecay = 2.437511;

// A second press follows the first one after this long, as fingers do.
constexpr std::uint64_t kRepeatAfterUsMin = 80'000;
constexpr std::uint64_t kRepeatAfterUsMax = 400'000;

/// Uniform in [0, 1).
double fraction(SeededRandom& random) { return static_cast<double>(random.draw() >> 11) * 0x1.0p-53; }

double burst_moment(double share) { return -std::log1p(-share * -std::expm1(-kBurstDecay)) / kBurstDecay; }

std::string refusal(const PlanOptions& options) {
  const auto is_share = [](double share) { return share >= 0 && share <= 1; };
  if (options.buyers == 0 || options.buyers > kCrowdBuyersMax) {
    return fmt::format("buyers is {}; a crowd has 1 to {}", options.buyers, kCrowdBuyersMax);
  }
  if (!is_share(options.repeat_share)) return fmt::format("repeat share {} is not in 0 to 1", options.repeat_share);
  if (!is_share(options.impatient_share)) {
    return fmt::format("impatient share {} is not in 0 to 1", options.impatient_share);
  }
  // A Poisson stream ends near its mean; a tenth is room enough for chance and repeats.
  const double span_us = options.shape == Shape::burst ? static_cast<double>(options.burst_over.count())
                                                       : options.buyers / options.rate_per_s * 1e6;
  if (span_us > 0 && span_us <= 0.9 * static_cast<double>(kCrowdSpanUsMax)) return {};
  return fmt::format(
      "the crowd would arrive over {:.0f} s; possible are more than 0 and at most {:.0f} s: "
      "change the burst or the rate",
      span_us / 1e6, 0.9e-6 * static_cast<double>(kCrowdSpanUsMax));
}

/// When each buyer presses for the first time, in order.
std::vector<std::uint64_t> first_presses(const PlanOptions& options, SeededRandom& random) {
  std::vector<std::uint64_t> moments(options.buyers);
  double stream_us = 0;
  for (std::uint64_t& moment : moments) {
    if (options.shape == Shape::burst) {
      moment =
          static_cast<std::uint64_t>(burst_moment(fraction(random)) * static_cast<double>(options.burst_over.count()));
    } else {
      stream_us += -std::log1p(-fraction(random)) / options.rate_per_s * 1e6;
      moment = static_cast<std::uint64_t>(stream_us);
    }
  }
  std::sort(moments.begin(), moments.end());
  return moments;
}

std::uint32_t whole_slices(std::uint64_t at_us) {
  const auto slice = static_cast<std::uint64_t>(kCrowdSliceUs);
  return static_cast<std::uint32_t>(std::min(at_us, static_cast<std::uint64_t>(kCrowdSpanUsMax)) / slice * slice);
}

}  // namespace

Parsed<Plan> Plan::make(const PlanOptions& options) {
  if (std::string text = refusal(options); !text.empty()) return std::unexpected(std::move(text));
  SeededRandom random(options.seed);
  Plan plan;
  plan.buyers_ = options.buyers;
  const auto clicks = static_cast<double>(options.buyers) * (1 + 1.6 * options.repeat_share);
  plan.arrivals_.reserve(static_cast<std::size_t>(clicks) + 16);

  std::uint32_t buyer = 0;
  for (std::uint64_t at : first_presses(options, random)) {
    ++buyer;
    const bool impatient = fraction(random) < options.impatient_share;
    const bool repeats = fraction(random) < options.repeat_share;
    const std::uint8_t presses = !repeats ? 1 : fraction(random) < 0.5 ? 2 : 3;
    for (std::uint8_t click = 0; click < presses; ++click) {
      if (click > 0) at += kRepeatAfterUsMin + random.below(kRepeatAfterUsMax - kRepeatAfterUsMin);
      plan.arrivals_.push_back({whole_slices(at), buyer, click, impatient});
    }
  }
  std::sort(plan.arrivals_.begin(), plan.arrivals_.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.at_us, a.buyer, a.click) < std::tie(b.at_us, b.buyer, b.click);
  });
  return plan;
}

}  // namespace weir::crowd
