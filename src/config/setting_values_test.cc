#include "config/setting_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;

TEST(SettingValues, AnAddressHasAHostAndAPort) {
  EXPECT_EQ(*parse_host_port("127.0.0.1:8080"), (HostPort{"127.0.0.1", 8080}));
  EXPECT_EQ(*parse_host_port("[::1]:0"), (HostPort{"::1", 0}));
  EXPECT_EQ(*parse_host_port("shop-1.example:443"), (HostPort{"shop-1.example", 443}));
  for (const std::string_view wrong : {"", ":1", "a:", "a:b", "[::1]", "::1:1", "[a]:1", "a b:1", "-a:1", "a..b:1",
                                       "1.2.3:1", "a:00", "a:-1", "[]:1", "[::1:1", "a/b:1", "[::1%lo]:1"}) {
    EXPECT_FALSE(parse_host_port(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_host_port(std::string_view("127.0.0.1\0x:1", 13)));
}

TEST(SettingValues, ANetworkHasNoBitsBehindItsPrefix) {
  EXPECT_EQ(parse_network("10.0.0.0/8")->prefix_bits, 8);
  EXPECT_EQ(parse_network("10.1.2.3")->prefix_bits, 32);
  EXPECT_EQ(parse_network("0.0.0.0/0")->prefix_bits, 0);
  EXPECT_TRUE(parse_network("fd00::/8")->is_v6);
  EXPECT_EQ(parse_network("::1")->prefix_bits, 128);
  for (const std::string_view wrong : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.1/31", "fd00::1/64",
                                       "::/129", "10.0.0", "localhost", "10.0.0.0/8/8", "10.0.0.0 /8"}) {
    EXPECT_FALSE(parse_network(wrong)) << wrong;
  }
}

TEST(SettingValues, LoopbackAndAnyAreKnownInBothFamilies) {
  for (const std::string_view host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const std::string_view host : {"0.0.0.0", "::", "10.0.0.1", "::2", "example"})
    EXPECT_FALSE(is_loopback(host)) << host;
  EXPECT_TRUE(is_any_address("0.0.0.0"));
  EXPECT_TRUE(is_any_address("::"));
  EXPECT_FALSE(is_any_address("127.0.0.1"));
}

TEST(SettingValues, ListsAreCommaSeparatedWithoutSpaces) {
  EXPECT_THAT(*parse_list(""), ElementsAre());
  EXPECT_THAT(*parse_list("a,b"), ElementsAre("a", "b"));
  for (const std::string_view wrong : {",", "a,", ",a", "a,,b", "a, b", "a,a"})
    EXPECT_FALSE(parse_list(wrong)) << wrong;
  std::string many = "x0";
  for (int i = 1; i < 64; ++i) many += ",x" + std::to_string(i);
  EXPECT_EQ(parse_list(many)->size(), 64U);
  EXPECT_FALSE(parse_list(many + ",y"));
}

TEST(SettingValues, SecondsAreWholeHoweverTheyAreWritten) {
  EXPECT_EQ(*parse_seconds("600", {1, 86'400}), 600);
  EXPECT_EQ(*parse_seconds("10m", {1, 86'400}), 600);
  EXPECT_EQ(*parse_seconds("2000ms", {1, 86'400}), 2);
  EXPECT_EQ(*parse_seconds("0", {0, 10}), 0);
  for (const std::string_view wrong : {"", "0", "1ms", "2d", "10 m", "m", "1h30m", "-5s"}) {
    EXPECT_FALSE(parse_seconds(wrong, {1, 86'400})) << wrong;
  }
}

TEST(SettingValues, AnAddressOfTheWebHasNoUserQueryOrFragment) {
  for (const std::string_view right :
       {"https://shop.example", "http://127.0.0.1:8080/a/b", "https://[::1]/", "https://[::1]:1"}) {
    EXPECT_TRUE(parse_url(right)) << right;
  }
  for (const std::string_view wrong : {"", "shop", "https:/x", "https://", "https:///a", "https://a@b", "https://a?b",
                                       "https://a#b", "https://a b", "javascript:1", "https://a:b", "HTTPS://a"}) {
    EXPECT_FALSE(parse_url(wrong)) << wrong;
  }
}

TEST(SettingValues, TheNearestWordIsOfferedOnlyWhenItIsNear) {
  const std::vector<std::string> words{"http.listen", "ops.listen", "data"};
  EXPECT_EQ(nearest_word("http.listn", words), "http.listen");
  EXPECT_EQ(nearest_word("date", words), "data");
  EXPECT_EQ(nearest_word("entirely-else", words), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(1000, 'x'), words), std::nullopt);
}

}  // namespace
}  // namespace weir
