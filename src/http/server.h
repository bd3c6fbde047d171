#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "http/exchange.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weir::http {

struct ServerOptions {
  std::string listen = "127.0.0.1:8080";  // host:port, [v6]:port; port 0 takes a free one.
  std::size_t reactors = 1;
  std::size_t connections_max = 120'000;                 // All reactors together; the oldest idle one makes room.
  std::size_t connections_per_address_max = 0;           // 0: no cap. Trusted proxies are exempt.
  RandomFactory random;                                  // Required: for request ids and hash keys.
  std::function<bool(const Address&)> is_trusted_proxy;  // Always the same answer for an address; called by reactors.
  std::string signature_header;                          // Lower case; see Request::signature.
  std::int64_t request_deadline_us;                      // Defaults in limits.h.
  std::int64_t idle_deadline_us;
  std::int64_t write_deadline_us;
  std::int64_t answer_deadline_us;
  ServerOptions();
};

/// Counts since the start, summed over reactors. A glance: the numbers belong to slightly different moments.
struct ServerCounts {
  std::uint64_t accepted = 0;
  std::uint64_t open = 0;
  std::uint64_t requests = 0;
  std::uint64_t malformed = 0;    // 400, 405, 413, 431 … sent by the server itself.
  std::uint64_t timed_out = 0;    // 408 and silent idle closes.
  std::uint64_t answer_late = 0;  // 503 because nothing came in time.
};

/// The front door: reactors with a listener each (SO_REUSEPORT), readiness-driven, no thread a connection.
///
/// All complete requests of one read are answered by one write. A request that waits for its answer holds back the
/// later ones of its connection, so answers come in order. Everything is bounded (limits.h); a full server answers 503
/// or closes the oldest idle connection, it never waits.
///
/// Threads: `start` and `stop` from the owner; the reactors are its threads.
class Server {
 public:
  using HandlerFactory = std::function<std::unique_ptr<Handler>(ReactorPort& reactor)>;

  static Result<std::unique_ptr<Server>> make(const ServerOptions& options, const Clock& clock, HandlerFactory factory);
  virtual ~Server() = default;

  virtual void start() = 0;
  /// Stops accepting, answers what is under way (up to `deadline`), closes, joins. Repeatable.
  virtual void stop(Deadline deadline) = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[nodiscard]] virtual Mailbox& mailbox() = 0;
  [[nodiscard]] virtual ServerCounts counts() const = 0;
};

}  // namespace weir::http
