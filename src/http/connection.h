#pragma once

#include "base/time.h"
#include "http/answer_writer.h"
#include "http/byte_buffer.h"
#include "http/exchange.h"
#include "http/request_parser.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::http {

/// What a connection waits for. Each kind has one list and one constant span, so the oldest is always the first due.
enum class Wait : std::uint8_t {
  none,
  idle,     // The first byte of the next request.
  request,  // The rest of a request.
  answer,   // The handler's answer.
  write,    // A peer that does not read.
  linger,   // The peer's end, after ours.
};
inline constexpr std::size_t kWaitCount = static_cast<std::size_t>(Wait::linger) + 1;

/// Bytes read and not yet used up, and how far the request that they begin has been parsed.
struct HeldInput {
  RequestParser parser;
  ByteBuffer bytes;
};

/// One connection's state. Idle, it is this and nothing else; what a request needs is taken when it needs it.
struct Connection {
  int fd = -1;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // Changes whenever an answer that was deferred is no longer wanted.
  Wait wait = Wait::none;
  Ending ending = Ending::unsaid;  // Of the deferred answer.
  bool is_readable : 1 = false;    // The socket may hold unread bytes or the peer's end.
  bool is_ending : 1 = false;      // The peer has said that it is done.
  bool is_queued : 1 = false;      // It is in the reactor's list of connections to read again.
  bool is_head : 1 = false;        // The deferred request was HEAD.
  bool is_deferred : 1 = false;    // A handler owes an answer.
  bool is_answered : 1 = false;    // The answer is written and waits to be sent.
  bool is_closing : 1 = false;     // No request after the current one.
  bool is_lingering : 1 = false;   // After the last answer, wait until the peer has read it.
  std::uint32_t lingered_bytes = 0;
  Connection* previous = nullptr;
  Connection* next = nullptr;
  Ticks placed{};  // When the current wait began.
  std::unique_ptr<HeldInput> held;
  std::unique_ptr<ByteBuffer> unsent;
  std::unique_ptr<std::string> request_id;  // Of the deferred request, if the client brought one.
  std::uint64_t request_number = 0;         // Otherwise its number.
  Address peer;

  [[nodiscard]] bool is_open() const { return fd >= 0; }
  /// Whether the next request may be looked at.
  [[nodiscard]] bool is_free() const {
    return is_open() && !is_deferred && !is_answered && !is_closing && unsent == nullptr;
  }
};
static_assert(sizeof(Connection) <= 128, "what an idle connection costs");

/// The connections that wait for one thing, oldest first. Requires: times never go back.
class WaitList {
 public:
  void push(Connection& connection);
  void remove(Connection& connection);
  [[nodiscard]] Connection* oldest() const { return first_; }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }

 private:
  Connection* first_ = nullptr;
  Connection* last_ = nullptr;
};

/// Places for connections, in blocks that never move and are reused, never returned.
///
/// Invariant: a place keeps its slot number for ever; its generation tells one guest from the next.
/// Threads: one owner thread.
class ConnectionTable {
 public:
  [[nodiscard]] Connection& take();
  void give_back(Connection& connection);
  /// Null for a slot that never was.
  [[nodiscard]] Connection* at(std::uint32_t slot);
  [[nodiscard]] std::size_t open_count() const { return open_count_; }

  /// Calls `visit(connection)` for every open one. `visit` may close it.
  template <typename Visit>
  void each(Visit visit) {
    for (const auto& block : blocks_) {
      for (std::size_t i = 0; i < kBlockSize; ++i) {
        if (block[i].is_open()) visit(block[i]);
      }
    }
  }

 private:
  static constexpr std::size_t kBlockSize = 256;

  std::vector<std::unique_ptr<Connection[]>> blocks_;
  Connection* free_ = nullptr;
  std::size_t open_count_ = 0;
};

}  // namespace weir::http
