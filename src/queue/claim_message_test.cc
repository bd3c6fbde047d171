#include "queue/claim_message.h"

#include "config/limits.h"

#include <fstream>
#include <sstream>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace weir {
namespace {

ClaimMessage plain() {
  return {.order = {1, 2},
          .tenant = "default",
          .sale = "spring",
          .item = "shoe",
          .buyer = *BuyerName::from("anna@example.org"),
          .quantity = 2,
          .numbers = {},
          .price_version = 3,
          .epoch = 7,
          .promised_pay_by = {1'796'060'400'123'456},
          .digest = {0xfedc'ba98'7654'3210},
          .admitted_at = {1'796'060'399'000'001}};
}

const std::string kPlain =
    R"({"orderId":"00000000000000010000000000000002","tenant":"default","saleId":"spring","itemId":"shoe",)"
    R"("buyer":"anna@example.org","quantity":2,"numbers":[],"priceVersion":3,"epoch":7,)"
    R"("promisedPayBy":1796060400123456,"requestDigest":"fedcba9876543210","admittedAt":1796060399000001})";

/// The plain message with one text in it replaced.
std::string with(std::string_view from, std::string_view to) {
  std::string text = kPlain;
  text.replace(text.find(from), from.size(), to);
  return text;
}

auto read(std::string_view value) { return read_claim_message(value, kClaimMessageVersion); }

TEST(ClaimMessageTest, TheSpellingOfVersionOneNeverChanges) {
  EXPECT_EQ(*write_claim_message(plain()), kPlain);
  EXPECT_EQ(*read(kPlain), plain());
}

TEST(ClaimMessageTest, WhatIsWrittenIsReadBack) {
  ClaimMessage message = plain();
  message.buyer = *BuyerName::from("\"\\\x01 \xc3\xa4 \xf0\x9f\x91\x9f");
  message.quantity = 3;
  message.numbers = {0, 9'999'999, 17};
  EXPECT_EQ(*read(*write_claim_message(message)), message);
}

TEST(ClaimMessageTest, TheLargestClaimFits) {
  ClaimMessage message = plain();
  message.tenant = message.sale = message.item = std::string(kIdBytesMax, 'x');
  message.buyer = *BuyerName::from(std::string(kBuyerBytesMax, '\x01'));
  message.quantity = kUnitsPerClaimMax;
  for (std::int32_t i = 0; i < kUnitsPerClaimMax; ++i) message.numbers.push_back(9'000'000 + i);
  const auto text = write_claim_message(message);
  ASSERT_TRUE(text) << text.error();
  EXPECT_LE(text->size(), kClaimMessageBytesMax);
  EXPECT_EQ(*read(*text), message);
}

TEST(ClaimMessageTest, UnknownMembersAreIgnoredWhateverTheyHold) {
  EXPECT_EQ(*read(with("{", R"({"new":{"orderId":"x","numbers":[[1.5,null,{"a":"b"}]]},)")), plain());
  EXPECT_EQ(*read(with("{", R"({"traceparent":"00-ab","traceparent":1e99,)")), plain());
  EXPECT_EQ(*read(with("{", R"({")" + std::string(500, 'n') + R"(":")" + std::string(2000, 'v') + "\",")), plain());
  EXPECT_EQ(*read(" \n" + with("\"tenant\":", "\t\"tenant\" : ") + " \n"), plain());
}

TEST(ClaimMessageTest, B072_EachMalformedMessageSaysWhy) {
  struct Case {
    std::string value;
    std::string_view detail;
  };
  const std::string deep = with("{", R"({"a":)" + std::string(5000, '[') + std::string(5000, ']') + ",");
  const Case cases[] = {
      {"hello", "not JSON"},
      {"{", "not JSON"},
      {"[]", "array"},
      {"7", "no object"},
      {"\"text\"", "text"},
      {"null", "no object"},
      {kPlain + "x", "behind"},
      {kPlain + kPlain, "behind"},
      {deep, "not JSON"},
      {with("anna", "\xff\xfe"), "not JSON"},
      {with("\"tenant\":\"default\",", ""), "`tenant` is missing"},
      {with("\"numbers\":[],", ""), "`numbers` is missing"},
      {with("\"epoch\":7", "\"epoch\":7,\"epoch\":7"), "`epoch` stands there twice"},
      {with("00000002", "0000000g"), "`orderId`"},
      {with("\"default\"", "\"-x\""), "`tenant`"},
      {with("\"spring\"", "17"), "`saleId`"},
      {with("\"shoe\"", "\"" + std::string(kIdBytesMax + 1, 'x') + "\""), "`itemId`"},
      {with("anna@example.org", ""), "`buyer`"},
      {with("anna", std::string(kBuyerBytesMax, 'a')), "`buyer`"},
      {with("\"quantity\":2", "\"quantity\":-2"), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":0"), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":1001"), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":2.0"), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":2e0"), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":\"2\""), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":true"), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":{}"), "`quantity`"},
      {with("\"quantity\":2", "\"quantity\":[2]"), "`quantity`"},
      {with("\"epoch\":7", "\"epoch\":0"), "`epoch`"},
      {with("\"epoch\":7", "\"epoch\":18446744073709551615"), "`epoch`"},
      {with("\"epoch\":7", "\"epoch\":9007199254740992"), "`epoch`"},
      {with("fedc", "FEDC"), "`requestDigest`"},
      {with("fedc", ""), "`requestDigest`"},
      {with("[]", "[1]"), "as many as `quantity`"},
      {with("[]", "[1,1]"), "twice"},
      {with("[]", "[1,-1]"), "`numbers`"},
      {with("[]", "[1,\"2\"]"), "`numbers`"},
      {with("[]", "[1,[2]]"), "`numbers`"},
      {with("[]", "[1,{}]"), "`numbers`"},
      {with("[]", "[1,10000001]"), "`numbers`"},
      {with("[]", "null"), "`numbers`"},
  };
  for (const Case& each : cases) {
    const auto got = read(each.value);
    ASSERT_FALSE(got) << each.value.substr(0, 200);
    EXPECT_EQ(got.error().why, Unreadable::malformed) << each.value.substr(0, 200);
    EXPECT_NE(got.error().detail.find(each.detail), std::string::npos) << got.error().detail;
  }
}

