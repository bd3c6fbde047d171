#pragma once

#include "crowd/answer.h"
#include "crowd/target.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crowd {

/// One request on its way. `end` is filled in by the connection.
struct InFlight {
  std::uint32_t buyer = 0;
  std::uint32_t planned_us = 0;
  std::uint32_t sent_us = 0;
  std::uint8_t click = 0;
  std::uint8_t retry = 0;
  bool impatient = false;
  std::uint64_t end = 0;  // Where the request ends in the stream of this connection.
};

/// A keep-alive connection that carries several requests at once, answered in their order.
///
/// Invariant: at most `depth` requests are on their way. Threads: one. Blocking: never.
class Connection {
 public:
  enum class State : std::uint8_t { closed, connecting, open };
  enum class Io : std::uint8_t {
    fine,
    blocked,    // The socket takes no more now; flush again when it can be written.
    broken,     // The peer is gone.
    malformed,  // The peer does not speak our HTTP, or answered what nobody asked.
    closing,    // The peer said that this was its last answer.
  };

  explicit Connection(std::size_t depth) : ring_(depth) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] std::size_t room() const { return state_ == State::open ? ring_.size() - count_ : 0; }
  [[nodiscard]] std::size_t in_flight() const { return count_; }
  [[nodiscard]] const InFlight& oldest() const { return ring_[head_]; }  // Requires in_flight() > 0.

  /// Starts to connect; false: impossible now. Requires state closed.
  [[nodiscard]] bool start(const SocketAddress& address);
  /// Once the socket can be written: true if it is connected now. Requires state connecting.
  [[nodiscard]] bool finish_start();

  /// Append one whole request here, then `push` it. Requires room() > 0.
  [[nodiscard]] std::string& output() { return output_; }
  void push(InFlight request);
  [[nodiscard]] Io flush();

  /// Reads once and calls `on_answer(const InFlight&, const Answer&)` for every complete answer. `scratch` must hold
  /// two of the largest answers.
  template <typename OnAnswer>
  [[nodiscard]] Io receive(std::span<char> scratch, OnAnswer&& on_answer) {
    std::string_view bytes;
    const Io read = read_into(scratch, bytes);
    if (read != Io::fine || bytes.empty()) return read;
    while (!bytes.empty()) {
      Answer answer;
      const Scan scan = scan_answer(bytes, answer);
      if (scan == Scan::partial) break;
      if (scan == Scan::malformed || count_ == 0) return Io::malformed;
      const InFlight request = pop();
      on_answer(request, answer);
      bytes.remove_prefix(answer.bytes);
      if (answer.closes) return Io::closing;
    }
    carry_.assign(bytes);
    return Io::fine;
  }

  /// Closes and calls `on_left(const InFlight&, bool was_sent)` for every request without an answer. What was not sent
  /// to its last byte cannot have happened.
  template <typename OnLeft>
  void close(OnLeft&& on_left) {
    const std::uint64_t sent = flushed_bytes_;
    close_socket();
    while (count_ > 0) {
      const InFlight request = pop();
      on_left(request, request.end <= sent);
    }
  }

 private:
  [[nodiscard]] Io read_into(std::span<char> scratch, std::string_view& bytes);
  [[nodiscard]] InFlight pop();
  void close_socket();

  int socket_ = -1;
  State state_ = State::closed;
  std::string output_;  // Requests not yet handed to the socket, from `output_at_` on.
  std::size_t output_at_ = 0;
  std::uint64_t flushed_bytes_ = 0;  // Taken by the socket since it was opened.
  std::string carry_;                // The beginning of an answer whose end has not come yet.
  std::vector<InFlight> ring_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace weir::crowd
