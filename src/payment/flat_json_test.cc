#include "payment/flat_json.h"

#include "config/limits.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string nested(std::size_t depth) {
  std::string text = "{\"a\":";
  for (std::size_t i = 1; i < depth; ++i) text += '[';
  for (std::size_t i = 1; i < depth; ++i) text += ']';
  return text + "}";
}

TEST(FlatJson, FindsTextsAndWholeNumbersByTheirPath) {
  const Parsed<FlatJson> json =
      FlatJson::parse(R"( {"id":"x\u0041\n","amount":{"value":1999,"currency":"EUR"},"list":[1,{"a":2},{"a":3}]} )");
  ASSERT_TRUE(json) << json.error();
  EXPECT_EQ(json->text("id"), "xA\n");
  EXPECT_EQ(json->whole("amount", "value"), 1999);
  EXPECT_EQ(json->text("amount", "currency"), "EUR");
  EXPECT_TRUE(json->has("amount"));
  EXPECT_TRUE(json->has("list"));
  EXPECT_FALSE(json->has("value"));
  EXPECT_EQ(json->text("amount"), std::nullopt);
  EXPECT_EQ(json->whole("id"), std::nullopt);
}

TEST(FlatJson, WholeNumbersAreDigitsOnly) {
  for (const std::string_view wrong : {"1.0", "1e0", "-1", "-0", "\"1\"", "9007199254740992", "18446744073709551615",
                                       "1e400", "true", "null", "[1]", "{}"}) {
    const Parsed<FlatJson> json = FlatJson::parse("{\"n\":" + std::string(wrong) + "}");
    EXPECT_EQ(json ? json->whole("n") : std::nullopt, std::nullopt) << wrong;
  }
  EXPECT_EQ(FlatJson::parse("{\"n\":0}")->whole("n"), 0);
  EXPECT_EQ(FlatJson::parse("{\"n\":9007199254740991}")->whole("n"), 9'007'199'254'740'991);
}

TEST(FlatJson, WhatIsNotExactlyOneObjectIsRefused) {
  for (const std::string_view wrong : {"",
                                       " ",
                                       "null",
                                       "1",
                                       "\"a\"",
                                       "[]",
                                       "[{}]",
                                       "{",
                                       "{}}",
                                       "{}{}",
                                       "{} x",
                                       "{\"a\"}",
                                       "{\"a\":}",
                                       "{\"a\":1,}",
                                       "{a:1}",
                                       "{'a':1}",
                                       "{\"a\":01}",
                                       "{\"a\":+1}",
                                       "{\"a\":NaN}",
                                       "{\"a\":.5}",
                                       "{\"a\":\"\x01\"}",
                                       "{\"a\":\"\xff\"}",
                                       "{\"a\":\"\\ud800\"}",
                                       "{\"a\":1}//",
                                       "/**/{}",
                                       "\xef\xbb\xbf{}"}) {
    EXPECT_FALSE(FlatJson::parse(wrong)) << wrong;
  }
  EXPECT_FALSE(FlatJson::parse(std::string_view("{}\0", 3)));
  EXPECT_TRUE(FlatJson::parse("{}"));
  EXPECT_TRUE(FlatJson::parse("\n{ }\t "));
}

TEST(FlatJson, AMemberIsNamedOnceAtEveryDepth) {
  for (const std::string_view wrong :
       {R"({"a":1,"a":1})", R"({"a":{"b":1,"b":2}})", R"({"a":{},"a":{}})", R"({"a":1,"a":{}})", R"({"a":[],"a":1})",
        R"({"a":[{"b":1,"b":1}]})", R"({"a":1,"\u0061":2})"}) {
    EXPECT_FALSE(FlatJson::parse(wrong)) << wrong;
  }
  EXPECT_TRUE(FlatJson::parse(R"({"a":{"b":1},"b":[{"b":1},{"b":2}]})"));
}

TEST(FlatJson, ANameCannotPretendToBeAPath) {
  EXPECT_EQ(FlatJson::parse(R"({"amount.value":5})")->whole("amount", "value"), std::nullopt);
  EXPECT_FALSE(FlatJson::parse(R"({"amount\u0000value":5})"));
}

TEST(FlatJson, DepthAndSizeHaveBounds) {
  EXPECT_TRUE(FlatJson::parse(nested(kJsonDepthMax)));
  EXPECT_FALSE(FlatJson::parse(nested(kJsonDepthMax + 1)));
  std::string full = "{\"a\":\"" + std::string(kBodyBytesMax - 8, 'x') + "\"}";
  ASSERT_EQ(full.size(), kBodyBytesMax);
  EXPECT_TRUE(FlatJson::parse(full));
  EXPECT_FALSE(FlatJson::parse(full + " "));
}

}  // namespace
}  // namespace weir
