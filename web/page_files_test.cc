#include "web/page_files.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string_view file(std::string_view path) {
  for (const PageFile& page_file : page_files()) {
    if (page_file.path == path) return page_file.bytes;
  }
  return {};
}

/// Whether every visitor loads it: the page names it. The others come when they are needed.
bool is_of_first_view(const PageFile& page_file) {
  const std::string name = "\"" + std::string{page_file.path} + "\"";
  return page_file.path == "/" || page_files().front().bytes.find(name) != std::string_view::npos;
}

bool is_script(const PageFile& page_file) { return page_file.path.ends_with(".js"); }

TEST(PageFiles, ThePageItselfComesFirst) {
  ASSERT_FALSE(page_files().empty());
  EXPECT_EQ(page_files().front().path, "/");
  EXPECT_EQ(page_files().front().content_type, "text/html; charset=utf-8");
  EXPECT_TRUE(page_files().front().bytes.starts_with("<!doctype html>"));
  EXPECT_TRUE(page_files().front().bytes.ends_with("</html>\n"));
}

TEST(PageFiles, EveryFileHasItsOwnPathATypeAndBytes) {
  std::set<std::string_view> paths;
  for (const PageFile& page_file : page_files()) {
    EXPECT_TRUE(paths.insert(page_file.path).second) << page_file.path;
    EXPECT_TRUE(page_file.path.starts_with("/"));
    EXPECT_FALSE(page_file.content_type.empty()) << page_file.path;
    EXPECT_FALSE(page_file.bytes.empty()) << page_file.path;
  }
  for (const std::string_view path : {"/page.css", "/page.js", "/favicon.svg"})
    EXPECT_TRUE(paths.contains(path)) << path;
}

TEST(PageFiles, EveryImportedScriptIsServed) {
  for (const PageFile& script : page_files()) {
    if (!is_script(script)) continue;
    for (const std::string_view import : {" from './", "import('./"}) {
      for (std::size_t at = script.bytes.find(import); at != std::string_view::npos;
           at = script.bytes.find(import, at + 1)) {
        const std::size_t begin = at + import.size();
        const std::string path = "/" + std::string{script.bytes.substr(begin, script.bytes.find('\'', begin) - begin)};
        EXPECT_FALSE(file(path).empty()) << path << " is imported by " << script.path;
      }
    }
  }
}

TEST(PageFiles, NothingIsInlineSoThatTheContentPolicyCanForbidIt) {
  const std::string html{page_files().front().bytes};
  EXPECT_THAT(html, Not(HasSubstr("<style")));
  EXPECT_THAT(html, Not(HasSubstr(" style=")));
  EXPECT_THAT(html, Not(HasSubstr(" onclick=")));
  EXPECT_THAT(html, Not(HasSubstr(" onload=")));
  EXPECT_THAT(html, Not(HasSubstr("javascript:")));
  for (std::size_t at = html.find("<script"); at != std::string::npos; at = html.find("<script", at + 1)) {
    const std::string tag = html.substr(at, html.find("</script>", at) - at);
    EXPECT_THAT(tag, HasSubstr(" src=\"/"));
    EXPECT_TRUE(tag.ends_with('>')) << "a script with a body: " << tag;
  }
}

TEST(PageFiles, TextsOfAShopNeverBecomeMarkup) {
  for (const PageFile& script : page_files()) {
    if (!is_script(script)) continue;
    const std::string source{script.bytes};
    for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                             "setAttribute('style'"}) {
      EXPECT_THAT(source, Not(HasSubstr(word))) << script.path;
    }
  }
}

TEST(PageFiles, NothingIsFetchedFromAnotherHost) {
  for (const PageFile& page_file : page_files()) {
    std::string source{page_file.bytes};
    const std::string name_space = "http://www.w3.org/2000/svg";
    const std::size_t at = source.find(name_space);
    if (at != std::string::npos) source.erase(at, name_space.size());
    EXPECT_THAT(source, Not(HasSubstr("http://"))) << page_file.path;
    EXPECT_THAT(source, Not(HasSubstr("https://"))) << page_file.path;
  }
}

TEST(PageFiles, TheFirstViewStaysSmall) {
  std::size_t files = 0;
  std::size_t script_bytes = 0;
  for (const PageFile& page_file : page_files()) {
    if (!is_of_first_view(page_file)) continue;
    ++files;
    if (is_script(page_file)) script_bytes += page_file.bytes.size();
  }
  EXPECT_LE(files, 8U + 1) << "requests of the first view, and the icon";
  EXPECT_LE(file("/").size(), 14U * 1024);
  EXPECT_LE(file("/page.css").size(), 20U * 1024) << "about a fourth of it over the wire";
  EXPECT_LE(script_bytes, 80U * 1024) << "about a third of it over the wire";
}

TEST(PageFiles, ThePickerComesOnlyWithNumberedStockAndIsSmallToo) {
  std::set<std::string_view> paths;
  std::size_t bytes = 0;
  for (const PageFile& page_file : page_files()) {
    if (is_of_first_view(page_file)) continue;
    paths.insert(page_file.path);
    bytes += page_file.bytes.size();
  }
  EXPECT_EQ(paths, (std::set<std::string_view>{"/numbers.js", "/picker.js"}));
  EXPECT_LE(bytes, 32U * 1024) << "about a third of it over the wire";
}

}  // namespace
}  // namespace weir
