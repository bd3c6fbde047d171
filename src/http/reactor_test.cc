#include "http/reactor.h"

#include "base/system_clock.h"
#include "config/limits.h"
#include "http/http_testing.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using testing::Answer;
using testing::Door;
using testing::RawClient;
using testing::take_answer;
using testing::take_answers;
using testing::text_response;

std::string get(std::string_view path, std::string_view headers = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n";
}

std::vector<std::string> bodies(const std::vector<Answer>& answers) {
  std::vector<std::string> all;
  for (const Answer& answer : answers) all.push_back(answer.body);
  return all;
}

using Strings = std::vector<std::string>;

/// Defers every request whose path begins with `/slow` and remembers where the answers go.
struct Deferrals {
  explicit Deferrals(Door& door) {
    door.handler().on_request = [this](const Request& request, Exchange& exchange) {
      if (request.path.starts_with("/slow")) {
        waiting.push_back(exchange.defer());
      } else {
        exchange.send(text_response(200, std::string(request.path)));
      }
    };
  }
  std::vector<ReplyTo> waiting;
};

TEST(Reactor, ARequestIsAnsweredWithOneReadAndOneWrite) {
  Door door;
  const FixedReply gone(text_response(410, "gone"));
  door.handler().on_request = [&gone](const Request&, Exchange& exchange) { exchange.send(gone); };
  RawClient client = door.client();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    client.send(get("/a"));
    const auto answers = door.answers(client, 1);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].status, 410);
    EXPECT_EQ(answers[0].body, "gone");
    EXPECT_EQ(answers[0].header("Date"), "Tue, 01 Dec 2026 11:00:00 GMT");
    EXPECT_EQ(answers[0].header("Connection"), std::nullopt);
    EXPECT_EQ(door.counts().reads.get(), i);
    EXPECT_EQ(door.counts().writes.get(), i);
  }
}

TEST(Reactor, AsManyRequestsAsMayBePipelinedAreAnsweredByOneWrite) {
  Door door;
  RawClient client = door.client();
  std::string bytes;
  for (std::size_t i = 0; i < kPipelineDepthMax; ++i) bytes += get("/" + std::to_string(i));
  client.send(bytes);
  const auto answers = door.answers(client, kPipelineDepthMax);
  ASSERT_EQ(answers.size(), kPipelineDepthMax);
  for (std::size_t i = 0; i < kPipelineDepthMax; ++i) EXPECT_EQ(answers[i].body, "/" + std::to_string(i));
  EXPECT_EQ(door.counts().reads.get(), 1U);
  EXPECT_EQ(door.counts().writes.get(), 1U);
}

TEST(Reactor, MoreThanThatAreAnsweredAllTheSame) {
  Door door;
  RawClient client = door.client();
  std::string bytes;
  for (std::size_t i = 0; i < 3 * kPipelineDepthMax; ++i) bytes += get("/" + std::to_string(i));
  client.send(bytes);
  const auto answers = door.answers(client, 3 * kPipelineDepthMax);
  ASSERT_EQ(answers.size(), 3 * kPipelineDepthMax);
  EXPECT_EQ(answers.back().body, "/" + std::to_string(3 * kPipelineDepthMax - 1));
  EXPECT_EQ(door.counts().writes.get(), 3U);
}

TEST(Reactor, ARequestMayComeByteByByte) {
  Door door;
  RawClient client = door.client();
  const std::string bytes =
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
  for (const char c : bytes) {
    EXPECT_TRUE(door.handler().paths.empty());
    client.send({&c, 1});
    door.turn_all();
  }
  EXPECT_EQ(door.answers(client, 1).size(), 1U);
  EXPECT_EQ(door.handler().bodies, Strings{"abc"});
}

