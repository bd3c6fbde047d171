#include "http/answers.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(ContentTag, IsTheSameForTheSameWordsAndForNoOthers) {
  EXPECT_EQ(content_tag("free 3"), content_tag("free 3"));
  EXPECT_NE(content_tag("free 3"), content_tag("free 2"));
  EXPECT_TRUE(content_tag("").starts_with('"'));
}

TEST(IsUnchanged, NamesTheTagAloneInAListOrWeakened) {
  const std::string tag = "\"abc\"";
  for (const char* given : {"\"abc\"", "W/\"abc\"", "\"x\", \"abc\"", "\"x\",W/\"abc\" ,\"y\"", "*", " \"abc\""}) {
    EXPECT_TRUE(is_unchanged(given, tag)) << given;
  }
  for (const char* given : {"", "\"ab\"", "abc", "\"x\", \"y\"", ",,,", "W/", "w/\"abc\"", "\"abc\" \"x\""}) {
    EXPECT_FALSE(is_unchanged(given, tag)) << given;
  }
}

TEST(NotModified, HasTheTagAndNoBody) {
  const Response response = not_modified("1", "\"abc\"");
  EXPECT_EQ(response.status, 304);
  EXPECT_TRUE(response.body.empty());
  EXPECT_EQ(response.headers.back().second, "\"abc\"");
}

}  // namespace
}  // namespace weir::http
