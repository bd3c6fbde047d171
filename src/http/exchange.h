#pragma once

#include "base/time.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

enum class Method : std::uint8_t { get, head, post, put, delete_, options, other };

/// An IPv6 address, or an IPv4 one in its mapped form (::ffff:a.b.c.d).
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const Address&) const = default;
};

/// One complete request. Views are valid until the handler returns; nothing in it is a copy.
struct Request {
  Method method = Method::other;
  std::string_view path;   // Origin form, as sent, without the query: never decoded, never normalised.
  std::string_view query;  // After the first `?`, without it.
  std::string_view body;
  Address peer;  // The other end of the connection.

  /// The value of a header by lower-case name. Repeated headers: null and `is_repeated(name)`.
  /// The ones that handlers need are found once by the parser; asking is an array access.
  std::string_view authorization, content_type, host, idempotency_key, if_none_match, accept, x_forwarded_for,
      x_sale_pass, signature;  // `signature`: the header named by ServerOptions::signature_header.
  bool repeated_authorization = false;
  bool repeated_idempotency_key = false;
  bool repeated_signature = false;
  bool has_idempotency_key = false;  // Present, perhaps empty.
};

/// A whole answer made at run time. `content_type` empty means no body.
struct Response {
  int status = 200;
  std::string_view content_type = "application/json";  // A literal.
  std::string body;
  std::vector<std::pair<std::string_view, std::string>> headers;  // Beyond the ones the server writes itself.
};

/// A whole answer made beforehand: headers and body in one run of bytes, into which the server copies the date, the
/// request id and, when the connection ends, `Connection: close`. Sending one allocates nothing.
class FixedReply {
 public:
  FixedReply() = default;
  explicit FixedReply(const Response& response);

 private:
  friend class AnswerWriter;
  std::string bytes_;
  std::size_t date_at_ = 0;
  std::size_t request_id_at_ = 0;
  std::size_t connection_at_ = 0;  // Where `Connection: close\r\n` goes in.
  std::size_t body_at_ = 0;
};

/// Where an answer goes that is not given at once. Stale ones (the connection is gone) are dropped by the reactor.
struct ReplyTo {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint16_t reactor = 0;
};

/// The server's side of one request, for the length of one `Handler::handle` call.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void send(const FixedReply& reply) = 0;
  virtual void send(const Response& response) = 0;
  /// The answer comes later, by `ReactorPort::complete` or `Mailbox::post`. Later requests of the connection wait for
  /// it. If none comes within kAnswerDeadlineUs the server answers 503 itself.
  [[nodiscard]] virtual ReplyTo defer() = 0;
  [[nodiscard]] virtual std::string_view request_id() const = 0;
};

/// Answers from other threads. Threads: any. Blocking: a short lock.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual void post(ReplyTo to, Response response) = 0;
};

/// What a handler may ask of its reactor.
class ReactorPort {
 public:
  virtual ~ReactorPort() = default;
  [[nodiscard]] virtual std::uint16_t index() const = 0;
  /// Completes a deferred request. The reactor's own thread only.
  virtual void complete(ReplyTo to, const FixedReply& reply) = 0;
  virtual void complete(ReplyTo to, const Response& response) = 0;
  /// Makes the loop run `Handler::on_loop` soon. Any thread; cheap when the loop is awake already.
  virtual void wake() = 0;
};

/// One reactor's application. One object a reactor; its calls come from the reactor's thread only.
class Handler {
 public:
  virtual ~Handler() = default;
  /// Must call `send` or `defer` exactly once. Must not block.
  virtual void handle(const Request& request, Exchange& exchange) = 0;
  /// Once a turn of the loop, before requests are read: drain answers, take new snapshots.
  virtual void on_loop(Instant now, Ticks ticks) = 0;
};

}  // namespace weir::http
