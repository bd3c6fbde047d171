#pragma once

#include "base/random.h"
#include "gate/gate.h"
#include "gate/gate_walk.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

/// Makes a gate in which nothing is open.
struct GateMaker {
  std::string adapter;
  std::function<std::unique_ptr<Gate>()> make;
};

inline void PrintTo(const GateMaker& maker, std::ostream* out) { *out << maker.adapter; }
inline void PrintTo(Admission admission, std::ostream* out) { *out << name(admission); }

/// What every gate must do, through the port alone. An adapter's test includes this once and instantiates `Gates`. One
/// that sells numbers too also includes `gate_conformance_numbers.h` and instantiates `NumberGates`.
class Gates : public testing::TestWithParam<GateMaker> {
 protected:
  static constexpr SaleNo kSale{1};
  static constexpr ItemNo kShoe{1};
  static constexpr ItemNo kHat{2};
  static constexpr Deadline kNever{INT64_MAX};

  void SetUp() override { gate_ = GetParam().make(); }

  void open(std::int64_t shoes, std::int32_t limit = 1, bool selling = true) {
    const std::vector<GateItem> items{{kShoe, shoes}, {kHat, 100}};
    ASSERT_TRUE(gate_->open({kSale, limit, selling}, items, kNever));
  }

  /// Order `order` of buyer `buyer`: orders and buyers are small numbers here.
  static Claim claim(std::uint64_t order, std::uint64_t buyer, std::int32_t units = 1, ItemNo item = kShoe) {
    Claim made;
    made.order = {order << 32, order};
    made.sale = kSale;
    made.item = item;
    made.units = units;
    made.buyer_key = {buyer};
    made.buyer = *BuyerName::from(fmt::format("buyer-{}", buyer));
    made.tenant = {1};
    made.digest = {static_cast<std::uint64_t>(item.value) << 32 | static_cast<std::uint32_t>(units)};
    return made;
  }
  static Claim retake(Claim of) {
    of.retake = true;
    return of;
  }
  static Hold hold(const Claim& of, bool sold = false) {
    return {.order = of.order,
            .sale = of.sale,
            .item = of.item,
            .units = of.units,
            .numbers = of.numbers,
            .buyer_key = of.buyer_key,
            .sold = sold,
            .recorded = true,
            .buyer = of.buyer};
  }

  Verdict reserve(const Claim& one) {
    Verdict verdict;
    EXPECT_TRUE(gate_->reserve({&one, 1}, {&verdict, 1}, kNever));
    return verdict;
  }
  Admission admission(const Claim& one) { return reserve(one).admission; }
  std::int64_t release(const Hold& one) { return gate_->release({&one, 1}, kNever).value_or(-1); }
  void sell(const Hold& one) { EXPECT_TRUE(gate_->sell({&one, 1}, kNever)); }
  Result<void> adopt(const Hold& one) { return gate_->adopt({&one, 1}, kNever); }
  Shelf shelf(ItemNo item = kShoe) { return gate_->shelf(item, kNever).value_or(Shelf{}); }
  /// free, held, sold.
  std::vector<std::int64_t> counts(ItemNo item = kShoe) {
    const Shelf now = shelf(item);
    EXPECT_EQ(now.free + now.held + now.sold, now.total);
    return {now.free, now.held, now.sold};
  }
  using Counts = std::vector<std::int64_t>;

  std::unique_ptr<Gate> gate_;
};

TEST_P(Gates, F15_StockNeverGoesBelowZero) {
  open(10);
  int admitted = 0;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    admitted += admission(claim(i, i)) == Admission::admitted;
    ASSERT_GE(shelf().free, 0);
  }
  EXPECT_EQ(admitted, 10);
  EXPECT_EQ(counts(), (Counts{0, 10, 0}));
}

