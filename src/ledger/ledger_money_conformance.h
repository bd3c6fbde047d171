#pragma once

#include "ledger/ledger_bed.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

/// What every ledger must do with payments, late money and refunds.
namespace weir {

TEST_P(LedgerConformance, ACapturedPaymentPaysTheOrder) {
  scene.open_sale(5, 2);
  const OrderId order = scene.buy("ann", 2);
  const Settlement started = scene.settle(LedgerScene::start(order, "ann", 1));
  ASSERT_EQ(started.settled, Settled::done);
  EXPECT_EQ(started.payment->amount.value, 3998);
  EXPECT_EQ(started.payment->state, PaymentState::started);
  EXPECT_EQ(started.payment->expires_at, started.order->pay_by);
  scene.let_pass(Micros{1'000'000});
  const Settlement paid = scene.settle(LedgerScene::captured(1, 3998));
  EXPECT_EQ(paid.settled, Settled::done);
  EXPECT_EQ(paid.effect, GateEffect::sell);
  EXPECT_EQ(paid.order->status, OrderStatus::paid);
  EXPECT_EQ(paid.order->paid_at, bed->clock().now());
  EXPECT_EQ(paid.payment->state, PaymentState::captured);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 2));
  EXPECT_EQ((*bed->reader().payment({7, 1}))->state, PaymentState::captured);
  scene.let_pass(LedgerScene::kLong);
  EXPECT_TRUE(scene.expire().empty()) << "a paid order never expires";
}

TEST_P(LedgerConformance, F71_B048_AnOrderHasOneLivePayment) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  EXPECT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  for (std::uint64_t other = 2; other < 22; ++other) {
    const Settlement again = scene.settle(LedgerScene::start(order, "ann", other));
    EXPECT_EQ(again.settled, Settled::repeated);
    EXPECT_EQ(again.payment->id, (PaymentId{7, 1}));
  }
  ASSERT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::done);
  // The same command once more finds its payment; another cannot be started.
  EXPECT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::repeated);
  EXPECT_EQ(scene.settle(LedgerScene::start(order, "ann", 2)).settled, Settled::refused);
  // A second notice of the same money, under an event id of its own.
  const Settlement second = scene.settle(LedgerScene::event("other", PaymentEventKind::captured, 1));
  EXPECT_EQ(second.settled, Settled::repeated);
  EXPECT_EQ(second.effect, GateEffect::none);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 1));
}

TEST_P(LedgerConformance, APaymentIsStartedOnlyWhileTheOrderCanBePaid) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  EXPECT_EQ(scene.settle(LedgerScene::start(order, "ben", 1)).settled, Settled::unknown_order);
  EXPECT_EQ(scene.settle(LedgerScene::start({4, 4}, "ann", 1)).settled, Settled::unknown_order);
  StartPayment elsewhere = LedgerScene::start(order, "ann", 1);
  elsewhere.tenant = {2};
  EXPECT_EQ(scene.settle(elsewhere).settled, Settled::unknown_order);
  scene.let_pass(LedgerScene::kPayWithin);
  const Settlement late = scene.settle(LedgerScene::start(order, "ann", 1));
  EXPECT_EQ(late.settled, Settled::refused) << "payBy is reached, though nobody has ended the order yet";
  EXPECT_EQ(late.order->status, OrderStatus::pending);
  ASSERT_EQ(scene.expire().size(), 1U);
  EXPECT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::refused);
}

TEST_P(LedgerConformance, F63_StartingToPayExtendsThePayByOnce) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  const Instant promised = scene.order(order).pay_by;
  scene.let_pass(Micros{590'000'000});
  StartPayment start = LedgerScene::start(order, "ann", 1);
  start.grace = Micros{120'000'000};
  const Instant extended = bed->clock().now() + start.grace;
  EXPECT_EQ(scene.settle(start).order->pay_by, extended);
  EXPECT_GT(extended, promised);
  ASSERT_EQ(scene.settle(LedgerScene::event("no", PaymentEventKind::declined, 1)).settled, Settled::done);
  scene.let_pass(Micros{60'000'000});
  start.payment = {7, 2};
  EXPECT_EQ(scene.settle(start).order->pay_by, extended);
  scene.let_pass(Micros{60'000'000});
  EXPECT_EQ(scene.expire().size(), 1U);
}

