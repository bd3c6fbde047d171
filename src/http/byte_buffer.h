#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace weir::http {

/// A run of bytes that grows at its end and is used up from its front.
///
/// Bytes are not set before they are written. Growth doubles; the memory stays until `drop`.
/// Threads: one owner thread. Blocking: never.
class ByteBuffer {
 public:
  [[nodiscard]] char* data() { return bytes_.get() + begin_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::span<char> span() { return {data(), size()}; }
  [[nodiscard]] std::string_view view() const { return {bytes_.get() + begin_, size()}; }

  /// A place for `count` more bytes behind the last one; `added` makes them part of the run.
  [[nodiscard]] char* room(std::size_t count) {
    if (capacity_ - end_ < count) grow(count);
    return bytes_.get() + end_;
  }
  /// How many bytes fit behind the last one without growth.
  [[nodiscard]] std::size_t room_left() const { return capacity_ - end_; }
  void added(std::size_t count) { end_ += count; }

  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()), text.data(), text.size());
    added(text.size());
  }

  /// Takes `count` bytes off the front.
  void used(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) clear();
  }

  void clear() { begin_ = end_ = 0; }

  void drop() { *this = ByteBuffer{}; }

 private:
  void grow(std::size_t count) {
    const std::size_t held = size();
    if (begin_ > 0 && capacity_ - held >= count) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    } else {
      const std::size_t wanted = std::max(held + count, 2 * capacity_);
      auto bytes = std::make_unique_for_overwrite<char[]>(wanted);
      if (held > 0) std::memcpy(bytes.get(), bytes_.get() + begin_, held);
      bytes_ = std::move(bytes);
      capacity_ = wanted;
    }
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace weir::http
