#include "domain/numbers.h"

#include "config/limits.h"
#include "domain/catalog.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

NumberList list_of(std::vector<std::uint32_t> numbers) {
  auto list = NumberList::from(numbers);
  EXPECT_TRUE(list.has_value());
  return list.value_or(NumberList{});
}

TEST(NumberList, HoldsAscendingNumbersEachOnce) {
  EXPECT_EQ(list_of({}).size(), 0U);
  EXPECT_TRUE(list_of({}).is_empty());
  EXPECT_EQ(list_of({7, 42}).size(), 2U);
  EXPECT_TRUE(list_of({7, 42}).contains(42));
  EXPECT_FALSE(list_of({7, 42}).contains(8));
  EXPECT_FALSE(NumberList::from(std::vector<std::uint32_t>{42, 7}));
  EXPECT_FALSE(NumberList::from(std::vector<std::uint32_t>{7, 7}));
  std::vector<std::uint32_t> many(kUnitsPerClaimMax + 1);
  std::iota(many.begin(), many.end(), 0U);
  EXPECT_FALSE(NumberList::from(many));
  many.pop_back();
  EXPECT_TRUE(NumberList::from(many));
}

TEST(NumberList, EqualsByWhatItHolds) {
  EXPECT_EQ(list_of({1, 2}), list_of({1, 2}));
  EXPECT_NE(list_of({1, 2}), list_of({1, 3}));
  EXPECT_NE(list_of({1, 2}), NumberList{});
}

TEST(NumberList, GoesThroughBytes) {
  const NumberList list = list_of({0, 255, 256, kNumberMax});
  EXPECT_EQ(list.bytes().size(), 16U);
  EXPECT_EQ(NumberList::from_bytes(list.bytes()), list);
  EXPECT_EQ(NumberList::from_bytes(""), NumberList{});
  EXPECT_FALSE(NumberList::from_bytes("abc"));
  EXPECT_FALSE(NumberList::from_bytes(std::string(8, '\1')));  // The same number twice.
}

TEST(NumberList, LeavesOut) {
  EXPECT_EQ(numbers_without(list_of({1, 2, 3}), list_of({2})), list_of({1, 3}));
  EXPECT_TRUE(numbers_without(list_of({2}), list_of({1, 2})).is_empty());
}

TEST(NumberLabels, ShowANumberAsItIs) {
  const auto labels = NumberLabels::parse("", 1, 10);
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->label(7), "7");
}

TEST(NumberLabels, PadWithZeros) {
  const auto labels = NumberLabels::parse("A-###", 1, 10'000);
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->label(7), "A-007");
  EXPECT_EQ(labels->label(1234), "A-1234");
}

TEST(NumberLabels, NameRowsAndSeats) {
  const auto labels = NumberLabels::parse("A:12,B:14", 101, 26);
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->label(101), "A-1");
  EXPECT_EQ(labels->label(112), "A-12");
  EXPECT_EQ(labels->label(113), "B-1");
  EXPECT_EQ(labels->label(126), "B-14");
}

TEST(NumberLabels, RefuseWhatTheyCannotShow) {
  for (const char* text : {"A:12", "A:0,B:30", "A:x", ":26", "A", "##A", "A-###########", "<b>##", "A:12,,B:14"}) {
    EXPECT_FALSE(NumberLabels::parse(text, 1, 26)) << text;
  }
}

TEST(PurchaseDigest, TellsWishesApart) {
  Claim units;
  units.item = {3};
  units.units = 2;
  Claim random = units;
  random.wish = Wish::random;
  Claim named = units;
  named.wish = Wish::named;
  named.numbers = list_of({7, 42});
  Claim partial = named;
  partial.wish = Wish::partial;
  Claim others = named;
  others.numbers = list_of({7, 43});
  const std::vector<Claim> claims{units, random, named, partial, others};
  for (std::size_t a = 0; a < claims.size(); ++a) {
    for (std::size_t b = 0; b < claims.size(); ++b) {
      EXPECT_EQ(purchase_digest(claims[a]) == purchase_digest(claims[b]), a == b) << a << " " << b;
    }
  }
  EXPECT_EQ(purchase_digest(units), purchase_digest({3}, 2));
}

}  // namespace
}  // namespace weir
