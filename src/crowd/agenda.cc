#include "crowd/agenda.h"

#include <algorithm>

namespace weir::crowd {
namespace {

constexpr std::int64_t kFirstRetryUs = 200'000;       // Without a Retry-After; it doubles with each try.
constexpr std::int64_t kLongestRetryUs = 10'000'000;  // Nobody is told to wait longer and still waits.

}  // namespace

std::optional<std::uint32_t> Agenda::next_us() const {
  const bool has_arrival = next_arrival_ < arrivals_.size();
  if (later_.empty()) return has_arrival ? std::optional{arrivals_[next_arrival_].at_us} : std::nullopt;
  if (!has_arrival) return later_.top().at_us;
  return std::min(arrivals_[next_arrival_].at_us, later_.top().at_us);
}

std::optional<Press> Agenda::take(std::int64_t now_us) {
  const bool has_arrival = next_arrival_ < arrivals_.size();
  if (!later_.empty() && (!has_arrival || later_.top().at_us <= arrivals_[next_arrival_].at_us)) {
    const Press press = later_.top();
    if (press.at_us > now_us) return std::nullopt;
    later_.pop();
    return press;
  }
  if (!has_arrival || arrivals_[next_arrival_].at_us > now_us) return std::nullopt;
  const Arrival& arrival = arrivals_[next_arrival_++];
  return Press{arrival.at_us, arrival.buyer, arrival.click, 0, arrival.impatient, false};
}

bool Agenda::retry(Press press, std::uint32_t now_us, std::uint32_t retry_after_s) {
  if (!press.impatient || press.retry >= options_.retries_max) return false;
  const std::int64_t asked_us = std::int64_t{retry_after_s} * 1'000'000;
  const std::int64_t own_us = kFirstRetryUs << press.retry;
  const std::int64_t wait_us = std::min(asked_us > 0 ? asked_us : own_us, kLongestRetryUs);
  const auto jitter_us = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(wait_us / 2 + 1)));
  const std::int64_t slices = (now_us + wait_us + jitter_us + kCrowdSliceUs - 1) / kCrowdSliceUs;
  if (slices * kCrowdSliceUs >= options_.end_us) return false;
  press.at_us = static_cast<std::uint32_t>(slices * kCrowdSliceUs);
  ++press.retry;
  press.is_again = false;
  later_.push(press);
  return true;
}

}  // namespace weir::crowd
