#pragma once

#include "config/limits.h"
#include "ledger/ledger_bed.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

/// What a ledger that keeps numbered stock must do with it. An adapter's test that includes this instantiates
/// `LedgerNumbers` as well.
namespace weir {

/// The sale `drop` has the item `seat` (1), whose numbers start at 100, and a counted one, `hat` (2), 10 units.
class LedgerNumbers : public LedgerConformance {
 protected:
  using Numbers = std::initializer_list<std::uint32_t>;
  static constexpr ItemNo kSeat{1};
  static constexpr ItemNo kHat{2};

  void open_seats(std::int64_t units, std::int32_t limit = 1) {
    ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("drop", limit))), Changed::done);
    ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::numbered_draft("seat", units, 100))),
              Changed::done);
    ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::item_draft("hat", 10, 500))), Changed::done);
  }
  [[nodiscard]] Recording take(std::string_view buyer, Numbers numbers) {
    return scene.record(scene.claim_numbers(buyer, numbers)).recording;
  }
  [[nodiscard]] OrderId buy(std::string_view buyer, Numbers numbers) {
    const Claim claim = scene.claim_numbers(buyer, numbers);
    EXPECT_EQ(scene.record(claim).recording, Recording::recorded);
    return claim.order;
  }
  [[nodiscard]] std::optional<OrderId> owner(std::uint32_t number, ItemNo item = kSeat) {
    const auto found = bed->reader().owner_of(item, number);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::nullopt);
  }
  [[nodiscard]] static NumberList list(Numbers numbers) {
    return *NumberList::from(std::span{numbers.begin(), numbers.size()});
  }
  /// Ann's order of these numbers is paid after it has expired; what the ledger says when asked what becomes of it.
  [[nodiscard]] OrderId pay_too_late(Numbers numbers) {
    const OrderId order = buy("ann", numbers);
    EXPECT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
    scene.let_pass(LedgerScene::kPayWithin);
    EXPECT_EQ(scene.expire().size(), 1U);
    EXPECT_EQ(scene.settle(LedgerScene::captured(1, 1999 * static_cast<std::int64_t>(numbers.size()))).settled,
              Settled::late);
    return order;
  }
};

TEST_P(LedgerNumbers, AnOrderHasTheNumbersItWasAdmittedWith) {
  open_seats(10, 3);
  const OrderId order = buy("ann", {100, 104, 109});
  const OrderId counted = scene.buy("ben", 2, kHat);
  EXPECT_EQ(scene.order(order).numbers, list({100, 104, 109}));
  EXPECT_EQ(scene.order(order).units, 3);
  EXPECT_EQ(scene.order(order).amount.value, 3 * 1999);
  EXPECT_TRUE(scene.order(counted).numbers.is_empty());
  EXPECT_EQ(scene.shelf(), counts(10, 3, 0));
  bed->restart();
  EXPECT_EQ(owner(100), order);
  EXPECT_EQ(owner(104), order);
  EXPECT_EQ(owner(101), std::nullopt);
  EXPECT_EQ(owner(99), std::nullopt);
  EXPECT_EQ(owner(kNumberMax), std::nullopt);
  EXPECT_EQ(owner(100, kHat), std::nullopt);
  std::string cursor;
  EXPECT_EQ(bed->reader().orders_of({1}, "ann", 10, cursor)->front().numbers, list({100, 104, 109}));
  ASSERT_TRUE(bed->reader().live_orders([&](const Ended& one, bool) {
    EXPECT_EQ(one.numbers, one.order == order ? list({100, 104, 109}) : NumberList{});
    EXPECT_EQ(one.buyer, one.order == order ? "ann" : "ben");
  }));
  const Settlement paid = scene.pay(order, "ann", 1, 3 * 1999);
  EXPECT_EQ(paid.effect, GateEffect::sell);
  EXPECT_EQ(paid.order->numbers, list({100, 104, 109}));
  EXPECT_EQ(owner(104), order);
}

