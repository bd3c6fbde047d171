#include "crowd/target.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <netdb.h>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == ':';
}

}  // namespace

Parsed<Target> parse_target(std::string_view url) {
  const auto refuse = [&](std::string_view what) {
    return std::unexpected(fmt::format("the address `{}` {}; it looks like http://127.0.0.1:8080", url, what));
  };
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return refuse("does not begin with http://");
  std::string_view authority = url.substr(kScheme.size());
  if (authority.ends_with('/')) authority.remove_suffix(1);
  Target target;
  target.authority = authority;
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return refuse("opens a bracket and does not close it");
    target.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const std::size_t end = std::min(authority.find(':'), authority.size());
    target.host = authority.substr(0, end);
    port = authority.substr(end);
  }
  if (target.host.empty() || !std::all_of(target.host.begin(), target.host.end(), is_host_byte)) {
    return refuse("names no host");
  }
  if (port.empty()) return target;
  const char* end = port.data() + port.size();
  const auto [read, error] = std::from_chars(port.data() + 1, end, target.port);
  if (port.front() != ':' || error != std::errc{} || read != end || target.port == 0)
    return refuse("has no sound port");
  return target;
}

Result<SocketAddress> resolve(const Target& target) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &hints, &found);
  if (error != 0 || found == nullptr) {
    return fail(Failure::unavailable, fmt::format("host {} has no address: {}", target.host, ::gai_strerror(error)));
  }
  SocketAddress address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return address;
}

}  // namespace weir::crowd