TEST_P(Gates, B009_AReturnAfterTenfoldDemandSellsExactlyOneMore) {
  open(10);
  for (std::uint64_t i = 1; i <= 100; ++i) static_cast<void>(reserve(claim(i, i)));
  EXPECT_EQ(release(hold(claim(4, 4))), 1);
  EXPECT_EQ(admission(claim(101, 101)), Admission::admitted);
  EXPECT_EQ(admission(claim(102, 102)), Admission::sold_out);
  EXPECT_EQ(counts(), (Counts{0, 10, 0}));
}

TEST_P(Gates, B010_SecondClickBurnsNoUnit) {
  open(10);
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
  for (std::uint64_t i = 2; i <= 500; ++i) {
    const Verdict verdict = reserve(claim(i, 1));
    ASSERT_EQ(verdict.admission, Admission::over_limit);
    ASSERT_EQ(verdict.standing, claim(1, 1).order) << "he hears which order he has";
    ASSERT_EQ(verdict.units_held, 1);
  }
  for (std::uint64_t i = 2; i <= 10; ++i) EXPECT_EQ(admission(claim(1000 + i, i)), Admission::admitted);
  EXPECT_EQ(counts(), (Counts{0, 10, 0}));
}

TEST_P(Gates, B014_ARaceOfOneBuyerLeavesTheLastUnitToTheOther) {
  open(2);
  std::vector<Claim> batch;
  for (std::uint64_t i = 1; i <= 100; ++i) batch.push_back(claim(i, 1));
  batch.push_back(claim(101, 2));
  std::vector<Verdict> verdicts(batch.size());
  ASSERT_TRUE(gate_->reserve(batch, verdicts, kNever));
  for (std::size_t i = 1; i < 100; ++i) EXPECT_EQ(verdicts[i].admission, Admission::over_limit);
  EXPECT_EQ(verdicts.front().admission, Admission::admitted);
  EXPECT_EQ(verdicts.back().admission, Admission::admitted);
  EXPECT_EQ(counts(), (Counts{0, 2, 0}));
}

TEST_P(Gates, B050_TheLimitIsPerBuyerAndNotPerOrder) {
  open(100, 4);
  EXPECT_EQ(admission(claim(1, 1, 3)), Admission::admitted);
  EXPECT_EQ(reserve(claim(2, 1, 3)).units_held, 3);
  EXPECT_EQ(admission(claim(3, 1, 1)), Admission::admitted);
  EXPECT_EQ(admission(claim(4, 1, 1)), Admission::over_limit);
  EXPECT_EQ(admission(claim(5, 2, 4)), Admission::admitted) << "another buyer has a limit of his own";
}

TEST_P(Gates, B052_OneClaimCannotPassTheLimitEither) {
  open(100, 1);
  const Verdict verdict = reserve(claim(1, 1, 2));
  EXPECT_EQ(verdict.admission, Admission::over_limit);
  EXPECT_EQ(verdict.units_held, 0);
  EXPECT_TRUE(verdict.standing.is_none());
  EXPECT_EQ(admission(claim(2, 1, kUnitsPerClaimMax)), Admission::over_limit);
  EXPECT_EQ(counts(), (Counts{100, 0, 0}));
}

TEST_P(Gates, F57_TheLimitSpansTheItemsOfASale) {
  open(100, 2);
  EXPECT_EQ(admission(claim(1, 1, 1, kShoe)), Admission::admitted);
  EXPECT_EQ(admission(claim(2, 1, 1, kHat)), Admission::admitted);
  EXPECT_EQ(admission(claim(3, 1, 1, kShoe)), Admission::over_limit);
  EXPECT_EQ(admission(claim(4, 1, 1, kHat)), Admission::over_limit);
}

TEST_P(Gates, TheLimitEndsAtTheSale) {
  open(100, 1);
  const GateItem other{{50}, 10};
  ASSERT_TRUE(gate_->open({{2}, 1, true}, {&other, 1}, kNever));
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
  Claim elsewhere = claim(2, 1, 1, {50});
  elsewhere.sale = {2};
  EXPECT_EQ(admission(elsewhere), Admission::admitted);
}

