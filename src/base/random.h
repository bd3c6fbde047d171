#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace weir {

/// The source of chance that is handed in. Only `base/system_random` reads the machine's; the simulator's is seeded.
///
/// Threads: one owner thread unless an implementation says otherwise.
class Random {
 public:
  virtual ~Random() = default;

  virtual void fill(std::span<std::byte> out) = 0;

  [[nodiscard]] std::uint64_t next() {
    std::uint64_t value = 0;
    fill(std::as_writable_bytes(std::span{&value, 1}));
    return value;
  }

  /// Uniform in [0, bound); `bound` at least 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = -bound % bound;  // Values under it would favour small results.
    std::uint64_t value = next();
    while (value < limit) value = next();  // Under two rounds on average, whatever the bound.
    return value % bound;
  }
};

/// Makes a source of its own for each thread that needs one.
using RandomFactory = std::function<std::unique_ptr<Random>()>;

/// A small seeded generator (xoshiro256**, after Blackman and Vigna). For tests, simulation and planned load; never
/// for ids or secrets that a stranger must not guess.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  void fill(std::span<std::byte> out) override;
  [[nodiscard]] std::uint64_t draw();

 private:
  std::uint64_t state_[4];
};

}  // namespace weir
