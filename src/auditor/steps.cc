#include "auditor/steps.h"

#include <algorithm>

namespace weir::auditor {

void Steps::add(std::int64_t at_us, std::int64_t change) { changes_.push_back({at_us, change}); }

void Steps::build() {
  const bool rise_first = ties_ == Ties::rise_first;
  std::sort(changes_.begin(), changes_.end(), [&](const Change& a, const Change& b) {
    if (a.at_us != b.at_us) return a.at_us < b.at_us;
    return rise_first ? a.change > b.change : a.change < b.change;
  });
  const std::size_t leaves = changes_.size() + 1;
  tree_.assign(2 * leaves, {});
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < leaves; ++i) {
    tree_[leaves + i] = {sum, sum};
    if (i < changes_.size()) sum += changes_[i].change;
  }
  for (std::size_t i = leaves - 1; i >= 1; --i) {
    tree_[i] = {std::min(tree_[2 * i].low, tree_[2 * i + 1].low), std::max(tree_[2 * i].high, tree_[2 * i + 1].high)};
  }
}

Steps::Extremes Steps::extremes(std::int64_t from_us, std::int64_t to_us) const {
  const auto before = [](const Change& change, std::int64_t at) { return change.at_us < at; };
  const auto after = [](std::int64_t at, const Change& change) { return at < change.at_us; };
  const std::size_t leaves = changes_.size() + 1;
  // The sum in force when the stretch begins, and the sums behind every change within it.
  auto left =
      static_cast<std::size_t>(std::lower_bound(changes_.begin(), changes_.end(), from_us, before) - changes_.begin()) +
      leaves;
  auto right =
      static_cast<std::size_t>(std::upper_bound(changes_.begin(), changes_.end(), to_us, after) - changes_.begin()) +
      leaves + 1;
  Extremes found = tree_[left];
  const auto include = [&](const Extremes& other) {
    found.low = std::min(found.low, other.low);
    found.high = std::max(found.high, other.high);
  };
  for (; left < right; left /= 2, right /= 2) {
    if (left % 2 == 1) include(tree_[left++]);
    if (right % 2 == 1) include(tree_[--right]);
  }
  return found;
}

std::int64_t Steps::max(std::int64_t from_us, std::int64_t to_us) const { return extremes(from_us, to_us).high; }
std::int64_t Steps::min(std::int64_t from_us, std::int64_t to_us) const { return extremes(from_us, to_us).low; }

}  // namespace weir::auditor
