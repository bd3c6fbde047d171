#pragma once

#include "base/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

/// One member of a request's JSON object. `raw` is the value as it was sent; strings include their quotes.
struct JsonMember {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  std::string name;  // Unescaped.
  Kind kind = Kind::null;
  std::string_view raw;

  /// A whole number written in digits only (an optional minus, no leading zero, no fraction, no exponent, not -0).
  [[nodiscard]] std::optional<std::int64_t> whole() const;
  /// The unescaped text of a string.
  [[nodiscard]] std::optional<std::string> text() const;
  [[nodiscard]] std::optional<bool> boolean() const;
};

/// A request body: one JSON object (RFC 8259) of at most kJsonMembersMax members, checked to its last byte: depth,
/// UTF-8, escapes, no repeated member, nothing behind it. An empty body is the empty object.
class JsonBody {
 public:
  static constexpr std::size_t kJsonMembersMax = 16;

  [[nodiscard]] static Parsed<JsonBody> parse(std::string_view body);

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const JsonMember& at(std::size_t i) const { return members_.at(i); }
  /// Null when the member is absent.
  [[nodiscard]] const JsonMember* find(std::string_view name) const;
  /// The name of a member that is not in `allowed`; null when there is none.
  [[nodiscard]] const std::string* unknown(std::initializer_list<std::string_view> allowed) const;

 private:
  std::array<JsonMember, kJsonMembersMax> members_;
  std::size_t count_ = 0;
};

}  // namespace weir::http