TEST_P(Gates, F17_OpeningAgainNeverFillsTheShelf) {
  open(10);
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
  for (int i = 0; i < 100; ++i) open(10);
  EXPECT_EQ(counts(), (Counts{9, 1, 0}));
  open(999);
  EXPECT_EQ(counts(), (Counts{9, 1, 0})) << "a total changes by restock alone";
}

TEST_P(Gates, F17_AStockChangeIsAppliedOnce) {
  open(10);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(gate_->restock(kShoe, 5, 77, kNever));
  EXPECT_EQ(shelf().total, 15);
  ASSERT_TRUE(gate_->restock(kShoe, -5, 78, kNever));
  ASSERT_TRUE(gate_->restock(kShoe, 5, 77, kNever)) << "an old one, late";
  EXPECT_EQ(shelf().total, 10);
}

TEST_P(Gates, StockThatIsHeldCannotBeTakenAway) {
  open(3);
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
  const auto refused = gate_->restock(kShoe, -3, 1, kNever);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().failure, Failure::unavailable);
  EXPECT_EQ(counts(), (Counts{2, 1, 0}));
  ASSERT_TRUE(gate_->restock(kShoe, -2, 2, kNever));
  EXPECT_EQ(admission(claim(2, 2)), Admission::sold_out);
  EXPECT_EQ(release(hold(claim(1, 1))), 1);
  ASSERT_TRUE(gate_->restock(kShoe, -1, 1, kNever)) << "a refused change is not remembered";
  EXPECT_EQ(shelf().total, 0);
}

TEST_P(Gates, AddedUnitsCanBeSoldAtOnce) {
  open(1);
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
  EXPECT_EQ(admission(claim(2, 2)), Admission::sold_out);
  ASSERT_TRUE(gate_->restock(kShoe, 300, 1, kNever));
  for (std::uint64_t i = 2; i <= 301; ++i) ASSERT_EQ(admission(claim(i, i)), Admission::admitted);
  EXPECT_EQ(admission(claim(302, 302)), Admission::sold_out);
}

