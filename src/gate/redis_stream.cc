#include "gate/redis_stream.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace weir {
namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

/// Waits until the socket is ready for `events`.
Result<void> wait_for(int fd, short events, const Clock& clock, Deadline deadline) {
  for (;;) {  // Ends at the deadline.
    const std::int64_t left_us = deadline.us - clock.ticks().us;
    if (left_us <= 0) return fail(Failure::unavailable, "no answer in time");
    pollfd one{fd, events, 0};
    const std::int64_t left_ms = std::min<std::int64_t>((left_us - 1) / 1000 + 1, INT_MAX);
    const int ready = ::poll(&one, 1, static_cast<int>(left_ms));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail(Failure::unavailable, reason(errno));
  }
}

Result<Socket> connect_to(const addrinfo& to, const Clock& clock, Deadline deadline) {
  Socket made(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made.fd() < 0) return fail(Failure::unavailable, reason(errno));
  const int on = 1;
  ::setsockopt(made.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(made.fd(), to.ai_addr, to.ai_addrlen) == 0) return made;
  if (errno != EINPROGRESS) return fail(Failure::unavailable, reason(errno));
  if (auto ready = wait_for(made.fd(), POLLOUT, clock, deadline); !ready) return std::unexpected(ready.error());
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(made.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return fail(Failure::unavailable, reason(error));
  return made;
}

Result<Socket> connect_to(const RedisAddress& address, const Clock& clock, Deadline deadline) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int problem = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (problem != 0) return fail(Failure::unavailable, ::gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  Result<Socket> made = fail(Failure::unavailable, "the name has no address");
  for (const addrinfo* one = found; one != nullptr && !made; one = one->ai_next) {
    made = connect_to(*one, clock, deadline);
  }
  return made;
}

class PlainStream final : public RedisStream {
 public:
  PlainStream(Socket socket, const Clock& clock) : socket_(std::move(socket)), clock_(clock) {}

  Result<void> write(std::string_view bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (auto ready = wait_for(socket_.fd(), POLLOUT, clock_, deadline); !ready) return ready;
      } else if (errno != EINTR) {
        return fail(Failure::unavailable, reason(errno));
      }
    }
    return {};
  }

  Result<std::size_t> read(std::span<char> into, Deadline deadline) override {
    for (;;) {  // Ends at the deadline.
      const ssize_t got = ::recv(socket_.fd(), into.data(), into.size(), 0);
      if (got > 0) return static_cast<std::size_t>(got);
      if (got == 0) return fail(Failure::unavailable, "the server closed the connection");
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (auto ready = wait_for(socket_.fd(), POLLIN, clock_, deadline); !ready)
          return std::unexpected(ready.error());
      } else if (errno != EINTR) {
        return fail(Failure::unavailable, reason(errno));
      }
    }
  }

  bool is_stale() override {
    pollfd one{socket_.fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) != 0;
  }

 private:
  Socket socket_;
  const Clock& clock_;
};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class LoadedTls final : public RedisTls {
 public:
  explicit LoadedTls(std::unique_ptr<SSL_CTX, FreeContext> context) : context_(std::move(context)) {}
  [[nodiscard]] SSL_CTX* context() const { return context_.get(); }

 private:
  std::unique_ptr<SSL_CTX, FreeContext> context_;
};

std::string tls_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "the encrypted connection broke" : text;
}

