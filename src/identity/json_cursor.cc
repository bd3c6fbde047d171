#include "identity/json_cursor.h"

#include "identity/utf8_text.h"

#include <cstring>
#include <limits>

namespace weir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Writes a code point that is no surrogate; never longer than the escape it comes from.
void append_utf8(char*& out, std::uint32_t code_point) {
  const auto put = [&out](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (code_point < 0x80) {
    put(code_point);
    return;
  }
  if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
  } else {
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
  }
  put(0x80 | (code_point & 0x3f));
}

}  // namespace

void JsonCursor::set_trouble(Trouble trouble) {
  if (trouble_ == Trouble::none) trouble_ = trouble;
  at_ = end_;
}

void JsonCursor::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
}

bool JsonCursor::is_next(char c) {
  skip_space();
  return at_ != end_ && *at_ == c;
}

bool JsonCursor::take(char c) {
  if (!is_next(c)) return false;
  ++at_;
  return true;
}

bool JsonCursor::enter(char open) {
  if (!take(open)) return false;
  if (depth_ == level_.size()) {
    set_trouble(Trouble::malformed);
    return false;
  }
  level_[depth_++] = {true, names_};
  return true;
}

bool JsonCursor::enter_object() { return enter('{'); }
bool JsonCursor::enter_array() { return enter('['); }

bool JsonCursor::next_item(char close) {
  if (trouble_ != Trouble::none || depth_ == 0) return false;
  Level& level = level_[depth_ - 1];
  if (take(close)) {
    names_ = level.names_before;
    --depth_;
    return false;
  }
  if (!level.is_first && !take(',')) {
    set_trouble(Trouble::malformed);
    return false;
  }
  level.is_first = false;
  return true;
}

bool JsonCursor::next_element() { return next_item(']'); }

std::optional<std::string_view> JsonCursor::next_member() {
  if (!next_item('}')) return std::nullopt;
  const std::optional<std::string_view> name = text();
  if (!name || !take(':')) {
    set_trouble(Trouble::malformed);
    return std::nullopt;
  }
  if (!keep_name(*name)) return std::nullopt;
  return name;
}

bool JsonCursor::keep_name(std::string_view name) {
  for (std::size_t i = level_[depth_ - 1].names_before; i < names_; ++i) {
    if (name == std::string_view{name_[i].data, name_[i].size}) {
      set_trouble(Trouble::repeated_member);
      return false;
    }
  }
  if (names_ == name_.size()) {
    set_trouble(Trouble::malformed);
    return false;
  }
  name_[names_++] = {name.data(), name.size()};
  return true;
}

std::optional<std::string_view> JsonCursor::text() {
  if (!is_next('"')) return std::nullopt;
  return read_string();
}

std::optional<std::string_view> JsonCursor::read_string() {
  const char* const begin = ++at_;
  char* out = at_;
  while (at_ != end_) {
    const auto byte = static_cast<unsigned char>(*at_);
    if (byte == '"') {
      ++at_;
      return std::string_view{begin, static_cast<std::size_t>(out - begin)};
    }
    if (byte == '\\') {
      if (!decode_escape(out)) break;
    } else if (byte >= 0x20 && byte < 0x80) {
      *out++ = *at_++;
    } else {
      const Utf8Character character = first_character({at_, static_cast<std::size_t>(end_ - at_)});
      if (byte < 0x20 || character.bytes == 0) break;
      for (std::size_t i = 0; i < character.bytes; ++i) *out++ = *at_++;
    }
  }
  set_trouble(Trouble::malformed);
  return std::nullopt;
}

bool JsonCursor::decode_escape(char*& out) {
  ++at_;
  if (at_ == end_) return false;
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char c = *at_++;
  if (c == 'u') return decode_unicode(out);
  const std::size_t which = kEscapes.find(c);
  if (which == std::string_view::npos) return false;
  *out++ = kMeanings[which];
  return true;
}

bool JsonCursor::decode_unicode(char*& out) {
  const std::optional<std::uint32_t> first = read_hex4();
  if (!first || (*first >= 0xdc00 && *first <= 0xdfff)) return false;
  if (*first < 0xd800 || *first > 0xdfff) {
    append_utf8(out, *first);
    return true;
  }
  if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return false;
  at_ += 2;
  const std::optional<std::uint32_t> second = read_hex4();
  if (!second || *second < 0xdc00 || *second > 0xdfff) return false;
  append_utf8(out, 0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00));
  return true;
}

std::optional<std::uint32_t> JsonCursor::read_hex4() {
  if (end_ - at_ < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    const std::size_t digit = kDigits.find(*at_++);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
  }
  return value;
}

bool JsonCursor::skip_digits() {
  const char* const begin = at_;
  while (at_ != end_ && is_digit(*at_)) ++at_;
  return at_ != begin;
}

void JsonCursor::skip_number() {
  if (*at_ == '-') ++at_;
  const bool has_leading_zero = end_ - at_ >= 2 && at_[0] == '0' && is_digit(at_[1]);
  bool is_sound = skip_digits() && !has_leading_zero;
  if (is_sound && at_ != end_ && *at_ == '.') {
    ++at_;
    is_sound = skip_digits();
  }
  if (is_sound && at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    is_sound = skip_digits();
  }
  if (!is_sound) set_trouble(Trouble::malformed);
}

std::optional<std::int64_t> JsonCursor::whole_number() {
  skip_space();
  if (at_ == end_ || !is_digit(*at_)) return std::nullopt;
  const char* const begin = at_;
  skip_number();
  if (trouble_ != Trouble::none) return std::nullopt;
  std::int64_t value = 0;
  for (const char* digit = begin; digit != at_; ++digit) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (!is_digit(*digit) || value > (kMost - (*digit - '0')) / 10) return std::nullopt;
    value = value * 10 + (*digit - '0');
  }
  return value;
}

void JsonCursor::skip_word(std::string_view word) {
  if (static_cast<std::size_t>(end_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0) {
    set_trouble(Trouble::malformed);
    return;
  }
  at_ += word.size();
}

void JsonCursor::skip() {
  if (enter_object()) {
    while (next_member()) skip();  // As deep as `enter` lets it, kJsonDepthMax.
    return;
  }
  if (enter_array()) {
    while (next_element()) skip();
    return;
  }
  if (text()) return;
  if (at_ == end_) {
    set_trouble(Trouble::malformed);
  } else if (*at_ == '-' || is_digit(*at_)) {
    skip_number();
  } else {
    skip_word(*at_ == 't' ? "true" : *at_ == 'f' ? "false" : "null");
  }
}

bool JsonCursor::is_complete() {
  skip_space();
  return trouble_ == Trouble::none && depth_ == 0 && at_ == end_;
}

}  // namespace weir
