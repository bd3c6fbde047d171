#include "http/server.h"

#include "base/random.h"
#include "base/system_clock.h"
#include "config/limits.h"
#include "http/http_testing.h"
#include "http/inbox.h"

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

/// The server with its threads. Waiting is done by the sockets.
namespace weir::http {
namespace {

using testing::Answer;
using testing::RawClient;
using testing::take_answers;
using testing::text_response;

std::string get(std::string_view path) { return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

/// Waits for `count` whole answers or the end.
std::vector<Answer> answers(RawClient& client, std::size_t count) {
  std::vector<Answer> got;
  for (int i = 0; i < 5000 && got.size() < count && !client.has_ended; ++i) {
    client.wait(Micros{2000});
    client.receive();
    for (Answer& answer : take_answers(client.received)) got.push_back(std::move(answer));
  }
  return got;
}

struct Deferred {
  std::mutex mutex;
  std::vector<ReplyTo> waiting;

  void add(ReplyTo to) {
    const std::scoped_lock lock(mutex);
    waiting.push_back(to);
  }
  std::vector<ReplyTo> take() {
    const std::scoped_lock lock(mutex);
    return std::exchange(waiting, {});
  }
};

Server::HandlerFactory factory(testing::TestHandler::OnRequest on_request) {
  return [on_request = std::move(on_request)](ReactorPort&) {
    auto handler = std::make_unique<testing::TestHandler>();
    handler->on_request = on_request;
    return handler;
  };
}

ServerOptions any_port(std::size_t reactors = 1) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.reactors = reactors;
  options.random = [] { return std::make_unique<SeededRandom>(1); };
  return options;
}

TEST(Server, SeveralReactorsShareOnePort) {
  const SystemClock clock;
  std::atomic<unsigned> reactors_used{0};
  const auto made = Server::make(any_port(2), clock, [&](ReactorPort& reactor) {
    auto handler = std::make_unique<testing::TestHandler>();
    handler->on_request = [&reactors_used, bit = 1U << reactor.index()](const Request&, Exchange& exchange) {
      reactors_used |= bit;
      exchange.send(text_response(200, "here"));
    };
    return handler;
  });
  ASSERT_TRUE(made);
  Server& server = **made;
  server.start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 64; ++i) clients.emplace_back(server.port());
  for (RawClient& client : clients) client.send(get("/"));
  for (RawClient& client : clients) EXPECT_EQ(answers(client, 1).size(), 1U);
  EXPECT_EQ(reactors_used.load(), 3U);
  EXPECT_EQ(server.counts().requests, 64U);
  EXPECT_EQ(server.counts().accepted, 64U);
  EXPECT_EQ(server.counts().open, 64U);
  server.stop(clock.ticks());
  EXPECT_EQ(server.counts().open, 0U);
}

TEST(Server, AnswersFromAnotherThreadComeInOrder) {
  const SystemClock clock;
  Deferred deferred;
  const auto made = Server::make(any_port(2), clock, factory([&](const Request& request, Exchange& exchange) {
                                   if (request.path == "/now") return exchange.send(text_response(200, "now"));
                                   deferred.add(exchange.defer());
                                 }));
  ASSERT_TRUE(made);
  Server& server = **made;
  server.start();
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    while (!is_done.load()) {
      for (const ReplyTo to : deferred.take()) server.mailbox().post(to, text_response(200, "later"));
      std::this_thread::yield();
    }
  });
  std::vector<RawClient> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(server.port());
  for (int round = 0; round < 20; ++round) {
    for (RawClient& client : clients) client.send(get("/later") + get("/now") + get("/later") + get("/now"));
    for (RawClient& client : clients) {
      const auto got = answers(client, 4);
      ASSERT_EQ(got.size(), 4U);
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got[i].body, i % 2 == 0 ? "later" : "now");
    }
  }
  is_done = true;
  other.join();
}

