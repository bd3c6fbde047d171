#include "identity/client_address.h"

#include "config/limits.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::string_view kSpace = " \t";
constexpr int kMappedBits = 96;  // Of the prefix under which IPv4 lies.

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Reads a number of at most `most` in digits only.
std::optional<int> parse_small(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && end == text.data() + text.size() && text.front() != '-';
  return is_number && value <= most ? std::optional{value} : std::nullopt;
}

/// Reads `a.b.c.d`, `a.b.c.d:port`, `x::y`, `[x::y]` or `[x::y]:port`.
std::optional<IpAddress> parse_element(std::string_view text) {
  constexpr int kPortMax = 65'535;
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else if (std::ranges::count(text, ':') == 1) {
    const std::size_t colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  if (has_port && !parse_small(port, kPortMax)) return std::nullopt;
  return parse_ip_address(host);
}

bool has_prefix(const IpAddress& address, const IpAddress& base, int bits) {
  for (std::size_t i = 0; bits > 0; ++i, bits -= 8) {
    const int shift = std::max(8 - bits, 0);
    if ((address.bytes[i] ^ base.bytes[i]) >> shift != 0) return false;
  }
  return true;
}

}  // namespace

Parsed<TrustedProxies::Range> TrustedProxies::parse_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> base = parse_ip_address(text.substr(0, slash));
  if (!base) return std::unexpected(fmt::format("'{}' is no address or CIDR range (http.trusted_proxies)", text));
  // A mapped address that is written as IPv6 brings its 96 bits with it.
  const bool is_dotted = text.find(':') == std::string_view::npos;
  Range range{*base, 128, is_ipv4(*base)};
  if (slash == std::string_view::npos) return range;
  const std::optional<int> bits = parse_small(text.substr(slash + 1), is_dotted ? 128 - kMappedBits : 128);
  if (!bits) return std::unexpected(fmt::format("'{}' has no valid prefix length (http.trusted_proxies)", text));
  range.bits = is_dotted ? kMappedBits + *bits : *bits;
  range.is_ipv4 = range.is_ipv4 && range.bits >= kMappedBits;
  return range;
}

Parsed<TrustedProxies> TrustedProxies::parse(std::string_view list) {
  TrustedProxies proxies;
  if (trimmed(list).empty()) return proxies;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = list.find(',');
    is_last = comma == std::string_view::npos;
    const Parsed<Range> range = parse_range(trimmed(list.substr(0, comma)));
    if (!range) return std::unexpected(range.error());
    if (proxies.ranges_.size() == kTrustedProxiesMax) {
      return std::unexpected(fmt::format("more than {} entries (http.trusted_proxies)", kTrustedProxiesMax));
    }
    proxies.ranges_.push_back(*range);
    if (!is_last) list.remove_prefix(comma + 1);
  }
  return proxies;
}

bool TrustedProxies::contains(const IpAddress& address) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    return is_ipv4(address) == range.is_ipv4 && has_prefix(address, range.base, range.bits);
  });
}

IpAddress client_address(const IpAddress& peer, std::string_view forwarded_for, const TrustedProxies& proxies) {
  IpAddress client = peer;
  for (int hop = 0; hop < kForwardedHopsMax && proxies.contains(client); ++hop) {
    const std::size_t comma = forwarded_for.rfind(',');
    const bool is_last = comma == std::string_view::npos;
    const std::optional<IpAddress> sender =
        parse_element(trimmed(is_last ? forwarded_for : forwarded_for.substr(comma + 1)));
    if (!sender) break;
    client = *sender;
    forwarded_for = is_last ? std::string_view{} : forwarded_for.substr(0, comma);
  }
  return client;
}

}  // namespace weir
