#include "config/limits.h"
#include "http/http_testing.h"
#include "http/reactor.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

/// Deadlines, caps, and a reactor that is told to stop.
namespace weir::http {
namespace {

using testing::Door;
using testing::RawClient;
using testing::text_response;

std::string get(std::string_view path, std::string_view headers = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n";
}

constexpr std::int64_t kShortUs = 50'000;

ServerOptions short_deadlines() {
  ServerOptions options;
  options.request_deadline_us = kShortUs;
  options.idle_deadline_us = 10 * kShortUs;
  options.write_deadline_us = kShortUs;
  options.answer_deadline_us = kShortUs;
  return options;
}

/// Connects and lets the reactor take it in.
RawClient connected(Door& door, const char* from = "127.0.0.1") {
  const std::uint64_t before = door.counts().accepted.get() + door.counts().turned_away.get();
  RawClient client = door.client(from);
  EXPECT_TRUE(door.turn_until([&] { return door.counts().accepted.get() + door.counts().turned_away.get() > before; }));
  return client;
}

TEST(ReactorDeadline, B100_ASlowRequestGets408AndTheHonestOnesGoOn) {
  Door door(short_deadlines());
  std::vector<RawClient> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(connected(door));
    slow.back().send("GET /slow HT");
  }
  RawClient honest = connected(door);
  ASSERT_TRUE(door.turn_until([&] { return door.counts().reads.get() == 200; }));
  for (int i = 0; i < 4; ++i) {  // One more byte each does not buy more time.
    door.clock.pass(Micros{kShortUs / 4 - 1});
    for (RawClient& client : slow) client.send("x");
    honest.send(get("/honest"));
    EXPECT_EQ(door.answers(honest, 1).size(), 1U);
    EXPECT_EQ(door.counts().timed_out.get(), 0U);
  }
  door.clock.pass(Micros{5});
  door.turn_all();
  EXPECT_EQ(door.counts().timed_out.get(), 200U);
  for (RawClient& client : slow) {
    const auto answers = door.answers(client, 1);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].status, 408);
    EXPECT_EQ(answers[0].body, R"({"error":"TIMEOUT","message":"The whole request did not arrive in time."})");
    EXPECT_TRUE(door.ends(client));
    client.close();
  }
  EXPECT_TRUE(door.turn_until([&] { return door.open_count() == 1; }));
  honest.send(get("/honest"));
  EXPECT_EQ(door.answers(honest, 1).size(), 1U);
}

TEST(ReactorDeadline, ASlowBodyGets408) {
  Door door(short_deadlines());
  RawClient client = connected(door);
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  ASSERT_TRUE(door.turn_until([&] { return door.counts().reads.get() == 1; }));
  door.clock.pass(Micros{kShortUs});
  const auto answers = door.answers(client, 1);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 408);
}

TEST(ReactorDeadline, EachRequestHasItsOwnTime) {
  Door door(short_deadlines());
  RawClient client = connected(door);
  for (int i = 0; i < 5; ++i) {  // Each read ends one request and begins the next.
    client.send(i == 0 ? "GET /a HTTP/1.1\r\n" : "Host: a\r\n\r\nGET /a HTTP/1.1\r\n");
    door.turn_all();
    door.clock.pass(Micros{kShortUs - 1});
    door.turn_all();
  }
  EXPECT_EQ(door.counts().timed_out.get(), 0U);
  EXPECT_EQ(door.answers(client, 4).size(), 4U);
}

TEST(ReactorDeadline, AnIdleConnectionIsClosedSilently) {
  Door door(short_deadlines());
  RawClient fresh = connected(door);
  RawClient used = connected(door);
  door.clock.pass(Micros{5 * kShortUs});
  used.send(get("/a"));
  EXPECT_EQ(door.answers(used, 1).size(), 1U);
  door.clock.pass(Micros{5 * kShortUs});
  EXPECT_TRUE(door.ends(fresh));
  EXPECT_EQ(fresh.received, "");
  EXPECT_EQ(door.open_count(), 1U);
  door.clock.pass(Micros{5 * kShortUs});
  EXPECT_TRUE(door.ends(used));
  EXPECT_EQ(used.received, "");
  EXPECT_EQ(door.counts().timed_out.get(), 2U);
}

