#pragma once

#include "ledger/ledger_bed.h"
#include "ledger/ledger_money_conformance.h"
#include "ledger/ledger_shop_conformance.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

/// What every ledger must do: recording, limits, expiry. Money and the organiser's changes are in the two headers that
/// are included here. An adapter's test instantiates `LedgerConformance`.
namespace weir {

TEST_P(LedgerConformance, AnAdmittedClaimBecomesAPendingOrder) {
  scene.open_sale(5, 2);
  const Claim claim = scene.claim("ann", 2);
  const Outcome outcome = scene.record(claim);
  EXPECT_EQ(outcome.order, claim.order);
  EXPECT_EQ(outcome.recording, Recording::recorded);
  EXPECT_EQ(outcome.pay_by, bed->clock().now() + LedgerScene::kPayWithin);
  const Order order = scene.order(claim.order);
  EXPECT_EQ(order.status, OrderStatus::pending);
  EXPECT_EQ(order.buyer, "ann");
  EXPECT_EQ(order.units, 2);
  EXPECT_EQ(order.amount, (Money{3998, *Currency::parse("EUR")}));
  EXPECT_EQ(order.created_at, bed->clock().now());
  EXPECT_EQ(order.pay_by, outcome.pay_by);
  EXPECT_EQ(order.digest, claim.digest);
  EXPECT_EQ(order.tenant, TenantNo{1});
  EXPECT_EQ(order.sale, SaleNo{1});
  EXPECT_EQ(order.item, ItemNo{1});
  EXPECT_FALSE(order.paid_at || order.ended_at || order.refund);
  EXPECT_EQ(scene.shelf(), counts(5, 2, 0));
}

TEST_P(LedgerConformance, F30_ARepeatedClaimMeetsItsOrder) {
  scene.open_sale(5, 2);
  const Claim claim = scene.claim("ann");
  const Outcome first = scene.record(claim);
  scene.let_pass(Micros{1'000'000});
  // In another batch, and three times in one.
  EXPECT_EQ(scene.record(claim).recording, Recording::repeated);
  for (const Outcome& outcome : scene.record({claim, claim, claim})) {
    EXPECT_EQ(outcome.recording, Recording::repeated);
    EXPECT_EQ(outcome.pay_by, first.pay_by);
    EXPECT_EQ(outcome.status, OrderStatus::pending);
  }
  const Claim other = scene.claim("ben");
  const auto twins = scene.record({other, other});
  EXPECT_EQ(twins[0].recording, Recording::recorded);
  EXPECT_EQ(twins[1].recording, Recording::repeated);
  EXPECT_EQ(scene.shelf(), counts(5, 2, 0));
}

TEST_P(LedgerConformance, F58_F73_AnIdStandsForOneRequest) {
  scene.open_sale(5, 3);
  const Claim claim = scene.claim("ann");
  ASSERT_EQ(scene.record(claim).recording, Recording::recorded);
  const std::array others{LedgerScene::claim_as(claim.order, "ann", 2),        // Another quantity.
                          LedgerScene::claim_as(claim.order, "ben"),           // Another buyer, new to the sale.
                          LedgerScene::claim_as(claim.order, "ann", 1, {2})};  // Another item.
  for (const Claim& other : others) EXPECT_EQ(scene.record(other).recording, Recording::key_reused);
  EXPECT_EQ(scene.shelf(), counts(5, 1, 0));
  EXPECT_EQ(scene.units_of("ben"), 0);
  EXPECT_EQ(scene.order(claim.order).buyer, "ann");
}

TEST_P(LedgerConformance, AnOrderThatEndedIsToldAsEnded) {
  scene.open_sale(5);
  const Claim claim = scene.claim("ann");
  ASSERT_EQ(scene.record(claim).recording, Recording::recorded);
  ASSERT_EQ(scene.settle(LedgerScene::cancel(claim.order, "ann")).settled, Settled::done);
  const Outcome again = scene.record(claim);
  EXPECT_EQ(again.recording, Recording::ended);
  EXPECT_EQ(again.status, OrderStatus::cancelled);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
}

TEST_P(LedgerConformance, F56_B050_TheLimitHoldsOverAllOrdersOfABuyer) {
  scene.open_sale(50, 4);
  EXPECT_EQ(scene.record(scene.claim("ann", 3)).recording, Recording::recorded);
  EXPECT_EQ(scene.record(scene.claim("ann", 3)).recording, Recording::over_limit);
  EXPECT_EQ(scene.record(scene.claim("ann", 1)).recording, Recording::recorded);
  EXPECT_EQ(scene.record(scene.claim("ann", 1)).recording, Recording::over_limit);
  const auto at_once = scene.record({scene.claim("ben", 2), scene.claim("ben", 2), scene.claim("ben", 2)});
  EXPECT_EQ(at_once[0].recording, Recording::recorded);
  EXPECT_EQ(at_once[1].recording, Recording::recorded);
  EXPECT_EQ(at_once[2].recording, Recording::over_limit);
  EXPECT_EQ(scene.record(scene.claim("cat", 5)).recording, Recording::over_limit);
  EXPECT_EQ(scene.shelf(), counts(50, 8, 0));
}

TEST_P(LedgerConformance, F57_TheLimitSpansAllItemsOfASale) {
  scene.open_sale(5);
  EXPECT_EQ(scene.record(scene.claim("ann", 1, {1})).recording, Recording::recorded);
  EXPECT_EQ(scene.record(scene.claim("ann", 1, {2})).recording, Recording::over_limit);
  EXPECT_EQ(scene.shelf({2}), counts(10, 0, 0));
}

TEST_P(LedgerConformance, F15_B001_NoMoreIsSoldThanThereIs) {
  scene.open_sale(3);
  std::vector<Claim> claims;
  for (int i = 0; i < 50; ++i) claims.push_back(scene.claim("buyer-" + std::to_string(i)));
  const auto outcomes = scene.record(claims);
  EXPECT_EQ(std::ranges::count(outcomes, Recording::recorded, &Outcome::recording), 3);
  EXPECT_EQ(std::ranges::count(outcomes, Recording::exceeds_stock, &Outcome::recording), 47);
  EXPECT_EQ(scene.shelf(), counts(3, 3, 0));
}

TEST_P(LedgerConformance, F38_ARefusedClaimStopsNoOther) {
  scene.open_sale(500, 2);
  for (std::size_t bad = 0; bad < 5; ++bad) {
    std::vector<Claim> claims;
    for (std::size_t i = 0; i < 5; ++i) claims.push_back(scene.claim(fmt::format("b{}-{}", bad, i)));
    claims[bad].units = 3;
    const auto outcomes = scene.record(claims);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(outcomes[i].recording, i == bad ? Recording::over_limit : Recording::recorded);
    }
  }
  EXPECT_EQ(scene.shelf(), counts(500, 20, 0));
}

