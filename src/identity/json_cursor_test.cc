#include "identity/json_cursor.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(JsonCursorTest, ReadsMembersInOrder) {
  std::string text = " { \"a\" : \"x\\\"\\\\\\/\\b\\f\\n\\r\\t\" ,\"b\":7,\"c\":[\"p\",\"q\"],\"d\":{\"a\":{}} } ";
  JsonCursor cursor{text};
  ASSERT_TRUE(cursor.enter_object());
  EXPECT_EQ(cursor.next_member(), "a");
  EXPECT_EQ(cursor.text(), "x\"\\/\b\f\n\r\t");
  EXPECT_EQ(cursor.next_member(), "b");
  EXPECT_EQ(cursor.text(), std::nullopt) << "another kind: nothing moves";
  EXPECT_EQ(cursor.whole_number(), 7);
  EXPECT_EQ(cursor.next_member(), "c");
  ASSERT_TRUE(cursor.enter_array());
  std::string joined;
  while (cursor.next_element()) joined += *cursor.text();
  EXPECT_EQ(joined, "pq");
  EXPECT_EQ(cursor.next_member(), "d");
  EXPECT_FALSE(cursor.is_complete());
  cursor.skip();
  EXPECT_EQ(cursor.next_member(), std::nullopt);
  EXPECT_TRUE(cursor.is_complete());
}

TEST(JsonCursorTest, WholeNumbersAreDigitsOnly) {
  const auto read = [](std::string text) { return JsonCursor{text}.whole_number(); };
  EXPECT_EQ(read("0"), 0);
  EXPECT_EQ(read("9223372036854775807"), INT64_MAX);
  for (const char* text : {"9223372036854775808", "-1", "-0", "1.0", "1e0", "1E2", "\"1\"", "01", "", "null", "1e400",
                           "99999999999999999999999999999999999999"}) {
    EXPECT_EQ(read(text), std::nullopt) << text;
  }
}

TEST(JsonCursorTest, EscapesBecomeUtf8) {
  const auto read = [](std::string text) { return std::string{JsonCursor{text}.text().value_or("broken")}; };
  EXPECT_EQ(read(R"("\u0041\u00e9\u20ac\ud83c\udf9f\u00FF")"), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\x9f\xc3\xbf");
  for (const char* text : {R"("\ud800")", R"("\ud800\u0041")", R"("\udc00")", R"("\u123")", R"("\u12G4")", R"("\a")",
                           "\"\\", "\"\\u", "\"\x01\"", "\"\xc3\"", "\"\xe0\x80\x80\"", "\"abc"}) {
    EXPECT_EQ(read(text), "broken") << text;
  }
}

TEST(JsonCursorTest, HiddenRepetitionIsSeen) {
  std::string text = R"({"ab":1,"\u0061b":2})";
  JsonCursor cursor{text};
  ASSERT_TRUE(cursor.enter_object());
  cursor.skip();  // Nothing was announced: a reader's mistake must not crash either.
  while (cursor.next_member()) cursor.skip();
  EXPECT_NE(cursor.trouble(), JsonCursor::Trouble::none);

  std::string again = R"({"ab":1,"\u0061b":2})";
  JsonCursor careful{again};
  ASSERT_TRUE(careful.enter_object());
  while (careful.next_member()) careful.skip();
  EXPECT_EQ(careful.trouble(), JsonCursor::Trouble::repeated_member);
  EXPECT_FALSE(careful.is_complete());
}

TEST(JsonCursorTest, SkipChecksWhatItPasses) {
  const auto is_sound = [](std::string text) {
    JsonCursor cursor{text};
    cursor.skip();
    return cursor.is_complete();
  };
  for (const char* text :
       {"[]", "{}", "[1,-2.5e+10,0,true,false,null,\"\",[[]],{\"a\":[]}]", " 7 ", "\"x\"", "-0.0E-0"}) {
    EXPECT_TRUE(is_sound(text)) << text;
  }
  for (const char* text :
       {"",  " ",  "[",  "]",  "[1", "[1,", "[,1]", "[1,]", "{\"a\"}", "{\"a\":1", "tru", "nul",        "True",
        "-", "+1", ".1", "1.", "1e", "01",  "1 2",  "[1}",  "{]",      "nan",      "'a'", "[\"\xff\"]", "\x00"}) {
    EXPECT_FALSE(is_sound(text)) << text;
  }
  EXPECT_TRUE(is_sound(std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']')));
  EXPECT_FALSE(is_sound(std::string(kJsonDepthMax + 1, '[') + std::string(kJsonDepthMax + 1, ']')));
  EXPECT_FALSE(is_sound(std::string(100'000, '[')));
  EXPECT_FALSE(is_sound(std::string(100'000, '{')));
}

}  // namespace
}  // namespace weir
