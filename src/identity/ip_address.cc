#include "identity/ip_address.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <arpa/inet.h>

namespace weir {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

bool is_ipv4(const IpAddress& address) { return std::ranges::equal(kMapped, std::span{address.bytes}.first<12>()); }

std::optional<IpAddress> parse_ip_address(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> copy{};
  if (text.empty() || text.size() >= copy.size() || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::memcpy(copy.data(), text.data(), text.size());
  IpAddress address;
  if (::inet_pton(AF_INET6, copy.data(), address.bytes.data()) == 1) return address;
  std::ranges::copy(kMapped, address.bytes.begin());
  if (::inet_pton(AF_INET, copy.data(), address.bytes.data() + kMapped.size()) == 1) return address;
  return std::nullopt;
}

std::string ip_text(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_four = is_ipv4(address);
  const std::uint8_t* const bytes = address.bytes.data() + (is_four ? kMapped.size() : 0);
  ::inet_ntop(is_four ? AF_INET : AF_INET6, bytes, text.data(), text.size());
  return text.data();
}

IpAddress limit_prefix(const IpAddress& address) {
  if (is_ipv4(address)) return address;
  IpAddress prefix;
  std::copy_n(address.bytes.begin(), 8, prefix.bytes.begin());
  return prefix;
}

}  // namespace weir