TEST(ClaimMessageTest, B072_EmptyTooLargeAndOfAnotherVersionAreToldApart) {
  EXPECT_EQ(read("").error().why, Unreadable::empty);
  EXPECT_EQ(read(std::string(kClaimMessageBytesMax + 1, ' ')).error().why, Unreadable::too_large);
  EXPECT_EQ(read_claim_message(kPlain, "2").error().why, Unreadable::unknown_version);
  EXPECT_EQ(read_claim_message(kPlain, "").error().why, Unreadable::unknown_version);
  EXPECT_EQ(read_claim_message(kPlain, std::nullopt).error().why, Unreadable::unknown_version);
  EXPECT_TRUE(read(kPlain + std::string(kClaimMessageBytesMax - kPlain.size(), ' '))) << "exactly the bound";
}

TEST(ClaimMessageTest, F35_TheOrderOfABrokenMessageIsSavedWhenItCanBeRead) {
  const OrderId order{1, 2};
  EXPECT_EQ(read(with("\"quantity\":2", "\"quantity\":-2")).error().order, order);
  EXPECT_EQ(read(kPlain.substr(0, 60)).error().order, order) << "cut in the middle";
  EXPECT_EQ(read(with("00000002", "zzzzzzzz")).error().order, std::nullopt);
  EXPECT_EQ(read(with("{", R"({"orderId":"00000000000000010000000000000009",)")).error().order, std::nullopt)
      << "two ids: nobody knows which one was meant";
  EXPECT_EQ(read_claim_message(kPlain, "2").error().order, std::nullopt) << "another version may mean something else";
}