TEST_P(LedgerConformance, WhatIsNotForSaleIsUnknown) {
  scene.open_sale(5);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("other"))), Changed::done);
  Claim no_item = scene.claim("ann", 1, {99});
  Claim other_sale = scene.claim("ann");
  other_sale.sale = {2};
  Claim no_sale = scene.claim("ann");
  no_sale.sale = {77};
  Claim other_tenant = scene.claim("ann");
  other_tenant.tenant = {2};
  for (const Claim& claim : {no_item, other_sale, no_sale, other_tenant}) {
    EXPECT_EQ(scene.record(claim).recording, Recording::unknown_item);
  }
}

TEST_P(LedgerConformance, F59_UnitsOutOfRangeAreNoClaim) {
  scene.open_sale(5, 1000);
  constexpr std::array kUnits{0, -1, 1001, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  for (const int units : kUnits) {
    EXPECT_EQ(scene.record(scene.claim("ann", units)).recording, Recording::unknown_item) << units;
  }
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
}

TEST_P(LedgerConformance, F40_B033_AnOrderThatExpiredDoesNotStopTheNext) {
  scene.open_sale(1);
  const OrderId first = scene.buy("ann");
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  const OrderId second = scene.buy("ann");
  EXPECT_EQ(scene.pay(second, "ann", 1).settled, Settled::done);
  EXPECT_EQ(scene.status(first), OrderStatus::expired);
  EXPECT_EQ(scene.status(second), OrderStatus::paid);
  EXPECT_EQ(scene.shelf(), counts(1, 0, 1));
}

TEST_P(LedgerConformance, B035_BuyingAndCancellingGoesOnForEver) {
  scene.open_sale(1);
  for (int round = 0; round < 5; ++round) {
    const OrderId order = scene.buy("ann");
    const Settlement settled = scene.settle(LedgerScene::cancel(order, "ann"));
    EXPECT_EQ(settled.settled, Settled::done);
    EXPECT_EQ(settled.effect, GateEffect::release);
  }
  EXPECT_EQ(scene.shelf(), counts(1, 0, 0));
  EXPECT_EQ(scene.units_of("ann"), 0);
}

TEST_P(LedgerConformance, F67_WhatTheBuyerWasToldIsALowerBound) {
  scene.open_sale(5);
  const Instant own = bed->clock().now() + LedgerScene::kPayWithin;
  Claim earlier = scene.claim("ann");
  earlier.promised_pay_by = own - Micros{5'000'000};
  EXPECT_EQ(scene.record(earlier).pay_by, own);
  Claim later = scene.claim("ben");
  later.promised_pay_by = own + Micros{60'000'000};
  EXPECT_EQ(scene.record(later).pay_by, later.promised_pay_by);
  Claim absurd = scene.claim("cat");
  absurd.promised_pay_by = own + Micros{86'400'000'000};
  EXPECT_EQ(scene.record(absurd).pay_by, own + Micros{kPromiseSlackUs});
}

TEST_P(LedgerConformance, F61_B023_EachOrderExpiresOnce) {
  scene.open_sale(1000);
  std::map<OrderId, int> ended;
  for (int i = 0; i < 300; ++i) static_cast<void>(scene.buy("buyer-" + std::to_string(i)));
  EXPECT_TRUE(scene.expire().empty());
  scene.let_pass(LedgerScene::kPayWithin);
  // Several expirers take turns on one due set.
  for (int turn = 0; turn < 8; ++turn) {
    for (const Ended& one : scene.expire(100)) {
      ++ended[one.order];
      EXPECT_EQ(one.units, 1);
      EXPECT_EQ(one.item, ItemNo{1});
      EXPECT_EQ(one.sale, SaleNo{1});
      EXPECT_EQ(one.tenant, TenantNo{1});
      EXPECT_FALSE(one.buyer.empty());
    }
  }
  EXPECT_EQ(ended.size(), 300U);
  EXPECT_TRUE(std::ranges::all_of(ended, [](const auto& one) { return one.second == 1; }));
  EXPECT_EQ(scene.shelf(), counts(1000, 0, 0));
  std::int64_t lines = 0;
  for (const auto& [order, times] : ended) {
    const auto life = bed->reader().life_of(order);
    lines += std::ranges::count(*life, "expired", &LifeLine::what);
  }
  EXPECT_EQ(lines, 300);
}

TEST_P(LedgerConformance, TheLongestOverdueExpiresFirst) {
  scene.open_sale(10);
  std::vector<OrderId> in_turn;
  EXPECT_EQ(*scene.ledger().next_expiry(), std::nullopt);
  for (const std::string_view buyer : {"ann", "ben", "cat"}) {
    in_turn.push_back(scene.buy(buyer));
    scene.let_pass(Micros{1'000'000});
  }
  const Instant first = scene.order(in_turn[0]).pay_by;
  EXPECT_EQ(*scene.ledger().next_expiry(), first);
  bed->clock().pass(first - bed->clock().now() - Micros{1});
  EXPECT_TRUE(scene.expire().empty()) << "payBy is not reached";
  scene.let_pass(Micros{1});
  ASSERT_EQ(scene.expire(2).size(), 1U) << "payBy is reached by the microsecond";
  scene.let_pass(Micros{2'000'000});
  const auto rest = scene.expire(1);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].order, in_turn[1]);
  ASSERT_EQ(scene.expire(5).size(), 1U);
  EXPECT_EQ(*scene.ledger().next_expiry(), std::nullopt);
}