TEST(Server, WakeFromAnyThreadMakesTheLoopTurn) {
  const SystemClock clock;
  ReactorPort* port = nullptr;
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> seen{0};
  const auto made = Server::make(any_port(), clock, [&](ReactorPort& reactor) {
    port = &reactor;
    auto handler = std::make_unique<testing::TestHandler>();
    handler->on_turn = [&] { seen.store(asked.load(std::memory_order_acquire), std::memory_order_release); };
    return handler;
  });
  ASSERT_TRUE(made);
  (*made)->start();
  const Ticks begin = clock.ticks();
  for (std::uint64_t i = 1; i <= 300; ++i) {
    asked.store(i, std::memory_order_release);
    port->wake();
    while (seen.load(std::memory_order_acquire) < i && clock.ticks() - begin < Micros{20'000'000}) {
      std::this_thread::yield();
    }
    ASSERT_EQ(seen.load(), i);
  }
  // A lost wake would cost a whole wait of the loop.
  EXPECT_LT(clock.ticks() - begin, Micros{20'000'000});
}

TEST(Server, StopAnswersWhatIsUnderWayAndIsRepeatable) {
  const SystemClock clock;
  Deferred deferred;
  const auto made = Server::make(any_port(), clock,
                                 factory([&](const Request&, Exchange& exchange) { deferred.add(exchange.defer()); }));
  ASSERT_TRUE(made);
  Server& server = **made;
  server.start();
  RawClient idle(server.port());
  RawClient busy(server.port());
  busy.send(get("/"));
  std::vector<ReplyTo> waiting;
  while (waiting.empty()) {
    waiting = deferred.take();
    std::this_thread::yield();
  }
  std::thread stopper([&] { server.stop(clock.ticks() + Micros{10'000'000}); });
  EXPECT_EQ(answers(idle, 1).size(), 0U);
  EXPECT_TRUE(idle.has_ended);
  server.mailbox().post(waiting[0], text_response(200, "done"));
  const auto got = answers(busy, 1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].body, "done");
  stopper.join();
  server.stop(clock.ticks());
  EXPECT_EQ(server.counts().open, 0U);
}

TEST(Server, AnswersAfterTheStopAreDropped) {
  const SystemClock clock;
  const auto made = Server::make(any_port(), clock, factory({}));
  ASSERT_TRUE(made);
  (*made)->start();
  (*made)->stop(clock.ticks());
  (*made)->mailbox().post({0, 1, 0}, text_response(200, "late"));
  (*made)->mailbox().post({0, 1, 99}, text_response(200, "nowhere"));
}

TEST(Server, AFullMailboxDropsAndTheDeadlineAnswers) {
  Inbox inbox;
  for (std::size_t i = 0; i < kMailboxMax; ++i) ASSERT_TRUE(inbox.put({}, Response{}));
  EXPECT_FALSE(inbox.put({}, Response{}));
  std::vector<Inbox::Letter> letters;
  inbox.take(letters);
  EXPECT_EQ(letters.size(), kMailboxMax);
  EXPECT_TRUE(inbox.put({}, Response{}));
}

TEST(Server, APortThatIsTakenIsRefusedEvenForSeveralReactors) {
  const SystemClock clock;
  const auto first = Server::make(any_port(2), clock, factory({}));
  ASSERT_TRUE(first);
  ServerOptions options = any_port(2);
  options.listen = "127.0.0.1:" + std::to_string((*first)->port());
  const auto second = Server::make(options, clock, factory({}));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().failure, Failure::unfit);
  EXPECT_NE(second.error().message.find("http.listen"), std::string::npos) << second.error().message;
}

TEST(Server, ANonsensicalSettingIsNamed) {
  const SystemClock clock;
  for (const char* listen :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999", "::1:80", "[::1:80", ":80x"}) {
    ServerOptions options = any_port();
    options.listen = listen;
    const auto made = Server::make(options, clock, factory({}));
    ASSERT_FALSE(made) << listen;
    EXPECT_NE(made.error().message.find("http.listen"), std::string::npos) << listen;
  }
  EXPECT_FALSE(Server::make(any_port(0), clock, factory({})));
  EXPECT_FALSE(Server::make(any_port(kReactorsMax + 1), clock, factory({})));
}

}  // namespace
}  // namespace weir::http
