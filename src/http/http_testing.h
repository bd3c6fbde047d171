#pragma once

#include "base/check.h"
#include "base/random.h"
#include "base/time.h"
#include "http/exchange.h"
#include "http/reactor.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/// What the tests of the server share: a clock that stands still, a raw client, and a reactor that the test turns.
namespace weir::http::testing {

class StillClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {kStartUs + passed_us_.load()}; }
  [[nodiscard]] Ticks ticks() const override { return {1'000'000 + passed_us_.load()}; }
  void pass(Micros span) { passed_us_ += span.count(); }

  static constexpr std::int64_t kStartUs = 1'796'122'800'000'000;  // Tue, 01 Dec 2026 11:00:00 GMT.

 private:
  std::atomic<std::int64_t> passed_us_{0};
};

/// A client that writes any bytes and reads what is there; it never waits.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, const char* from = "127.0.0.1", int receive_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &here.sin_addr);
    CHECK(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&here), sizeof here) == 0, "errno={}", errno);
    sockaddr_in there = here;
    ::inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
    there.sin_port = htons(port);
    CHECK(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&there), sizeof there) == 0, "errno={}", errno);
    ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  }

  /// How many bytes the socket took.
  std::size_t send(std::string_view bytes) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  void end_sending() { ::shutdown(socket_.get(), SHUT_WR); }
  void close() { socket_.close(); }

  /// Waits until there is something to read, or the end.
  void wait(Micros span_max) {
    pollfd one{socket_.get(), POLLIN, 0};
    ::poll(&one, 1, static_cast<int>(span_max.count() / 1000));
  }

  /// Reads at most `bytes_max` into `received`.
  void receive(std::size_t bytes_max = 1 << 20) {
    std::vector<char> bytes(bytes_max);
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) received.append(bytes.data(), static_cast<std::size_t>(got));
    if (got == 0) has_ended = true;
    if (got < 0 && errno != EAGAIN) has_ended = was_reset = true;
  }

  std::string received;
  bool has_ended = false;
  bool was_reset = false;

 private:
  Descriptor socket_;
};

/// One answer cut out of a stream.
struct Answer {
  int status = 0;
  std::string head;
  std::string body;

  /// The value of a header; null if there is none.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const {
    const std::string key = "\r\n" + std::string(name) + ": ";
    const std::size_t at = head.find(key);
    if (at == std::string::npos) return std::nullopt;
    const std::size_t begin = at + key.size();
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

/// Takes the first whole answer off `stream`; null if there is none yet.
inline std::optional<Answer> take_answer(std::string& stream, bool is_head = false) {
  const std::size_t end = stream.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  Answer answer;
  answer.head = stream.substr(0, end + 2);
  answer.status = std::stoi(answer.head.substr(9, 3));
  const auto length = answer.header("Content-Length");
  const std::size_t size = is_head || !length ? 0 : std::stoul(*length);
  if (stream.size() < end + 4 + size) return std::nullopt;
  answer.body = stream.substr(end + 4, size);
  stream.erase(0, end + 4 + size);
  return answer;
}

inline std::vector<Answer> take_answers(std::string& stream) {
  std::vector<Answer> answers;
  while (auto answer = take_answer(stream)) answers.push_back(std::move(*answer));
  return answers;
}

inline Response text_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

/// Says the path back, unless the test says otherwise; remembers what it was asked.
class TestHandler final : public Handler {
 public:
  using OnRequest = std::function<void(const Request&, Exchange&)>;

  void handle(const Request& request, Exchange& exchange) override {
    paths.emplace_back(request.path);
    bodies.emplace_back(request.body);
    if (on_request) return on_request(request, exchange);
    exchange.send(text_response(200, std::string(request.path)));
  }
  void on_loop(Instant, Ticks) override {
    ++loops;
    if (on_turn) on_turn();
  }

  OnRequest on_request;
  std::function<void()> on_turn;
  std::vector<std::string> paths;
  std::vector<std::string> bodies;
  std::size_t loops = 0;
};

/// A reactor on the test's own thread.
class Door {
 public:
  explicit Door(const ServerOptions& options = {})
      : options_(options),
        room_({options_.connections_max, options_.connections_per_address_max}, {1, 2}, options_.is_trusted_proxy) {
    auto listener = Listener::open("127.0.0.1:0", 0, true);
    CHECK(listener.has_value());
    reactor_ = std::make_unique<Reactor>(ReactorParts{0, options_, clock, random_, room_}, std::move(*listener));
    auto made = std::make_unique<TestHandler>();
    handler_ = made.get();
    reactor_->attach(std::move(made));
  }

  [[nodiscard]] RawClient client(const char* from = "127.0.0.1") { return RawClient(port(), from); }
  [[nodiscard]] std::uint16_t port() const { return reactor_->port(); }
  [[nodiscard]] Reactor& reactor() { return *reactor_; }
  [[nodiscard]] TestHandler& handler() { return *handler_; }
  [[nodiscard]] const ReactorCounts& counts() const { return reactor_->counts(); }
  [[nodiscard]] std::size_t open_count() const { return room_.open_count(); }

  /// Turns until nothing has happened for two turns.
  bool turn_all() {
    bool goes_on = true;
    for (int i = 0; i < 3; ++i) goes_on = reactor_->turn(Micros{0});
    return goes_on;
  }
  /// Turns until `is_done()`; false if that takes unreasonably long.
  template <typename IsDone>
  [[nodiscard]] bool turn_until(IsDone is_done) {
    for (int i = 0; i < 2000; ++i) {
      if (is_done()) return true;
      (void)reactor_->turn(Micros{1000});
    }
    return is_done();
  }
  /// Turns until `client` has `count` whole answers; gives those there are.
  std::vector<Answer> answers(RawClient& client, std::size_t count) {
    std::vector<Answer> got;
    (void)turn_until([&] {
      client.receive();
      for (Answer& answer : take_answers(client.received)) got.push_back(std::move(answer));
      return got.size() >= count || client.has_ended;
    });
    return got;
  }
  [[nodiscard]] bool ends(RawClient& client) {
    return turn_until([&] {
      client.receive();
      return client.has_ended;
    });
  }

  StillClock clock;

 private:
  const ServerOptions options_;
  SeededRandom random_{7};
  Room room_;
  std::unique_ptr<Reactor> reactor_;
  TestHandler* handler_ = nullptr;
};

}  // namespace weir::http::testing
