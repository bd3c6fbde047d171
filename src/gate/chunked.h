#pragma once

#include "base/check.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir {

/// An array by dense number, 1 to `kSizeMax`, that grows in chunks: what was made never moves.
///
/// Threads: `make` from one owner thread; `find` from any, without a lock. Blocking: never.
template <typename T, std::size_t kSizeMax>
class Chunked {
 public:
  /// Null when it was never made, and for numbers out of range. It may also find neighbours of what was made: a new
  /// value must say that it is one.
  [[nodiscard]] const T* find(std::uint32_t no) const {
    if (no < 1 || no > kSizeMax) return nullptr;
    const Chunk* const chunk = seen_[(no - 1) / kChunkSize].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[(no - 1) % kChunkSize];
  }

  /// Requires: 1 <= no <= kSizeMax. Repeatable.
  [[nodiscard]] T& make(std::uint32_t no) {
    CHECK(no >= 1 && no <= kSizeMax, "number {} of at most {}", no, kSizeMax);
    const std::size_t at = (no - 1) / kChunkSize;
    if (owned_[at] == nullptr) {
      owned_[at] = std::make_unique<Chunk>();
      seen_[at].store(owned_[at].get(), std::memory_order_release);
    }
    return (*owned_[at])[(no - 1) % kChunkSize];
  }

 private:
  static constexpr std::size_t kChunkSize = 1024;
  static constexpr std::size_t kChunksMax = (kSizeMax + kChunkSize - 1) / kChunkSize;
  using Chunk = std::array<T, kChunkSize>;

  std::array<std::atomic<const Chunk*>, kChunksMax> seen_{};
  std::array<std::unique_ptr<Chunk>, kChunksMax> owned_;
};

}  // namespace weir
