#include "config/setting_values.h"

#include "base/time_text.h"
#include "config/limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <numeric>

#include <arpa/inet.h>

#include <fmt/format.h>

namespace weir {
namespace {

std::unexpected<std::string> refuse(std::string sentence) { return std::unexpected<std::string>(std::move(sentence)); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_host_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
}

/// 4 or 16 bytes of an address literal; null for anything else.
std::optional<std::vector<std::uint8_t>> address_bytes(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  const std::string copy(text);
  if (copy.find('\0') != std::string::npos) return std::nullopt;
  if (inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1) return std::vector(bytes.begin(), bytes.begin() + 4);
  if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return std::vector(bytes.begin(), bytes.end());
  return std::nullopt;
}

/// A name that consists of digits and dots only must be an address: 127.0.0.256 is a slip, not a host.
bool is_host(std::string_view host) {
  if (host.empty() || host.size() > kHostBytesMax) return false;
  if (!std::ranges::all_of(host, is_host_char)) return false;
  if (std::ranges::all_of(host, [](char c) { return is_digit(c) || c == '.'; })) return address_bytes(host).has_value();
  return host.front() != '-' && host.front() != '.' && host.find("..") == std::string_view::npos;
}

bool is_inside(std::int64_t value, NumberBounds bounds) { return bounds.least <= value && value <= bounds.most; }

std::string bounds_text(NumberBounds bounds) { return fmt::format("{} to {}", bounds.least, bounds.most); }

/// How many single-letter changes lie between two words.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Parsed<std::int64_t> parse_whole_number(std::string_view text, NumberBounds bounds) {
  const bool digits = !text.empty() && std::ranges::all_of(text, is_digit);
  if (!digits || (text.size() > 1 && text.front() == '0')) {
    return refuse(fmt::format("'{}' is no whole number written in digits only", text));
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !is_inside(value, bounds)) {
    return refuse(fmt::format("{} is outside {}", text, bounds_text(bounds)));
  }
  return value;
}

Parsed<std::int64_t> parse_seconds(std::string_view text, NumberBounds bounds) {
  if (std::ranges::all_of(text, is_digit)) return parse_whole_number(text, bounds);
  const Parsed<Micros> span = parse_duration(text);
  if (!span) return refuse(fmt::format("'{}' is neither whole seconds nor a duration such as 10m", text));
  const std::int64_t us = span->count();
  if (us % 1'000'000 != 0) return refuse(fmt::format("{} is not a whole number of seconds", text));
  if (!is_inside(us / 1'000'000, bounds)) {
    return refuse(fmt::format("{} is outside {} seconds", text, bounds_text(bounds)));
  }
  return us / 1'000'000;
}

Parsed<bool> parse_truth(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return refuse(fmt::format("'{}' is neither true nor false", text));
}

Parsed<std::size_t> parse_choice(std::string_view text, std::string_view choices) {
  std::size_t place = 0;
  std::string_view rest = choices;
  while (!rest.empty()) {  // One turn a word.
    const std::size_t end = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, end) == text) return place;
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++place;
  }
  return refuse(fmt::format("'{}' is none of {}", text, choices));
}

Parsed<std::string> parse_setting_text(std::string_view text) {
  if (text.size() > kSettingBytesMax) return refuse(fmt::format("it is longer than {} bytes", kSettingBytesMax));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(text, is_control)) return refuse("it contains a control character");
  if (!text.empty() && (text.front() == ' ' || text.back() == ' ')) return refuse("it begins or ends with a space");
  return std::string(text);
}

