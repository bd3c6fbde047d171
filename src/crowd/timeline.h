#pragma once

#include "crowd/outcome.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::crowd {

/// What was asked and answered in each short stretch of a run, in bounded memory: the stretch is 10 ms, or as many
/// times that as the longest possible run needs.
class Timeline {
 public:
  struct Bin {
    std::uint32_t offered = 0;
    std::array<std::uint32_t, kGroupCount> answers{};
  };

  /// `end_us` is the last moment that can be recorded; later ones fall into the last bin.
  explicit Timeline(std::uint64_t end_us);
  /// The same record in stretches `factor` times as long.
  [[nodiscard]] Timeline coarser(std::uint64_t factor) const;

  void offer(std::uint64_t at_us) { ++bin(at_us).offered; }
  void answer(std::uint64_t at_us, Outcome outcome) {
    ++bin(at_us).answers[static_cast<std::size_t>(group_of(outcome))];
  }

  [[nodiscard]] std::uint64_t bin_us() const { return bin_us_; }
  [[nodiscard]] const std::vector<Bin>& bins() const { return bins_; }
  /// Forgets the empty bins at the end.
  void trim();

 private:
  [[nodiscard]] Bin& bin(std::uint64_t at_us);

  std::uint64_t bin_us_;
  std::vector<Bin> bins_;
};

}  // namespace weir::crowd
