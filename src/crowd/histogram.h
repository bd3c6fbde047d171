#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::crowd {

/// Latencies from 1 µs to 100 s to four significant digits, in memory that does not grow.
///
/// Values up to 32,767 µs are kept exactly; above, each doubling of the value has 16,384 equal steps, so a reported
/// value is off by less than one part in 16,384. Anything beyond 100 s counts as 100 s, except in `max_us`.
///
/// Threads: one owner; give each thread its own and merge.
class Histogram {
 public:
  Histogram();

  void record(std::uint64_t value_us);
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t max_us() const { return max_us_; }
  /// The smallest kept value that at least `share` (0 to 1) of all records do not exceed; 0 when empty.
  [[nodiscard]] std::uint64_t quantile_us(double share) const;
  [[nodiscard]] double mean_us() const;

  static constexpr std::uint64_t kValueMaxUs = 100'000'000;

 private:
  std::vector<std::uint32_t> steps_;
  std::uint64_t count_ = 0;
  std::uint64_t max_us_ = 0;
  std::uint64_t sum_us_ = 0;
};

}  // namespace weir::crowd
