#include "crowd/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weir::crowd {
namespace {

constexpr std::uint64_t kExactBits = 15;  // Values below 2^15 have a step of their own.
constexpr std::uint64_t kHalf = 1U << (kExactBits - 1);

/// Step 0 to 2^15 - 1 are the values themselves; then each doubling adds 2^14 steps of twice the width.
constexpr std::size_t step_of(std::uint64_t value) {
  const auto bits = static_cast<std::uint64_t>(std::bit_width(value));
  if (bits <= kExactBits) return value;
  const std::uint64_t shift = bits - kExactBits;
  return kHalf * shift + (value >> shift);
}

/// The largest value of a step.
constexpr std::uint64_t value_of(std::size_t step) {
  if (step < 2 * kHalf) return step;
  const std::uint64_t shift = step / kHalf - 1;
  return ((step - kHalf * shift + 1) << shift) - 1;
}

static_assert(step_of(0) == 0 && step_of(32'767) == 32'767 && step_of(32'768) == 32'768);
static_assert(value_of(step_of(32'768)) == 32'769 && step_of(32'769) == step_of(32'768));
static_assert(step_of(value_of(step_of(99'999'999)) + 1) == step_of(99'999'999) + 1);

}  // namespace

Histogram::Histogram() : steps_(step_of(kValueMaxUs) + 1) {}

void Histogram::record(std::uint64_t value_us) {
  ++steps_[step_of(std::min(value_us, kValueMaxUs))];
  ++count_;
  sum_us_ += value_us;
  max_us_ = std::max(max_us_, value_us);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i] += other.steps_[i];
  count_ += other.count_;
  sum_us_ += other.sum_us_;
  max_us_ = std::max(max_us_, other.max_us_);
}

std::uint64_t Histogram::quantile_us(double share) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  const std::uint64_t rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    seen += steps_[step];
    if (seen >= rank) return std::min(value_of(step), max_us_);
  }
  return max_us_;
}

double Histogram::mean_us() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_us_) / static_cast<double>(count_);
}

}  // namespace weir::crowd
