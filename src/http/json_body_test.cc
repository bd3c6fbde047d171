#include "http/json_body.h"

#include "config/limits.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(JsonBody, AnEmptyBodyIsTheEmptyObject) {
  const auto body = JsonBody::parse("");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->size(), 0U);
  EXPECT_EQ(JsonBody::parse(" {\t\r\n} ").value().size(), 0U);
}

TEST(JsonBody, MembersAreFoundByTheirUnescapedNames) {
  const auto body =
      JsonBody::parse(R"({"quantity":2, "r\u0065ason":"a \"b\"\n\u00e9\ud83d\ude00", "restock":true,"x":null})");
  ASSERT_TRUE(body) << body.error();
  EXPECT_EQ(body->find("quantity")->whole(), 2);
  EXPECT_EQ(body->find("reason")->text(), "a \"b\"\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(body->find("restock")->boolean(), true);
  EXPECT_EQ(body->find("x")->kind, JsonMember::Kind::null);
  EXPECT_EQ(body->find("Quantity"), nullptr);
  EXPECT_EQ(*body->unknown({"quantity", "restock", "x"}), "reason");
  EXPECT_EQ(body->unknown({"quantity", "reason", "restock", "x"}), nullptr);
}

/// `whole` of the value, or -777 where it is none; -888 where the body is refused.
std::int64_t whole_of(std::string value) {
  const std::string text = "{\"n\":" + value + "}";  // The members point into it.
  const auto body = JsonBody::parse(text);
  return body ? body->find("n")->whole().value_or(-777) : -888;
}

TEST(JsonBody, B105_WholeNumbersAreWrittenInDigitsOnly) {
  EXPECT_EQ(whole_of("0"), 0);
  EXPECT_EQ(whole_of("1"), 1);
  EXPECT_EQ(whole_of("-1"), -1);
  EXPECT_EQ(whole_of("9223372036854775807"), 9223372036854775807LL);
  for (const char* none : {"1.0", "1e0", "1E2", "\"1\"", "-0", "9223372036854775808", "1e400", "true", "null", "[1]"}) {
    EXPECT_EQ(whole_of(none), -777) << none;
  }
  for (const char* refused :
       {"01", "+1", ".5", "1.", "1e", "0x10", "1_000", "\xef\xbc\x91", "NaN", "Infinity", "--1", ""}) {
    EXPECT_EQ(whole_of(refused), -888) << refused;
  }
}

TEST(JsonBody, WhatIsNotOneObjectIsRefused) {
  for (const char* text : {
           "[]",
           "1",
           "\"a\"",
           "null",
           " ",
           "{",
           "}",
           "{}{}",
           "{} x",
           "{\"a\"}",
           "{\"a\":}",
           "{\"a\":1,}",
           "{,\"a\":1}",
           "{\"a\":1 \"b\":2}",
           "{a:1}",
           "{'a':1}",
           "{\"a\":1}//",
           "/**/{}",
           "{\"a\":tru}",
           "{\"a\":[1,]}",
           "{\"a\":{\"b\"}}",
           "{\"a\":\"\n\"}",
           "{\"a\":\"\\x\"}",
           "{\"a\":\"\\u12\"}",
           "{\"a\":\"\\ud800\"}",
           "{\"a\":\"\\ude00\"}",
           "{\"a\":\"\\ud800\\u0041\"}",
           "{\"a\":\"",
           "{\"a\":\"\\",
           "\xef\xbb\xbf{}",
           "{\"a\":\"\xff\"}",
           "{\"a\":\"\xc0\xaf\"}",
           "{\"a\":\"\xed\xa0\x80\"}",
           "{\"a\":\"\xf4\x90\x80\x80\"}",
           "{\"a\":\"\xe2\x82\"}",
       }) {
    EXPECT_FALSE(JsonBody::parse(text)) << text;
  }
  EXPECT_FALSE(JsonBody::parse(std::string_view{"{\"a\":1}\0", 8}));
}

TEST(JsonBody, ARepeatedMemberIsRefusedHoweverItIsWritten) {
  EXPECT_FALSE(JsonBody::parse(R"({"quantity":1,"quantity":1})"));
  EXPECT_FALSE(JsonBody::parse(R"({"quantity":1,"qu\u0061ntity":1000})"));
}

TEST(JsonBody, NestingAndMembersAreBounded) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_TRUE(JsonBody::parse(nested(kJsonDepthMax - 1)));
  EXPECT_FALSE(JsonBody::parse(nested(kJsonDepthMax)));
  EXPECT_FALSE(JsonBody::parse("{\"a\":" + std::string(kBodyBytesMax, '[')));
  std::string many = "{";
  for (std::size_t i = 0; i < JsonBody::kJsonMembersMax; ++i) {
    many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  }
  EXPECT_TRUE(JsonBody::parse(many + "}"));
  EXPECT_FALSE(JsonBody::parse(many + ",\"more\":1}"));
}

}  // namespace
}  // namespace weir::http
