#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

/// The character classes of HTTP, eight bytes at a time where lines are long.
namespace weir::http {

inline constexpr std::array<bool, 256> kTokenCharacters = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
  return table;
}();

[[nodiscard]] constexpr bool is_token(char c) { return kTokenCharacters[static_cast<unsigned char>(c)]; }
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
[[nodiscard]] constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
[[nodiscard]] constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// Whether `text` is `wanted`, which is in lower case, whatever the case of its letters.
[[nodiscard]] constexpr bool equals_lower(std::string_view text, std::string_view wanted) {
  if (text.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lower(text[i]) != wanted[i]) return false;
  }
  return true;
}

[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

namespace words {

inline constexpr std::uint64_t kOnes = 0x0101010101010101U;
inline constexpr std::uint64_t kTops = 0x8080808080808080U;

/// Non-zero if a byte under 0x80 is less than `bound` (at most 0x80). Bytes of 0x80 and more are never reported.
[[nodiscard]] constexpr std::uint64_t less(std::uint64_t word, std::uint8_t bound) {
  return (word - kOnes * bound) & ~word & kTops;
}
[[nodiscard]] constexpr std::uint64_t equal(std::uint64_t word, std::uint8_t value) {
  return less(word ^ (kOnes * value), 1);
}

}  // namespace words

/// Whether every character may stand in a header's value: no control characters but the tab.
[[nodiscard]] inline bool is_field_text(std::string_view text) {
  std::size_t i = 0;
  bool suspect = false;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    suspect |= (words::less(word, 0x20) | words::equal(word, 0x7f)) != 0;
  }
  if (suspect) i = 0;  // Perhaps only a tab: look at each.
  for (; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
  }
  return true;
}

/// Whether every character is visible ASCII.
[[nodiscard]] inline bool is_visible(std::string_view text) {
  std::size_t i = 0;
  bool suspect = false;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    suspect |= (words::less(word, 0x21) | words::equal(word, 0x7f) | (word & words::kTops)) != 0;
  }
  if (suspect) return false;
  for (; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x21 || c > 0x7e) return false;
  }
  return true;
}

}  // namespace weir::http