TEST(Reactor, ALargeRequestCutAnywhereIsJoined) {
  Door door;
  RawClient client = door.client();
  const std::string body(kBodyBytesMax, 'b');
  const std::string bytes = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
                            "\r\n\r\n" + body + get("/next");
  for (std::size_t at = 0; at < bytes.size(); at += 1'111) {
    client.send(std::string_view(bytes).substr(at, 1'111));
    door.turn_all();
  }
  EXPECT_EQ(bodies(door.answers(client, 2)), (Strings{"/a", "/next"}));
  EXPECT_EQ(door.handler().bodies.at(0), body);
}

TEST(Reactor, B098_AnswersComeInTheOrderOfTheRequests) {
  Door door;
  Deferrals deferrals(door);
  RawClient client = door.client();
  client.send(get("/1") + get("/slow") + get("/2") + get("/slow") + get("/3"));
  EXPECT_EQ(bodies(door.answers(client, 1)), Strings{"/1"});
  door.turn_all();
  client.receive();
  EXPECT_EQ(client.received, "");
  ASSERT_EQ(deferrals.waiting.size(), 1U) << "a request behind a deferred one must wait";

  door.reactor().complete(deferrals.waiting[0], text_response(200, "first"));
  EXPECT_EQ(bodies(door.answers(client, 2)), (Strings{"first", "/2"}));
  ASSERT_EQ(deferrals.waiting.size(), 2U);
  door.reactor().complete(deferrals.waiting[1], FixedReply(text_response(200, "second")));
  EXPECT_EQ(bodies(door.answers(client, 2)), (Strings{"second", "/3"}));
}

TEST(Reactor, AnAnswerThatCameLateLeavesWithThoseBehindItInOneWrite) {
  Door door;
  Deferrals deferrals(door);
  RawClient client = door.client();
  client.send(get("/slow") + get("/1") + get("/2"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 1; }));
  door.reactor().complete(deferrals.waiting[0], text_response(200, "first"));
  EXPECT_EQ(bodies(door.answers(client, 3)), (Strings{"first", "/1", "/2"}));
  EXPECT_EQ(door.counts().writes.get(), 1U);
}

TEST(Reactor, AHandlerMayCompleteInsideItselfAndIsNotEnteredTwice) {
  Door door;
  int depth = 0;
  door.handler().on_request = [&](const Request& request, Exchange& exchange) {
    ASSERT_EQ(++depth, 1);
    const ReplyTo to = exchange.defer();
    door.reactor().complete(to, text_response(200, std::string(request.path)));
    --depth;
  };
  RawClient client = door.client();
  client.send(get("/1") + get("/2") + get("/3"));
  EXPECT_EQ(bodies(door.answers(client, 3)), (Strings{"/1", "/2", "/3"}));
}

TEST(Reactor, WhatComesWhileAnAnswerIsAwaitedIsReadAfterwards) {
  Door door;
  Deferrals deferrals(door);
  RawClient client = door.client();
  client.send(get("/slow"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 1; }));
  client.send(get("/1"));
  door.turn_all();
  client.send(get("/2"));
  door.turn_all();
  EXPECT_EQ(door.handler().paths, Strings{"/slow"});
  EXPECT_EQ(door.counts().reads.get(), 1U);
  door.reactor().complete(deferrals.waiting[0], text_response(200, "slow"));
  EXPECT_EQ(bodies(door.answers(client, 3)), (Strings{"slow", "/1", "/2"}));
}

TEST(Reactor, AStaleAnswerIsDropped) {
  Door door;
  Deferrals deferrals(door);
  RawClient client = door.client();
  client.send(get("/slow") + get("/slow"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 1; }));
  const ReplyTo first = deferrals.waiting[0];
  door.reactor().complete(first, text_response(200, "first"));
  door.reactor().complete(first, text_response(200, "again"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 2; }));
  door.reactor().complete(first, text_response(200, "much later"));
  door.reactor().complete({first.slot + 10'000, 1, 0}, text_response(200, "nowhere"));
  door.reactor().complete({deferrals.waiting[1].slot, deferrals.waiting[1].generation, 7}, text_response(200, "other"));
  door.reactor().complete(deferrals.waiting[1], text_response(200, "second"));
  EXPECT_EQ(bodies(door.answers(client, 2)), (Strings{"first", "second"}));
}

TEST(Reactor, AnAnswerForAConnectionThatIsGoneReachesNobodyElse) {
  Door door;
  Deferrals deferrals(door);
  std::optional<RawClient> gone = door.client();
  gone->send(get("/slow"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 1; }));
  gone.reset();
  door.clock.pass(Micros{kAnswerDeadlineUs});
  ASSERT_TRUE(door.turn_until([&] { return door.open_count() == 0; }));
  RawClient next = door.client();
  next.send(get("/slow"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 2; }));
  EXPECT_EQ(deferrals.waiting[0].slot, deferrals.waiting[1].slot);
  door.reactor().complete(deferrals.waiting[0], text_response(200, "not yours"));
  door.reactor().complete(deferrals.waiting[1], text_response(200, "yours"));
  EXPECT_EQ(bodies(door.answers(next, 1)), Strings{"yours"});
}

