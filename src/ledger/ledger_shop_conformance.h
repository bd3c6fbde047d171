#pragma once

#include "config/limits.h"
#include "ledger/ledger_bed.h"

#include <array>
#include <map>
#include <string>

/// What every ledger must do with request keys, with what an organiser changes, and with several tenants.
namespace weir {

inline RequestKey request_key(OrderId id, std::uint64_t digest) { return {.id = id, .digest = {digest}}; }

TEST_P(LedgerConformance, F73_AKeyStandsForOneRequest) {
  scene.open_sale(5);
  const OrderId first = scene.buy("ann");
  const OrderId second = scene.buy("ben");
  CancelOrder keyed = LedgerScene::cancel(first, "ann");
  keyed.key = request_key({11, 11}, 1);
  EXPECT_EQ(scene.settle(keyed).settled, Settled::done);
  EXPECT_EQ(scene.settle(keyed).settled, Settled::repeated) << "the same request under the same key";
  CancelOrder other = LedgerScene::cancel(second, "ben");
  other.key = request_key({11, 11}, 2);
  EXPECT_EQ(scene.settle(other).settled, Settled::key_reused);
  EXPECT_EQ(scene.status(second), OrderStatus::pending);
  StartPayment start = LedgerScene::start(second, "ben", 1);
  start.key = request_key({11, 11}, 3);
  EXPECT_EQ(scene.settle(start).settled, Settled::key_reused) << "whatever the kind of request";
  RefundOrder refund = LedgerScene::refund(second, 1);
  refund.key = request_key({11, 11}, 4);
  EXPECT_EQ(scene.settle(refund).settled, Settled::key_reused);
  bed->restart();
  EXPECT_EQ(scene.settle(other).settled, Settled::key_reused);
}

TEST_P(LedgerConformance, F73_PurchasesAndOtherRequestsShareTheKeys) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  CancelOrder keyed = LedgerScene::cancel(order, "ann");
  keyed.key = request_key(order, 1);
  EXPECT_EQ(scene.settle(keyed).settled, Settled::key_reused) << "the key is the order's own";
  keyed.key = request_key({11, 11}, 1);
  ASSERT_EQ(scene.settle(keyed).settled, Settled::done);
  Claim claim = LedgerScene::claim_as({11, 11}, "ben");
  claim.keyed = true;
  EXPECT_EQ(scene.record(claim).recording, Recording::key_reused);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
  Claim fresh = LedgerScene::claim_as({12, 12}, "ben");
  fresh.keyed = true;
  EXPECT_EQ(scene.record(fresh).recording, Recording::recorded);
  EXPECT_EQ(scene.record(fresh).recording, Recording::repeated);
}

TEST_P(LedgerConformance, B044_ARefusalBindsNoKey) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  CancelOrder wrong = LedgerScene::cancel({8, 8}, "ann");
  wrong.key = request_key({11, 11}, 1);
  EXPECT_EQ(scene.settle(wrong).settled, Settled::unknown_order);
  RefundOrder early = LedgerScene::refund(order, 1);
  early.key = request_key({11, 11}, 2);
  EXPECT_EQ(scene.settle(early).settled, Settled::refused);
  CancelOrder right = LedgerScene::cancel(order, "ann");
  right.key = request_key({11, 11}, 3);
  EXPECT_EQ(scene.settle(right).settled, Settled::done);
}

TEST_P(LedgerConformance, TheCatalogSaysWhatWasMade) {
  scene.open_sale(7, 3);
  SaleDraft secret = scene.sale_draft("secret");
  secret.secret_url = true;
  secret.title = "Ünïcode \"quoted\" ' \n title";
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(secret)), Changed::done);
  const auto catalog = bed->reader().catalog();
  ASSERT_TRUE(catalog);
  const Sale* sale = catalog->sale_by_id({1}, "drop");
  ASSERT_NE(sale, nullptr);
  EXPECT_EQ(sale->limit_per_buyer, 3);
  EXPECT_EQ(sale->pay_within, LedgerScene::kPayWithin);
  EXPECT_EQ(sale->opens_at, bed->clock().now());
  EXPECT_FALSE(sale->paused || sale->closed);
  EXPECT_EQ(sale->secret, "");
  const Item* item = catalog->item_by_id({1}, "hat");
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->no, ItemNo{1});
  EXPECT_EQ(item->total, 7);
  EXPECT_EQ(item->price, (Money{1999, *Currency::parse("EUR")}));
  EXPECT_EQ(catalog->sale_by_id({1}, "secret")->title, secret.title);
  EXPECT_GE(catalog->sale_by_id({1}, "secret")->secret.size(), 20U);
  const Tenant* tenant = catalog->tenant_by_id("default");
  ASSERT_NE(tenant, nullptr);
  const OrderId derived = derived_order_id(*tenant, "ann", "key");
  bed->restart();
  EXPECT_EQ(derived_order_id(*bed->reader().catalog()->tenant_by_id("default"), "ann", "key"), derived);
}

