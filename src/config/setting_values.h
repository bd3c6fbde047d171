#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Strict readers of the texts that people write into settings. Pure: no name is resolved and no file is opened.
/// The text of a refusal continues the sentence "http.listen (flag): …".
namespace weir {

struct NumberBounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// Digits only: no sign, no space, no leading zero, no exponent.
[[nodiscard]] Parsed<std::int64_t> parse_whole_number(std::string_view text, NumberBounds bounds);

/// Whole seconds in digits, or a duration (`10m`) that is a whole number of seconds.
[[nodiscard]] Parsed<std::int64_t> parse_seconds(std::string_view text, NumberBounds bounds);

[[nodiscard]] Parsed<bool> parse_truth(std::string_view text);

/// The place of `text` among `choices`, words separated by `|`.
[[nodiscard]] Parsed<std::size_t> parse_choice(std::string_view text, std::string_view choices);

/// Printable UTF-8 without control characters, at most kSettingBytesMax bytes, no space at either end.
[[nodiscard]] Parsed<std::string> parse_setting_text(std::string_view text);

/// A host and a port. The host has no brackets.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

/// `127.0.0.1:8080`, `[::1]:8080`, `shop.example:443`. A host is always needed: whether to listen on all addresses is
/// a decision that is written out.
[[nodiscard]] Parsed<HostPort> parse_host_port(std::string_view text);

/// `http://` or `https://`, then a host, perhaps a port and a path; no user, no query, no fragment.
[[nodiscard]] Parsed<std::string> parse_url(std::string_view text);

/// An address family and a prefix length: `10.1.2.3` is a network of one address.
struct Network {
  bool is_v6 = false;
  int prefix_bits = 0;
};
[[nodiscard]] Parsed<Network> parse_network(std::string_view text);

/// True for 127.0.0.0/8, ::1 and `localhost`.
[[nodiscard]] bool is_loopback(std::string_view host);
/// True for 0.0.0.0 and ::.
[[nodiscard]] bool is_any_address(std::string_view host);

/// Splits at commas. Empty text is an empty list; empty elements, spaces around them and repeats are refused.
[[nodiscard]] Parsed<std::vector<std::string>> parse_list(std::string_view text);

/// The word of `words` that `text` was probably meant to be; null when none is near.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view text, const std::vector<std::string>& words);

}  // namespace weir
