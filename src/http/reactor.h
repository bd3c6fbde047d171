#pragma once

#include "base/random.h"
#include "base/time.h"
#include "http/answer_writer.h"
#include "http/byte_buffer.h"
#include "http/connection.h"
#include "http/exchange.h"
#include "http/inbox.h"
#include "http/listener.h"
#include "http/refusal.h"
#include "http/request_parser.h"
#include "http/room.h"
#include "http/server.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

struct epoll_event;

namespace weir::http {

/// A count that one thread writes and any may read.
class Count {
 public:
  void add() { value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct ReactorCounts {
  Count accepted;
  Count turned_away;  // At a cap, or without a descriptor.
  Count requests;
  Count malformed;
  Count timed_out;
  Count answer_late;
  Count reads;  // System calls.
  Count writes;
};

/// What a reactor is made with. References outlive it; `random` is its own.
struct ReactorParts {
  std::uint16_t index = 0;
  const ServerOptions& options;
  const Clock& clock;
  Random& random;
  Room& room;
};

/// One event loop with the connections it accepted, run one turn at a time.
///
/// All complete requests of one read are answered by one write. Between read and write nothing is allocated unless a
/// request is cut in two, deferred, or its peer does not take the answer. A connection whose answer is deferred or
/// unsent is not read: what its peer sends meanwhile waits in the kernel, and so does the peer.
///
/// Invariants: an open connection waits for exactly one thing between turns, so every one has a deadline; answers
/// leave in the order of their requests; after a refusal or a close nothing more of a connection is parsed.
/// Threads: `wake`, `post`, `stop` and `counts` from any, everything else from one. Blocking: `turn`, in epoll_wait.
class Reactor final : public ReactorPort {
 public:
  Reactor(const ReactorParts& parts, Listener listener);
  ~Reactor() override;
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  /// Once, before the first turn.
  void attach(std::unique_ptr<Handler> handler);

  /// Waits up to `wait_max` for something to do and does it. False once it has stopped: there is nothing left to do.
  [[nodiscard]] bool turn(Micros wait_max);

  /// Makes the loop wind down: no new connections, idle ones close, the rest until `deadline`. Repeatable.
  void stop(Deadline deadline);
  void post(ReplyTo to, Response&& response);
  void wake() override;
  [[nodiscard]] const ReactorCounts& counts() const { return counts_; }

  [[nodiscard]] std::uint16_t index() const override { return index_; }
  void complete(ReplyTo to, const FixedReply& reply) override;
  void complete(ReplyTo to, const Response& response) override;

  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }

 private:
  /// The request that a handler is looking at.
  class Current final : public Exchange {
   public:
    explicit Current(Reactor& reactor) : reactor_(reactor) {}
    void begin(Connection& connection, const AnswerShape& shape, bool is_own_id);
    void end() const;
    void send(const FixedReply& reply) override;
    void send(const Response& response) override;
    [[nodiscard]] ReplyTo defer() override;
    [[nodiscard]] std::string_view request_id() const override { return shape_.request_id; }

   private:
    void settle_once();

    Reactor& reactor_;
    Connection* connection_ = nullptr;
    AnswerShape shape_;
    bool is_own_id_ = false;
    bool is_settled_ = true;
  };

  /// A deferred answer that is written into `completed_` and waits for its turn to be sent.
  struct Completion {
    std::uint32_t slot;
    std::uint32_t generation;
    std::size_t at;
    std::size_t size;
  };

  // The turn: reactor.cc.
  [[nodiscard]] int wait_for_events(Micros wait_max, std::span<epoll_event> events);
  [[nodiscard]] Micros time_to_next_due() const;
  void take_time();
  void take_posted();
  void on_event(Connection& connection, std::uint32_t flags);
  void run_queued();
  void expire();
  void expire_one(Connection& connection);
  void accept_some();
  [[nodiscard]] bool accept_one();
  void admit(Listener::Accepted accepted);
  void turn_away(const Descriptor& socket);
  [[nodiscard]] bool make_room();
  void watch_listener();
  void pause_accepting();
  void wind_down();
  [[nodiscard]] bool is_stopping() const { return stop_at_us_.load(std::memory_order_acquire) != kNever; }

  // One connection: reactor_serve.cc.
  void serve(Connection& connection);
  void use_held(Connection& connection);
  void resume(Connection& connection);
  [[nodiscard]] std::size_t read(Connection& connection, std::span<char> into);
  [[nodiscard]] std::size_t answer_all(Connection& connection, RequestParser& parser, std::span<char> bytes);
  [[nodiscard]] std::size_t gather(Connection& connection, RequestParser& parser, std::span<char> bytes);
  void run(Connection& connection, const RequestParser& parser, std::string_view bytes);
  void refuse(Connection& connection, Refusal why);
  void append_response(ByteBuffer& out, const Response& response, const AnswerShape& shape) const;
  [[nodiscard]] std::string_view next_request_id();
  template <typename Answer>
  void complete_with(ReplyTo to, const Answer& answer);
  void flush_completions();

  // What leaves and what stays: reactor_send.cc.
  void send_output(Connection& connection);
  void flush_unsent(Connection& connection);
  void keep_unsent(Connection& connection, std::string_view bytes);
  void hold(Connection& connection, const RequestParser& parser, std::string_view bytes);
  void release_held(Connection& connection);
  void release_unsent(Connection& connection);
  void count_held(Connection& connection, std::size_t before, std::size_t after);
  void settle(Connection& connection, bool is_new_request);
  void place(Connection& connection, Wait wait);
  void unplace(Connection& connection);
  void queue(Connection& connection);
  void finish(Connection& connection);
  void drain(Connection& connection);
  void close(Connection& connection);

  [[nodiscard]] WaitList& list(Wait wait) { return lists_[static_cast<std::size_t>(wait)]; }
  [[nodiscard]] Micros span(Wait wait) const { return spans_[static_cast<std::size_t>(wait)]; }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const std::uint16_t index_;
  const Clock& clock_;
  Random& random_;
  Room& room_;
  const std::array<Micros, kWaitCount> spans_;
  Listener listener_;
  Descriptor epoll_;
  Descriptor waker_;
  std::unique_ptr<Handler> handler_;
  Current current_{*this};

  Instant now_;
  Ticks ticks_;
  AnswerWriter writer_;
  std::array<char, 16> request_id_text_{};
  std::uint32_t request_id_prefix_ = 0;
  std::uint32_t request_id_count_ = 0;

  ConnectionTable connections_;
  std::array<WaitList, kWaitCount> lists_;
  std::vector<std::uint32_t> queued_;  // Slots to read again without an event.
  std::vector<std::uint32_t> running_;
  std::unique_ptr<char[]> input_;  // kReadBytesMax, shared by all connections.
  RequestParser parser_;           // Of `input_`.
  ByteBuffer output_;              // The answers of the connection at hand; empty between connections.
  std::vector<Completion> completions_;
  std::vector<Completion> flushing_;
  ByteBuffer completed_;
  ByteBuffer flushing_bytes_;
  std::vector<Inbox::Letter> letters_;
  std::size_t held_bytes_ = 0;  // Of all connections' held input and unsent output.
  bool is_listener_ready_ = false;
  bool is_listening_ = false;
  Ticks accept_again_{kNever};
  ReactorCounts counts_;

  Inbox inbox_;
  std::atomic<std::uint64_t> letters_lost_{0};
  std::atomic<std::int64_t> stop_at_us_{kNever};
  std::atomic<bool> is_woken_{false};
  std::atomic<bool> is_sleeping_{false};
};

}  // namespace weir::http
