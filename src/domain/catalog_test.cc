#include "domain/catalog.h"

#include <set>

#include <gtest/gtest.h>

namespace weir {
namespace {

Tenant tenant(std::uint32_t no, std::string id, std::vector<std::string> domains = {}) {
  return {{no}, std::move(id), std::move(domains), {no, 1}, {no, 2}};
}
Sale sale(std::uint32_t no, std::uint32_t tenant, std::string id) {
  Sale made;
  made.no = {no};
  made.tenant = {tenant};
  made.id = std::move(id);
  return made;
}
Item item(std::uint32_t no, std::uint32_t sale, std::string id) {
  Item made;
  made.no = {no};
  made.sale = {sale};
  made.id = std::move(id);
  return made;
}

Catalog two_shops() {
  return {{tenant(1, "north", {"north.example"}), tenant(2, "south", {"south.example", "www.south.example"})},
          {sale(10, 1, "drop"), sale(11, 2, "drop"), sale(20, 1, "other")},
          {item(3, 10, "shoe"), item(1, 11, "shoe"), item(7, 10, "hat")}};
}

TEST(Catalog, FindsByNumberWhateverTheOrder) {
  const Catalog catalog = two_shops();
  EXPECT_EQ(catalog.item({1})->id, "shoe");
  EXPECT_EQ(catalog.item({7})->id, "hat");
  EXPECT_EQ(catalog.sale({11})->tenant, TenantNo{2});
  EXPECT_EQ(catalog.tenant({2})->id, "south");
}

TEST(Catalog, WhatIsNotThereIsNull) {
  const Catalog catalog = two_shops();
  for (const std::uint32_t no : {0U, 2U, 4U, 8U, 4'294'967'295U}) EXPECT_EQ(catalog.item({no}), nullptr) << no;
  EXPECT_EQ(catalog.sale({0}), nullptr);
  EXPECT_EQ(catalog.sale({21}), nullptr);
  EXPECT_EQ(catalog.tenant({3}), nullptr);
  EXPECT_EQ(catalog.tenant_by_id("east"), nullptr);
  EXPECT_EQ(catalog.item_by_id({1}, "shirt"), nullptr);
  EXPECT_EQ(catalog.item_by_id({1}, ""), nullptr);
  EXPECT_EQ(catalog.item_by_id({1}, std::string(1000, 'a')), nullptr);
  EXPECT_EQ(Catalog().item({1}), nullptr);
  EXPECT_EQ(Catalog().tenant_by_host("north.example"), nullptr);
}

TEST(Catalog, AnIdMeansSomethingOnlyInsideItsTenant) {
  const Catalog catalog = two_shops();
  EXPECT_EQ(catalog.item_by_id({1}, "shoe")->no, ItemNo{3});
  EXPECT_EQ(catalog.item_by_id({2}, "shoe")->no, ItemNo{1});
  EXPECT_EQ(catalog.item_by_id({2}, "hat"), nullptr) << "another tenant's";
  EXPECT_EQ(catalog.sale_by_id({1}, "drop")->no, SaleNo{10});
  EXPECT_EQ(catalog.sale_by_id({2}, "drop")->no, SaleNo{11});
  EXPECT_EQ(catalog.sale_by_id({2}, "other"), nullptr);
}

TEST(Catalog, TheHostNamesTheTenant) {
  const Catalog catalog = two_shops();
  EXPECT_EQ(catalog.tenant_by_host("north.example")->no, TenantNo{1});
  EXPECT_EQ(catalog.tenant_by_host("www.south.example")->no, TenantNo{2});
  EXPECT_EQ(catalog.tenant_by_host("elsewhere.example"), nullptr);
  const Catalog alone({tenant(1, "default")}, {}, {});
  EXPECT_EQ(alone.tenant_by_host("anything at all")->no, TenantNo{1}) << "a single tenant serves every host";
}

TEST(Catalog, ListsTheItemsOfASale) {
  const Catalog catalog = two_shops();
  ASSERT_EQ(catalog.items_of({10}).size(), 2U);
  EXPECT_EQ(catalog.items_of({10})[0]->id, "shoe");
  EXPECT_EQ(catalog.items_of({10})[1]->id, "hat");
  EXPECT_TRUE(catalog.items_of({20}).empty());
}

TEST(CatalogDeathTest, AnItemWithoutItsSaleIsABug) {
  EXPECT_DEATH(Catalog({tenant(1, "north")}, {}, {item(1, 5, "shoe")}), "names sale 5");
}

TEST(DerivedOrderId, ARetryMeetsItself) {
  const Tenant north = tenant(1, "north");
  EXPECT_EQ(derived_order_id(north, "ann", "key-1"), derived_order_id(north, "ann", "key-1"));
}

TEST(DerivedOrderId, TenantBuyerKeyAndTheirBorderAllCount) {
  const Tenant north = tenant(1, "north");
  std::set<OrderId> ids{derived_order_id(north, "ann", "key-1"), derived_order_id(north, "bob", "key-1"),
                        derived_order_id(north, "ann", "key-2"), derived_order_id(tenant(2, "south"), "ann", "key-1"),
                        derived_order_id(north, "annk", "ey-1"), derived_order_id(north, "", "annkey-1")};
  EXPECT_EQ(ids.size(), 6U);
  for (const OrderId& id : ids) EXPECT_NE(id.high, id.low) << "the two halves have keys of their own";
}

TEST(DerivedOrderId, TheLongestBuyerAndKeyFit) {
  const Tenant north = tenant(1, "north");
  const std::string buyer(kBuyerBytesMax, 'b');
  const std::string key(kIdempotencyKeyBytesMax, 'k');
  EXPECT_FALSE(derived_order_id(north, buyer, key).is_none());
  EXPECT_NE(derived_order_id(north, buyer, key), derived_order_id(north, buyer, key.substr(1)));
}

TEST(PurchaseDigest, ItemAndUnitsBothCount) {
  EXPECT_EQ(purchase_digest({1}, 2), purchase_digest({1}, 2));
  EXPECT_NE(purchase_digest({1}, 2), purchase_digest({2}, 1));
  EXPECT_NE(purchase_digest({1}, 2), purchase_digest({1}, 3));
  EXPECT_NE(purchase_digest({kItemsMax}, 1000).value, purchase_digest({kItemsMax - 1}, 1000).value);
}

}  // namespace
}  // namespace weir
