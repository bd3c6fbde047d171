#include "crowd/timeline.h"

#include "config/limits.h"

#include <algorithm>

namespace weir::crowd {
namespace {

constexpr std::uint64_t kBinUsMin = 10'000;

}  // namespace

Timeline::Timeline(std::uint64_t end_us) : bin_us_(kBinUsMin * (end_us / (kBinUsMin * kCrowdTimelineBinsMax) + 1)) {
  bins_.resize(static_cast<std::size_t>(end_us / bin_us_) + 1);
}

Timeline Timeline::coarser(std::uint64_t factor) const {
  Timeline made(0);
  made.bin_us_ = bin_us_ * factor;
  made.bins_.assign((bins_.size() + factor - 1) / factor, {});
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    Bin& to = made.bins_[i / factor];
    to.offered += bins_[i].offered;
    for (std::size_t group = 0; group < kGroupCount; ++group) to.answers[group] += bins_[i].answers[group];
  }
  return made;
}

Timeline::Bin& Timeline::bin(std::uint64_t at_us) {
  return bins_[std::min(static_cast<std::size_t>(at_us / bin_us_), bins_.size() - 1)];
}

void Timeline::trim() {
  const auto is_empty = [](const Bin& bin) {
    return bin.offered == 0 && std::all_of(bin.answers.begin(), bin.answers.end(), [](auto n) { return n == 0; });
  };
  while (!bins_.empty() && is_empty(bins_.back())) bins_.pop_back();
}

}  // namespace weir::crowd
