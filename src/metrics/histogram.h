#pragma once

#include "base/check.h"
#include "config/limits.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

/// Upper bounds of a histogram's buckets, ascending, in whole units of what is measured. `units` of them make one
/// of the metric: a million microseconds a second. Dividing keeps 0.0001 exact.
struct Buckets {
  std::span<const std::int64_t> bounds;
  double units = 1;
};

inline constexpr std::array<std::int64_t, 14> kCommitBoundsUs{
    100, 250, 500, 1'000, 2'500, 5'000, 10'000, 25'000, 50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000};
inline constexpr Buckets kCommitBuckets{kCommitBoundsUs, 1e6};
inline constexpr std::array<std::int64_t, 11> kBatchBounds{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1024};
inline constexpr Buckets kBatchBuckets{kBatchBounds, 1};

/// Counts of measurements in fixed buckets.
///
/// Threads: `observe` from one thread, the rest from any; a reader may see a measurement in its bucket and not yet in
/// the sum. Blocking: never; nothing is allocated.
class Histogram {
 public:
  explicit Histogram(const Buckets& buckets) : buckets_(buckets) {
    CHECK(buckets.bounds.size() <= kMetricBucketsMax, "{} buckets", buckets.bounds.size());
  }

  void observe(std::int64_t value) {
    std::size_t place = 0;
    while (place < buckets_.bounds.size() && value > buckets_.bounds[place]) ++place;
    add(counts_[place], 1);
    add(sum_, static_cast<std::uint64_t>(value < 0 ? 0 : value));
  }

  [[nodiscard]] const Buckets& buckets() const { return buckets_; }
  /// Measurements in bucket `place`; the last place, behind all bounds, is for the rest.
  [[nodiscard]] std::uint64_t count(std::size_t place) const { return counts_[place].load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  static void add(std::atomic<std::uint64_t>& cell, std::uint64_t more) {
    cell.store(cell.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);  // One writer.
  }

  const Buckets buckets_;
  std::array<std::atomic<std::uint64_t>, kMetricBucketsMax + 1> counts_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace weir