TEST_P(LedgerConformance, WhatIsMadeTwiceIsMadeOnce) {
  scene.open_sale(5);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("drop"))), Changed::repeated);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("drop", 2))), Changed::exists);
  const auto again = scene.ledger().add_item(LedgerScene::item_draft("hat", 5, 1999));
  EXPECT_EQ(LedgerScene::changed(again), Changed::repeated);
  EXPECT_EQ(again->item, ItemNo{1});
  ASSERT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "hat", 3, "more")), Changed::done);
  EXPECT_EQ(scene.ledger().add_item(LedgerScene::item_draft("hat", 5, 1999))->total, 8) << "stock was added since";
  EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::item_draft("hat", 6, 1999))), Changed::exists);
  ItemDraft lost = LedgerScene::item_draft("lost", 1, 1);
  lost.sale = "none";
  EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(lost)), Changed::unknown);
  SaleDraft elsewhere = scene.sale_draft("drop");
  elsewhere.tenant = "none";
  EXPECT_EQ(LedgerScene::changed(scene.ledger().create_sale(elsewhere)), Changed::unknown);
}

TEST_P(LedgerConformance, F59_DraftsOutOfRangeAreRefused) {
  scene.open_sale(5);
  const auto refuses_sale = [&](const std::function<void(SaleDraft&)>& spoil) {
    SaleDraft draft = scene.sale_draft("odd");
    spoil(draft);
    EXPECT_EQ(LedgerScene::changed(scene.ledger().create_sale(draft)), Changed::refused);
  };
  for (const int limit : {0, -1, 1001, INT32_MAX, INT32_MIN}) {
    refuses_sale([&](SaleDraft& draft) { draft.limit_per_buyer = limit; });
  }
  for (const std::int64_t span : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    refuses_sale([&](SaleDraft& draft) { draft.pay_within = Micros{span}; });
  }
  refuses_sale([](SaleDraft& draft) { draft.closes_at = draft.opens_at; });
  refuses_sale([](SaleDraft& draft) { draft.id = "no spaces"; });
  refuses_sale([](SaleDraft& draft) { draft.title = std::string(kTitleBytesMax + 1, 'x'); });
  for (const std::int64_t units : {std::int64_t{-1}, kUnitsPerItemMax + 1, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::item_draft("odd", units, 1))),
              Changed::refused);
  }
  for (const std::int64_t price : {std::int64_t{-1}, kPriceMinorMax + 1, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::item_draft("odd", 1, price))),
              Changed::refused);
  }
  for (const std::int64_t delta : {std::int64_t{0}, kUnitsPerItemMax, INT64_MAX}) {
    EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "hat", delta, "k")), Changed::refused);
  }
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "hat", INT64_MIN, "k")),
            Changed::below_committed);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "hat", 1, "")), Changed::refused);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
  // The largest lawful order has an amount.
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("dear", 1000))), Changed::done);
  ItemDraft dear = LedgerScene::item_draft("dear", kUnitsPerItemMax, kPriceMinorMax);
  dear.sale = "dear";
  const auto added = scene.ledger().add_item(dear);
  ASSERT_EQ(LedgerScene::changed(added), Changed::done);
  Claim claim = scene.claim("ann", 1000, added->item);
  claim.sale = {2};
  EXPECT_EQ(scene.record(claim).recording, Recording::recorded);
  EXPECT_EQ(scene.order(claim.order).amount.value, 1000 * kPriceMinorMax);
}

