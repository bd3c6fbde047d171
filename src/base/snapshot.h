#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace weir {

/// A value that is replaced as a whole and read by many: readers keep the one they took and compare a number to learn
/// that there is a newer one.
///
/// Threads: any. Blocking: a short lock when the value is taken or replaced; `version` never.
template <typename T>
class Snapshot {
 public:
  [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  [[nodiscard]] std::shared_ptr<const T> get() const {
    const std::lock_guard lock{mutex_};
    return value_;
  }

  void set(std::shared_ptr<const T> value) {
    {
      const std::lock_guard lock{mutex_};
      value_ = std::move(value);
    }
    version_.fetch_add(1, std::memory_order_release);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace weir