TEST(ClaimMessageTest, WhatNoReaderWouldTakeIsNotWritten) {
  ClaimMessage message = plain();
  message.buyer = *BuyerName::from("\xff");
  EXPECT_FALSE(write_claim_message(message)) << "the buyer would become another";
  message = plain();
  message.quantity = 0;
  EXPECT_FALSE(write_claim_message(message));
  message = plain();
  message.epoch = 0;
  EXPECT_FALSE(write_claim_message(message));
  message = plain();
  message.item = "no id";
  EXPECT_FALSE(write_claim_message(message));
  message = plain();
  message.numbers = {4};
  EXPECT_FALSE(write_claim_message(message));
}

TEST(ClaimMessageTest, AClaimCrossesTheLogByItsNames) {
  const auto catalog = [](std::uint32_t from) {  // The same sale under other numbers: another ledger.
    Tenant tenant{.no = {from}, .id = "default", .domains = {}, .order_id_key_0 = {}, .order_id_key_1 = {}};
    Sale sale;
    sale.no = {from + 1};
    sale.tenant = tenant.no;
    sale.id = "spring";
    Item item;
    item.no = {from + 2};
    item.sale = sale.no;
    item.id = "shoe";
    return Catalog{{tenant}, {sale}, {item}};
  };
  Claim claim;
  claim.order = {1, 2};
  claim.tenant = {1};
  claim.sale = {2};
  claim.item = {3};
  claim.units = 2;
  claim.digest = {5};
  claim.promised_pay_by = {6};
  claim.buyer = *BuyerName::from("anna");
  const auto message = message_of(claim, 9, {10}, catalog(1));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->epoch, 9);
  EXPECT_EQ(message->admitted_at.us, 10);
  const auto back = claim_of(*message, catalog(11));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->order, claim.order);
  EXPECT_EQ(back->tenant.value, 11U);
  EXPECT_EQ(back->sale.value, 12U);
  EXPECT_EQ(back->item.value, 13U);
  EXPECT_EQ(back->units, 2);
  EXPECT_EQ(back->digest, claim.digest);
  EXPECT_EQ(back->promised_pay_by, claim.promised_pay_by);
  EXPECT_EQ(back->buyer, claim.buyer);
  EXPECT_FALSE(message_of(claim, 9, {10}, Catalog{}));
  EXPECT_FALSE(claim_of(*message, Catalog{}));
  ClaimMessage stranger = *message;
  stranger.sale = "summer";
  EXPECT_FALSE(claim_of(stranger, catalog(1)));
}

/// The published schema and the writer name the same members: readers of other houses rely on it.
TEST(ClaimMessageTest, TheSchemaNamesEveryMember) {
  std::ifstream file{CLAIM_MESSAGE_SCHEMA};
  std::stringstream text;
  text << file.rdbuf();
  const auto schema = boost::json::parse(text.str()).as_object();
  const auto message = boost::json::parse(kPlain).as_object();
  EXPECT_EQ(schema.at("properties").as_object().size(), message.size());
  EXPECT_EQ(schema.at("required").as_array().size(), message.size());
  for (const auto& name : schema.at("required").as_array()) {
    EXPECT_TRUE(message.contains(name.as_string())) << name;
    EXPECT_TRUE(schema.at("properties").as_object().contains(name.as_string())) << name;
  }
  const auto& properties = schema.at("properties").as_object();
  const auto bound = [&](const char* name, const char* which) {
    return properties.at(name).as_object().at(which).to_number<std::int64_t>();
  };
  EXPECT_EQ(bound("quantity", "maximum"), kUnitsPerClaimMax);
  EXPECT_EQ(bound("numbers", "maxItems"), kUnitsPerClaimMax);
  EXPECT_EQ(bound("tenant", "maxLength"), static_cast<std::int64_t>(kIdBytesMax));
  EXPECT_EQ(bound("epoch", "minimum"), 1);
}

}  // namespace
}  // namespace weir