TEST_P(LedgerNumbers, F22_OfARefusedClaimNothingStays) {
  open_seats(10, 4);
  const OrderId owner_of_two = buy("ann", {103, 104});
  const OrderId bens = scene.buy("ben", 1, kHat);
  // The clash may be with the first, the last, or one between; for a new buyer, and for one that has an order.
  for (const std::string_view buyer : {"cat", "ben"}) {
    EXPECT_EQ(take(buyer, {103}), Recording::number_taken);
    EXPECT_EQ(take(buyer, {101, 102, 103}), Recording::number_taken);
    EXPECT_EQ(take(buyer, {104, 105, 106}), Recording::number_taken);
    EXPECT_EQ(take(buyer, {102, 104, 105}), Recording::number_taken);
  }
  for (const std::uint32_t number : {101U, 102U, 105U, 106U}) EXPECT_EQ(owner(number), std::nullopt) << number;
  EXPECT_EQ(owner(103), owner_of_two);
  EXPECT_EQ(scene.shelf(), counts(10, 2, 0));
  EXPECT_EQ(scene.units_of("cat"), 0);
  EXPECT_EQ(bed->reader().standing({1}, {1}, "cat")->last_order, std::nullopt);
  EXPECT_EQ(scene.units_of("ben"), 1);
  EXPECT_EQ(bed->reader().standing({1}, {1}, "ben")->last_order, bens);
  EXPECT_EQ(take("cat", {101, 102, 105, 106}), Recording::recorded);
}

TEST_P(LedgerNumbers, F22_CrossingPairsLeaveNoHalfOrder) {
  open_seats(10, 2);
  std::vector<Claim> claims;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t low = 100 + i % 9;
    claims.push_back(scene.claim_numbers("buyer-" + std::to_string(i), {low, low + 1}));
  }
  const auto outcomes = scene.record(claims);
  std::map<std::uint32_t, OrderId> owners;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (outcomes[i].recording != Recording::recorded) continue;
    for (const std::uint32_t number : claims[i].numbers.view())
      EXPECT_TRUE(owners.emplace(number, claims[i].order).second);
  }
  EXPECT_EQ(std::ranges::count(outcomes, Recording::recorded, &Outcome::recording), 5);
  const auto is_refusal = [](const Outcome& one) {
    return one.recording == Recording::number_taken || one.recording == Recording::exceeds_stock;
  };
  EXPECT_EQ(std::ranges::count_if(outcomes, is_refusal), 995);
  for (std::uint32_t number = 100; number < 110; ++number) EXPECT_EQ(owner(number), owners.at(number));
  EXPECT_EQ(scene.shelf(), counts(10, 10, 0));
}

TEST_P(LedgerNumbers, F76_B053_OneOfManyGetsASeat) {
  open_seats(10);
  std::vector<Claim> claims;
  for (std::uint32_t i = 0; i < 1000; ++i)
    claims.push_back(scene.claim_numbers("buyer-" + std::to_string(i), {100 + i / 100}));
  const auto outcomes = scene.record(claims);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_EQ(outcomes[i].recording == Recording::recorded, i % 100 == 0);
    EXPECT_EQ(owner(100 + static_cast<std::uint32_t>(i) / 100), claims[i / 100 * 100].order);
  }
}

TEST_P(LedgerNumbers, F38_AClashStopsNoOther) {
  open_seats(10, 2);
  const std::vector claims{scene.claim_numbers("ann", {100}), scene.claim_numbers("ben", {100, 101}),
                           scene.claim_numbers("cat", {101}), scene.claim("dan", 2, kHat)};
  const auto outcomes = scene.record(claims);
  EXPECT_EQ(outcomes[0].recording, Recording::recorded);
  EXPECT_EQ(outcomes[1].recording, Recording::number_taken);
  EXPECT_EQ(outcomes[2].recording, Recording::recorded);
  EXPECT_EQ(outcomes[3].recording, Recording::recorded);
  EXPECT_EQ(owner(101), claims[2].order);
  EXPECT_EQ(scene.shelf(), counts(10, 2, 0));
  EXPECT_EQ(*bed->reader().order(claims[1].order), std::nullopt);
}

