#include "ledger/postgres_array.h"

#include "base/encoding.h"

#include <charconv>

namespace weir::postgres {
namespace {

/// The length of the UTF-8 sequence at the front of `text`; 0 when there is none that PostgreSQL takes.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto follows = [&](std::size_t at, unsigned low, unsigned high) {
    return at < text.size() && byte(at) >= low && byte(at) <= high;
  };
  const unsigned first = byte(0);
  if (first >= 0x01 && first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;   // Nothing longer than it must be,
    const unsigned high = first == 0xed ? 0x9f : 0xbf;  // and no surrogates.
    return follows(1, low, high) && follows(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) && follows(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace

Array& Array::add(std::int64_t value) {
  begin_element();
  char digits[24];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), value);
  text_.append(digits, written.ptr);
  return *this;
}

Array& Array::add(std::string_view text) {
  begin_element();
  text_.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') text_.push_back('\\');
    text_.push_back(c);
  }
  text_.push_back('"');
  return *this;
}

Array& Array::add(bool value) {
  begin_element();
  text_.push_back(value ? 't' : 'f');
  return *this;
}

Array& Array::add_bytes(std::string_view bytes) {
  begin_element();
  text_.append("\"\\\\x").append(hex_text(bytes)).push_back('"');
  return *this;
}

Array& Array::add_null() {
  begin_element();
  text_.append("NULL");
  return *this;
}

bool is_storable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string storable(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0)
      kept.push_back('?');
    else
      kept.append(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return kept;
}

}  // namespace weir::postgres
