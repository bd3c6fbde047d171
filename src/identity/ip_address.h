#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// An IPv6 address, or an IPv4 one in its mapped form (::ffff:a.b.c.d), so that one host has one spelling.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const IpAddress&) const = default;
};

[[nodiscard]] bool is_ipv4(const IpAddress& address);
/// Reads `192.0.2.1` or `2001:db8::1`, without brackets, ports and zones. Numbers with leading zeros are refused: some
/// programs read them as octal.
[[nodiscard]] std::optional<IpAddress> parse_ip_address(std::string_view text);
[[nodiscard]] std::string ip_text(const IpAddress& address);

/// Whom a limit by address counts as one: an IPv4 address, or an IPv6 /64, all of which one subscriber owns.
[[nodiscard]] IpAddress limit_prefix(const IpAddress& address);

}  // namespace weir
