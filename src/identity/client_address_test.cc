#include "identity/client_address.h"

#include "config/limits.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

IpAddress ip(std::string_view text) {
  const std::optional<IpAddress> address = parse_ip_address(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress{});
}

TrustedProxies proxies(std::string_view list) {
  Parsed<TrustedProxies> parsed = TrustedProxies::parse(list);
  EXPECT_TRUE(parsed) << parsed.error();
  return parsed.value_or(TrustedProxies{});
}

std::string client(std::string_view peer, std::string_view forwarded_for,
                   std::string_view trusted = "10.0.0.0/8, 192.0.2.7, fd00::/8") {
  return ip_text(client_address(ip(peer), forwarded_for, proxies(trusted)));
}

TEST(IpAddressTest, EachHostHasOneSpelling) {
  EXPECT_EQ(ip("1.2.3.4"), ip("::ffff:1.2.3.4"));
  EXPECT_EQ(ip("::ffff:102:304"), ip("1.2.3.4"));
  EXPECT_EQ(ip_text(ip("::ffff:1.2.3.4")), "1.2.3.4");
  EXPECT_EQ(ip_text(ip("2001:DB8:0:0:0:0:0:1")), "2001:db8::1");
  EXPECT_TRUE(is_ipv4(ip("1.2.3.4")));
  EXPECT_FALSE(is_ipv4(ip("::1")));
}

TEST(IpAddressTest, OtherTextsAreNoAddresses) {
  using namespace std::string_literals;
  for (const std::string& text : {""s, "1.2.3"s, "1.2.3.4.5"s, "1.2.3.256"s, "01.2.3.4"s, "0x1.2.3.4"s, "1.2.3.4 "s,
                                  " 1.2.3.4"s, "1.2.3.4\0"s, "1.2.3.4:80"s, "[::1]"s, "::1%eth0"s, ":::"s, "1::2::3"s,
                                  "12345::"s, "unknown"s, "localhost"s, std::string(500, '1')}) {
    EXPECT_FALSE(parse_ip_address(text)) << text;
  }
}

TEST(IpAddressTest, B114_Ipv6IsLimitedByItsSlash64) {
  EXPECT_EQ(limit_prefix(ip("2001:db8:1:2:aaaa:bbbb:cccc:dddd")), ip("2001:db8:1:2::"));
  EXPECT_EQ(limit_prefix(ip("2001:db8:1:2::1")), limit_prefix(ip("2001:db8:1:2:ffff::")));
  EXPECT_NE(limit_prefix(ip("2001:db8:1:3::1")), limit_prefix(ip("2001:db8:1:2::1")));
  EXPECT_EQ(limit_prefix(ip("1.2.3.4")), ip("1.2.3.4"));
  EXPECT_NE(limit_prefix(ip("1.2.3.4")), limit_prefix(ip("1.2.3.5")));
}

TEST(TrustedProxiesTest, RangesCoverWhatTheySay) {
  const TrustedProxies list = proxies("10.1.0.0/16,192.0.2.7 ,\t2001:db8::/33, ::1,172.16.0.1/12,::ffff:9.0.0.0/104");
  for (const std::string_view in :
       {"10.1.0.0", "10.1.255.255", "192.0.2.7", "2001:db8:7fff::1", "::1", "172.31.9.9", "9.8.7.6"}) {
    EXPECT_TRUE(list.contains(ip(in))) << in;
  }
  for (const std::string_view out : {"10.2.0.0", "192.0.2.6", "2001:db8:8000::1", "::2", "172.32.0.0", "8.0.0.0"}) {
    EXPECT_FALSE(list.contains(ip(out))) << out;
  }
  EXPECT_TRUE(proxies("0.0.0.0/0").contains(ip("8.8.8.8")));
  EXPECT_FALSE(proxies("0.0.0.0/0").contains(ip("::1")));
  EXPECT_TRUE(proxies("::/0").contains(ip("2001:db8::1")));
  EXPECT_FALSE(proxies("::/0").contains(ip("8.8.8.8"))) << "an IPv6 range covers no IPv4";
  EXPECT_FALSE(proxies("").contains(ip("127.0.0.1")));
  EXPECT_FALSE(proxies("  ").contains(ip("::")));
}