TEST_P(LedgerConformance, AGraceThatIsShorterThanWhatIsLeftChangesNothing) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  const Instant promised = scene.order(order).pay_by;
  StartPayment start = LedgerScene::start(order, "ann", 1);
  start.grace = Micros{120'000'000};
  EXPECT_EQ(scene.settle(start).order->pay_by, promised);
  EXPECT_EQ(scene.order(order).pay_by, promised);
}

TEST_P(LedgerConformance, AfterADeclineTheSamePaymentMayBeTriedAgain) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  const Settlement declined = scene.settle(LedgerScene::event("no", PaymentEventKind::declined, 1));
  EXPECT_EQ(declined.settled, Settled::done);
  EXPECT_EQ(declined.payment->state, PaymentState::declined);
  EXPECT_EQ(declined.order->status, OrderStatus::pending);
  const Settlement again = scene.settle(LedgerScene::start(order, "ann", 2));
  EXPECT_EQ(again.settled, Settled::repeated);
  EXPECT_EQ(again.payment->id, (PaymentId{7, 1}));
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::done);
  const Settlement late_no = scene.settle(LedgerScene::event("late no", PaymentEventKind::declined, 1));
  EXPECT_EQ(late_no.settled, Settled::repeated);
  EXPECT_EQ(late_no.order->status, OrderStatus::paid) << "a late decline takes nothing back";
}

TEST_P(LedgerConformance, B038_AnEventThatComesTwiceCountsOnce) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  const auto settled = scene.settle({LedgerScene::captured(1), LedgerScene::captured(1), LedgerScene::captured(1)});
  EXPECT_EQ(settled[0].settled, Settled::done);
  for (const std::size_t repeat : {1U, 2U}) {
    EXPECT_EQ(settled[repeat].settled, Settled::repeated);
    EXPECT_EQ(settled[repeat].effect, GateEffect::none);
    EXPECT_EQ(settled[repeat].order->status, OrderStatus::paid);
  }
  EXPECT_EQ(scene.shelf(), counts(5, 0, 1));
}

TEST_P(LedgerConformance, F69_B042_EventsEndTheSameInAnyOrder) {
  scene.open_sale(200);
  const std::array kinds{PaymentEventKind::declined, PaymentEventKind::other, PaymentEventKind::captured,
                         PaymentEventKind::declined};
  std::array<std::size_t, 4> turn{0, 1, 2, 3};
  std::uint64_t number = 0;
  do {
    for (const int times : {1, 3}) {
      const std::string buyer = "buyer-" + std::to_string(++number);
      const OrderId order = scene.buy(buyer);
      ASSERT_EQ(scene.settle(LedgerScene::start(order, buyer, number)).settled, Settled::done);
      int sells = 0;
      for (const std::size_t at : turn) {
        for (int time = 0; time < times; ++time) {
          const auto event = LedgerScene::event(fmt::format("{}-{}", number, at), kinds.at(at), number);
          if (scene.settle(event).effect == GateEffect::sell) ++sells;
        }
      }
      EXPECT_EQ(sells, 1);
      EXPECT_EQ(scene.status(order), OrderStatus::paid);
    }
  } while (std::ranges::next_permutation(turn).found);
  EXPECT_EQ(scene.shelf(), counts(200, 0, static_cast<std::int64_t>(number)));
}

TEST_P(LedgerConformance, B040_B043_AnEventBeforeItsPaymentIsKeptAndApplied) {
  scene.open_sale(5);
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::unknown_order);
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::unknown_order);
  PaymentEvent stranger = LedgerScene::captured(1);
  stranger.gateway = "other";  // Says it has this payment's money, but the payment is not its own.
  EXPECT_EQ(scene.settle(stranger).settled, Settled::unknown_order);
  bed->restart();
  const OrderId order = scene.buy("ann");
  const Settlement started = scene.settle(LedgerScene::start(order, "ann", 1));
  EXPECT_EQ(started.settled, Settled::done);
  EXPECT_EQ(started.effect, GateEffect::sell);
  EXPECT_EQ(started.order->status, OrderStatus::paid);
  EXPECT_EQ(started.payment->state, PaymentState::captured);
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::repeated);
  EXPECT_EQ(scene.settle(stranger).settled, Settled::unknown_order);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 1));
}

