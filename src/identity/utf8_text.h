#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

/// The first character of a text. `bytes` is 0 if the text does not begin with well-formed UTF-8.
struct Utf8Character {
  char32_t code_point = 0;
  std::size_t bytes = 0;
};

/// Reads one character strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] constexpr Utf8Character first_character(std::string_view text) {
  if (text.empty()) return {};
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code_point = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code_point = code_point << 6 | (next & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < kLeast[bytes] || code_point > 0x10ffff || is_surrogate) return {};
  return {code_point, bytes};
}

/// C0, DEL and C1: what could move a terminal's cursor or end a log line.
[[nodiscard]] constexpr bool is_control(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
}

}  // namespace weir
