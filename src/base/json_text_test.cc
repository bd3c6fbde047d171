#include "base/json_text.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string json(std::string_view text) {
  std::string out = ">";
  append_json_string(out, text);
  return out.substr(1);
}

TEST(JsonText, PlainTextIsOnlyQuoted) {
  EXPECT_EQ(json(""), R"("")");
  EXPECT_EQ(json("spring drop / 1"), R"("spring drop / 1")");
}

TEST(JsonText, QuotesAndControlCharactersAreEscaped) {
  EXPECT_EQ(json(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(json(std::string_view("\n\t\0\x1f\x7f", 5)), R"("\u000a\u0009\u0000\u001f\u007f")");
}

TEST(JsonText, WellFormedUtf8StaysAsItIs) {
  for (const std::string_view text : {"\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x9f\x8e\xab",
                                      "\xf4\x8f\xbf\xbf", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}) {
    EXPECT_EQ(json(text), '"' + std::string(text) + '"');
  }
}

TEST(JsonText, BrokenUtf8BecomesTheReplacementCharacter) {
  const std::string one = "\xef\xbf\xbd";
  EXPECT_EQ(json("\x80"), '"' + one + '"') << "a continuation alone";
  EXPECT_EQ(json("\xff"), '"' + one + '"') << "no lead byte";
  EXPECT_EQ(json("\xc0\xaf"), '"' + one + one + '"') << "an overlong slash";
  EXPECT_EQ(json("\xe0\x80\x80"), '"' + one + one + one + '"') << "an overlong zero";
  EXPECT_EQ(json("\xf0\x8f\xbf\xbf"), '"' + one + one + one + one + '"') << "overlong in four bytes";
  EXPECT_EQ(json("\xed\xa0\x80"), '"' + one + one + one + '"') << "half a surrogate pair";
  EXPECT_EQ(json("\xf4\x90\x80\x80"), '"' + one + one + one + one + '"') << "past the last code point";
  EXPECT_EQ(json("a\xe2\x82"), "\"a" + one + one + '"') << "cut short";
  EXPECT_EQ(json("\xe2\x82x"), '"' + one + one + "x\"") << "the good byte after it survives";
}

}  // namespace
}  // namespace weir