TEST_P(LedgerConformance, F66_AWholeSaleMayExpireAtOnce) {
  scene.open_sale(3000);
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<Claim> claims;
    for (int i = 0; i < 1000; ++i) claims.push_back(scene.claim(fmt::format("b{}-{}", batch, i)));
    static_cast<void>(scene.record(claims));
  }
  scene.let_pass(LedgerScene::kPayWithin);
  std::size_t ended = 0;
  for (int turn = 0; turn < 4; ++turn) ended += scene.expire(kExpireBatchMax).size();
  EXPECT_EQ(ended, 3000U);
  EXPECT_EQ(scene.shelf(), counts(3000, 0, 0));
}

TEST_P(LedgerConformance, F45_WhatWasRecordedIsThereAfterARestart) {
  scene.open_sale(5);
  const OrderId pending = scene.buy("ann");
  const OrderId paid = scene.buy("ben");
  ASSERT_EQ(scene.pay(paid, "ben", 1).settled, Settled::done);
  bed->restart();
  EXPECT_EQ(scene.status(pending), OrderStatus::pending);
  EXPECT_EQ(scene.status(paid), OrderStatus::paid);
  EXPECT_EQ(scene.shelf(), counts(5, 1, 1));
  EXPECT_EQ(scene.units_of("ann"), 1);
  EXPECT_EQ(scene.record(scene.claim("ann")).recording, Recording::over_limit);
}

