#pragma once

#include "base/check.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>

namespace weir {

/// A bounded ring between exactly one producer thread and one consumer thread.
///
/// Invariant: 0 <= size() <= capacity(). Nothing is lost and nothing is seen twice; order is kept.
/// Threads: `push` and `room` from the producer only, `pop` from the consumer only, `size` from any (a glance).
/// Blocking: never. A full ring refuses; what to answer then is the caller's decision.
template <typename T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : mask_(std::bit_ceil(capacity) - 1), slots_(std::make_unique<T[]>(mask_ + 1)) {
    CHECK(capacity > 0);
  }

  [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }

  [[nodiscard]] bool push(const T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_seen_ > mask_) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail - head_seen_ > mask_) return false;
    }
    slots_[tail & mask_] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// How many `push` calls are sure to succeed now.
  [[nodiscard]] std::size_t room() {
    head_seen_ = head_.load(std::memory_order_acquire);
    return capacity() - (tail_.load(std::memory_order_relaxed) - head_seen_);
  }

  /// Moves up to `out.size()` values out; returns how many.
  [[nodiscard]] std::size_t pop(std::span<T> out) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t ready = tail_.load(std::memory_order_acquire) - head;
    const std::size_t count = ready < out.size() ? ready : out.size();
    for (std::size_t i = 0; i < count; ++i) out[i] = std::move(slots_[(head + i) & mask_]);
    if (count > 0) head_.store(head + count, std::memory_order_release);
    return count;
  }

  [[nodiscard]] std::size_t size() const {
    const std::size_t head = head_.load(std::memory_order_acquire);
    const std::size_t tail = tail_.load(std::memory_order_acquire);
    return tail - head;
  }

 private:
  const std::size_t mask_;
  const std::unique_ptr<T[]> slots_;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  std::size_t head_seen_ = 0;  // Producer's last look at `head_`.
};

}  // namespace weir
