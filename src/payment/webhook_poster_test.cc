#include "payment/webhook_poster.h"

#include "base/check.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Answers every request of every connection with the status that its body names; `silence` is never answered.
class Receiver {
 public:
  Receiver() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(listener_, 64) == 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Receiver() {
    stopping_ = true;
    thread_.join();
    for (const pollfd& one : sockets_) ::close(one.fd);
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}/hook", port_); }
  [[nodiscard]] std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  [[nodiscard]] std::size_t connections() const { return connections_; }

 private:
  void run() {
    sockets_.push_back({listener_, POLLIN, 0});
    buffers_.emplace_back();
    while (!stopping_) {
      if (::poll(sockets_.data(), static_cast<nfds_t>(sockets_.size()), 20) <= 0) continue;
      const std::size_t count = sockets_.size();
      for (std::size_t i = 1; i < count; ++i) {
        if (sockets_[i].revents != 0) read(i);
      }
      if ((sockets_[0].revents & POLLIN) == 0) continue;
      sockets_.push_back({::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
      buffers_.emplace_back();
      ++connections_;
    }
  }
  void read(std::size_t i) {
    char bytes[4096];
    const ssize_t got = ::recv(sockets_[i].fd, bytes, sizeof(bytes), 0);
    if (got <= 0) {
      sockets_[i].events = 0;
      return;
    }
    buffers_[i].append(bytes, static_cast<std::size_t>(got));
    const std::size_t end = buffers_[i].find("\r\n\r\n");
    if (end == std::string::npos || buffers_[i].back() != '.') return;  // Every body ends with a dot.
    const std::string body = buffers_[i].substr(end + 4);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::exchange(buffers_[i], {}));
    }
    if (body == "silence.") return;
    const std::string answer =
        fmt::format("HTTP/1.1 {} X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", body.substr(0, 3));
    CHECK(::send(sockets_[i].fd, answer.data(), answer.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(answer.size()));
  }

  const int listener_;
  std::uint16_t port_ = 0;
  std::vector<pollfd> sockets_;  // The thread's own.
  std::vector<std::string> buffers_;
  std::mutex mutex_;  // Guards the next.
  std::vector<std::string> requests_;
  std::atomic<std::size_t> connections_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

TEST(WebhookPoster, SendsBodyAndSignatureAsTheyAre) {
  Receiver receiver;
  WebhookPoster poster(receiver.url(), "X-Sandbox-Signature");
  const std::vector<WebhookPost> posts{{"200 {}.", "t=1,v1=ab"}};
  EXPECT_THAT(poster.post(posts, Micros{5'000'000}), ElementsAre(true));
  ASSERT_EQ(receiver.requests().size(), 1U);
  const std::string request = receiver.requests()[0];
  EXPECT_THAT(request, testing::StartsWith("POST /hook HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nX-Sandbox-Signature: t=1,v1=ab\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(request, testing::EndsWith("\r\n\r\n200 {}."));
}

TEST(WebhookPoster, OnlyAnAnswerOfTheTwoHundredsIsStored) {
  Receiver receiver;
  WebhookPoster poster(receiver.url(), "X-Sandbox-Signature");
  const std::vector<WebhookPost> posts{{"200.", "s"}, {"503.", "s"}, {"202.", "s"},
                                       {"302.", "s"}, {"400.", "s"}, {"silence.", "s"}};
  EXPECT_THAT(poster.post(posts, Micros{400'000}), ElementsAre(true, false, true, false, false, false));
  for (const std::string& request : receiver.requests())
    EXPECT_THAT(request, Not(HasSubstr("elsewhere"))) << "no redirect";
}

TEST(WebhookPoster, ManyShareAFewConnectionsThatAreKept) {
  Receiver receiver;
  WebhookPoster poster(receiver.url(), "X-Sandbox-Signature");
  const std::vector<WebhookPost> posts(200, WebhookPost{"200.", "s"});
  for (int i = 0; i < 2; ++i) {
    const std::vector<bool> is_stored = poster.post(posts, Micros{10'000'000});
    EXPECT_EQ(std::ranges::count(is_stored, true), 200);
  }
  EXPECT_EQ(receiver.requests().size(), 400U);
  EXPECT_LE(receiver.connections(), 40U);
}

TEST(WebhookPoster, NobodyThereIsAnAnswerToo) {
  WebhookPoster poster("http://127.0.0.1:1/hook", "X-Sandbox-Signature");
  const std::vector<WebhookPost> posts{{"200.", "s"}, {"200.", "s"}};
  EXPECT_THAT(poster.post(posts, Micros{1'000'000}), ElementsAre(false, false));
  EXPECT_THAT(poster.post({}, Micros{1'000'000}), ElementsAre());
}

}  // namespace
}  // namespace weir