TEST_P(LedgerConformance, F75_StockChangesOnceForEachKey) {
  scene.open_sale(5, 3);
  static_cast<void>(scene.buy("ann", 3));
  const auto more = scene.ledger().change_stock("default", "hat", 4, "monday");
  EXPECT_EQ(LedgerScene::changed(more), Changed::done);
  EXPECT_EQ(more->total, 9);
  EXPECT_EQ(more->item, ItemNo{1});
  EXPECT_GT(more->change_id, 0U);
  const auto again = scene.ledger().change_stock("default", "hat", 4, "monday");
  EXPECT_EQ(LedgerScene::changed(again), Changed::repeated);
  EXPECT_EQ(again->total, 9);
  EXPECT_EQ(again->change_id, more->change_id);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "hat", 5, "monday")), Changed::exists);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "scarf", 4, "monday")), Changed::done);
  const auto less = scene.ledger().change_stock("default", "hat", -7, "tuesday");
  EXPECT_EQ(LedgerScene::changed(less), Changed::below_committed);
  EXPECT_EQ(less->minimum, 3);
  EXPECT_EQ(less->total, 9);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "hat", -6, "tuesday")), Changed::done)
      << "a refusal binds no key";
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "none", 1, "x")), Changed::unknown);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("none", "hat", 1, "x")), Changed::unknown);
  EXPECT_EQ(scene.shelf(), counts(3, 3, 0));
  EXPECT_EQ(scene.record(scene.claim("ben")).recording, Recording::exceeds_stock);
}

TEST_P(LedgerConformance, ASaleOpensPausesResumesAndCloses) {
  SaleDraft draft = scene.sale_draft("drop");
  draft.opens_at = draft.opens_at + Micros{3'600'000'000};
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(draft)), Changed::done);
  const auto act = [&](SaleAction action) {
    return LedgerScene::changed(scene.ledger().change_sale("default", "drop", action));
  };
  const auto now = [&] { return phase(*bed->reader().catalog()->sale_by_id({1}, "drop"), bed->clock().now()); };
  EXPECT_EQ(now(), SalePhase::scheduled);
  EXPECT_EQ(act(SaleAction::open), Changed::done);
  EXPECT_EQ(now(), SalePhase::open);
  EXPECT_EQ(act(SaleAction::open), Changed::repeated);
  EXPECT_EQ(act(SaleAction::pause), Changed::done);
  EXPECT_EQ(act(SaleAction::pause), Changed::repeated);
  EXPECT_EQ(now(), SalePhase::paused);
  EXPECT_EQ(act(SaleAction::resume), Changed::done);
  EXPECT_EQ(act(SaleAction::resume), Changed::repeated);
  EXPECT_EQ(act(SaleAction::close), Changed::done);
  EXPECT_EQ(act(SaleAction::close), Changed::repeated);
  EXPECT_EQ(now(), SalePhase::closed);
  for (const SaleAction action : {SaleAction::open, SaleAction::pause, SaleAction::resume}) {
    EXPECT_EQ(act(action), Changed::refused) << "closed is for ever";
  }
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_sale("default", "none", SaleAction::open)), Changed::unknown);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_sale("none", "drop", SaleAction::open)), Changed::unknown);
}

TEST_P(LedgerConformance, ASaleThatHasRunOutIsNotOpenedAgain) {
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("drop"))), Changed::done);
  scene.let_pass(Micros{86'400'000'000});
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_sale("default", "drop", SaleAction::open)), Changed::refused);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_sale("default", "drop", SaleAction::close)), Changed::repeated);
}

TEST_P(LedgerConformance, I8_TenantsDoNotMeet) {
  scene.open_sale(5);
  const std::array domains{std::string{"shop.example"}, std::string{"www.shop.example"}};
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_tenant("second", domains)), Changed::done);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().create_tenant("second", domains)), Changed::repeated);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().create_tenant("second", {})), Changed::exists);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().create_tenant("third", std::span{domains}.first(1))), Changed::exists)
      << "a domain leads to one tenant";
  for (const std::string& odd : {std::string{"UPPER.example"}, std::string{"a\nb"}, std::string{}}) {
    EXPECT_EQ(LedgerScene::changed(scene.ledger().create_tenant("third", std::span{&odd, 1})), Changed::refused);
  }
  EXPECT_EQ(LedgerScene::changed(scene.ledger().create_tenant("no spaces", {})), Changed::refused);
  // The same ids in both.
  SaleDraft sale = scene.sale_draft("drop");
  sale.tenant = "second";
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(sale)), Changed::done);
  ItemDraft item = LedgerScene::item_draft("hat", 1, 100);
  item.tenant = "second";
  const auto added = scene.ledger().add_item(item);
  ASSERT_EQ(LedgerScene::changed(added), Changed::done);
  const auto catalog = bed->reader().catalog();
  const Tenant* second = catalog->tenant_by_host("www.shop.example");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->id, "second");
  const Tenant* first = catalog->tenant_by_id("default");
  EXPECT_NE(derived_order_id(*second, "ann", "key"), derived_order_id(*first, "ann", "key"));
  Claim claim = scene.claim("ann", 1, added->item);
  claim.tenant = second->no;
  claim.sale = catalog->sale_by_id(second->no, "drop")->no;
  ASSERT_EQ(scene.record(claim).recording, Recording::recorded);
  // The first tenant's `ann` is somebody else.
  EXPECT_EQ(scene.settle(LedgerScene::cancel(claim.order, "ann")).settled, Settled::unknown_order);
  std::string cursor;
  EXPECT_TRUE(bed->reader().orders_of({1}, "ann", 10, cursor)->empty());
  EXPECT_EQ(bed->reader().orders_of(second->no, "ann", 10, cursor)->size(), 1U);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("second", "scarf", 1, "k")), Changed::unknown);
}

