#pragma once

#include "base/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// A JSON object from outside, read strictly and laid flat: `{"amount": {"value": 5}}` has the whole number 5 under
/// `amount`, `value`.
///
/// Refused: what is no object, bytes behind it, text that is not UTF-8, a member that is named twice at any depth,
/// nesting over kJsonDepthMax, and more than kBodyBytesMax bytes.
class FlatJson {
 public:
  [[nodiscard]] static Parsed<FlatJson> parse(std::string_view text);

  /// Null unless the member is there and is a string.
  [[nodiscard]] std::optional<std::string> text(std::string_view member, std::string_view inner = {}) const;
  /// Null unless it is a whole number from 0 to 2^53 - 1 written in digits only: neither 1.0 nor 1e0.
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view member, std::string_view inner = {}) const;
  /// Whether the member is there, whatever its kind.
  [[nodiscard]] bool has(std::string_view member) const;

 private:
  struct Value {
    enum class Kind : std::uint8_t { other, text, whole } kind = Kind::other;
    std::string text;
    std::int64_t whole = 0;
  };
  class Reader;
  [[nodiscard]] const Value* find(std::string_view member, std::string_view inner) const;

  std::map<std::string, Value, std::less<>> values_;  // By path: every step behind a NUL, which no name may contain.
};

}  // namespace weir