TEST_P(LedgerConformance, F70_MoneyThatDoesNotMatchGoesBack) {
  scene.open_sale(50);
  const std::array wrong{Money{1998, *Currency::parse("EUR")}, Money{2000, *Currency::parse("EUR")},
                         Money{1999, *Currency::parse("USD")}, Money{1, *Currency::parse("EUR")}};
  std::uint64_t number = 0;
  for (const Money& amount : wrong) {
    const std::string buyer = "buyer-" + std::to_string(++number);
    const OrderId order = scene.buy(buyer);
    ASSERT_EQ(scene.settle(LedgerScene::start(order, buyer, number)).settled, Settled::done);
    PaymentEvent event = LedgerScene::captured(number);
    event.amount = amount;
    const Settlement settled = scene.settle(event);
    EXPECT_EQ(settled.settled, Settled::refund_due);
    EXPECT_EQ(settled.effect, GateEffect::none);
    EXPECT_EQ(settled.order->status, OrderStatus::pending);
    const auto due = bed->reader().refunds_due(100);
    ASSERT_TRUE(due);
    ASSERT_EQ(due->size(), number);
    const auto found = std::ranges::find(*due, PaymentId{7, number}, &RefundDue::payment);
    ASSERT_NE(found, due->end());
    EXPECT_EQ(found->refund.amount, amount) << "exactly what was taken";
    // The buyer may pay again, and rightly.
    EXPECT_EQ(scene.settle(LedgerScene::start(order, buyer, 100 + number)).settled, Settled::done);
    EXPECT_EQ(scene.settle(LedgerScene::captured(100 + number)).settled, Settled::done);
    EXPECT_EQ(scene.status(order), OrderStatus::paid);
  }
}

TEST_P(LedgerConformance, F59_F70_ACaptureOfNothingPaysNothing) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  for (const std::int64_t amount : {std::int64_t{0}, std::int64_t{-1999}, INT64_MIN}) {
    const auto event = LedgerScene::event(std::to_string(amount), PaymentEventKind::captured, 1, amount);
    EXPECT_EQ(scene.settle(event).settled, Settled::refused);
  }
  EXPECT_EQ(scene.status(order), OrderStatus::pending);
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::done);
}

TEST_P(LedgerConformance, F62_ACaptureMayWinAfterPayByWhileTheOrderIsPending) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  scene.let_pass(LedgerScene::kPayWithin);
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::done);
  EXPECT_TRUE(scene.expire().empty());
  EXPECT_EQ(scene.status(order), OrderStatus::paid);
}

TEST_P(LedgerConformance, F62_LateMoneyTakesTheUnitsAgainWhenItCan) {
  scene.open_sale(1);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  const Settlement late = scene.settle(LedgerScene::captured(1));
  EXPECT_EQ(late.settled, Settled::late);
  EXPECT_EQ(late.effect, GateEffect::none);
  EXPECT_EQ(late.payment->state, PaymentState::late);
  bed->restart();
  const auto undecided = bed->reader().undecided_late(10);
  ASSERT_TRUE(undecided);
  ASSERT_EQ(undecided->size(), 1U);
  EXPECT_EQ(undecided->front().id, (PaymentId{7, 1}));
  const Settlement taken = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true});
  EXPECT_EQ(taken.settled, Settled::done);
  EXPECT_EQ(taken.effect, GateEffect::sell);
  EXPECT_EQ(taken.order->status, OrderStatus::paid);
  EXPECT_EQ(taken.order->ended_at, std::nullopt);
  EXPECT_EQ(scene.shelf(), counts(1, 0, 1));
  EXPECT_EQ(scene.units_of("ann"), 1);
  EXPECT_TRUE(bed->reader().undecided_late(10)->empty());
  // Asked again, the gate has taken the units for the same order: they are sold.
  const Settlement again = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true});
  EXPECT_EQ(again.settled, Settled::repeated);
  EXPECT_EQ(again.effect, GateEffect::sell);
}