class TlsStream final : public RedisStream {
 public:
  TlsStream(Socket socket, std::unique_ptr<SSL, FreeSsl> ssl, const Clock& clock)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), clock_(clock) {}

  [[nodiscard]] Result<void> greet(Deadline deadline) {
    for (;;) {            // Ends at the deadline.
      ERR_clear_error();  // What others left there would be taken for ours.
      const int done = SSL_connect(ssl_.get());
      if (done == 1) return {};
      if (SSL_get_error(ssl_.get(), done) == SSL_ERROR_SSL) {
        const long verdict = SSL_get_verify_result(ssl_.get());
        if (verdict == X509_V_OK) return fail(Failure::unavailable, tls_reason());
        return fail(Failure::unfit, fmt::format("its certificate is not trusted ({}); see `redis.ca_file`",
                                                X509_verify_cert_error_string(verdict)));
      }
      if (auto ready = wait_until_possible(done, deadline); !ready) return ready;
    }
  }

  Result<void> write(std::string_view bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      std::size_t sent = 0;
      ERR_clear_error();
      const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
      if (done == 1) {
        bytes.remove_prefix(sent);
      } else if (auto ready = wait_until_possible(done, deadline); !ready) {
        return ready;
      }
    }
    return {};
  }

  Result<std::size_t> read(std::span<char> into, Deadline deadline) override {
    for (;;) {  // Ends at the deadline.
      std::size_t got = 0;
      ERR_clear_error();
      const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
      if (done == 1) return got;
      if (auto ready = wait_until_possible(done, deadline); !ready) return std::unexpected(ready.error());
    }
  }

  /// Records that carry no bytes of ours may lie in the socket, so only its end is a sign.
  bool is_stale() override {
    char byte = 0;
    return SSL_has_pending(ssl_.get()) != 0 || ::recv(socket_.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

 private:
  [[nodiscard]] Result<void> wait_until_possible(int done, Deadline deadline) {
    switch (SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ: return wait_for(socket_.fd(), POLLIN, clock_, deadline);
      case SSL_ERROR_WANT_WRITE: return wait_for(socket_.fd(), POLLOUT, clock_, deadline);
      case SSL_ERROR_ZERO_RETURN: return fail(Failure::unavailable, "the server closed the connection");
      default: return fail(Failure::unavailable, tls_reason());
    }
  }

  Socket socket_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  const Clock& clock_;
};

bool is_numeric(const std::string& host) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

Result<std::unique_ptr<RedisStream>> encrypt(Socket socket, const RedisAddress& address, const LoadedTls& tls,
                                             const Clock& clock, Deadline deadline) {
  std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(tls.context()));
  if (!ssl || SSL_set_fd(ssl.get(), socket.fd()) != 1) return fail(Failure::unavailable, tls_reason());
  SSL_set_mode(ssl.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (is_numeric(address.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), address.host.c_str());
  } else {
    SSL_set1_host(ssl.get(), address.host.c_str());
    SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(address.host.c_str()));
  }
  auto made = std::make_unique<TlsStream>(std::move(socket), std::move(ssl), clock);
  if (auto greeted = made->greet(deadline); !greeted) return std::unexpected(greeted.error());
  return made;
}

}  // namespace

std::string RedisAddress::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::optional<RedisAddress> RedisAddress::parse(std::string_view text) {
  RedisAddress made;
  std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    made.host = text.substr(1, close - 1);
    if (close + 1 < text.size() && text[close + 1] != ':') return std::nullopt;
    colon = close + 1 < text.size() ? close + 1 : std::string_view::npos;
  } else {
    made.host = text.substr(0, colon);
  }
  if (made.host.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return made;
  const std::string_view digits = text.substr(colon + 1);
  const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), made.port);
  if (problem != std::errc{} || stop != digits.data() + digits.size() || made.port == 0) return std::nullopt;
  return made;
}

Result<std::unique_ptr<RedisTls>> RedisTls::load(const std::string& ca_file) {
  std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail(Failure::unfit, tls_reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const int loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                     : SSL_CTX_load_verify_file(context.get(), ca_file.c_str());
  if (loaded != 1) {
    return fail(Failure::unfit, fmt::format("`redis.ca_file`={}: {}", ca_file, tls_reason()));
  }
  return std::make_unique<LoadedTls>(std::move(context));
}

Result<std::unique_ptr<RedisStream>> RedisStream::connect(const RedisAddress& address, const RedisTls* tls,
                                                          const Clock& clock, Deadline deadline) {
  auto socket = connect_to(address, clock, deadline);
  if (!socket) return std::unexpected(socket.error());
  if (tls == nullptr) return std::make_unique<PlainStream>(std::move(*socket), clock);
  return encrypt(std::move(*socket), address, static_cast<const LoadedTls&>(*tls), clock, deadline);
}

}  // namespace weir
