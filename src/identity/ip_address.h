#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// An IPv6 address, or an IPv4 one in its mapped form (::ffff:a.b.c.d).
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const IpAddress&) const = default;

  [[nodiscard]] bool is_v4() const;
  /// Reads `1.2.3.4`, `2001:db8::1`, `[2001:db8::1]`, each perhaps with a port behind it (`1.2.3.4:80`, `[::1]:80`).
  [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
};

}  // namespace weir
