#include "base/encoding.h"

#include <array>

namespace weir {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> base64_values() {
  std::array<std::int8_t, 256> table{};
  for (std::int8_t& value : table) value = -1;
  for (std::size_t i = 0; i < kBase64.size(); ++i)
    table[static_cast<unsigned char>(kBase64[i])] = static_cast<std::int8_t>(i);
  return table;
}
constexpr std::array<std::int8_t, 256> kBase64Values = base64_values();

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string hex_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::optional<std::string> parse_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string base64_text(std::string_view bytes) {
  std::string text = base64url_text(bytes);
  for (char& c : text) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::string base64url_text(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      text += kBase64[(bits >> count) & 63];
    }
  }
  if (count > 0) text += kBase64[(bits << (6 - count)) & 63];
  return text;
}

std::optional<std::size_t> decode_base64url(std::string_view text, std::span<char> out) {
  const std::size_t size = text.size() * 3 / 4;
  if (text.size() % 4 == 1 || size > out.size()) return std::nullopt;
  std::uint32_t bits = 0;
  int count = 0;
  std::size_t at = 0;
  for (const char c : text) {
    const std::int8_t value = kBase64Values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out[at++] = static_cast<char>((bits >> count) & 0xff);
    }
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return at;
}

}  // namespace weir
