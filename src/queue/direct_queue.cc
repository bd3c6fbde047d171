#include "queue/direct_queue.h"

#include "config/limits.h"

#include <algorithm>

namespace weir {

DirectQueue::DirectQueue(std::size_t capacity)
    : capacity_(capacity), claims_(capacity), outcomes_(capacity), batch_(kLedgerBatchMax) {}

void DirectQueue::set_wakes(std::function<void()> wake_consumer, std::function<void()> wake_producer) {
  wake_consumer_ = std::move(wake_consumer);
  wake_producer_ = std::move(wake_producer);
}

std::size_t DirectQueue::room() { return capacity_ - open_; }

void DirectQueue::append(std::span<const Claim> claims) {
  CHECK(claims.size() <= room(), "{} claims, room for {}", claims.size(), room());
  for (const Claim& claim : claims) CHECK(claims_.push(claim), "a claim that had room was refused");
  open_ += claims.size();
  if (wake_consumer_ && !claims.empty()) wake_consumer_();
}

std::size_t DirectQueue::outcomes(std::span<Outcome> out) {
  const std::size_t count = outcomes_.pop(out);
  open_ -= count;
  return count;
}

std::size_t DirectQueue::peek(std::span<Claim> out) {
  // A batch that was not finished comes again as it was; the next is taken when all of it is done with.
  if (unfinished_.empty()) {
    unfinished_ = std::span{batch_}.first(std::min(out.size(), batch_.size()));
    unfinished_ = unfinished_.first(claims_.pop(unfinished_));
  }
  const std::size_t count = std::min(out.size(), unfinished_.size());
  std::copy_n(unfinished_.begin(), count, out.begin());
  return count;
}

void DirectQueue::finish(std::span<const Outcome> outcomes) {
  CHECK(outcomes.size() <= unfinished_.size(), "{} outcomes for {} claims", outcomes.size(), unfinished_.size());
  for (const Outcome& outcome : outcomes) CHECK(outcomes_.push(outcome), "an outcome found no room");
  unfinished_ = unfinished_.subspan(outcomes.size());
  if (wake_producer_ && !outcomes.empty()) wake_producer_();
}

}  // namespace weir
