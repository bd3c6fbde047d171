#include "base/check.h"
#include "config/limits.h"
#include "http/reactor.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

/// What leaves a connection, what it keeps meanwhile, and how it ends.
namespace weir::http {
namespace {

constexpr std::size_t kHeldBytesMin = 512;
constexpr int kDrainReadsMax = 4;
constexpr int kIdleSteps = 64;  // An idle connection is moved in its list only when that much of its span has passed.

}  // namespace

/// Sends the gathered answers with one write and keeps what the socket does not take.
void Reactor::send_output(Connection& connection) {
  const std::string_view bytes = output_.view();
  if (!bytes.empty() && connection.unsent != nullptr) {
    keep_unsent(connection, bytes);
  } else if (!bytes.empty()) {
    const ssize_t sent = ::send(connection.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    counts_.writes.add();
    const bool is_broken = sent < 0 && errno != EAGAIN && errno != EINTR;
    const auto taken = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
    if (is_broken) {
      close(connection);
    } else if (taken < bytes.size()) {
      keep_unsent(connection, bytes.substr(taken));
    }
  }
  output_.clear();
  if (output_.capacity() > 4 * kFlushBytes) {
    output_.drop();
    (void)output_.room(kFlushBytes);
  }
  if (connection.is_open() && connection.unsent == nullptr) finish(connection);
}

void Reactor::keep_unsent(Connection& connection, std::string_view bytes) {
  if (connection.unsent == nullptr) connection.unsent = std::make_unique<ByteBuffer>();
  const std::size_t before = connection.unsent->capacity();
  connection.unsent->append(bytes);
  count_held(connection, before, connection.unsent->capacity());
}

void Reactor::flush_unsent(Connection& connection) {
  ByteBuffer& unsent = *connection.unsent;
  const ssize_t sent = ::send(connection.fd, unsent.data(), unsent.size(), MSG_NOSIGNAL);
  counts_.writes.add();
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) close(connection);
    return;
  }
  unsent.used(static_cast<std::size_t>(sent));
  const bool is_moving = static_cast<std::size_t>(sent) >= kWriteProgressBytesMin;
  if (!unsent.empty()) {
    if (connection.wait == Wait::write && is_moving) place(connection, Wait::write);
    return;
  }
  release_unsent(connection);
  finish(connection);
  if (!connection.is_open()) return;
  if (connection.held != nullptr && connection.is_free()) return use_held(connection);
  settle(connection, true);
}

void Reactor::hold(Connection& connection, const RequestParser& parser, std::string_view bytes) {
  connection.held = std::make_unique<HeldInput>(HeldInput{parser, {}});
  const std::size_t wanted = std::bit_ceil(std::max(bytes.size() + 1, kHeldBytesMin));
  (void)connection.held->bytes.room(std::min(wanted, kReadBytesMax));
  connection.held->bytes.append(bytes);
  count_held(connection, 0, connection.held->bytes.capacity());
}

void Reactor::release_held(Connection& connection) {
  if (connection.held == nullptr) return;
  held_bytes_ -= connection.held->bytes.capacity();
  connection.held.reset();
}

void Reactor::release_unsent(Connection& connection) {
  if (connection.unsent == nullptr) return;
  held_bytes_ -= connection.unsent->capacity();
  connection.unsent.reset();
}

/// Past the bound, the connection that asks for more is the one that goes.
void Reactor::count_held(Connection& connection, std::size_t before, std::size_t after) {
  held_bytes_ += after - before;
  if (held_bytes_ > kHeldBytesMax) close(connection);
}

/// Decides what the connection waits for now. `is_new_request`: what it holds began in this turn.
void Reactor::settle(Connection& connection, bool is_new_request) {
  if (!connection.is_open() || connection.is_deferred || connection.is_answered) return;
  if (connection.wait == Wait::linger) return;
  if (connection.unsent != nullptr) {
    if (connection.wait != Wait::write) place(connection, Wait::write);
    return;
  }
  if (connection.held != nullptr) {
    if (connection.wait != Wait::request || is_new_request) place(connection, Wait::request);
  } else if (connection.wait != Wait::idle || ticks_ - connection.placed >= span(Wait::idle) / kIdleSteps) {
    place(connection, Wait::idle);
  }
  if (connection.is_readable) queue(connection);
}

void Reactor::place(Connection& connection, Wait wait) {
  unplace(connection);
  connection.wait = wait;
  connection.placed = ticks_;
  list(wait).push(connection);
}

void Reactor::unplace(Connection& connection) {
  if (connection.wait != Wait::none) list(connection.wait).remove(connection);
  connection.wait = Wait::none;
}

void Reactor::queue(Connection& connection) {
  if (connection.is_queued) return;
  connection.is_queued = true;
  queued_.push_back(connection.slot);
}

/// Ends the connection if its last answer is on its way.
///
/// Closing a socket with unread bytes makes the kernel reset the connection, and a reset may destroy the answer before
/// the peer has read it. So if there may be any, only our direction is shut, and the rest is read until the peer ends.
void Reactor::finish(Connection& connection) {
  if (!connection.is_closing || connection.is_deferred || connection.is_answered) return;
  if (connection.wait == Wait::linger) return;
  if (!connection.is_lingering && !connection.is_readable) return close(connection);
  ::shutdown(connection.fd, SHUT_WR);
  place(connection, Wait::linger);
  if (connection.is_readable) queue(connection);
}

void Reactor::drain(Connection& connection) {
  release_held(connection);
  for (int i = 0; i < kDrainReadsMax; ++i) {
    const ssize_t got = ::recv(connection.fd, input_.get(), kReadBytesMax, 0);
    counts_.reads.add();
    if (got < 0 && errno == EAGAIN) {
      connection.is_readable = false;
      return;
    }
    if (got <= 0) return close(connection);
    connection.lingered_bytes += static_cast<std::uint32_t>(got);
    if (connection.lingered_bytes > kLingerBytesMax) return close(connection);
  }
  queue(connection);
}

void Reactor::close(Connection& connection) {
  CHECK(connection.is_open());
  unplace(connection);
  release_held(connection);
  release_unsent(connection);
  ::close(connection.fd);
  room_.leave();
  room_.leave_from(connection.peer);
  connections_.give_back(connection);
}

}  // namespace weir::http