TEST_P(LedgerConformance, AnEmptyBatchAsksWhetherStorageIsWell) {
  EXPECT_TRUE(scene.ledger().record({}, {}, scene.deadline()));
  EXPECT_TRUE(scene.ledger().recover(scene.deadline()));
  EXPECT_TRUE(scene.ledger().tidy_up());
  EXPECT_EQ(scene.ledger().now(), bed->clock().now());
}

TEST_P(LedgerConformance, LiveAndEndedOrdersAreAllNamed) {
  scene.open_sale(10, 2);
  const OrderId pending = scene.buy("ann", 2);
  const OrderId paid = scene.buy("ben");
  ASSERT_EQ(scene.pay(paid, "ben", 1).settled, Settled::done);
  const OrderId cancelled = scene.buy("cat");
  ASSERT_EQ(scene.settle(LedgerScene::cancel(cancelled, "cat")).settled, Settled::done);
  std::map<OrderId, std::pair<std::int32_t, bool>> live;
  ASSERT_TRUE(bed->reader().live_orders([&](const Ended& one, bool sold) { live[one.order] = {one.units, sold}; }));
  EXPECT_EQ(live, (std::map<OrderId, std::pair<std::int32_t, bool>>{{pending, {2, false}}, {paid, {1, true}}}));
  std::vector<OrderId> ended;
  ASSERT_TRUE(bed->reader().ended_orders([&](OrderId id, SaleNo sale) {
    EXPECT_EQ(sale, SaleNo{1});
    ended.push_back(id);
  }));
  EXPECT_EQ(ended, std::vector{cancelled});
}

TEST_P(LedgerConformance, ABuyerSeesHisOrdersNewestFirst) {
  scene.open_sale(100, 50);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("second", 50))), Changed::done);
  ItemDraft draft = LedgerScene::item_draft("glove", 50, 100);
  draft.sale = "second";
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(draft)), Changed::done);
  std::vector<OrderId> newest_first;
  for (int i = 0; i < 10; ++i) {
    Claim claim = scene.claim("ann", 1, i % 2 == 0 ? ItemNo{1} : ItemNo{3});
    claim.sale = i % 2 == 0 ? SaleNo{1} : SaleNo{2};
    ASSERT_EQ(scene.record(claim).recording, Recording::recorded);
    newest_first.insert(newest_first.begin(), claim.order);
    static_cast<void>(scene.buy("ben"));
    scene.let_pass(Micros{1000});
  }
  std::vector<OrderId> seen;
  std::string cursor;
  for (int page = 0; page < 4; ++page) {
    const auto orders = bed->reader().orders_of({1}, "ann", 3, cursor);
    ASSERT_TRUE(orders);
    for (const Order& order : *orders) seen.push_back(order.id);
    EXPECT_EQ(cursor.empty(), page == 3);
  }
  EXPECT_EQ(seen, newest_first);
  cursor = "nonsense";
  EXPECT_EQ(bed->reader().orders_of({1}, "ann", 3, cursor).error().failure, Failure::unfit);
  cursor.clear();
  EXPECT_TRUE(bed->reader().orders_of({1}, "nobody", 3, cursor)->empty());
  EXPECT_EQ(bed->reader().standing({1}, {1}, "ann")->last_order, newest_first[1]);
  EXPECT_EQ(bed->reader().standing({1}, {1}, "nobody")->last_order, std::nullopt);
}

TEST_P(LedgerConformance, AnUnknownOrderIsNoOrder) {
  EXPECT_EQ(*bed->reader().order({1, 2}), std::nullopt);
  EXPECT_EQ(*bed->reader().payment({1, 2}), std::nullopt);
  EXPECT_TRUE(bed->reader().life_of({1, 2})->empty());
}

TEST_P(LedgerConformance, TheLifeOfAnOrderIsToldInLines) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  scene.let_pass(Micros{1'000'000});
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  scene.let_pass(Micros{1'000'000});
  ASSERT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::done);
  const auto life = bed->reader().life_of(order);
  ASSERT_TRUE(life);
  std::vector<std::string> words;
  for (const LifeLine& line : *life) words.push_back(line.what);
  EXPECT_EQ(words, (std::vector<std::string>{"recorded", "payment_started", "webhook", "paid", "now"}));
}

}  // namespace weir