TEST_P(Gates, F59_StockChangesAtTheEdgesOfIntegersChangeNothing) {
  open(10);
  std::uint64_t change = 1;
  for (const std::int64_t delta : {INT64_MIN, INT64_MIN + 1, std::int64_t{-2'147'483'648}, std::int64_t{-11},
                                   kUnitsPerItemMax - 9, std::int64_t{2'147'483'648}, INT64_MAX - 10, INT64_MAX}) {
    EXPECT_FALSE(gate_->restock(kShoe, delta, change++, kNever)) << delta;
  }
  EXPECT_EQ(counts(), (Counts{10, 0, 0}));
  ASSERT_TRUE(gate_->restock(kShoe, 0, change, kNever));
  EXPECT_EQ(counts(), (Counts{10, 0, 0}));
}

TEST_P(Gates, F59_TheLargestClaimIsTakenWhole) {
  open(kUnitsPerClaimMax + 1, kBuyerLimitMax);
  EXPECT_EQ(admission(claim(1, 1, kUnitsPerClaimMax)), Admission::admitted);
  EXPECT_EQ(counts(), (Counts{1, kUnitsPerClaimMax, 0}));
  EXPECT_EQ(admission(claim(2, 2, kUnitsPerClaimMax)), Admission::sold_out);
  sell(hold(claim(1, 1, kUnitsPerClaimMax)));
  EXPECT_EQ(release(hold(claim(1, 1, kUnitsPerClaimMax))), kUnitsPerClaimMax);
  EXPECT_EQ(counts(), (Counts{kUnitsPerClaimMax + 1, 0, 0}));
}

TEST_P(Gates, F22_SeveralUnitsAreTakenWholeOrNotAtAll) {
  open(7, 10);
  const std::vector<Claim> crossing{claim(1, 1, 3), claim(2, 2, 3), claim(3, 3, 3), claim(4, 4, 1)};
  std::vector<Verdict> verdicts(crossing.size());
  ASSERT_TRUE(gate_->reserve(crossing, verdicts, kNever));
  EXPECT_EQ(verdicts[0].admission, Admission::admitted);
  EXPECT_EQ(verdicts[1].admission, Admission::admitted);
  EXPECT_EQ(verdicts[2].admission, Admission::sold_out) << "one is left, and it is not taken in part";
  EXPECT_EQ(verdicts[3].admission, Admission::admitted) << "who wants no more than that gets it";
  EXPECT_EQ(counts(), (Counts{0, 7, 0}));
  EXPECT_EQ(release(hold(crossing[2])), 0) << "nothing of it was left behind";
  EXPECT_EQ(release(hold(crossing[0])), 3);
  EXPECT_EQ(admission(claim(5, 3, 3)), Admission::admitted);
  EXPECT_EQ(counts(), (Counts{0, 7, 0}));
}

TEST_P(Gates, SoldOutIsSaidOnlyWhileTooFewAreFree) {
  open(3, 5);
  EXPECT_EQ(admission(claim(1, 1, 4)), Admission::sold_out);
  EXPECT_EQ(admission(claim(2, 1, 3)), Admission::admitted) << "all or nothing, and nothing was burnt";
}

TEST_P(Gates, F16_AReleaseLiftsTheShelf) {
  open(1);
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
  const Shelf sold_out = shelf();
  EXPECT_EQ(sold_out.free, 0);
  EXPECT_EQ(release(hold(claim(1, 1))), 1);
  EXPECT_EQ(shelf().free, 1);
  EXPECT_GT(shelf().version, sold_out.version);
}

TEST_P(Gates, EveryChangeGrowsTheVersion) {
  open(10);
  std::uint64_t last = shelf().version;
  const auto has_grown = [&] {
    const bool grown = shelf().version > last;
    last = shelf().version;
    return grown;
  };
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
  EXPECT_TRUE(has_grown());
  sell(hold(claim(1, 1)));
  EXPECT_TRUE(has_grown());
  EXPECT_EQ(release(hold(claim(1, 1))), 1);
  EXPECT_TRUE(has_grown());
  ASSERT_TRUE(gate_->restock(kShoe, -1, 1, kNever));
  EXPECT_TRUE(has_grown());
  ASSERT_TRUE(adopt(hold(claim(2, 2))));
  EXPECT_TRUE(has_grown());
}

TEST_P(Gates, ReleasedUnitsCanBeSoldAgain) {
  open(3, 3);
  for (std::uint64_t i = 1; i <= 50; ++i) {
    ASSERT_EQ(admission(claim(i, i, 3)), Admission::admitted);
    ASSERT_EQ(release(hold(claim(i, i, 3))), 3);
  }
  EXPECT_EQ(counts(), (Counts{3, 0, 0}));
}

TEST_P(Gates, ReleaseIsRepeatable) {
  open(3, 3);
  ASSERT_EQ(admission(claim(1, 1, 2)), Admission::admitted);
  EXPECT_EQ(release(hold(claim(1, 1, 2))), 2);
  EXPECT_EQ(release(hold(claim(1, 1, 2))), 0);
  EXPECT_EQ(release(hold(claim(9, 9))), 0) << "never seen";
  EXPECT_EQ(counts(), (Counts{3, 0, 0}));
}

TEST_P(Gates, ReleaseGivesBackWhatTheGateHolds) {
  open(10, 5);
  ASSERT_EQ(admission(claim(1, 1, 2)), Admission::admitted);
  EXPECT_EQ(release(hold(claim(1, 1, 5, kHat))), 2) << "whatever the caller believes";
  EXPECT_EQ(counts(), (Counts{10, 0, 0}));
  EXPECT_EQ(counts(kHat), (Counts{100, 0, 0}));
}

TEST_P(Gates, ReleaseGivesBackOneOfABuyersOrders) {
  open(10, 5);
  ASSERT_EQ(admission(claim(1, 1, 2)), Admission::admitted);
  ASSERT_EQ(admission(claim(2, 1, 3)), Admission::admitted);
  EXPECT_EQ(release(hold(claim(1, 1, 2))), 2);
  EXPECT_EQ(admission(claim(2, 1, 3)), Admission::repeated);
  EXPECT_EQ(reserve(claim(3, 1, 3)).units_held, 3);
  EXPECT_EQ(admission(claim(4, 1, 2)), Admission::admitted);
}

TEST_P(Gates, ARepeatTakesNothing) {
  open(10, 5);
  std::vector<Claim> batch(20, claim(1, 1, 2));
  std::vector<Verdict> verdicts(batch.size());
  ASSERT_TRUE(gate_->reserve(batch, verdicts, kNever));
  EXPECT_EQ(verdicts[0].admission, Admission::admitted);
  for (std::size_t i = 1; i < batch.size(); ++i) EXPECT_EQ(verdicts[i].admission, Admission::repeated);
  EXPECT_EQ(admission(claim(1, 1, 2)), Admission::repeated);
  EXPECT_EQ(counts(), (Counts{8, 2, 0}));
}

TEST_P(Gates, ARepeatAfterPaymentIsStillARepeat) {
  open(1);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  sell(hold(claim(1, 1)));
  EXPECT_EQ(admission(claim(1, 1)), Admission::repeated);
}

TEST_P(Gates, OneIdStandsForOneRequest) {
  open(10, 5);
  ASSERT_EQ(admission(claim(1, 1, 2)), Admission::admitted);
  EXPECT_EQ(admission(claim(1, 1, 1)), Admission::key_reused);
  EXPECT_EQ(admission(claim(1, 1, 2, kHat)), Admission::key_reused);
  EXPECT_EQ(admission(claim(1, 1, 2, {9999})), Admission::key_reused) << "also for an item that is not there";
  EXPECT_EQ(counts(), (Counts{8, 2, 0}));
}

TEST_P(Gates, AnEndedOrderIsNotAdmittedAgain) {
  open(10);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  ASSERT_EQ(release(hold(claim(1, 1))), 1);
  EXPECT_EQ(admission(claim(1, 1)), Admission::ended);
  EXPECT_EQ(admission(claim(1, 1, 5, kHat)), Admission::ended) << "the ledger tells a repeat from another request";
  EXPECT_EQ(admission(claim(2, 1)), Admission::admitted) << "a new purchase has a new id";
  EXPECT_EQ(release(hold(claim(7, 7))), 0);
  EXPECT_EQ(admission(claim(7, 7)), Admission::ended) << "ended before the gate ever saw it";
}

TEST_P(Gates, WhatTheLedgerNeverHadIsNotRememberedAsEnded) {
  open(10);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  Hold never = hold(claim(1, 1));
  never.recorded = false;
  EXPECT_EQ(release(never), 1);
  EXPECT_EQ(admission(claim(1, 1)), Admission::admitted);
}

TEST_P(Gates, LateMoneyRetakesAnEndedOrder) {
  open(1);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  ASSERT_EQ(release(hold(claim(1, 1))), 1);
  open(1, 1, false);
  EXPECT_EQ(admission(retake(claim(1, 1))), Admission::admitted) << "a pause does not stop it";
  EXPECT_EQ(admission(retake(claim(1, 1))), Admission::repeated);
  EXPECT_EQ(counts(), (Counts{0, 1, 0}));
  EXPECT_EQ(release(hold(claim(1, 1))), 1) << "the ledger did not want it after all";
}

TEST_P(Gates, LateMoneyTakesNothingFromOthers) {
  open(1);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  ASSERT_EQ(release(hold(claim(1, 1))), 1);
  ASSERT_EQ(admission(claim(2, 2)), Admission::admitted);
  EXPECT_EQ(admission(retake(claim(1, 1))), Admission::sold_out);
  ASSERT_EQ(admission(claim(3, 1, 1, kHat)), Admission::admitted);
  EXPECT_EQ(admission(retake(claim(1, 1))), Admission::over_limit) << "he has bought again meanwhile";
}

TEST_P(Gates, APausedSaleSellsNothingAndFinishesWhatItBegan) {
  open(10);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  ASSERT_EQ(admission(claim(2, 2)), Admission::admitted);
  open(10, 1, false);
  EXPECT_EQ(admission(claim(3, 3)), Admission::not_on_sale);
  EXPECT_EQ(admission(claim(1, 1)), Admission::repeated);
  sell(hold(claim(1, 1)));
  EXPECT_EQ(release(hold(claim(2, 2))), 1);
  EXPECT_EQ(counts(), (Counts{9, 0, 1}));
  open(10, 1, true);
  EXPECT_EQ(admission(claim(3, 3)), Admission::admitted);
}

TEST_P(Gates, WhatWasNeverOpenedIsNotOnSale) {
  EXPECT_EQ(admission(claim(1, 1)), Admission::not_on_sale);
  open(10);
  EXPECT_EQ(admission(claim(1, 1, 1, {9999})), Admission::not_on_sale);
  Claim elsewhere = claim(2, 2);
  elsewhere.sale = {99};
  EXPECT_EQ(admission(elsewhere), Admission::not_on_sale);
  const GateItem other{{50}, 10};
  ASSERT_TRUE(gate_->open({{2}, 1, true}, {&other, 1}, kNever));
  EXPECT_EQ(admission(claim(3, 3, 1, {50})), Admission::not_on_sale) << "an item of another sale";
  EXPECT_EQ(gate_->shelf({9999}, kNever).error().failure, Failure::unavailable);
  EXPECT_FALSE(gate_->restock({9999}, 1, 1, kNever));
}

TEST_P(Gates, ALoweredLimitCountsFromNow) {
  open(10, 4);
  ASSERT_EQ(admission(claim(1, 1, 3)), Admission::admitted);
  open(10, 2);
  EXPECT_EQ(reserve(claim(2, 1)).units_held, 3);
  EXPECT_EQ(admission(claim(1, 1, 3)), Admission::repeated) << "what he has he keeps";
}

TEST_P(Gates, PaidUnitsMoveFromHeldToSoldOnce) {
  open(2);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  for (int i = 0; i < 3; ++i) sell(hold(claim(1, 1)));
  sell(hold(claim(9, 9)));
  EXPECT_EQ(counts(), (Counts{1, 0, 1}));
}

TEST_P(Gates, SoldOutTellsWhetherUnitsMayReturn) {
  open(1);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  EXPECT_TRUE(reserve(claim(2, 2)).may_return);
  sell(hold(claim(1, 1)));
  EXPECT_EQ(admission(claim(3, 3)), Admission::sold_out);
  EXPECT_FALSE(reserve(claim(3, 3)).may_return);
}

TEST_P(Gates, ARefundedAndRestockedOrderGivesItsUnitsBack) {
  open(2, 2);
  ASSERT_EQ(admission(claim(1, 1, 2)), Admission::admitted);
  sell(hold(claim(1, 1, 2)));
  EXPECT_EQ(release(hold(claim(1, 1, 2), true)), 2);
  EXPECT_EQ(counts(), (Counts{2, 0, 0}));
}

TEST_P(Gates, LiveOrdersAreAdoptedWhateverLimitAndPhase) {
  open(10, 1, false);
  ASSERT_TRUE(adopt(hold(claim(1, 1, 3))));
  ASSERT_TRUE(adopt(hold(claim(2, 1, 4), true)));
  EXPECT_EQ(counts(), (Counts{3, 3, 4}));
  open(10, 8, true);
  EXPECT_EQ(reserve(claim(3, 1, 2)).units_held, 7) << "adopted units count for the limit";
  EXPECT_EQ(admission(claim(1, 1, 3)), Admission::repeated);
}

TEST_P(Gates, AdoptIsRepeatable) {
  open(10);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(adopt(hold(claim(1, 1, 3))));
  EXPECT_EQ(counts(), (Counts{7, 3, 0}));
  ASSERT_TRUE(adopt(hold(claim(1, 1, 3), true)));
  EXPECT_EQ(counts(), (Counts{7, 0, 3})) << "paid meanwhile";
}

TEST_P(Gates, AnEndedOrderIsNotAdopted) {
  open(10);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  ASSERT_EQ(release(hold(claim(1, 1))), 1);
  ASSERT_TRUE(adopt(hold(claim(1, 1)))) << "the list is older than the release";
  EXPECT_EQ(counts(), (Counts{10, 0, 0}));
}

TEST_P(Gates, ALedgerThatDoesNotFitItsTotalsIsCorrupt) {
  open(3, 5);
  ASSERT_TRUE(adopt(hold(claim(1, 1, 2))));
  for (const Claim& misfit : {claim(2, 2, 2), claim(1, 1, 1), claim(3, 3, 1, {9999})}) {
    const auto refused = adopt(hold(misfit));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().failure, Failure::corrupt);
  }
  EXPECT_EQ(counts(), (Counts{1, 2, 0}));
}

TEST_P(Gates, ConfirmChangesNothingThatIsSeen) {
  open(2);
  ASSERT_EQ(admission(claim(1, 1)), Admission::admitted);
  const Hold recorded = hold(claim(1, 1));
  ASSERT_TRUE(gate_->confirm({&recorded, 1}, kNever));
  EXPECT_EQ(counts(), (Counts{1, 1, 0}));
  EXPECT_EQ(admission(claim(1, 1)), Admission::repeated);
}

TEST_P(Gates, EveryHoldCanBeListed) {
  open(10, 3);
  ASSERT_EQ(admission(claim(1, 1, 2)), Admission::admitted);
  ASSERT_EQ(admission(claim(2, 1, 1, kHat)), Admission::admitted);
  ASSERT_EQ(admission(claim(3, 3)), Admission::admitted);
  sell(hold(claim(2, 1, 1, kHat)));
  EXPECT_EQ(release(hold(claim(3, 3))), 1);
  std::vector<Hold> listed;
  ASSERT_TRUE(gate_->each_hold([&](const Hold& one) { listed.push_back(one); }, kNever));
  ASSERT_EQ(listed.size(), 2U);
  if (listed[0].order != claim(1, 1).order) std::swap(listed[0], listed[1]);
  EXPECT_EQ(listed[0].order, claim(1, 1).order);
  EXPECT_EQ(listed[0].units, 2);
  EXPECT_FALSE(listed[0].sold);
  EXPECT_EQ(listed[1].order, claim(2, 1).order);
  EXPECT_EQ(listed[1].item, kHat);
  EXPECT_EQ(listed[1].sale, kSale);
  EXPECT_EQ(listed[1].buyer_key, BuyerKey{1});
  EXPECT_TRUE(listed[1].sold);
}

TEST_P(Gates, B006_AnyMixOfCallsAddsUpAsTheSlowModelSays) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    gate_ = GetParam().make();
    SeededRandom random(seed);
    GateWalk walk(*gate_);
    for (int step = 0; step < 500; ++step) {
      const std::uint64_t a = random.draw();
      const std::uint64_t b = random.draw();
      const auto word = [](std::uint64_t of, int half) { return static_cast<std::uint32_t>(of >> (32 * half)); };
      ASSERT_TRUE(walk.step({word(a, 0), word(a, 1), word(b, 0), word(b, 1)}))
          << "seed " << seed << " step " << step << ": " << walk.difference();
    }
  }
}

}  // namespace weir
