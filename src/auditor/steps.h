#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::auditor {

/// A sum over time that changes in steps, and its extremes over any stretch of time.
///
/// Changes at the same instant have no known order; `Ties` says which one to assume, so that doubt is always resolved
/// in favour of the accused.
class Steps {
 public:
  enum class Ties : std::uint8_t { rise_first, fall_first };
  explicit Steps(Ties ties) : ties_(ties) {}

  void add(std::int64_t at_us, std::int64_t change);
  /// After the last `add` and before the first question.
  void build();

  /// Over all instants from `from_us` to `to_us`, ends included. 0 before the first change.
  [[nodiscard]] std::int64_t max(std::int64_t from_us, std::int64_t to_us) const;
  [[nodiscard]] std::int64_t min(std::int64_t from_us, std::int64_t to_us) const;

 private:
  struct Change {
    std::int64_t at_us = 0;
    std::int64_t change = 0;
  };
  struct Extremes {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  [[nodiscard]] Extremes extremes(std::int64_t from_us, std::int64_t to_us) const;

  Ties ties_;
  std::vector<Change> changes_;
  std::vector<Extremes> tree_;  // Leaf i is the sum before change i; nodes cover their children.
};

}  // namespace weir::auditor
