#include "gate/redis_proxy.h"

#include "base/check.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr int kLookUpMs = 20;  // How soon the end is noticed.

sockaddr_in here(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// What has arrived; empty when the peer is gone.
std::string receive(int fd) {
  std::array<char, 1 << 16> bytes;
  const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
  return got <= 0 ? std::string() : std::string(bytes.data(), static_cast<std::size_t>(got));
}

}  // namespace

LossyProxy::LossyProxy(std::uint16_t server_port)
    : server_port_(server_port), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = here(0);
  socklen_t size = sizeof address;
  CHECK(listener_ >= 0 && ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  CHECK(::listen(listener_, 16) == 0);
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

LossyProxy::~LossyProxy() {
  is_over_ = true;
  thread_.join();
  for (const Pair& pair : pairs_) {
    ::close(pair.client);
    ::close(pair.server);
  }
  ::close(listener_);
}

std::string LossyProxy::address() const { return fmt::format("127.0.0.1:{}", port_); }

void LossyProxy::lose_answer_to(std::string_view text) {
  const std::lock_guard lock(mutex_);
  lose_answer_to_ = text;
}

void LossyProxy::lose_request_with(std::string_view text) {
  const std::lock_guard lock(mutex_);
  lose_request_with_ = text;
}

void LossyProxy::rewrite(std::string_view from, std::string_view to) {
  CHECK(from.size() == to.size());
  const std::lock_guard lock(mutex_);
  rewrite_from_ = from;
  rewrite_to_ = to;
}

void LossyProxy::accept_one() {
  const int client = ::accept(listener_, nullptr, nullptr);
  if (client < 0) return;
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = here(server_port_);
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(client);
    ::close(server);
    return;
  }
  const int on = 1;
  for (const int fd : {client, server}) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  pairs_.push_back({client, server, false});
}

bool LossyProxy::pass_request(Pair& pair) {
  const std::string bytes = receive(pair.client);
  if (bytes.empty()) return false;
  const std::lock_guard lock(mutex_);
  if (!lose_request_with_.empty() && bytes.find(lose_request_with_) != std::string::npos) {
    lose_request_with_.clear();
    ++losses_;
    return false;
  }
  if (!lose_answer_to_.empty() && bytes.find(lose_answer_to_) != std::string::npos) {
    lose_answer_to_.clear();
    pair.is_doomed = true;
  }
  return send_all(pair.server, bytes);
}

bool LossyProxy::pass_answer(Pair& pair) {
  std::string bytes = receive(pair.server);
  if (bytes.empty()) return false;
  if (pair.is_doomed) {
    ++losses_;
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (!rewrite_from_.empty()) {
    for (std::size_t at = bytes.find(rewrite_from_); at != std::string::npos; at = bytes.find(rewrite_from_, at + 1))
      bytes.replace(at, rewrite_to_.size(), rewrite_to_);
  }
  return send_all(pair.client, bytes);
}

void LossyProxy::run() {
  while (!is_over_) {
    std::vector<pollfd> watched{{listener_, POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      watched.push_back({pair.client, POLLIN, 0});
      watched.push_back({pair.server, POLLIN, 0});
    }
    if (::poll(watched.data(), watched.size(), kLookUpMs) <= 0) continue;
    std::vector<Pair> kept;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      Pair pair = pairs_[i];
      bool lives = true;
      if (watched[2 * i + 1].revents != 0) lives = pass_request(pair);
      if (lives && watched[2 * i + 2].revents != 0) lives = pass_answer(pair);
      if (lives) {
        kept.push_back(pair);
        continue;
      }
      ::close(pair.client);
      ::close(pair.server);
    }
    pairs_ = std::move(kept);
    if (watched[0].revents != 0) accept_one();
  }
}

}  // namespace weir
