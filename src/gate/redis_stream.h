#pragma once

#include "base/result.h"
#include "base/time.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

struct RedisAddress {
  std::string host;
  std::uint16_t port = 6379;
  auto operator<=>(const RedisAddress&) const = default;

  [[nodiscard]] std::string text() const;
  /// `host:port`, `host`, or `[v6]:port`.
  [[nodiscard]] static std::optional<RedisAddress> parse(std::string_view text);
};

/// Transport security: how to know the server. Loaded once, used by every stream.
///
/// Threads: one owner thread.
class RedisTls {
 public:
  /// Trusts what the file of certificates (PEM) trusts; empty: what the machine trusts. The certificate must name the
  /// host that was asked for. Failures: `unfit`, naming the file.
  [[nodiscard]] static Result<std::unique_ptr<RedisTls>> load(const std::string& ca_file);

  virtual ~RedisTls() = default;
};

/// Bytes to and from one server, plain or encrypted. Every wait ends at a deadline.
///
/// Threads: one owner thread. Blocking: until the deadline; but a host *name* is looked up by the system, whose wait is
/// its own, so lists of nodes are better written with addresses.
/// Failures: `unavailable`, or `unfit` when the certificate is not trusted. After one the stream is of no more use.
/// Requires, with TLS: the process ignores SIGPIPE, because OpenSSL writes to the socket by itself.
class RedisStream {
 public:
  virtual ~RedisStream() = default;

  [[nodiscard]] static Result<std::unique_ptr<RedisStream>> connect(const RedisAddress& address, const RedisTls* tls,
                                                                    const Clock& clock, Deadline deadline);

  [[nodiscard]] virtual Result<void> write(std::string_view bytes, Deadline deadline) = 0;
  /// At least one byte.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> into, Deadline deadline) = 0;
  /// Whether the peer has closed it or sent something that nobody asked for. Never waits.
  [[nodiscard]] virtual bool is_stale() = 0;
};

}  // namespace weir
