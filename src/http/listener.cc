#include "http/listener.h"

#include "config/limits.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir::http {
namespace {

struct Place {
  std::string host;  // Empty: every address.
  std::uint16_t port = 0;
};

std::optional<Place> parse_place(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  Place place;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  place.host = host;
  return place;
}

std::string error_text(int number) { return std::generic_category().message(number); }

std::unexpected<Error> cannot_listen(const std::string& listen, std::string_view why) {
  return fail(Failure::unfit, fmt::format("cannot listen on '{}' (http.listen): {}", listen, why));
}

bool set_on(int fd, int level, int option) {
  const int on = 1;
  return ::setsockopt(fd, level, option, &on, sizeof on) == 0;
}

Address address_of(const sockaddr_storage& from) {
  Address address;
  if (from.ss_family == AF_INET6) {
    sockaddr_in6 peer{};
    std::memcpy(&peer, &from, sizeof peer);
    std::memcpy(address.bytes.data(), &peer.sin6_addr, 16);
  } else if (from.ss_family == AF_INET) {
    sockaddr_in peer{};
    std::memcpy(&peer, &from, sizeof peer);
    address.bytes[10] = address.bytes[11] = 0xff;
    std::memcpy(address.bytes.data() + 12, &peer.sin_addr, 4);
  }
  return address;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  sockaddr_in6 as6{};  // Both families keep the port in the same place.
  std::memcpy(&as6, &bound, sizeof as6);
  return ntohs(as6.sin6_port);
}

Descriptor open_reserve() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

/// Binds and listens. Returns 0, or the error's number.
///
/// The first socket binds without SO_REUSEPORT and is given it afterwards: so a second process on the same port is
/// refused here, where it would otherwise silently share the connections.
int listen_on(int fd, const addrinfo& address, bool exclusive) {
  bool is_set = set_on(fd, SOL_SOCKET, SO_REUSEADDR) && set_on(fd, IPPROTO_TCP, TCP_NODELAY);  // Inherited by accept.
  if (!exclusive) is_set = is_set && set_on(fd, SOL_SOCKET, SO_REUSEPORT);
  const int off = 0;
  if (address.ai_family == AF_INET6) {
    is_set = is_set && ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0;
  }
  if (!is_set || ::bind(fd, address.ai_addr, address.ai_addrlen) != 0) return errno;
  if (exclusive && !set_on(fd, SOL_SOCKET, SO_REUSEPORT)) return errno;
  return ::listen(fd, static_cast<int>(kListenBacklog)) == 0 ? 0 : errno;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(fd_, -1); }

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Listener> Listener::open(const std::string& listen, std::uint16_t port, bool exclusive) {
  const auto place = parse_place(listen);
  if (!place) return cannot_listen(listen, "expected host:port or [IPv6]:port");
  addrinfo hints{};
  hints.ai_family = place->host.empty() ? AF_INET : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port_text = std::to_string(port != 0 ? port : place->port);
  const char* host = place->host.empty() ? nullptr : place->host.c_str();
  if (const int error = ::getaddrinfo(host, port_text.c_str(), &hints, &found); error != 0) {
    return cannot_listen(listen, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  Listener listener;
  listener.socket_ = Descriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.socket_.is_open()) return cannot_listen(listen, error_text(errno));
  if (const int error = listen_on(listener.fd(), *found, exclusive); error != 0) {
    return cannot_listen(listen, error_text(error));
  }
  listener.reserve_ = open_reserve();
  listener.port_ = port_of(listener.fd());
  return listener;
}

std::expected<Listener::Accepted, Listener::Trouble> Listener::accept() {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  const int fd = ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) return Accepted{Descriptor(fd), address_of(from)};
  switch (errno) {
    case EAGAIN: return std::unexpected(Trouble::nothing_there);
    case EMFILE:
    case ENFILE: return std::unexpected(Trouble::out_of_files);
    case ENOBUFS:
    case ENOMEM: return std::unexpected(Trouble::out_of_resources);
    default: return std::unexpected(Trouble::try_again);
  }
}

void Listener::turn_one_away() {
  reserve_.close();
  Descriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)).close();
  reserve_ = open_reserve();
}

}  // namespace weir::http