TEST_P(LedgerConformance, F62_LateMoneyGoesBackWhenTheUnitsAreGone) {
  scene.open_sale(1);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  static_cast<void>(scene.buy("ben"));
  ASSERT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::late);
  // A gate that erred says it took them: the ledger knows better, and the gate gives them back.
  const Settlement refused = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true});
  EXPECT_EQ(refused.settled, Settled::refund_due);
  EXPECT_EQ(refused.effect, GateEffect::release);
  EXPECT_EQ(refused.order->status, OrderStatus::expired);
  EXPECT_EQ(refused.order->refund->amount.value, 1999);
  EXPECT_EQ(scene.shelf(), counts(1, 1, 0));
  const Settlement again = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true});
  EXPECT_EQ(again.settled, Settled::repeated);
  EXPECT_EQ(again.effect, GateEffect::release) << "what was taken for the second question goes back too";
  EXPECT_EQ(scene.settle(DecideLate{.payment = {7, 1}, .units_taken = false}).effect, GateEffect::none);
  ASSERT_EQ(bed->reader().refunds_due(10)->size(), 1U) << "one refund";
  // The refund is done; the order stays what it was.
  const Settlement done = scene.settle(LedgerScene::refunded(1, *refused.order->refund));
  EXPECT_EQ(done.settled, Settled::done);
  EXPECT_EQ(done.effect, GateEffect::none);
  EXPECT_EQ(done.order->status, OrderStatus::expired);
  EXPECT_EQ(done.payment->state, PaymentState::refunded);
  EXPECT_TRUE(bed->reader().refunds_due(10)->empty());
}

TEST_P(LedgerConformance, F62_LateMoneyRespectsTheLimit) {
  scene.open_sale(10);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  static_cast<void>(scene.buy("ann"));
  ASSERT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::late);
  const Settlement refused = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true});
  EXPECT_EQ(refused.settled, Settled::refund_due);
  EXPECT_EQ(refused.effect, GateEffect::release);
  EXPECT_EQ(scene.units_of("ann"), 1);
}

TEST_P(LedgerConformance, LateMoneyThatTheGateDidNotTakeGoesBack) {
  scene.open_sale(1);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  ASSERT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::late);
  const Settlement settled = scene.settle(DecideLate{.payment = {7, 1}, .units_taken = false});
  EXPECT_EQ(settled.settled, Settled::refund_due);
  EXPECT_EQ(settled.effect, GateEffect::none);
  EXPECT_EQ(scene.settle(DecideLate{.payment = {7, 99}, .units_taken = true}).settled, Settled::unknown_order);
}

TEST_P(LedgerConformance, B022_CancellingAgainChangesNothing) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  const auto settled = scene.settle(std::vector<SettleCommand>(50, LedgerScene::cancel(order, "ann")));
  EXPECT_EQ(settled[0].settled, Settled::done);
  EXPECT_EQ(std::ranges::count(settled, Settled::repeated, &Settlement::settled), 49);
  EXPECT_EQ(std::ranges::count(settled, GateEffect::release, &Settlement::effect), 1);
  EXPECT_EQ(settled[49].order->status, OrderStatus::cancelled);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
  const auto life = bed->reader().life_of(order);
  EXPECT_EQ(std::ranges::count(*life, "cancelled", &LifeLine::what), 1);
}

TEST_P(LedgerConformance, F72_OnlyAPendingOrderOfTheBuyerIsCancelled) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  EXPECT_EQ(scene.settle(LedgerScene::cancel(order, "ben")).settled, Settled::unknown_order);
  EXPECT_EQ(scene.settle(LedgerScene::cancel({5, 5}, "ann")).settled, Settled::unknown_order);
  ASSERT_EQ(scene.pay(order, "ann", 1).settled, Settled::done);
  const Settlement refused = scene.settle(LedgerScene::cancel(order, "ann"));
  EXPECT_EQ(refused.settled, Settled::refused);
  EXPECT_EQ(refused.order->status, OrderStatus::paid);
}

TEST_P(LedgerConformance, B032_MoneyAfterACancelGoesBackWhateverComesLater) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  ASSERT_EQ(scene.settle(LedgerScene::cancel(order, "ann")).settled, Settled::done);
  const Settlement first = scene.settle(LedgerScene::captured(1));
  EXPECT_EQ(first.settled, Settled::refund_due);
  EXPECT_EQ(first.effect, GateEffect::none);
  EXPECT_EQ(scene.settle(LedgerScene::cancel(order, "ann")).settled, Settled::repeated);
  EXPECT_EQ(scene.settle(LedgerScene::event("again", PaymentEventKind::captured, 1)).settled, Settled::repeated);
  EXPECT_EQ(scene.status(order), OrderStatus::cancelled);
  EXPECT_EQ(bed->reader().refunds_due(10)->size(), 1U);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
}