TEST(Reactor, HeadAnswersHaveHeadersOnlyAtOnceAndLater) {
  Door door;
  Deferrals deferrals(door);
  RawClient client = door.client();
  client.send("HEAD /now HTTP/1.1\r\nHost: a\r\n\r\nHEAD /slow HTTP/1.1\r\nHost: a\r\n\r\n" + get("/next"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 1; }));
  door.reactor().complete(deferrals.waiting[0], text_response(200, "slowly"));
  ASSERT_TRUE(door.turn_until([&] {
    client.receive();
    return client.received.ends_with("/next");
  }));
  EXPECT_EQ(take_answer(client.received, true)->header("Content-Length"), "4");
  EXPECT_EQ(take_answer(client.received, true)->header("Content-Length"), "6");
  EXPECT_EQ(take_answer(client.received)->body, "/next");
}

TEST(Reactor, KeepAliveFollowsVersionAndConnectionHeader) {
  struct Case {
    std::string bytes;
    std::optional<std::string> connection;
    bool stays;
  };
  const std::vector<Case> cases{
      {get("/a"), std::nullopt, true},
      {get("/a", "Connection: keep-alive\r\n"), std::nullopt, true},
      {get("/a", "Connection: close\r\n"), "close", false},
      {"GET /a HTTP/1.0\r\n\r\n", "close", false},
      {"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive", true},
      {"GET /a HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "close", false},
  };
  for (const Case& one : cases) {
    Door door;
    RawClient client = door.client();
    client.send(one.bytes + get("/behind"));
    const auto answers = door.answers(client, one.stays ? 2 : 1);
    ASSERT_EQ(answers.size(), one.stays ? 2U : 1U) << one.bytes;
    EXPECT_EQ(answers[0].header("Connection"), one.connection) << one.bytes;
    EXPECT_EQ(door.handler().paths.size(), answers.size()) << one.bytes;
    if (one.stays) continue;
    EXPECT_TRUE(door.ends(client)) << one.bytes;
    EXPECT_FALSE(client.was_reset) << one.bytes;
  }
}

TEST(Reactor, ARequestIdOfOursIsUniqueAndOneOfTheClientComesBack) {
  Door door;
  Deferrals deferrals(door);
  RawClient client = door.client();
  client.send(get("/a") + get("/b") + get("/c", "X-Request-Id: mine-1\r\n") + get("/slow", "X-Request-Id: mine-2\r\n") +
              get("/slow"));
  auto answers = door.answers(client, 3);
  ASSERT_EQ(answers.size(), 3U);
  door.reactor().complete(deferrals.waiting.at(0), text_response(200, "x"));
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 2; }));
  door.reactor().complete(deferrals.waiting[1], text_response(200, "x"));
  for (Answer& answer : door.answers(client, 2)) answers.push_back(std::move(answer));
  ASSERT_EQ(answers.size(), 5U);
  const auto id = [&answers](std::size_t i) { return answers[i].header("X-Request-Id").value(); };
  EXPECT_EQ(id(0).size(), 16U);
  EXPECT_EQ(id(0).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(id(0), id(1));
  EXPECT_EQ(id(2), "mine-1");
  EXPECT_EQ(id(3), "mine-2");
  EXPECT_EQ(id(4).substr(0, 8), id(0).substr(0, 8));
  EXPECT_NE(id(4), id(1));
}

