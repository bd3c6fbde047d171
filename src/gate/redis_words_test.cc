#include "gate/redis_words.h"

#include "gate/redis_scripts.h"
#include "gate/redis_slot.h"
#include "gate/redis_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

std::string bytes_of(const RedisCommand& command) {
  std::string out;
  command.write(out, {});
  return out;
}

TEST(RedisWords, F07_AllKeysOfASaleLieInOneSlot) {
  const int slot = redis_slot("{shop:drop}:meta");
  EXPECT_EQ(redis_slot("{shop:drop}:1:held"), slot);
  EXPECT_EQ(redis_slot("{shop:drop}:8000000:inflight"), slot);
  EXPECT_NE(redis_slot("{shop:drop-2}:meta"), slot);
  EXPECT_EQ(redis_slot("foo"), 12182) << "as a real server says";
  EXPECT_EQ(redis_slot("{user1000}.following"), redis_slot("user1000"));
  EXPECT_EQ(redis_slot("foo{{bar}}zap"), redis_slot("{bar"));
}

TEST(RedisWords, ACommandSaysTheLengthOfEveryWord) {
  EXPECT_EQ(bytes_of({"GET", "a b\r\n"}), "*2\r\n$3\r\nGET\r\n$5\r\na b\r\n\r\n");
  RedisCommand command{"X"};
  command.add(std::int64_t{-12}).add(std::string_view("\0", 1)).add("");
  EXPECT_EQ(bytes_of(command), std::string("*4\r\n$1\r\nX\r\n$3\r\n-12\r\n$1\r\n\0\r\n$0\r\n\r\n", 33));
}

TEST(RedisWords, AnswersAreCutFromAStreamAtAnyByte) {
  const std::string stream = "+OK\r\n-MOVED 1 127.0.0.1:7\r\n:42\r\n$-1\r\n*2\r\n$2\r\nab\r\n*1\r\n:7\r\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    RedisReader reader;
    std::vector<RedisReply> replies;
    for (const std::string& part : {stream.substr(0, cut), stream.substr(cut)}) {
      ASSERT_TRUE(reader.feed(part));
      for (auto reply = reader.next(); reply && *reply; reply = reader.next()) replies.push_back(**reply);
    }
    ASSERT_EQ(replies.size(), 5U) << cut;
    EXPECT_EQ(replies[0].text, "OK");
    EXPECT_TRUE(replies[1].is_error("MOVED"));
    EXPECT_FALSE(replies[1].is_error("MOV"));
    EXPECT_EQ(replies[2].number(), 42);
    EXPECT_EQ(replies[3].kind, RedisReply::Kind::nothing);
    EXPECT_EQ(replies[4].at(1).at(0).number(), 7);
    EXPECT_EQ(replies[4].at(9).kind, RedisReply::Kind::nothing);
  }
}

TEST(RedisWords, WhatIsNoProtocolIsAFailure) {
  RedisReader reader;
  ASSERT_TRUE(reader.feed("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_FALSE(reader.next());
}

TEST(RedisWords, AddressesHaveOneReading) {
  EXPECT_EQ(RedisAddress::parse("a.example:7000"), (RedisAddress{"a.example", 7000}));
  EXPECT_EQ(RedisAddress::parse("10.0.0.1"), (RedisAddress{"10.0.0.1", 6379}));
  EXPECT_EQ(RedisAddress::parse("[::1]:7000"), (RedisAddress{"::1", 7000}));
  EXPECT_EQ(RedisAddress::parse("[::1]")->text(), "[::1]:6379");
  for (const char* const bad : {"", ":7000", "a:", "a:0", "a:65536", "a:7x", "[::1", "[::1]7"})
    EXPECT_FALSE(RedisAddress::parse(bad)) << bad;
}

TEST(RedisWords, AHoldIsReadAsItWasWritten) {
  const std::string id(16, '\x07');
  const auto hold = read_hold(id, "3 2 retake 1 00ff00ff00ff00ff -5 a buyer with spaces");
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->claim.item, ItemNo{3});
  EXPECT_EQ(hold->claim.units, 2);
  EXPECT_EQ(hold->kind, HoldKind::retake);
  EXPECT_TRUE(hold->sold);
  EXPECT_EQ(hold->claim.digest.value, 0x00ff00ff00ff00ffU ^ 0x0707070707070707U) << "mixed with the id";
  EXPECT_EQ(hold->claim.promised_pay_by.us, -5);
  EXPECT_EQ(hold->claim.buyer.view(), "a buyer with spaces");
  for (const char* const bad : {"", "3", "3 2 claim 0 00", "x 2 claim 0 00 1 b", "3 2 gift 0 00 1 b"})
    EXPECT_FALSE(read_hold(id, bad)) << bad;
  EXPECT_FALSE(read_hold("short", "3 2 claim 0 00 1 b"));
}

TEST(RedisWords, RecordsOfOneItemDifferInTheirDigests) {
  SharedHold hold;
  hold.claim.order = {1, 2};
  hold.claim.digest = {77};
  RedisCommand first;
  add_hold(first, hold);
  hold.claim.order = {1, 3};
  RedisCommand second;
  add_hold(second, hold);
  EXPECT_NE(bytes_of(first).find(fmt::format("{:016x}", 77 ^ 2)), std::string::npos);
  EXPECT_NE(bytes_of(second).find(fmt::format("{:016x}", 77 ^ 3)), std::string::npos);
  hold.claim.digest = {};
  RedisCommand unknown;
  add_hold(unknown, hold);
  EXPECT_NE(bytes_of(unknown).find("$1\r\n0\r\n"), std::string::npos);
  EXPECT_EQ(read_hold(std::string(16, '\x07'), "3 2 claim 0 0 1 b")->claim.digest, RequestDigest{});
}

TEST(RedisWords, OnlyKnownVerdictsAreVerdicts) {
  RedisReply reply;
  reply.kind = RedisReply::Kind::text;
  reply.text = "all_held";
  EXPECT_TRUE(verdict_of(reply)->may_return);
  reply.text = "recorded";
  EXPECT_TRUE(verdict_of(reply)->recorded);
  EXPECT_EQ(verdict_of(reply)->admission, Admission::repeated);
  reply.text = "over_limit";
  EXPECT_FALSE(verdict_of(reply)) << "it comes with the units";
  reply.text = "";
  EXPECT_FALSE(verdict_of(reply));
}

TEST(RedisWords, AScriptIsKnownByItsSha1) {
  EXPECT_EQ(RedisScript::of({"ret", "urn 1"}).sha, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
      << "as a real server says";
}

}  // namespace
}  // namespace weir