/// Every order of expire, capture and cancel at the same instant, each also twice in a row: one wins, the others see
/// the truth, the unit goes back at most once and the money is kept or owed.
TEST_P(LedgerConformance, F62_F72_ExpireCaptureAndCancelInEveryOrder) {
  scene.open_sale(300);
  std::string turns = "aabbcc";  // a: expire, b: capture, c: cancel.
  std::uint64_t number = 0;
  do {
    const std::string buyer = "buyer-" + std::to_string(++number);
    const OrderId order = scene.buy(buyer);
    ASSERT_EQ(scene.settle(LedgerScene::start(order, buyer, number)).settled, Settled::done);
    scene.let_pass(LedgerScene::kPayWithin);
    int releases = 0;
    int sells = 0;
    const auto note = [&](const Settlement& settled) {
      releases += settled.effect == GateEffect::release ? 1 : 0;
      sells += settled.effect == GateEffect::sell ? 1 : 0;
    };
    for (const char turn : turns) {
      if (turn == 'a') releases += static_cast<int>(scene.expire().size());
      if (turn == 'b') note(scene.settle(LedgerScene::captured(number)));
      if (turn == 'c') note(scene.settle(LedgerScene::cancel(order, buyer)));
    }
    const OrderStatus status = scene.status(order);
    const auto expected = turns[0] == 'a'   ? OrderStatus::expired
                          : turns[0] == 'b' ? OrderStatus::paid
                                            : OrderStatus::cancelled;
    EXPECT_EQ(status, expected) << turns;
    EXPECT_EQ(sells, status == OrderStatus::paid ? 1 : 0) << turns;
    EXPECT_EQ(releases, status == OrderStatus::paid ? 0 : 1) << turns;
    const auto payment = bed->reader().payment({7, number});
    const auto money = status == OrderStatus::paid      ? PaymentState::captured
                       : status == OrderStatus::expired ? PaymentState::late
                                                        : PaymentState::refund_due;
    EXPECT_EQ((*payment)->state, money) << turns;
  } while (std::ranges::next_permutation(turns).found);
  EXPECT_EQ(number, 90U);
}

TEST_P(LedgerConformance, AWholeRefundEndsThePaidOrderAndRestocks) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.pay(order, "ann", 1).settled, Settled::done);
  const Settlement asked = scene.settle(LedgerScene::refund(order, 1));
  EXPECT_EQ(asked.settled, Settled::done);
  EXPECT_EQ(asked.effect, GateEffect::none);
  EXPECT_EQ(asked.order->status, OrderStatus::paid) << "until the money has gone back";
  EXPECT_EQ(asked.order->refund->state, RefundState::due);
  const Settlement again = scene.settle(LedgerScene::refund(order, 2));
  EXPECT_EQ(again.settled, Settled::repeated);
  EXPECT_EQ(again.order->refund->id, (RefundId{9, 1}));
  const auto due = bed->reader().refunds_due(10);
  ASSERT_EQ(due->size(), 1U);
  EXPECT_EQ(due->front().gateway, "sandbox");
  EXPECT_EQ(due->front().order, order);
  const auto events = std::vector<SettleCommand>(3, LedgerScene::refunded(1, *asked.order->refund));
  const auto done = scene.settle(events);
  EXPECT_EQ(done[0].settled, Settled::done);
  EXPECT_EQ(done[0].effect, GateEffect::release);
  EXPECT_EQ(done[0].order->status, OrderStatus::refunded);
  EXPECT_EQ(done[0].order->refund->state, RefundState::done);
  EXPECT_EQ(done[1].settled, Settled::repeated);
  EXPECT_EQ(done[1].effect, GateEffect::none);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 0));
  EXPECT_EQ(scene.units_of("ann"), 0);
  static_cast<void>(scene.buy("ann"));
}

TEST_P(LedgerConformance, UnitsThatAreNotRestockedStaySold) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.pay(order, "ann", 1).settled, Settled::done);
  RefundOrder command = LedgerScene::refund(order, 1);
  command.restock = false;
  const Settlement asked = scene.settle(command);
  const Settlement done = scene.settle(LedgerScene::refunded(1, *asked.order->refund));
  EXPECT_EQ(done.effect, GateEffect::none);
  EXPECT_EQ(done.order->status, OrderStatus::refunded);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 1));
  EXPECT_EQ(scene.record(scene.claim("ann")).recording, Recording::over_limit);
  int live = 0;
  ASSERT_TRUE(bed->reader().live_orders([&](const Ended&, bool sold) { live += sold ? 1 : 0; }));
  EXPECT_EQ(live, 1) << "the gate must go on holding them";
}