TEST(Reactor, ContinueIsSentBeforeABodyThatIsNotThereYet) {
  Door door;
  RawClient client = door.client();
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(door.turn_until([&] {
    client.receive();
    return !client.received.empty();
  }));
  EXPECT_EQ(client.received, "HTTP/1.1 100 Continue\r\n\r\n");
  client.received.clear();
  client.send("abc");
  EXPECT_EQ(bodies(door.answers(client, 1)), Strings{"/a"});
  EXPECT_EQ(door.handler().bodies, Strings{"abc"});
}

TEST(Reactor, ARefusalIsReadByThePeerWhateverItStillSends) {
  Door door;
  RawClient client = door.client();
  client.send("BAD\r\n" + std::string(20'000, 'x'));
  door.turn_all();
  client.send(std::string(20'000, 'y'));
  const auto answers = door.answers(client, 1);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 400);
  EXPECT_EQ(answers[0].header("Connection"), "close");
  EXPECT_EQ(answers[0].body, R"({"error":"INVALID_REQUEST","message":"The request line is malformed."})");
  EXPECT_TRUE(door.ends(client));
  EXPECT_FALSE(client.was_reset);
  EXPECT_EQ(door.counts().malformed.get(), 1U);
  client.end_sending();
  EXPECT_TRUE(door.turn_until([&] { return door.open_count() == 0; }));
}

TEST(Reactor, APeerThatSendsForEverAfterARefusalIsCutOff) {
  Door door;
  RawClient client = door.client();
  client.send("BAD\r\n");
  std::size_t sent = 0;
  const std::string flood(8'192, 'x');
  EXPECT_TRUE(door.turn_until([&] {
    sent += client.send(flood);
    return door.open_count() == 0 && door.counts().malformed.get() == 1;
  }));
  EXPECT_LT(sent, kLingerBytesMax + (4U << 20));
}

TEST(Reactor, APeerThatDoesNotEndAfterARefusalIsCutOffInTime) {
  Door door;
  RawClient client = door.client();
  client.send("BAD\r\n");
  EXPECT_EQ(door.answers(client, 1).size(), 1U);
  door.turn_all();
  EXPECT_EQ(door.open_count(), 1U);
  door.clock.pass(Micros{kLingerDeadlineUs});
  EXPECT_TRUE(door.turn_until([&] { return door.open_count() == 0; }));
}

TEST(Reactor, B096_AHiddenRequestIsNeverRun) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::vector<std::string> headers{
      "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
      "Transfer-Encoding: chunked, gzip\r\n",
      "Transfer-Encoding: gzip\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding : chunked\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "Content-Length: 0\r\nContent-Length: 37\r\n",
      "Content-Length: +0\r\n",
      "Content-Length: 0, 0\r\n",
      "X: a\nContent-Length: 0\r\n",
  };
  for (const std::string& some : headers) {
    for (const std::string& body : {"0\r\n\r\n" + hidden, hidden}) {
      Door door;
      RawClient client = door.client();
      client.send("POST /front HTTP/1.1\r\nHost: a\r\n" + some + "\r\n" + body);
      const auto answers = door.answers(client, 1);
      ASSERT_EQ(answers.size(), 1U) << some;
      EXPECT_TRUE(answers[0].status == 400 || answers[0].status == 501) << some;
      EXPECT_TRUE(door.ends(client)) << some;
      client.send(hidden);
      door.turn_all();
      EXPECT_TRUE(door.handler().paths.empty()) << some;
    }
  }
}

TEST(Reactor, RequestsBeforeAMalformedOneAreAnsweredFirst) {
  Door door;
  RawClient client = door.client();
  client.send(get("/1") + "BAD\r\n\r\n" + get("/2"));
  const auto answers = door.answers(client, 2);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].body, "/1");
  EXPECT_EQ(answers[1].status, 400);
  EXPECT_TRUE(door.ends(client));
  EXPECT_EQ(door.handler().paths, Strings{"/1"});
}

TEST(Reactor, APeerThatHasEndedSendingStillGetsItsAnswer) {
  Door door;
  Deferrals deferrals(door);
  RawClient client = door.client();
  client.send(get("/1") + get("/slow") + get("/2"));
  client.end_sending();
  ASSERT_TRUE(door.turn_until([&] { return deferrals.waiting.size() == 1; }));
  door.reactor().complete(deferrals.waiting[0], text_response(200, "slow"));
  EXPECT_EQ(bodies(door.answers(client, 3)), (Strings{"/1", "slow", "/2"}));
  EXPECT_TRUE(door.turn_until([&] { return door.open_count() == 0; }));
}

TEST(Reactor, AConnectionThatBreaksInTheMiddleIsForgotten) {
  Door door;
  {
    RawClient client = door.client();
    client.send("GET /a HTTP/1.1\r\nHo");
    ASSERT_TRUE(door.turn_until([&] { return door.counts().reads.get() > 0; }));
  }
  EXPECT_TRUE(door.turn_until([&] { return door.open_count() == 0; }));
  EXPECT_TRUE(door.handler().paths.empty());
}

TEST(Reactor, AnAnswerLargerThanTheSocketTakesArrivesWhole) {
  Door door;
  const std::string large(3'000'000, 'l');
  door.handler().on_request = [&large](const Request& request, Exchange& exchange) {
    exchange.send(text_response(200, request.path == "/large" ? large : "small"));
  };
  RawClient client(door.port(), "127.0.0.1", 8'192);
  client.send(get("/large") + get("/small") + get("/large"));
  const auto answers = door.answers(client, 3);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].body, large);
  EXPECT_EQ(answers[1].body, "small");
  EXPECT_EQ(answers[2].body, large);
}