TEST_P(LedgerNumbers, F30_ARepeatedBatchMeetsItsOrders) {
  open_seats(10, 2);
  const std::vector claims{scene.claim_numbers("ann", {100, 101}), scene.claim_numbers("ben", {101, 102}),
                           scene.claim_numbers("cat", {102})};
  const auto first = scene.record(claims);
  EXPECT_EQ(first[1].recording, Recording::number_taken);
  for (int turn = 0; turn < 2; ++turn) {
    const auto again = scene.record(claims);
    EXPECT_EQ(again[0].recording, Recording::repeated);
    EXPECT_EQ(again[0].pay_by, first[0].pay_by);
    EXPECT_EQ(again[1].recording, Recording::number_taken);
    EXPECT_EQ(again[2].recording, Recording::repeated);
    bed->restart();
  }
  EXPECT_EQ(owner(101), claims[0].order);
  EXPECT_EQ(scene.shelf(), counts(10, 3, 0));
  // The same claim twice in one batch.
  const Claim twin = scene.claim_numbers("dan", {105});
  const auto twins = scene.record({twin, twin});
  EXPECT_EQ(twins[0].recording, Recording::recorded);
  EXPECT_EQ(twins[1].recording, Recording::repeated);
  // Ended, its numbers free: the repeat takes them from nobody.
  ASSERT_EQ(scene.settle(LedgerScene::cancel(twin.order, "dan")).settled, Settled::done);
  EXPECT_EQ(scene.record(twin).recording, Recording::ended);
  EXPECT_EQ(owner(105), std::nullopt);
}

TEST_P(LedgerNumbers, F58_F73_AnIdStandsForOneRequest) {
  open_seats(10, 3);
  const Claim claim = scene.claim_numbers("ann", {104});
  ASSERT_EQ(scene.record(claim).recording, Recording::recorded);
  for (const Numbers numbers : {Numbers{105}, Numbers{103, 104}, Numbers{104, 105}, Numbers{103}}) {
    Claim other = scene.claim_numbers("ann", numbers);
    other.order = claim.order;
    EXPECT_EQ(scene.record(other).recording, Recording::key_reused);
  }
  Claim counted = LedgerScene::claim_as(claim.order, "ann", 1, kHat);
  EXPECT_EQ(scene.record(counted).recording, Recording::key_reused);
  EXPECT_EQ(owner(104), claim.order);
  EXPECT_EQ(owner(103), std::nullopt);
  EXPECT_EQ(owner(105), std::nullopt);
}

TEST_P(LedgerNumbers, F76_WhatTheItemDoesNotHaveIsNotSold) {
  open_seats(10, 5);
  for (const Numbers numbers : {Numbers{99}, Numbers{110}, Numbers{0}, Numbers{kNumberMax}, Numbers{UINT32_MAX},
                                Numbers{99, 100}, Numbers{109, 110}}) {
    EXPECT_EQ(take("ann", numbers), Recording::exceeds_stock) << *numbers.begin();
  }
  EXPECT_EQ(scene.record(scene.claim("ann", 1, kSeat)).recording, Recording::exceeds_stock) << "no numbers";
  EXPECT_EQ(scene.record(scene.claim_numbers("ann", {100}, kHat)).recording, Recording::exceeds_stock) << "no seats";
  for (const std::int32_t units : {1, 3}) {
    Claim odd = scene.claim_numbers("ann", {100, 101});
    odd.units = units;
    EXPECT_EQ(scene.record(odd).recording, Recording::exceeds_stock) << units;
  }
  for (std::uint32_t number = 99; number <= 110; ++number) EXPECT_EQ(owner(number), std::nullopt);
  EXPECT_EQ(scene.shelf(), counts(10, 0, 0));
  EXPECT_EQ(scene.shelf(kHat), counts(10, 0, 0));
  EXPECT_EQ(scene.units_of("ann"), 0);
  EXPECT_EQ(take("ann", {100, 109}), Recording::recorded) << "the first and the last are the item's";
}

TEST_P(LedgerNumbers, F56_TheLimitIsNamedBeforeTheNumber) {
  open_seats(10, 2);
  ASSERT_EQ(take("ann", {100, 101}), Recording::recorded);
  EXPECT_EQ(take("ann", {102}), Recording::over_limit);
  EXPECT_EQ(take("ann", {100}), Recording::over_limit);
  EXPECT_EQ(take("ann", {99}), Recording::over_limit);
  EXPECT_EQ(scene.record(scene.claim("ann", 1, kHat)).recording, Recording::over_limit) << "over all items";
  EXPECT_EQ(owner(102), std::nullopt);
  EXPECT_EQ(take("ben", {100}), Recording::number_taken);
}