TEST_P(LedgerConformance, APartOfTheMoneyLeavesTheOrderPaid) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.pay(order, "ann", 1).settled, Settled::done);
  RefundOrder part = LedgerScene::refund(order, 1);
  part.amount = 500;
  const Settlement asked = scene.settle(part);
  ASSERT_EQ(asked.settled, Settled::done);
  const Settlement done = scene.settle(LedgerScene::refunded(1, *asked.order->refund));
  EXPECT_EQ(done.settled, Settled::done);
  EXPECT_EQ(done.effect, GateEffect::none);
  EXPECT_EQ(done.order->status, OrderStatus::paid);
  EXPECT_EQ(done.order->refund->amount.value, 500);
  EXPECT_EQ(done.order->refund->state, RefundState::done);
  EXPECT_EQ(scene.settle(LedgerScene::refund(order, 2)).settled, Settled::repeated);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 1));
}

TEST_P(LedgerConformance, WhatWasNotPaidIsNotRefunded) {
  scene.open_sale(5);
  const OrderId pending = scene.buy("ann");
  EXPECT_EQ(scene.settle(LedgerScene::refund(pending, 1)).settled, Settled::refused);
  EXPECT_EQ(scene.settle(LedgerScene::refund({3, 3}, 1)).settled, Settled::unknown_order);
  RefundOrder elsewhere = LedgerScene::refund(pending, 1);
  elsewhere.tenant = {2};
  EXPECT_EQ(scene.settle(elsewhere).settled, Settled::unknown_order);
  // An expired order whose late money is owed has a refund, but none that support could ask for.
  ASSERT_EQ(scene.settle(LedgerScene::start(pending, "ann", 1)).settled, Settled::done);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  ASSERT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::late);
  ASSERT_EQ(scene.settle(DecideLate{.payment = {7, 1}, .units_taken = false}).settled, Settled::refund_due);
  EXPECT_EQ(scene.settle(LedgerScene::refund(pending, 1)).settled, Settled::refused);
}

TEST_P(LedgerConformance, AnOrderPaidInTheSecondAttemptCanStillBeRefunded) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  ASSERT_EQ(scene.settle(LedgerScene::captured(1, 1)).settled, Settled::refund_due);
  ASSERT_EQ(scene.pay(order, "ann", 2).settled, Settled::done);
  const Settlement asked = scene.settle(LedgerScene::refund(order, 5));
  EXPECT_EQ(asked.settled, Settled::done);
  EXPECT_EQ(asked.order->refund->amount.value, 1999);
  EXPECT_EQ(bed->reader().refunds_due(10)->size(), 2U);
}

TEST_P(LedgerConformance, F59_ARefundIsNeverMoreThanWasPaid) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.pay(order, "ann", 1).settled, Settled::done);
  for (const std::int64_t amount : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2000}, INT64_MAX, INT64_MIN}) {
    RefundOrder command = LedgerScene::refund(order, 1);
    command.amount = amount;
    EXPECT_EQ(scene.settle(command).settled, Settled::refused) << amount;
  }
  EXPECT_TRUE(bed->reader().refunds_due(10)->empty());
}

TEST_P(LedgerConformance, ARefundThatNobodyAskedForChangesNothing) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.pay(order, "ann", 1).settled, Settled::done);
  Refund refund{.id = {9, 1}, .state = RefundState::due, .amount = {1999, *Currency::parse("EUR")}};
  EXPECT_EQ(scene.settle(LedgerScene::refunded(1, refund)).settled, Settled::refused);
  ASSERT_EQ(scene.settle(LedgerScene::refund(order, 1)).settled, Settled::done);
  PaymentEvent less = LedgerScene::refunded(1, refund);
  less.event_id = "less";
  less.amount.value = 1998;
  EXPECT_EQ(scene.settle(less).settled, Settled::refused);
  EXPECT_EQ(scene.status(order), OrderStatus::paid);
}

TEST_P(LedgerConformance, WhatCostsNothingIsPaidAndRefundedWithoutMoney) {
  scene.open_sale(5);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::item_draft("gift", 5, 0))), Changed::done);
  const OrderId order = scene.buy("ann", 1, {3});
  ASSERT_EQ(scene.pay(order, "ann", 1, 0).settled, Settled::done);
  const Settlement refunded = scene.settle(LedgerScene::refund(order, 1));
  EXPECT_EQ(refunded.settled, Settled::done);
  EXPECT_EQ(refunded.effect, GateEffect::release);
  EXPECT_EQ(refunded.order->status, OrderStatus::refunded);
  EXPECT_TRUE(bed->reader().refunds_due(10)->empty());
}

}  // namespace weir
