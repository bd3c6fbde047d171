#include "crowd/connection.h"

#include "base/check.h"

#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

namespace weir::crowd {

Connection::~Connection() { close_socket(); }

bool Connection::start(const SocketAddress& address) {
  CHECK(state_ == State::closed && count_ == 0, "in_flight={}", count_);
  output_.clear();
  carry_.clear();
  output_at_ = 0;
  flushed_bytes_ = 0;
  socket_ = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return false;
  const int on = 1;
  // Batches are written whole, so waiting for more would only delay them. A refusal costs time, not truth.
  static_cast<void>(::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  const auto* to = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket_, to, address.size) == 0 || errno == EINPROGRESS) {
    state_ = State::connecting;  // Also when it is connected already: one path for both.
    return true;
  }
  close_socket();
  return false;
}

bool Connection::finish_start() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return false;
  state_ = State::open;
  return true;
}

void Connection::push(InFlight request) {
  CHECK(count_ < ring_.size(), "depth={}", ring_.size());
  request.end = flushed_bytes_ + output_.size() - output_at_;
  ring_[(head_ + count_) % ring_.size()] = request;
  ++count_;
}

Connection::Io Connection::flush() {
  while (output_at_ < output_.size()) {
    const ssize_t sent = ::send(socket_, output_.data() + output_at_, output_.size() - output_at_, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? Io::blocked : Io::broken;
    }
    output_at_ += static_cast<std::size_t>(sent);
    flushed_bytes_ += static_cast<std::uint64_t>(sent);
  }
  output_.clear();
  output_at_ = 0;
  return Io::fine;
}

Connection::Io Connection::read_into(std::span<char> scratch, std::string_view& bytes) {
  const std::size_t carried = carry_.size();
  std::memcpy(scratch.data(), carry_.data(), carried);
  const ssize_t got = ::recv(socket_, scratch.data() + carried, scratch.size() - carried, 0);
  if (got == 0) return Io::broken;
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Io::fine : Io::broken;
  bytes = {scratch.data(), carried + static_cast<std::size_t>(got)};
  return Io::fine;
}

InFlight Connection::pop() {
  const InFlight request = ring_[head_];
  head_ = (head_ + 1) % ring_.size();
  --count_;
  return request;
}

void Connection::close_socket() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  state_ = State::closed;
}

}  // namespace weir::crowd
