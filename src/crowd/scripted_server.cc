#include "crowd/scripted_server.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

/// The bytes of the first request in `bytes`, head and body; 0 if it is not whole.
std::size_t whole_request(std::string_view bytes) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const std::size_t at = bytes.find(kLength);
  std::size_t length = 0;
  if (at < head) std::from_chars(bytes.data() + at + kLength.size(), bytes.data() + head, length);
  const std::size_t size = head + 4 + length;
  return bytes.size() < size ? 0 : size;
}

}  // namespace

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  CHECK(::bind(listener_, any, size) == 0);
  CHECK(::listen(listener_, 128) == 0);
  CHECK(::getsockname(listener_, any, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  is_ending_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) ::close(socket);
  ::close(listener_);
}

std::string ScriptedServer::answer(std::string_view status, std::string_view body, std::string_view headers) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}", status, headers,
                     body.size(), body);
}

void ScriptedServer::accept_all() {
  while (!is_ending_) {  // Until the destructor shuts the listener down.
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    {
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);  // Closed at the end only, so that no number is used twice.
    }
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

void ScriptedServer::serve(int socket) {
  std::string bytes;
  std::array<char, 65536> buffer;
  while (!is_ending_) {
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t at = 0;
    while (const std::size_t size = whole_request(std::string_view(bytes).substr(at))) {
      Step step;
      {
        const std::lock_guard lock(mutex_);
        step = script_(requests_++, std::string_view(bytes).substr(at, size));
      }
      at += size;
      if (!play(socket, step)) return;
    }
    bytes.erase(0, at);
  }
}

bool ScriptedServer::play(int socket, const Step& step) {
  if (step.delay_ms > 0) ::poll(nullptr, 0, step.delay_ms);
  const std::size_t piece = step.piece == 0 ? step.bytes.size() : step.piece;
  for (std::size_t at = 0; at < step.bytes.size(); at += piece) {
    const std::size_t size = std::min(piece, step.bytes.size() - at);
    if (::send(socket, step.bytes.data() + at, size, MSG_NOSIGNAL) < 0) return false;
  }
  if (step.closes) ::shutdown(socket, SHUT_RDWR);
  return !step.closes;
}

}  // namespace weir::crowd
