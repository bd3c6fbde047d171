#include "http/purchase_wish.h"

#include "config/limits.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::http {
namespace {

Item counted_item() {
  Item item;
  item.total = 100;
  return item;
}

Item numbered_item() {
  Item item;
  item.total = 100;
  item.numbered = true;
  item.first_number = 1;
  return item;
}

/// The field that is refused; empty when the wish is taken.
std::string refused_field(std::string_view text, const Item& item, PurchaseWish& wish) {
  const auto body = JsonBody::parse(text);
  if (!body) return "json";
  auto wrong = read_wish(*body, wish);
  if (!wrong) wrong = fit_wish(item, wish);
  if (!wrong) return "";
  EXPECT_EQ(wrong->status, 400);
  const std::size_t from = wrong->body.find("\"field\":\"") + 9;
  return wrong->body.substr(from, wrong->body.find('"', from) - from);
}

std::string refused_field(std::string_view text, const Item& item) {
  PurchaseWish wish;
  return refused_field(text, item, wish);
}

TEST(PurchaseWish, IsOneUnitOrOneRandomNumberWithoutABody) {
  PurchaseWish wish;
  EXPECT_EQ(refused_field("{}", counted_item(), wish), "");
  EXPECT_EQ(wish.wish, Wish::units);
  EXPECT_EQ(wish.units, 1);
  EXPECT_EQ(refused_field("{}", numbered_item(), wish), "");
  EXPECT_EQ(wish.wish, Wish::random);
  EXPECT_EQ(wish.units, 1);
}

TEST(PurchaseWish, SortsTheNamedNumbers) {
  PurchaseWish wish;
  EXPECT_EQ(refused_field(R"({"numbers": [42 ,7]})", numbered_item(), wish), "");
  EXPECT_EQ(wish.wish, Wish::named);
  EXPECT_EQ(wish.numbers, (std::vector<std::uint32_t>{7, 42}));
  EXPECT_EQ(wish.units, 2);
  EXPECT_EQ(refused_field(R"({"numbers":[1,2],"partial":true})", numbered_item(), wish), "");
  EXPECT_EQ(wish.wish, Wish::partial);
  EXPECT_EQ(refused_field(R"({"numbers":[1,2],"partial":false})", numbered_item(), wish), "");
  EXPECT_EQ(wish.wish, Wish::named);
  EXPECT_EQ(refused_field(R"({"random":3})", numbered_item(), wish), "");
  EXPECT_EQ(wish.wish, Wish::random);
  EXPECT_EQ(wish.units, 3);
  EXPECT_TRUE(wish.numbers.empty());
}

TEST(PurchaseWish, RefusesAliasesOfNumbers) {
  for (const char* one : {"07", "\"7\"", "7.0", "7e0", "-7", "+7", "0x7", "\"\xef\xbc\x97\"", "null", "true", "[7]",
                          "{\"a\":7}", "4294967303", "18446744073709551623", "2147483648", "00"}) {
    const std::string field = refused_field(fmt::format("{{\"numbers\":[{}]}}", one), numbered_item());
    EXPECT_TRUE(field == "numbers" || field == "json") << one << ": " << field;
  }
  EXPECT_EQ(refused_field(R"({"numbers":[7,7]})", numbered_item()), "numbers");
  EXPECT_EQ(refused_field(R"({"numbers":["7,8"]})", numbered_item()), "numbers");
  EXPECT_EQ(refused_field(R"({"numbers":[]})", numbered_item()), "numbers");
  EXPECT_EQ(refused_field(R"({"numbers":7})", numbered_item()), "numbers");
  EXPECT_EQ(refused_field(R"({"numbers":[0]})", numbered_item()), "numbers");
  EXPECT_EQ(refused_field(R"({"numbers":[101]})", numbered_item()), "numbers");
  EXPECT_EQ(refused_field(R"({"numbers":[100]})", numbered_item()), "");
}

TEST(PurchaseWish, RefusesTheOtherKindOfStock) {
  EXPECT_EQ(refused_field(R"({"quantity":1})", numbered_item()), "quantity");
  EXPECT_EQ(refused_field(R"({"numbers":[7]})", counted_item()), "numbers");
  EXPECT_EQ(refused_field(R"({"random":1})", counted_item()), "random");
}

TEST(PurchaseWish, RefusesTwoWishesAtOnce) {
  EXPECT_EQ(refused_field(R"({"numbers":[7],"random":1})", numbered_item()), "random");
  EXPECT_EQ(refused_field(R"({"numbers":[7],"quantity":1})", numbered_item()), "quantity");
  EXPECT_EQ(refused_field(R"({"random":1,"quantity":1})", numbered_item()), "quantity");
  EXPECT_EQ(refused_field(R"({"random":1,"partial":true})", numbered_item()), "partial");
  EXPECT_EQ(refused_field(R"({"numbers":[7],"partial":1})", numbered_item()), "partial");
}

TEST(PurchaseWish, TakesAtMostAThousand) {
  Item item = numbered_item();
  item.total = 10'000;
  std::string list = "1";
  for (int number = 2; number <= kUnitsPerClaimMax; ++number) list += fmt::format(",{}", number);
  EXPECT_EQ(refused_field(fmt::format("{{\"numbers\":[{}]}}", list), item), "");
  EXPECT_EQ(refused_field(fmt::format("{{\"numbers\":[{},5000]}}", list), item), "numbers");
  EXPECT_EQ(refused_field(R"({"random":1000})", item), "");
  EXPECT_EQ(refused_field(R"({"random":1001})", item), "random");
  EXPECT_EQ(refused_field(R"({"random":0})", item), "random");
}

}  // namespace
}  // namespace weir::http
