#pragma once

#include "config/limits.h"
#include "domain/ids.h"
#include "gate/zeroed_array.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir {

/// Remembers which orders have ended, as 64-bit fingerprints of their ids.
///
/// Nothing is ever forgotten, and nothing moves: a full level is followed by one twice as large, so growing costs one
/// allocation and no copying. Past `ids_max`, or without memory, new ones are not remembered; the ledger, which
/// has the row, then gives the answer one step later.
///
/// Threads: `expect` and `remember` from the desk only; `contains` and `size` from any, without a lock.
/// Blocking: never.
class EndedIds {
 public:
  explicit EndedIds(std::size_t ids_max = kEndedIdsMax) : ids_max_(ids_max) {}

  /// The first level is made for this many more.
  void expect(std::size_t more);
  void remember(const OrderId& order);

  /// False: not remembered. True: remembered, or another id has the same 64 bits (1 in 4 x 10^12 with all in use).
  [[nodiscard]] bool contains(const OrderId& order) const;
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  /// Three slots of four in use at most.
  struct Level {
    std::size_t capacity = 0;
    std::size_t room = 0;
    ZeroedArray<std::uint64_t> slots;  // 0: vacant. Written by the desk, read by all, always as atomics.
  };
  static constexpr std::size_t kFirstLevel = 1024;
  static constexpr std::size_t kLevelsMax = 16;  // 1024 doubled 16 times is far more than kEndedIdsMax.

  /// The level that takes the next id; null when there is none.
  [[nodiscard]] Level* open_level();

  const std::size_t ids_max_;
  std::size_t expected_ = 0;
  std::size_t levels_ = 0;
  std::atomic<std::size_t> size_{0};
  std::array<std::unique_ptr<Level>, kLevelsMax> owned_;
  std::array<std::atomic<const Level*>, kLevelsMax> seen_{};
};

}  // namespace weir
