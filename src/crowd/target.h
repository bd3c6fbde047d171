#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace weir::crowd {

/// Where the crowd goes: the origin of a server that speaks plain HTTP/1.1.
struct Target {
  std::string host;  // As written, without brackets.
  std::uint16_t port = 80;
  std::string authority;  // For the Host header.
};

/// Reads `http://host[:port][/]`; IPv6 hosts stand in brackets. A crowd measures the server, not TLS: `https` is
/// refused.
[[nodiscard]] Parsed<Target> parse_target(std::string_view url);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// The first address of the host. Blocking: asks the resolver, unless the host is a number. Fails with `unavailable`.
[[nodiscard]] Result<SocketAddress> resolve(const Target& target);

}  // namespace weir::crowd