TEST_P(LedgerNumbers, F61_B036_ExpiredNumbersAreSoldAgain) {
  open_seats(3, 2);
  const OrderId order = buy("ann", {100, 101});
  ASSERT_EQ(take("ben", {101}), Recording::number_taken);
  scene.let_pass(LedgerScene::kPayWithin);
  const auto ended = scene.expire();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].numbers, list({100, 101}));
  EXPECT_EQ(ended[0].units, 2);
  EXPECT_EQ(ended[0].buyer, "ann");
  EXPECT_EQ(owner(100), std::nullopt);
  EXPECT_EQ(owner(101), std::nullopt);
  EXPECT_EQ(scene.order(order).numbers, list({100, 101})) << "what it had is remembered";
  EXPECT_EQ(scene.shelf(), counts(3, 0, 0));
  EXPECT_EQ(scene.audit(), "");
  EXPECT_EQ(take("ben", {101}), Recording::recorded);
  EXPECT_EQ(take("ann", {100}), Recording::recorded) << "the same buyer, the same seat";
  EXPECT_EQ(scene.order(order).status, OrderStatus::expired);
}

TEST_P(LedgerNumbers, B022_CancelledNumbersAreSoldAgain) {
  open_seats(3, 2);
  const OrderId order = buy("ann", {100, 101});
  const Settlement cancelled = scene.settle(LedgerScene::cancel(order, "ann"));
  EXPECT_EQ(cancelled.effect, GateEffect::release);
  EXPECT_EQ(cancelled.order->numbers, list({100, 101}));
  EXPECT_EQ(owner(100), std::nullopt);
  EXPECT_EQ(scene.audit(), "");
  const OrderId next = buy("ben", {100});
  // Once more: the other's number stays his.
  EXPECT_EQ(scene.settle(LedgerScene::cancel(order, "ann")).settled, Settled::repeated);
  EXPECT_EQ(owner(100), next);
}

TEST_P(LedgerNumbers, B029_MoneyAfterACancelBringsNoNumberBack) {
  open_seats(3);
  const OrderId order = buy("ann", {100});
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  ASSERT_EQ(scene.settle(LedgerScene::cancel(order, "ann")).settled, Settled::done);
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::refund_due);
  EXPECT_EQ(owner(100), std::nullopt);
  EXPECT_EQ(take("ben", {100}), Recording::recorded);
}

TEST_P(LedgerNumbers, RefundedNumbersAreSoldAgain) {
  open_seats(3, 2);
  const OrderId order = buy("ann", {100, 102});
  ASSERT_EQ(scene.pay(order, "ann", 1, 2 * 1999).settled, Settled::done);
  const Settlement asked = scene.settle(LedgerScene::refund(order, 1));
  EXPECT_EQ(take("ben", {100}), Recording::number_taken) << "until the money has gone back";
  const auto back = LedgerScene::refunded(1, *asked.order->refund);
  EXPECT_EQ(scene.settle(back).effect, GateEffect::release);
  EXPECT_EQ(owner(100), std::nullopt);
  EXPECT_EQ(scene.audit(), "");
  const OrderId next = buy("ben", {100, 102});
  EXPECT_EQ(scene.settle(back).settled, Settled::repeated);
  EXPECT_EQ(owner(102), next);
  EXPECT_EQ(scene.shelf(), counts(3, 2, 0));
}

TEST_P(LedgerNumbers, NumbersThatAreNotRestockedStayOwned) {
  open_seats(3, 2);
  const OrderId order = buy("ann", {100, 101});
  ASSERT_EQ(scene.pay(order, "ann", 1, 2 * 1999).settled, Settled::done);
  RefundOrder command = LedgerScene::refund(order, 1);
  command.restock = false;
  const Settlement asked = scene.settle(command);
  EXPECT_EQ(scene.settle(LedgerScene::refunded(1, *asked.order->refund)).effect, GateEffect::none);
  EXPECT_EQ(scene.status(order), OrderStatus::refunded);
  EXPECT_EQ(owner(100), order);
  EXPECT_EQ(take("ben", {101}), Recording::number_taken);
  EXPECT_EQ(take("ben", {102}), Recording::recorded);
  EXPECT_EQ(scene.shelf(), counts(3, 1, 2));
  bool is_named = false;
  ASSERT_TRUE(bed->reader().live_orders([&](const Ended& one, bool sold) {
    if (one.order != order) return;
    is_named = sold && one.numbers == list({100, 101});
  }));
  EXPECT_TRUE(is_named) << "the gate must go on holding them";
}

