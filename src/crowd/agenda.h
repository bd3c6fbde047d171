#pragma once

#include "base/random.h"
#include "config/limits.h"
#include "crowd/plan.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

namespace weir::crowd {

/// One press of the button that has its moment.
struct Press {
  std::uint32_t at_us = 0;
  std::uint32_t buyer = 0;
  std::uint8_t click = 0;
  std::uint8_t retry = 0;
  bool impatient = false;
  bool is_again = false;  // It was taken before and its connection broke before it had left.
};

/// What is due next: the plan, and the retries that impatient buyers add while the run goes.
///
/// Bounds: a click is retried at most `retries_max` times, never later than `end_us`. Threads: one.
class Agenda {
 public:
  struct Options {
    std::uint8_t retries_max = 0;
    std::uint32_t end_us = 0;
    std::uint64_t seed = 1;
  };
  Agenda(const Plan& plan, const Options& options)
      : arrivals_(plan.arrivals()), options_(options), random_(options.seed) {}

  /// When the next press is due; null: never.
  [[nodiscard]] std::optional<std::uint32_t> next_us() const;
  /// The next press that is due at `now_us`. Presses that never left come before all others.
  [[nodiscard]] std::optional<Press> take(std::int64_t now_us);

  /// Plans another try of `press` after a useless answer at `now_us`, not before the server's Retry-After and with
  /// jitter, so that a refused crowd does not come back as one. False: the buyer gives up.
  bool retry(Press press, std::uint32_t now_us, std::uint32_t retry_after_s);
  /// Puts back what was taken and has not left.
  void put_back(Press press) {
    press.is_again = true;
    later_.push(press);
  }

 private:
  struct IsLater {
    bool operator()(const Press& a, const Press& b) const { return a.at_us > b.at_us; }
  };

  std::span<const Arrival> arrivals_;
  std::size_t next_arrival_ = 0;
  Options options_;
  SeededRandom random_;
  std::priority_queue<Press, std::vector<Press>, IsLater> later_;
};

}  // namespace weir::crowd
