#pragma once

#include "base/random.h"
#include "base/time.h"

#include <cstdint>
#include <span>

namespace weir::sim {

/// Everything that a world leaves to chance, from its seed.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  /// Both ends included.
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  [[nodiscard]] Micros span(std::int64_t least_us, std::int64_t most_us) { return Micros{between(least_us, most_us)}; }
  /// True in `share` of 1,000 cases.
  [[nodiscard]] bool hits(std::int64_t share) { return between(0, 999) < share; }
  [[nodiscard]] bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <typename T>
  [[nodiscard]] const T& pick(std::span<const T> from) {
    return from[static_cast<std::size_t>(random_.below(from.size()))];
  }
  /// Wildly different from seed to seed: 0 as often as not, else small, middling or large.
  [[nodiscard]] std::int64_t wild(std::int64_t most) {
    if (one_in(2)) return 0;
    if (one_in(3)) return between(1, most);
    return between(1, most / 10 + 1);
  }
  [[nodiscard]] Random& source() { return random_; }

 private:
  SeededRandom random_;
};

}  // namespace weir::sim