TEST_P(LedgerNumbers, APartOfTheMoneyLeavesTheNumbersOwned) {
  open_seats(3);
  const OrderId order = buy("ann", {100});
  ASSERT_EQ(scene.pay(order, "ann", 1).settled, Settled::done);
  RefundOrder part = LedgerScene::refund(order, 1);
  part.amount = 500;
  const Settlement asked = scene.settle(part);
  ASSERT_EQ(scene.settle(LedgerScene::refunded(1, *asked.order->refund)).settled, Settled::done);
  EXPECT_EQ(owner(100), order);
}

TEST_P(LedgerNumbers, F62_LateMoneyTakesItsNumbersAgain) {
  open_seats(3, 2);
  const OrderId order = pay_too_late({100, 101});
  EXPECT_EQ(owner(100), std::nullopt);
  const Settlement taken = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true});
  EXPECT_EQ(taken.settled, Settled::done);
  EXPECT_EQ(taken.effect, GateEffect::sell);
  EXPECT_EQ(taken.order->numbers, list({100, 101}));
  EXPECT_EQ(owner(100), order);
  EXPECT_EQ(owner(101), order);
  EXPECT_EQ(scene.shelf(), counts(3, 0, 2));
  EXPECT_EQ(take("ben", {101}), Recording::number_taken);
  EXPECT_EQ(scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true}).settled, Settled::repeated);
  EXPECT_EQ(owner(101), order);
}

TEST_P(LedgerNumbers, F62_LateMoneyGoesBackWhenOneNumberIsGone) {
  open_seats(5, 3);
  const OrderId order = pay_too_late({100, 101, 102});
  const OrderId other = buy("ben", {101});
  // Units enough are free, the number is not.
  const Settlement refused = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true});
  EXPECT_EQ(refused.settled, Settled::refund_due);
  EXPECT_EQ(refused.effect, GateEffect::release);
  EXPECT_EQ(refused.order->status, OrderStatus::expired);
  EXPECT_EQ(refused.order->refund->amount.value, 3 * 1999);
  EXPECT_EQ(owner(100), std::nullopt);
  EXPECT_EQ(owner(101), other);
  EXPECT_EQ(owner(102), std::nullopt);
  EXPECT_EQ(scene.shelf(), counts(5, 1, 0));
  EXPECT_EQ(scene.units_of("ann"), 0);
  EXPECT_EQ(scene.status(order), OrderStatus::expired);
}

TEST_P(LedgerNumbers, LateMoneyThatTheGateDidNotTakeLeavesTheNumbersFree) {
  open_seats(3);
  static_cast<void>(pay_too_late({100}));
  EXPECT_EQ(scene.settle(DecideLate{.payment = {7, 1}, .units_taken = false}).settled, Settled::refund_due);
  EXPECT_EQ(owner(100), std::nullopt);
}

TEST_P(LedgerNumbers, AnOrderMayHaveAThousandNumbers) {
  open_seats(2000, 1000);
  std::vector<std::uint32_t> numbers(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) numbers[i] = 100 + 2 * i;
  const Claim claim = scene.claim_numbers("ann", numbers);
  ASSERT_EQ(scene.record(claim).recording, Recording::recorded);
  EXPECT_EQ(scene.order(claim.order).numbers, *NumberList::from(numbers));
  EXPECT_EQ(owner(100 + 1998), claim.order);
  EXPECT_EQ(owner(100 + 1999), std::nullopt);
  EXPECT_EQ(scene.audit(), "");
  // Another thousand, of which the last one only is owned.
  for (std::uint32_t i = 0; i < 999; ++i) numbers[i] = 101 + 2 * i;
  EXPECT_EQ(scene.record(scene.claim_numbers("ben", numbers)).recording, Recording::number_taken);
  EXPECT_EQ(owner(101), std::nullopt);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  EXPECT_EQ(owner(100), std::nullopt);
  EXPECT_EQ(owner(100 + 1998), std::nullopt);
}