TEST(ReactorDeadline, APeerThatDoesNotReadIsClosed) {
  Door door(short_deadlines());
  door.handler().on_request = [](const Request&, Exchange& exchange) {
    exchange.send(text_response(200, std::string(3'000'000, 'l')));
  };
  RawClient client(door.port(), "127.0.0.1", 4'096);
  client.send(get("/") + get("/") + get("/") + get("/"));
  ASSERT_TRUE(door.turn_until([&] { return door.counts().writes.get() > 0; }));
  door.turn_all();
  EXPECT_LT(door.counts().requests.get(), 4U) << "unsent answers must hold back the next requests";
  door.clock.pass(Micros{kShortUs - 1});
  door.turn_all();
  EXPECT_EQ(door.open_count(), 1U);
  door.clock.pass(Micros{1});
  EXPECT_TRUE(door.turn_until([&] { return door.open_count() == 0; }));
}

/// Lets the peer take at most `step` bytes before each part of the write deadline; says whether it keeps its connection
/// for several deadlines.
bool survives_reading(std::size_t step) {
  Door door(short_deadlines());
  door.handler().on_request = [](const Request&, Exchange& exchange) {
    exchange.send(text_response(200, std::string(3'500'000, 'l')));
  };
  RawClient client(door.port(), "127.0.0.1", 4'096);
  client.send(get("/"));
  EXPECT_TRUE(door.turn_until([&] { return door.counts().writes.get() > 0; }));
  for (int i = 0; i < 8; ++i) {
    for (std::size_t taken = 0; taken < step && !client.has_ended;) {
      const std::size_t before = client.received.size();
      client.receive(std::min<std::size_t>(step - taken, 65'536));
      taken += std::max<std::size_t>(client.received.size() - before, 1);
      (void)door.reactor().turn(Micros{1000});
    }
    door.clock.pass(Micros{kShortUs / 2});
    door.turn_all();
  }
  EXPECT_LT(client.received.size(), 3'500'000U) << "nothing was left to wait for";
  return door.open_count() == 1;
}

TEST(ReactorDeadline, APeerThatReadsSlowlyIsKeptAndOneThatSipsIsNot) {
  EXPECT_TRUE(survives_reading(200'000));
  EXPECT_FALSE(survives_reading(1));
}

TEST(ReactorDeadline, AnAnswerThatDoesNotComeIs503AndTheConnectionGoesOn) {
  Door door(short_deadlines());
  std::vector<ReplyTo> waiting;
  door.handler().on_request = [&](const Request& request, Exchange& exchange) {
    if (request.path != "/slow") return exchange.send(text_response(200, "now"));
    waiting.push_back(exchange.defer());
  };
  RawClient client = connected(door);
  client.send(get("/slow", "X-Request-Id: mine\r\n") + get("/1"));
  ASSERT_TRUE(door.turn_until([&] { return waiting.size() == 1; }));
  door.clock.pass(Micros{kShortUs - 1});
  door.turn_all();
  EXPECT_EQ(door.counts().answer_late.get(), 0U);
  door.clock.pass(Micros{1});
  const auto answers = door.answers(client, 2);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].status, 503);
  EXPECT_EQ(answers[0].header("Retry-After"), "1");
  EXPECT_EQ(answers[0].header("X-Request-Id"), "mine");
  EXPECT_TRUE(answers[0].body.starts_with(R"({"error":"UNAVAILABLE")"));
  EXPECT_EQ(answers[1].body, "now");
  EXPECT_EQ(door.counts().answer_late.get(), 1U);
  door.reactor().complete(waiting[0], text_response(200, "too late"));
  client.send(get("/2"));
  EXPECT_EQ(door.answers(client, 1).at(0).body, "now");
}

TEST(ReactorCap, TheOldestIdleConnectionMakesRoom) {
  ServerOptions options;
  options.connections_max = 3;
  Door door(options);
  RawClient first = connected(door);
  RawClient second = connected(door);
  RawClient third = connected(door);
  door.clock.pass(Micros{5'000'000});
  first.send(get("/a"));  // Now the second is the oldest.
  EXPECT_EQ(door.answers(first, 1).size(), 1U);
  RawClient fourth = connected(door);
  EXPECT_EQ(door.open_count(), 3U);
  EXPECT_TRUE(door.ends(second));
  for (RawClient* client : {&first, &third, &fourth}) {
    client->send(get("/b"));
    EXPECT_EQ(door.answers(*client, 1).size(), 1U);
  }
}

TEST(ReactorCap, WithNobodyIdleTheNewOneIsRefused) {
  ServerOptions options;
  options.connections_max = 2;
  Door door(options);
  RawClient first = connected(door);
  RawClient second = connected(door);
  first.send("GET /a");
  second.send("GET /a");
  ASSERT_TRUE(door.turn_until([&] { return door.counts().reads.get() == 2; }));
  RawClient third = connected(door);
  const auto answers = door.answers(third, 1);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 503);
  EXPECT_EQ(answers[0].header("Retry-After"), "1");
  EXPECT_TRUE(door.ends(third));
  EXPECT_EQ(door.open_count(), 2U);
  first.send(" HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(door.answers(first, 1).size(), 1U);
}

TEST(ReactorCap, OneAddressHasItsShareAndATrustedProxyHasNone) {
  ServerOptions options;
  options.connections_per_address_max = 2;
  options.is_trusted_proxy = [](const Address& address) { return address.bytes[15] == 9; };
  Door door(options);
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(connected(door, "127.0.0.1"));
  EXPECT_EQ(door.open_count(), 2U);
  clients.push_back(connected(door, "127.0.0.2"));
  EXPECT_EQ(door.open_count(), 3U);
  for (int i = 0; i < 4; ++i) clients.push_back(connected(door, "127.0.0.9"));
  EXPECT_EQ(door.open_count(), 7U);
  clients[0].close();
  ASSERT_TRUE(door.turn_until([&] { return door.open_count() == 6; }));
  clients.push_back(connected(door, "127.0.0.1"));
  EXPECT_EQ(door.open_count(), 7U);
  EXPECT_EQ(door.counts().turned_away.get(), 1U);
}

TEST(ReactorCap, WithoutDescriptorsTheNewOneIsTurnedAwayAndTheLoopDoesNotSpin) {
  Door door;
  RawClient busy = connected(door);
  busy.send("GET /a");
  ASSERT_TRUE(door.turn_until([&] { return door.counts().reads.get() == 1; }));
  RawClient waiting = door.client();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{3, limit.rlim_max};  // Below every descriptor in use: none can be had.
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool was_turned_away = door.turn_until([&] { return door.counts().turned_away.get() == 1; });
  const std::size_t loops = door.handler().loops;
  (void)door.reactor().turn(Micros{1000});
  (void)door.reactor().turn(Micros{1000});
  EXPECT_EQ(door.counts().turned_away.get(), 1U) << "it must back off";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(was_turned_away);
  EXPECT_EQ(door.handler().loops, loops + 2);
  busy.send(" HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(door.answers(busy, 1).size(), 1U);
  door.clock.pass(Micros{200'000});
  RawClient later = connected(door);
  later.send(get("/b"));
  EXPECT_EQ(door.answers(later, 1).size(), 1U);
}

TEST(ReactorStop, IdleConnectionsCloseAndWhatIsUnderWayIsFinished) {
  Door door;
  std::vector<ReplyTo> waiting;
  door.handler().on_request = [&](const Request&, Exchange& exchange) { waiting.push_back(exchange.defer()); };
  RawClient idle = connected(door);
  RawClient partial = connected(door);
  RawClient deferred = connected(door);
  partial.send("GET /a HTTP/1.1\r\n");
  deferred.send(get("/b") + get("/c"));
  ASSERT_TRUE(door.turn_until([&] { return waiting.size() == 1 && door.counts().reads.get() == 2; }));

  door.reactor().stop(door.clock.ticks() + Micros{1'000'000});
  EXPECT_TRUE(door.turn_all());
  EXPECT_TRUE(door.ends(idle));
  EXPECT_EQ(door.open_count(), 2U);
  door.reactor().complete(waiting[0], text_response(200, "done"));
  auto answers = door.answers(deferred, 1);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].body, "done");
  EXPECT_EQ(answers[0].header("Connection"), "close");
  EXPECT_TRUE(door.ends(deferred));
  EXPECT_EQ(waiting.size(), 1U) << "the request behind it is not begun";

  partial.send("Host: a\r\n\r\n");
  ASSERT_TRUE(door.turn_until([&] { return waiting.size() == 2; }));
  door.reactor().complete(waiting[1], text_response(200, "too"));
  answers = door.answers(partial, 1);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].body, "too");
  EXPECT_FALSE(door.turn_all());
}

TEST(ReactorStop, AtTheDeadlineWhoStillWaitsHears503) {
  Door door;
  bool is_deferred = false;
  door.handler().on_request = [&](const Request&, Exchange& exchange) {
    (void)exchange.defer();
    is_deferred = true;
  };
  RawClient client = connected(door);
  client.send(get("/a"));
  ASSERT_TRUE(door.turn_until([&] { return is_deferred; }));
  door.reactor().stop(door.clock.ticks() + Micros{1000});
  EXPECT_TRUE(door.turn_all());
  door.clock.pass(Micros{1000});
  EXPECT_FALSE(door.turn_all());
  EXPECT_EQ(door.open_count(), 0U);
  client.receive();
  EXPECT_TRUE(client.received.starts_with("HTTP/1.1 503 ")) << client.received;
}

}  // namespace
}  // namespace weir::http
