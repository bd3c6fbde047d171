#pragma once

#include "base/time.h"
#include "domain/ids.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::postgres {

/// One array parameter: a column of many rows, written as PostgreSQL reads arrays in text.
class Array {
 public:
  Array() { text_.push_back('{'); }

  Array& add(std::int64_t value);
  Array& add(std::string_view text);
  Array& add(Instant moment) { return add(moment.us); }
  Array& add(bool value);
  Array& add(const char*) = delete;  // It would become a bool.
  Array& add_bytes(std::string_view bytes);
  Array& add_null();
  template <typename Tag>
  Array& add(const Id128<Tag>& id) {
    begin_element();
    const std::size_t at = text_.size();
    text_.resize(at + 32);
    id.write_text(text_.data() + at);
    return *this;
  }
  template <typename Tag>
  Array& add(Number<Tag, std::uint32_t> number) {
    return add(std::int64_t{number.value});
  }
  template <typename T>
  Array& add(const std::optional<T>& value) {
    return value ? add(*value) : add_null();
  }

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool is_empty() const { return size_ == 0; }
  /// Null-terminated text of the whole array; nothing can be added after it.
  [[nodiscard]] std::string take() && {
    text_.push_back('}');
    return std::move(text_);
  }

 private:
  void begin_element() {
    if (size_++ > 0) text_.push_back(',');
  }

  std::string text_;
  std::int64_t size_ = 0;
};

/// Whether PostgreSQL can keep this text: UTF-8 without a NUL. Everything else is refused before it is sent, so that
/// one odd name does not fail its whole batch.
[[nodiscard]] bool is_storable(std::string_view text);

/// The same text with `?` for every byte that cannot be kept. For what only people read.
[[nodiscard]] std::string storable(std::string_view text);

}  // namespace weir::postgres
