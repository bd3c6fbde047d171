#include "identity/client_address.h"

#include <fmt/format.h>

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace weir {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kAddressBytesMax = 64;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool IpAddress::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes.begin()); }

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  std::string_view host = text;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = host.substr(end + 1);
    if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return std::nullopt;
    host = host.substr(1, end - 1);
  } else if (std::ranges::count(host, ':') == 1) {
    const std::size_t colon = host.find(':');
    if (!is_port(host.substr(colon + 1))) return std::nullopt;
    host = host.substr(0, colon);
  }
  if (host.empty() || host.size() >= kAddressBytesMax) return std::nullopt;
  std::array<char, kAddressBytesMax> ended{};
  std::memcpy(ended.data(), host.data(), host.size());
  IpAddress address;
  if (::inet_pton(AF_INET6, ended.data(), address.bytes.data()) == 1) return address;
  std::copy(kMapped.begin(), kMapped.end(), address.bytes.begin());
  if (::inet_pton(AF_INET, ended.data(), address.bytes.data() + kMapped.size()) == 1) return address;
  return std::nullopt;
}

Parsed<TrustedProxies> TrustedProxies::parse(std::span<const std::string> list) {
  TrustedProxies proxies;
  for (const std::string& entry : list) {
    const std::string_view text{entry};
    const std::size_t slash = text.find('/');
    const auto base = IpAddress::parse(text.substr(0, slash));
    int bits = 128;
    if (base && slash != std::string_view::npos) {
      const int most = base->is_v4() ? 32 : 128;
      const std::string_view digits = text.substr(slash + 1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
      if (error != std::errc{} || end != digits.data() + digits.size() || bits < 0 || bits > most) bits = -1;
      else if (most == 32) bits += 96;
    }
    if (!base || bits < 0) return std::unexpected(fmt::format("'{}' is no address or network (http.trusted_proxies)", entry));
    proxies.networks_.push_back({*base, bits});
  }
  return proxies;
}

bool TrustedProxies::contains(const IpAddress& address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) {
    const auto whole = static_cast<std::size_t>(network.bits / 8);
    const int rest = network.bits % 8;
    if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(whole), network.base.bytes.begin())) return false;
    if (rest == 0) return true;
    const int mask = 0xff << (8 - rest) & 0xff;
    return (address.bytes[whole] & mask) == (network.base.bytes[whole] & mask);
  });
}

IpAddress client_address(const IpAddress& peer, std::string_view forwarded_for, const TrustedProxies& proxies) {
  IpAddress client = peer;
  while (proxies.contains(client) && !forwarded_for.empty()) {
    const std::size_t comma = forwarded_for.rfind(',');
    const std::size_t from = comma == std::string_view::npos ? 0 : comma + 1;
    const auto next = IpAddress::parse(trimmed(forwarded_for.substr(from)));
    if (!next) break;
    client = *next;
    forwarded_for = forwarded_for.substr(0, comma == std::string_view::npos ? 0 : comma);
  }
  return client;
}

IpAddress limit_prefix(IpAddress address) {
  if (!address.is_v4()) std::fill(address.bytes.begin() + 8, address.bytes.end(), std::uint8_t{0});
  return address;
}

}  // namespace weir