TEST_P(LedgerNumbers, TwoItemsMayHaveTheSameNumbers) {
  open_seats(10, 5);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::numbered_draft("box", 10, 100))), Changed::done);
  const OrderId seat = buy("ann", {100});
  const Claim box = scene.claim_numbers("ben", {100}, {3});
  ASSERT_EQ(scene.record(box).recording, Recording::recorded);
  ASSERT_EQ(scene.settle(LedgerScene::cancel(seat, "ann")).settled, Settled::done);
  EXPECT_EQ(owner(100), std::nullopt);
  EXPECT_EQ(owner(100, {3}), box.order);
}

TEST_P(LedgerNumbers, TheCatalogNamesTheNumbers) {
  open_seats(10);
  ItemDraft hall = LedgerScene::numbered_draft("hall", 26, 1);
  hall.labels = "A:12,B:14";
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(hall)), Changed::done);
  bed->restart();
  const auto catalog = bed->reader().catalog();
  const Item* seat = catalog->item_by_id({1}, "seat");
  EXPECT_TRUE(seat->numbered);
  EXPECT_EQ(seat->first_number, 100U);
  EXPECT_EQ(seat->total, 10);
  EXPECT_EQ(seat->labels, "");
  EXPECT_EQ(catalog->item_by_id({1}, "hall")->labels, "A:12,B:14");
  EXPECT_FALSE(catalog->item_by_id({1}, "hat")->numbered);
  EXPECT_EQ(catalog->item_by_id({1}, "hat")->first_number, 0U);
}

TEST_P(LedgerNumbers, WhatIsMadeTwiceIsMadeOnce) {
  open_seats(10);
  const ItemDraft seat = LedgerScene::numbered_draft("seat", 10, 100);
  const auto again = scene.ledger().add_item(seat);
  EXPECT_EQ(LedgerScene::changed(again), Changed::repeated);
  EXPECT_EQ(again->item, kSeat);
  EXPECT_EQ(again->total, 10);
  const auto differs = [&](const std::function<void(ItemDraft&)>& spoil) {
    ItemDraft other = seat;
    spoil(other);
    EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(other)), Changed::exists);
  };
  differs([](ItemDraft& draft) { draft.units = 11; });
  differs([](ItemDraft& draft) { draft.first_number = 101; });
  differs([](ItemDraft& draft) { draft.labels = "A-###"; });
  differs([](ItemDraft& draft) {
    draft.numbered = false;
    draft.first_number = 0;
  });
  EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::numbered_draft("hat", 10, 1))), Changed::exists);
}

TEST_P(LedgerNumbers, F59_DraftsOutOfRangeAreRefused) {
  open_seats(10);
  const auto refuses = [&](const std::function<void(ItemDraft&)>& spoil) {
    ItemDraft draft = LedgerScene::numbered_draft("odd", 10, 1);
    spoil(draft);
    EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(draft)), Changed::refused);
  };
  for (const std::int64_t units : {std::int64_t{0}, std::int64_t{-1}, kNumbersPerItemMax + 1, INT64_MAX, INT64_MIN}) {
    refuses([&](ItemDraft& draft) { draft.units = units; });
  }
  refuses([](ItemDraft& draft) { draft.first_number = kNumberMax - 8; });
  refuses([](ItemDraft& draft) { draft.first_number = UINT32_MAX; });
  for (const std::string_view labels : {"A", "A-#x", "A:5,B:4", "A:0,B:10", "\n##"}) {
    refuses([&](ItemDraft& draft) { draft.labels = labels; });
  }
  refuses([](ItemDraft& draft) { draft.labels = std::string(kLabelBytesMax + 1, '#'); });
  // A count has neither numbers nor labels for them.
  refuses([](ItemDraft& draft) { draft.numbered = false; });
  refuses([](ItemDraft& draft) {
    draft.numbered = false;
    draft.first_number = 0;
    draft.labels = "A-##";
  });
  ItemDraft last = LedgerScene::numbered_draft("last", 10, kNumberMax - 9);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(last)), Changed::done);
  EXPECT_EQ(scene.record(scene.claim_numbers("ann", {kNumberMax}, {3})).recording, Recording::recorded);
  EXPECT_EQ(scene.order(*owner(kNumberMax, {3})).numbers, list({kNumberMax}));
}

