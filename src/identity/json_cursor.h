#pragma once

#include "config/limits.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weir {

/// Walks over one JSON text in place, without allocating, and stricter than JSON itself: a name that occurs twice in an
/// object (also when escapes hide it), bytes that are not UTF-8, lone surrogates and deep nesting are trouble.
///
/// The reader asks value by value. After `next_member` or `next_element` has announced a value, it must be read or
/// skipped before the next one is asked for. Once in trouble, everything answers "no more" and `is_complete` is false.
/// Strings are decoded where they lie: the views stay valid as long as the text, which is overwritten.
///
/// Threads: one. Bounds: kJsonDepthMax levels, kJsonMembersMax names in the objects that are open at one time.
class JsonCursor {
 public:
  enum class Trouble : std::uint8_t { none, malformed, repeated_member };

  explicit JsonCursor(std::span<char> text) : at_(text.data()), end_(text.data() + text.size()) {}

  /// Enters the next value if it is an object (an array). Otherwise nothing moves and the answer is false.
  [[nodiscard]] bool enter_object();
  [[nodiscard]] bool enter_array();
  /// The name of the next member of the innermost object; null at its end, which leaves it.
  [[nodiscard]] std::optional<std::string_view> next_member();
  /// True if the innermost array has another element; false at its end, which leaves it.
  [[nodiscard]] bool next_element();
  /// The next value if it is a string. Otherwise null.
  [[nodiscard]] std::optional<std::string_view> text();
  /// The next value if it is a number written in digits only and fits. `1.0`, `1e0`, `-1`, 2^63 and `"1"` are null.
  [[nodiscard]] std::optional<std::int64_t> whole_number();
  /// Passes over the next value, whatever it is, and checks it all the same.
  void skip();
  /// One value was read to its end, and nothing but white space follows.
  [[nodiscard]] bool is_complete();
  [[nodiscard]] Trouble trouble() const { return trouble_; }

 private:
  struct Level {
    bool is_first;
    std::size_t names_before;
  };
  // Not initialised: only the first `names_` (`depth_`) of them are ever read.
  struct Name {
    const char* data;
    std::size_t size;
  };

  void set_trouble(Trouble trouble);
  void skip_space();
  [[nodiscard]] bool is_next(char c);
  [[nodiscard]] bool take(char c);
  [[nodiscard]] bool enter(char open);
  /// Handles `,` and the end of the innermost level. True if another item follows.
  [[nodiscard]] bool next_item(char close);
  [[nodiscard]] bool keep_name(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> read_string();
  [[nodiscard]] bool decode_escape(char*& out);
  [[nodiscard]] bool decode_unicode(char*& out);
  [[nodiscard]] std::optional<std::uint32_t> read_hex4();
  [[nodiscard]] bool skip_digits();
  void skip_number();
  void skip_word(std::string_view word);

  char* at_;
  char* end_;
  Trouble trouble_ = Trouble::none;
  std::size_t depth_ = 0;
  std::size_t names_ = 0;
  std::array<Level, kJsonDepthMax> level_;
  std::array<Name, kJsonMembersMax> name_;
};

}  // namespace weir