Parsed<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse(fmt::format("'{}' has no port; write host:port", text));
  const Parsed<std::int64_t> port = parse_whole_number(text.substr(colon + 1), {0, 65'535});
  if (!port) return refuse(fmt::format("'{}' has no port between 0 and 65535 after its last colon", text));
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const std::optional<std::vector<std::uint8_t>> bytes = address_bytes(host);
  const bool is_v6 = bytes && bytes->size() == 16;
  if (bracketed != is_v6 || !(is_v6 || is_host(host))) {
    return refuse(fmt::format("'{}' is no address: write 127.0.0.1:8080, [::1]:8080 or name:8080", text));
  }
  return HostPort{std::string(host), static_cast<std::uint16_t>(*port)};
}

Parsed<std::string> parse_url(std::string_view text) {
  const auto wrong = [&] {
    return refuse(
        fmt::format("'{}' is no address such as https://shop.example without user, query and fragment", text));
  };
  std::string_view rest = text;
  if (rest.starts_with("https://"))
    rest.remove_prefix(8);
  else if (rest.starts_with("http://"))
    rest.remove_prefix(7);
  else
    return wrong();
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);
  const bool has_port = authority.find(':') != std::string_view::npos && !authority.ends_with(']');
  if (has_port ? !parse_host_port(authority) : !parse_host_port(std::string(authority) + ":1")) return wrong();
  const auto is_path_char = [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#' && c != '\\' && c != '"'; };
  if (!std::ranges::all_of(rest.substr(slash), is_path_char)) return wrong();
  return std::string(text);
}

Parsed<Network> parse_network(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::optional<std::vector<std::uint8_t>> bytes = address_bytes(text.substr(0, slash));
  if (!bytes) return refuse(fmt::format("'{}' is no address and no network such as 10.0.0.0/8", text));
  const int bits = static_cast<int>(bytes->size() * 8);
  if (slash == text.size()) return Network{bits == 128, bits};
  const Parsed<std::int64_t> prefix = parse_whole_number(text.substr(slash + 1), {0, bits});
  if (!prefix) return refuse(fmt::format("'{}' has no prefix length between 0 and {}", text, bits));
  const auto is_host_bit_set = [&](std::size_t bit) { return ((*bytes)[bit / 8] >> (7 - bit % 8) & 1) != 0; };
  for (std::size_t bit = static_cast<std::size_t>(*prefix); bit < bytes->size() * 8; ++bit) {
    if (is_host_bit_set(bit)) return refuse(fmt::format("'{}' has bits set behind its prefix: which is meant?", text));
  }
  return Network{bits == 128, static_cast<int>(*prefix)};
}

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  const std::optional<std::vector<std::uint8_t>> bytes = address_bytes(host);
  if (!bytes) return false;
  if (bytes->size() == 4) return bytes->front() == 127;
  return bytes->back() == 1 && std::all_of(bytes->begin(), bytes->end() - 1, [](std::uint8_t b) { return b == 0; });
}

bool is_any_address(std::string_view host) {
  const std::optional<std::vector<std::uint8_t>> bytes = address_bytes(host);
  return bytes && std::ranges::all_of(*bytes, [](std::uint8_t byte) { return byte == 0; });
}

Parsed<std::vector<std::string>> parse_list(std::string_view text) {
  std::vector<std::string> list;
  if (text.empty()) return list;
  std::string_view rest = text;
  for (std::size_t i = 0; i < kSettingListMax; ++i) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string element(rest.substr(0, comma));
    if (element.empty()) return refuse(fmt::format("the list '{}' has an empty element", text));
    if (element.find(' ') != std::string::npos) return refuse(fmt::format("the list '{}' contains a space", text));
    if (std::ranges::find(list, element) != list.end()) return refuse(fmt::format("'{}' is listed twice", element));
    list.push_back(element);
    if (comma == rest.size()) return list;
    rest.remove_prefix(comma + 1);
  }
  return refuse(fmt::format("the list has more than {} elements", kSettingListMax));
}

std::optional<std::string> nearest_word(std::string_view text, const std::vector<std::string>& words) {
  constexpr std::size_t kWordBytesMax = 64;  // The table below is quadratic; no name of ours is longer.
  if (text.size() > kWordBytesMax) return std::nullopt;
  const std::size_t far = std::max<std::size_t>(3, text.size() / 3);
  std::optional<std::string> nearest;
  std::size_t least = far + 1;
  for (const std::string& word : words) {
    const std::size_t steps = distance(text, word);
    if (steps >= least) continue;
    least = steps;
    nearest = word;
  }
  return nearest;
}

}  // namespace weir
