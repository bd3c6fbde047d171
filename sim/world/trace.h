#pragma once

#include "base/siphash.h"
#include "base/time.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weir::sim {

/// What happened in a world, line by line: the last lines for a person, a hash of all of them for a repeat.
class Trace {
 public:
  static constexpr std::size_t kLinesKept = 40;

  explicit Trace(bool is_printed) : is_printed_(is_printed) {}

  template <typename... Args>
  void note(Ticks at, fmt::format_string<Args...> text, Args&&... args) {
    std::string line = fmt::format("{:>12.6f} ", static_cast<double>(at.us) / 1e6);
    fmt::format_to(std::back_inserter(line), text, std::forward<Args>(args)...);
    hash_ = siphash({hash_, 0x7765'6972}, line);
    if (is_printed_) fmt::print("{}\n", line);
    lines_.push_back(std::move(line));
    if (lines_.size() > kLinesKept) lines_.pop_front();
  }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::vector<std::string> last_lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  bool is_printed_;
  std::uint64_t hash_ = 0;
  std::deque<std::string> lines_;
};

}  // namespace weir::sim
