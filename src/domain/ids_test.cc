#include "domain/ids.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace weir {
namespace {

// Where numbers kept as doubles, or as signed words, lose their last digit or their sign.
constexpr std::array<std::uint64_t, 8> kEdges{1,
                                              9'007'199'254'740'991,
                                              9'007'199'254'740'992,
                                              9'007'199'254'740'993,
                                              9'223'372'036'854'775'807,
                                              9'223'372'036'854'775'808U,
                                              UINT64_MAX - 1,
                                              UINT64_MAX};

TEST(Ids, F14_NeighboursAtEveryEdgeStayApartAndReadBack) {
  std::set<std::string> texts;
  for (const std::uint64_t high : kEdges) {
    for (const std::uint64_t low : kEdges) {
      const OrderId id{high, low};
      texts.insert(id.text());
      EXPECT_EQ(OrderId::parse(id.text()), id);
      const auto bytes = id.bytes();
      EXPECT_EQ(OrderId::from_bytes({bytes.data(), bytes.size()}), id);
    }
  }
  EXPECT_EQ(texts.size(), kEdges.size() * kEdges.size());
}

TEST(Ids, TextIsBytesInHexadecimal) {
  const OrderId id{0x0123456789abcdefU, 0xfedcba9876543210U};
  EXPECT_EQ(id.text(), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(static_cast<unsigned char>(id.bytes()[0]), 0x01);
  EXPECT_EQ(static_cast<unsigned char>(id.bytes()[8]), 0xfe);
}

TEST(Ids, AnIdHasOneSpelling) {
  for (const std::string_view text :
       {"", "0", "0123456789ABCDEFfedcba9876543210", "0123456789abcdeffedcba987654321",
        "0123456789abcdeffedcba98765432100", "0123456789abcdef-edcba9876543210", "0x23456789abcdeffedcba9876543210",
        "0123456789abcdeffedcba987654321g", " 123456789abcdeffedcba9876543210"}) {
    EXPECT_FALSE(OrderId::parse(text)) << text;
  }
  EXPECT_FALSE(OrderId::from_bytes("fifteen bytes.."));
  EXPECT_FALSE(OrderId::from_bytes(""));
}

TEST(Ids, ZeroIsNone) {
  EXPECT_TRUE(OrderId{}.is_none());
  EXPECT_FALSE((OrderId{0, 1}.is_none()));
  EXPECT_FALSE((OrderId{1, 0}.is_none()));
}

TEST(Ids, RandomIdsDiffer) {
  SeededRandom random(1);
  std::set<OrderId> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(OrderId::random(random));
  EXPECT_EQ(ids.size(), 1000U);
}

TEST(BuyerNames, KeepOneTo128Bytes) {
  EXPECT_FALSE(BuyerName::from(""));
  EXPECT_FALSE(BuyerName::from(std::string(kBuyerBytesMax + 1, 'x')));
  const std::string longest(kBuyerBytesMax, 'x');
  EXPECT_EQ(BuyerName::from(longest)->view(), longest);
  EXPECT_EQ(BuyerName::from(std::string_view("a\0b", 3))->view().size(), 3U);
}

TEST(BuyerNames, AreEqualByTheirText) {
  BuyerName reused = *BuyerName::from("annabel");
  reused = *BuyerName::from("ann");
  EXPECT_EQ(reused, *BuyerName::from("ann"));
  EXPECT_FALSE(reused == *BuyerName::from("anna"));
  EXPECT_EQ(BuyerName().view(), "");
}

TEST(BuyerKeys, TenantNameAndSecretAllCount) {
  const SipKey key{1, 2};
  std::set<BuyerKey> keys{buyer_key(key, {1}, "ann"), buyer_key(key, {2}, "ann"), buyer_key(key, {1}, "bob"),
                          buyer_key({1, 3}, {1}, "ann")};
  EXPECT_EQ(keys.size(), 4U);
  EXPECT_FALSE(keys.contains(BuyerKey{0})) << "0 means nobody";
  EXPECT_EQ(buyer_key(key, {1}, "ann"), buyer_key(key, {1}, "ann"));
}

TEST(IdText, LettersDigitsAndThreeMarks) {
  for (const std::string_view good : {"a", "Z", "0", "spring-drop.2026", "a_b", "0.-_"})
    EXPECT_TRUE(is_id_text(good)) << good;
  for (const std::string_view bad :
       {"", ".", "-a", "_a", ".a", "a b", "a/b", "a\n", "a\"", "\xc3\xa9", "a%20", "../a"}) {
    EXPECT_FALSE(is_id_text(bad)) << bad;
  }
  EXPECT_TRUE(is_id_text(std::string(kIdBytesMax, 'a')));
  EXPECT_FALSE(is_id_text(std::string(kIdBytesMax + 1, 'a')));
  EXPECT_FALSE(is_id_text(std::string_view("a\0", 2)));
}

}  // namespace
}  // namespace weir