TEST(TrustedProxiesTest, MalformedListsAreRefused) {
  for (const std::string_view bad : {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x", "10.0.0.0/8/8", "::/129",
                                     "proxy.example", "10.0.0.1,", ",10.0.0.1", "10.0.0.1,,10.0.0.2", "[::1]",
                                     "10.0.0.1:80", "*", "all", "10.0.0.0 /8", "10.0.0.0/+8"}) {
    const auto parsed = TrustedProxies::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_NE(parsed.error().find("http.trusted_proxies"), std::string::npos);
  }
  std::string many = "10.0.0.1";
  for (std::size_t i = 1; i < kTrustedProxiesMax; ++i) many += ",10.0.0.1";
  EXPECT_TRUE(TrustedProxies::parse(many));
  EXPECT_FALSE(TrustedProxies::parse(many + ",10.0.0.1"));
}

TEST(ClientAddressTest, B114_HeaderOfAStrangerIsIgnored) {
  EXPECT_EQ(client("203.0.113.9", "198.51.100.1"), "203.0.113.9");
  EXPECT_EQ(client("203.0.113.9", "10.0.0.1"), "203.0.113.9");
  EXPECT_EQ(client("10.0.0.1", "198.51.100.1", ""), "10.0.0.1");
  EXPECT_EQ(client("2001:db8::1", "198.51.100.1"), "2001:db8::1");
}

TEST(ClientAddressTest, B114_LeftMostIsNeverBelieved) {
  EXPECT_EQ(client("10.0.0.1", "198.51.100.1"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "1.1.1.1, 198.51.100.1"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "victim, 1.1.1.1, 10.9.9.9, 198.51.100.1"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2, 192.0.2.7"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "10.5.5.5, 198.51.100.1,10.0.0.2"), "198.51.100.1");
}

TEST(ClientAddressTest, OnlyListedProxiesMakeThePeer) {
  EXPECT_EQ(client("10.0.0.1", ""), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", "10.0.0.3, 10.0.0.2"), "10.0.0.3") << "all are listed: the last one that was told";
}

TEST(ClientAddressTest, MalformedElementEndsTheWalk) {
  for (const std::string_view bad :
       {"unknown", "_hidden", "", " ", "1.2.3", "1.2.3.4:", "1.2.3.4:port", "1.2.3.4:65536", "[1.2.3.4]", "[::1",
        "::1]", "[::1]x", "[::1]:", "\"1.2.3.4\"", "1.2.3.4;for=x", "1.2.3.4:-1", "1.2.3.4 5.6.7.8"}) {
    EXPECT_EQ(client("10.0.0.1", std::string{"9.9.9.9, "} + std::string{bad}), "10.0.0.1") << bad;
    EXPECT_EQ(client("10.0.0.1", std::string{"9.9.9.9, "} + std::string{bad} + ", 10.0.0.2"), "10.0.0.2") << bad;
  }
  using namespace std::string_literals;
  EXPECT_EQ(client("10.0.0.1", "9.9.9.9\0"s), "10.0.0.1");
}

TEST(ClientAddressTest, ElementsMayHavePortsAndBrackets) {
  EXPECT_EQ(client("10.0.0.1", "198.51.100.1:4711"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "2001:db8::7"), "2001:db8::7");
  EXPECT_EQ(client("10.0.0.1", "[2001:db8::7]"), "2001:db8::7");
  EXPECT_EQ(client("10.0.0.1", "[2001:db8::7]:443 "), "2001:db8::7");
  EXPECT_EQ(client("fd00::1", "198.51.100.1,[fd00::2]:1"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "::ffff:198.51.100.1"), "198.51.100.1");
}

TEST(ClientAddressTest, WalkIsBounded) {
  std::string header = "198.51.100.1";
  for (int i = 0; i < 2000; ++i) header += ",10.0.0.2";
  EXPECT_EQ(client("10.0.0.1", header), "10.0.0.2");
}

}  // namespace
}  // namespace weir