/// A thousand random commands on a small sale: the rows always tell the same story as the counters.
TEST_P(LedgerConformance, ARandomWalkKeepsTheInvariants) {
  constexpr std::uint64_t kSeed = 20261129;
  SeededRandom random{kSeed};
  scene.open_sale(12, 3);
  std::vector<OrderId> orders;
  std::vector<Claim> claims;
  std::map<OrderId, std::int64_t> gate;  // What a gate would hold, kept by the effects alone.
  const auto release = [&](OrderId order) { EXPECT_EQ(gate.erase(order), 1U) << order.text() << " is released twice"; };
  const auto buyer = [&] { return "buyer-" + std::to_string(random.below(6)); };
  const auto note = [&](const Settlement& settled) {
    if (settled.effect == GateEffect::release) release(settled.order->id);
  };
  const auto record = [&](const Claim& claim) {
    if (scene.record(claim).recording != Recording::recorded) return;
    orders.push_back(claim.order);
    gate[claim.order] = claim.units;
  };
  for (int step = 0; step < 1000; ++step) {
    const OrderId order = orders.empty() ? OrderId{} : orders[random.below(orders.size())];
    const auto found = bed->reader().order(order);
    const std::string owner = found && *found ? (*found)->buyer : "nobody";
    const auto payment = static_cast<std::uint64_t>(order.low);
    switch (random.below(8)) {
      case 0:
      case 1:
        claims.push_back(scene.claim(buyer(), 1 + static_cast<std::int32_t>(random.below(3))));
        record(claims.back());
        break;
      case 2:
        if (!claims.empty()) record(claims[random.below(claims.size())]);  // Refused earlier, it may be lawful now.
        break;
      case 3: static_cast<void>(scene.settle(LedgerScene::start(order, owner, payment))); break;
      case 4: {
        const std::int64_t amount = found && *found ? (*found)->amount.value : 1;
        const auto kind = random.below(4) == 0 ? PaymentEventKind::declined : PaymentEventKind::captured;
        const Settlement settled = scene.settle(
            LedgerScene::event(std::to_string(step), kind, payment, amount + (random.below(8) == 0 ? 1 : 0)));
        note(settled);
        if (settled.settled != Settled::late) break;
        gate[settled.order->id] = settled.order->units;  // The gate takes them again, and asks.
        note(scene.settle(DecideLate{.payment = {7, payment}, .units_taken = true}));
        break;
      }
      case 5: note(scene.settle(LedgerScene::cancel(order, owner))); break;
      case 6: {
        RefundOrder command = LedgerScene::refund(order, static_cast<std::uint64_t>(step) + 1);
        command.restock = random.below(3) != 0;
        const Settlement asked = scene.settle(command);
        if (asked.order && asked.order->refund)
          note(scene.settle(LedgerScene::refunded(payment, *asked.order->refund)));
        break;
      }
      default:
        scene.let_pass(Micros{static_cast<std::int64_t>(random.below(300)) * 1'000'000});
        for (const Ended& ended : scene.expire()) release(ended.order);
    }
    if (step % 50 == 0) {
      ASSERT_EQ(scene.audit(), "") << "step " << step << " of seed " << kSeed;
    }
  }
  std::map<OrderId, std::int64_t> live;
  ASSERT_TRUE(bed->reader().live_orders([&](const Ended& one, bool) { live[one.order] = one.units; }));
  EXPECT_EQ(gate, live);
  EXPECT_GT(orders.size(), 50U);
}

}  // namespace weir