TEST_P(LedgerNumbers, F75_TheNumbersOfAnItemDoNotChange) {
  open_seats(10);
  for (const std::int64_t delta : {1, -1, 100}) {
    EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "seat", delta, "k")), Changed::refused);
  }
  EXPECT_EQ(scene.shelf(), counts(10, 0, 0));
  EXPECT_EQ(LedgerScene::changed(scene.ledger().change_stock("default", "hat", 1, "k")), Changed::done);
}

/// A thousand random commands of three buyers on few numbers; beside it a plain map says who should own what.
TEST_P(LedgerNumbers, ARandomWalkKeepsEveryNumberWithOneOwner) {
  constexpr std::uint64_t kSeed = 20261201;
  SeededRandom random{kSeed};
  open_seats(12, 4);
  std::vector<OrderId> orders;
  std::vector<Claim> claims;
  std::map<std::uint32_t, OrderId> owners;
  std::array<int, 3> seen{};  // Recorded, clashed, retaken.
  const auto has_free = [&](const NumberList& numbers) {
    return std::ranges::none_of(numbers.view(), [&](std::uint32_t number) { return owners.contains(number); });
  };
  const auto give = [&](OrderId order, const NumberList& numbers) {
    for (const std::uint32_t number : numbers.view()) owners[number] = order;
  };
  const auto release = [&](OrderId order) {
    std::erase_if(owners, [&](const auto& one) { return one.second == order; });
  };
  const auto note = [&](const Settlement& settled) {
    if (settled.effect == GateEffect::release) release(settled.order->id);
  };
  const auto record = [&](const Claim& claim) {
    const bool was_free = has_free(claim.numbers);
    const Recording recording = scene.record(claim).recording;
    if (recording == Recording::recorded) {
      ASSERT_TRUE(was_free) << "seed " << kSeed;
      orders.push_back(claim.order);
      give(claim.order, claim.numbers);
      ++seen[0];
    } else if (recording == Recording::number_taken) {
      ASSERT_FALSE(was_free) << "seed " << kSeed;
      ++seen[1];
    }
  };
  for (int step = 0; step < 1000; ++step) {
    const OrderId order = orders.empty() ? OrderId{} : orders[random.below(orders.size())];
    const auto found = bed->reader().order(order);
    const std::string buyer = found && *found ? (*found)->buyer : "nobody";
    const auto payment = static_cast<std::uint64_t>(order.low);
    switch (random.below(8)) {
      case 0:
      case 1: {
        std::set<std::uint32_t> wanted;
        for (std::uint64_t i = 0; i <= random.below(3); ++i)
          wanted.insert(100 + static_cast<std::uint32_t>(random.below(12)));
        const std::vector<std::uint32_t> numbers(wanted.begin(), wanted.end());
        claims.push_back(scene.claim_numbers("buyer-" + std::to_string(random.below(6)), numbers));
        record(claims.back());
        break;
      }
      case 2:
        if (!claims.empty()) record(claims[random.below(claims.size())]);
        break;
      case 3: static_cast<void>(scene.settle(LedgerScene::start(order, buyer, payment))); break;
      case 4: {
        const std::int64_t amount = found && *found ? (*found)->amount.value : 1;
        const Settlement settled =
            scene.settle(LedgerScene::event(std::to_string(step), PaymentEventKind::captured, payment, amount));
        note(settled);
        if (settled.settled != Settled::late) break;
        // A gate that errs: it says yes whatever is owned by then.
        const bool was_free = has_free(settled.order->numbers);
        const Settlement decided = scene.settle(DecideLate{.payment = {7, payment}, .units_taken = true});
        if (decided.settled == Settled::done) {
          ASSERT_TRUE(was_free) << "seed " << kSeed;
          give(order, decided.order->numbers);
          ++seen[2];
        }
        break;
      }
      case 5: note(scene.settle(LedgerScene::cancel(order, buyer))); break;
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
  std::map<std::uint32_t, OrderId> kept;
  for (std::uint32_t number = 100; number < 112; ++number) {
    if (const auto one = owner(number)) kept[number] = *one;
  }
  EXPECT_EQ(kept, owners);
  EXPECT_GT(seen[0], 30);
  EXPECT_GT(seen[1], 10);
  EXPECT_GT(seen[2], 0);
}

}  // namespace weir