TEST(Reactor, AnAnswerPastTheBoundBecomesAnError) {
  Door door;
  door.handler().on_request = [](const Request&, Exchange& exchange) {
    exchange.send(text_response(200, std::string(kOutputBytesMax, 'l')));
  };
  RawClient client = door.client();
  client.send(get("/"));
  const auto answers = door.answers(client, 1);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 500);
}

TEST(Reactor, TheLoopCallsItsHandlerOnceATurnBeforeItReads) {
  Door door;
  RawClient client = door.client();
  client.send(get("/a"));
  std::vector<std::size_t> seen;
  door.handler().on_turn = [&] { seen.push_back(door.handler().paths.size()); };
  EXPECT_EQ(door.answers(client, 1).size(), 1U);
  EXPECT_EQ(seen.front(), 0U);
  EXPECT_EQ(door.handler().loops, seen.size());
}

TEST(Reactor, AHandlersTurnMayCompleteWhatWasDeferred) {
  Door door;
  Deferrals deferrals(door);
  door.handler().on_turn = [&] {
    for (const ReplyTo to : deferrals.waiting) door.reactor().complete(to, text_response(200, "done"));
    deferrals.waiting.clear();
  };
  std::vector<RawClient> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(door.client());
  for (RawClient& client : clients) client.send(get("/slow") + get("/1"));
  for (RawClient& client : clients) EXPECT_EQ(bodies(door.answers(client, 2)), (Strings{"done", "/1"}));
}

/// The loop is awake and so is not poked; it must look again before it sleeps, or the wake would wait for a whole span.
TEST(Reactor, AWakeJustBeforeTheLoopSleepsIsNotLost) {
  Door door;
  const SystemClock clock;
  int wakes_left = 3;
  door.handler().on_turn = [&] {
    if (wakes_left-- > 0) door.reactor().wake();
  };
  door.turn_all();
  wakes_left = 1;
  (void)door.reactor().turn(Micros{0});
  const Ticks begin = clock.ticks();
  (void)door.reactor().turn(Micros{kLoopWaitUs});
  EXPECT_LT(clock.ticks() - begin, Micros{kLoopWaitUs * 9 / 10});
}

}  // namespace
}  // namespace weir::http
