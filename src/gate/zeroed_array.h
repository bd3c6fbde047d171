#pragma once

#include "config/limits.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>

namespace weir {

/// An array of plain values whose bits are all zero at first. Pages that nobody has written cost no resident memory, so
/// a table may be taken for the largest case when a sale opens.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  /// Empty when the machine has not got the memory, and past kGateTableBytesMax: a system that promises more memory
  /// than it has would stop the process later, in the middle of a sale.
  explicit ZeroedArray(std::size_t size)
      : values_(size > kGateTableBytesMax / sizeof(T) ? nullptr : static_cast<T*>(std::calloc(size, sizeof(T)))) {}

  [[nodiscard]] bool is_empty() const { return values_ == nullptr; }
  [[nodiscard]] T& operator[](std::size_t at) const { return values_[at]; }
  void clear() { values_.reset(); }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };
  std::unique_ptr<T[], Free> values_;
};

}  // namespace weir
