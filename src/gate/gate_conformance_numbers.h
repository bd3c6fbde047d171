#pragma once

#include "gate/gate_conformance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace weir {

/// What every gate that sells numbered stock must do, through the port alone. See `Gates`.
class NumberGates : public Gates {
 protected:
  static constexpr ItemNo kSeats{3};
  static constexpr std::uint32_t kFirst = 101;

  using Numbers = std::vector<std::uint32_t>;

  /// Seats from 101 on beside 100 hats, which are counted.
  void open_seats(std::int64_t seats, std::int32_t limit = 1, bool selling = true) {
    const std::vector<GateItem> items{{kHat, 100}, {kSeats, seats, true, kFirst}};
    ASSERT_TRUE(gate_->open({kSale, limit, selling}, items, kNever));
  }

  static Claim random(std::uint64_t order, std::uint64_t buyer, std::int32_t units = 1) {
    Claim made = claim(order, buyer, units, kSeats);
    made.wish = Wish::random;
    return made;
  }
  static Claim named(std::uint64_t order, std::uint64_t buyer, const Numbers& numbers) {
    Claim made = claim(order, buyer, static_cast<std::int32_t>(numbers.size()), kSeats);
    made.wish = Wish::named;
    made.numbers = *NumberList::from(numbers);
    return made;
  }
  static Claim partial(std::uint64_t order, std::uint64_t buyer, const Numbers& numbers) {
    Claim made = named(order, buyer, numbers);
    made.wish = Wish::partial;
    return made;
  }
  /// What an order has once the gate said so.
  static Hold hold_after(Claim of, const Verdict& verdict, bool sold = false) {
    of.numbers = verdict.numbers;
    of.units = static_cast<std::int32_t>(verdict.numbers.size());
    return hold(of, sold);
  }
  static Numbers numbers(const Verdict& verdict) {
    return {verdict.numbers.view().begin(), verdict.numbers.view().end()};
  }

  std::map<OrderId, Hold> listed() {
    std::map<OrderId, Hold> found;
    EXPECT_TRUE(gate_->each_hold([&](const Hold& one) { EXPECT_TRUE(found.emplace(one.order, one).second); }, kNever));
    return found;
  }
  /// What an order has, as the gate lists it.
  Numbers numbers_of(const Claim& of) {
    const std::map<OrderId, Hold> all = listed();
    const auto found = all.find(of.order);
    if (found == all.end()) return {};
    return {found->second.numbers.view().begin(), found->second.numbers.view().end()};
  }
  /// Every number is in one order at most, every order has as many as units, and the shelf is what is left.
  void expect_whole() {
    std::set<std::uint32_t> taken;
    std::int64_t held = 0;
    std::int64_t sold = 0;
    const Shelf now = shelf(kSeats);
    for (const auto& [order, one] : listed()) {
      if (one.item != kSeats) continue;
      EXPECT_EQ(one.numbers.size(), static_cast<std::size_t>(one.units));
      (one.sold ? sold : held) += one.units;
      for (const std::uint32_t number : one.numbers.view()) {
        EXPECT_TRUE(number >= kFirst && number < kFirst + now.total) << number;
        EXPECT_TRUE(taken.insert(number).second) << number << " is in two orders";
      }
    }
    EXPECT_EQ(counts(kSeats), (Counts{now.total - held - sold, held, sold}));
  }
  void TearDown() override {
    if (!HasFatalFailure() && gate_->shelf(kSeats, kNever)) expect_whole();
  }
};

TEST_P(NumberGates, F22_NamedNumbersAreTakenWholeOrNotAtAll) {
  open_seats(10, 5);
  EXPECT_EQ(numbers(reserve(named(1, 1, {101, 102}))), (Numbers{101, 102}));
  const Verdict refused = reserve(named(2, 2, {102, 103, 104}));
  EXPECT_EQ(refused.admission, Admission::number_taken);
  EXPECT_EQ(numbers(refused), (Numbers{102})) << "he hears which, and keeps none of the others";
  EXPECT_EQ(counts(kSeats), (Counts{8, 2, 0}));
  EXPECT_EQ(admission(named(3, 3, {103, 104})), Admission::admitted);
  EXPECT_EQ(release(hold(named(2, 2, {102, 103, 104}))), 0);
  EXPECT_EQ(admission(named(4, 4, {103})), Admission::number_taken);
}

TEST_P(NumberGates, F22_CrossingPairsLeaveNoOrphan) {
  constexpr std::uint64_t kBuyers = 1000;
  open_seats(100, 2);
  std::vector<Claim> claims;
  for (std::uint64_t i = 0; i < kBuyers; ++i) {
    // One asks for 1 and 2, the next for 2 and 3, and so on round the hall and back.
    const auto seat = static_cast<std::uint32_t>(kFirst + (i % 2 == 0 ? i : kBuyers - i) % 99);
    claims.push_back(named(i + 1, i + 1, {seat, seat + 1}));
  }
  std::int64_t admitted = 0;
  for (std::size_t at = 0; at < claims.size(); at += 250) {
    std::vector<Verdict> verdicts(250);
    ASSERT_TRUE(gate_->reserve(std::span(claims).subspan(at, 250), verdicts, kNever));
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const bool is_admitted = verdicts[i].admission == Admission::admitted;
      admitted += is_admitted;
      EXPECT_EQ(verdicts[i].admission, is_admitted ? Admission::admitted : Admission::number_taken);
      EXPECT_EQ(numbers_of(claims[at + i]).size(), is_admitted ? 2U : 0U);
    }
  }
  EXPECT_GT(admitted, 30);
  EXPECT_EQ(counts(kSeats), (Counts{100 - 2 * admitted, 2 * admitted, 0}));
  for (const Claim& one : claims) static_cast<void>(release(hold(one)));
  EXPECT_EQ(counts(kSeats), (Counts{100, 0, 0})) << "nothing was left behind";
}

TEST_P(NumberGates, B053_OneBuyerGetsTheSeatThatAllWant) {
  open_seats(100);
  for (std::uint64_t round = 0; round < 100; ++round) {
    std::vector<Claim> claims;
    const auto seat = static_cast<std::uint32_t>(kFirst + round);
    for (std::uint64_t i = 1; i <= 200; ++i) claims.push_back(named(round * 200 + i, round * 200 + i, {seat}));
    std::vector<Verdict> verdicts(claims.size());
    ASSERT_TRUE(gate_->reserve(claims, verdicts, kNever));
    EXPECT_EQ(verdicts.front().admission, Admission::admitted);
    for (std::size_t i = 1; i < verdicts.size(); ++i) {
      ASSERT_EQ(verdicts[i].admission, Admission::number_taken);
      ASSERT_EQ(numbers(verdicts[i]), Numbers{seat});
    }
  }
  EXPECT_EQ(counts(kSeats), (Counts{0, 100, 0}));
}

TEST_P(NumberGates, F76_AThousandBuyersOnTenSeatsTakeEachOnce) {
  open_seats(10, 3);
  SeededRandom chance(76);
  std::set<std::uint32_t> taken;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    Numbers wanted{static_cast<std::uint32_t>(kFirst + chance.below(10))};
    if (wanted[0] < kFirst + 9) wanted.push_back(wanted[0] + 1);
    const Claim one = i % 3 == 0   ? random(i, i, static_cast<std::int32_t>(wanted.size()))
                      : i % 3 == 1 ? named(i, i, wanted)
                                   : partial(i, i, wanted);
    const Verdict verdict = reserve(one);
    if (verdict.admission != Admission::admitted) continue;
    for (const std::uint32_t number : verdict.numbers.view()) EXPECT_TRUE(taken.insert(number).second) << number;
  }
  EXPECT_EQ(taken.size(), 10U);
  EXPECT_EQ(counts(kSeats), (Counts{0, 10, 0}));
}

TEST_P(NumberGates, F76_NumbersThatTheItemHasNotGotTakeNothing) {
  open_seats(10, 5);
  for (const Numbers& beyond : {Numbers{100}, Numbers{111}, Numbers{0}, Numbers{kNumberMax}, Numbers{UINT32_MAX},
                                Numbers{100, 101}, Numbers{110, 111}, Numbers{0, 105, UINT32_MAX}}) {
    EXPECT_EQ(admission(named(1, 1, beyond)), Admission::not_on_sale) << beyond[0];
    EXPECT_EQ(admission(partial(1, 1, beyond)), Admission::not_on_sale) << beyond[0];
  }
  EXPECT_EQ(counts(kSeats), (Counts{10, 0, 0}));
}

TEST_P(NumberGates, AWishThatDoesNotSuitTheStockTakesNothing) {
  open_seats(10, 5);
  EXPECT_EQ(admission(claim(1, 1, 1, kSeats)), Admission::not_on_sale) << "of numbered stock nobody takes just units";
  for (Claim of_hats : {random(2, 2), named(2, 2, {101}), partial(2, 2, {101})}) {
    of_hats.item = kHat;
    EXPECT_EQ(admission(of_hats), Admission::not_on_sale);
  }
  Claim uneven = named(3, 3, {101, 102});
  uneven.units = 1;
  EXPECT_EQ(admission(uneven), Admission::not_on_sale);
  uneven.wish = Wish::partial;
  EXPECT_EQ(admission(uneven), Admission::not_on_sale);
  uneven.numbers = {};
  EXPECT_EQ(admission(uneven), Admission::not_on_sale);
  EXPECT_EQ(counts(kSeats), (Counts{10, 0, 0}));
  EXPECT_EQ(counts(kHat), (Counts{100, 0, 0}));
}

TEST_P(NumberGates, RandomNumbersAreTakenWholeOrNotAtAll) {
  open_seats(7, 10);
  const Verdict first = reserve(random(1, 1, 3));
  EXPECT_EQ(first.admission, Admission::admitted);
  EXPECT_EQ(numbers(first).size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(numbers(first)));
  EXPECT_EQ(admission(random(2, 2, 3)), Admission::admitted);
  const Verdict refused = reserve(random(3, 3, 2));
  EXPECT_EQ(refused.admission, Admission::sold_out) << "one is left, and it is not taken in part";
  EXPECT_TRUE(refused.may_return);
  EXPECT_TRUE(refused.numbers.is_empty());
  EXPECT_EQ(admission(random(4, 4, 1)), Admission::admitted);
  EXPECT_EQ(counts(kSeats), (Counts{0, 7, 0}));
}

TEST_P(NumberGates, EveryNumberIsSoldBeforeItIsSoldOut) {
  constexpr std::uint32_t kSize = 1500;
  open_seats(kSize, 7);
  std::set<std::uint32_t> taken;
  for (std::uint64_t i = 1; taken.size() < kSize; ++i) {
    const std::size_t left = kSize - taken.size();
    const Verdict verdict = reserve(random(i, i, static_cast<std::int32_t>(std::min<std::size_t>(1 + i % 7, left))));
    ASSERT_EQ(verdict.admission, Admission::admitted);
    for (const std::uint32_t number : verdict.numbers.view()) ASSERT_TRUE(taken.insert(number).second);
  }
  EXPECT_EQ(*taken.begin(), kFirst);
  EXPECT_EQ(*taken.rbegin(), kFirst + kSize - 1);
  EXPECT_EQ(admission(random(9001, 9001)), Admission::sold_out);
  const Verdict last = reserve(named(9002, 9002, {kFirst, kFirst + 700}));
  EXPECT_EQ(last.admission, Admission::number_taken) << "who names numbers hears that they are taken";
  EXPECT_EQ(numbers(last), (Numbers{kFirst, kFirst + 700}));
  EXPECT_EQ(admission(partial(9003, 9003, {kFirst})), Admission::number_taken);
}

TEST_P(NumberGates, TheLargestClaimOfNumbersIsTakenWhole) {
  open_seats(kUnitsPerClaimMax + 1, kBuyerLimitMax);
  Numbers all(kUnitsPerClaimMax);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = kFirst + i;
  EXPECT_EQ(numbers(reserve(named(1, 1, all))), all);
  EXPECT_EQ(numbers(reserve(named(1, 1, all))), all);
  EXPECT_EQ(numbers(reserve(named(2, 2, all))), all) << "all of them are taken";
  EXPECT_EQ(release(hold(named(1, 1, all))), kUnitsPerClaimMax);
  EXPECT_EQ(reserve(random(3, 3, kUnitsPerClaimMax)).numbers.size(), all.size());
  EXPECT_EQ(counts(kSeats), (Counts{1, kUnitsPerClaimMax, 0}));
}

TEST_P(NumberGates, APartialWishTakesWhatIsFree) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {102, 104})), Admission::admitted);
  EXPECT_EQ(numbers(reserve(partial(2, 2, {101, 102, 103}))), (Numbers{101, 103}));
  EXPECT_EQ(counts(kSeats), (Counts{6, 4, 0}));
  const Verdict none = reserve(partial(3, 3, {102, 103}));
  EXPECT_EQ(none.admission, Admission::number_taken);
  EXPECT_EQ(numbers(none), (Numbers{102, 103}));
  EXPECT_EQ(numbers(reserve(partial(4, 4, {105, 106}))), (Numbers{105, 106}));
  EXPECT_EQ(release(hold(partial(2, 2, {101, 102, 103}))), 2) << "as many as it got";
  EXPECT_EQ(admission(named(5, 5, {101, 103})), Admission::admitted);
}

TEST_P(NumberGates, ReleaseFreesExactlyTheNumbersOfTheOrder) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {101, 105, 110})), Admission::admitted);
  ASSERT_EQ(admission(named(2, 1, {102, 106})), Admission::admitted);
  EXPECT_EQ(release(hold(named(1, 1, {101, 105, 110}))), 3);
  EXPECT_EQ(numbers(reserve(partial(3, 3, {101, 102, 105, 106, 110}))), (Numbers{101, 105, 110}));
  EXPECT_EQ(numbers_of(named(2, 1, {})), (Numbers{102, 106}));
}

TEST_P(NumberGates, ReleaseTrustsTheGateAndNotTheList) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {101, 102})), Admission::admitted);
  ASSERT_EQ(admission(named(2, 2, {103})), Admission::admitted);
  EXPECT_EQ(release(hold(named(1, 1, {103, 104, 105}))), 2) << "whatever the caller believes";
  EXPECT_EQ(numbers(reserve(partial(3, 3, {101, 102, 103}))), (Numbers{101, 102}));
  EXPECT_EQ(admission(named(2, 2, {103})), Admission::repeated);
}

TEST_P(NumberGates, AReleaseOfAnUnknownOrderFreesNothing) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {101, 102})), Admission::admitted);
  EXPECT_EQ(release(hold(named(9, 1, {101, 102}))), 0) << "another order of the buyer";
  EXPECT_EQ(release(hold(named(9, 9, {101, 102}))), 0);
  EXPECT_EQ(release(hold(named(1, 9, {101, 102}))), 0) << "the order of another buyer";
  EXPECT_EQ(counts(kSeats), (Counts{8, 2, 0}));
  EXPECT_EQ(admission(named(2, 2, {102})), Admission::number_taken);
}

TEST_P(NumberGates, ReleaseOfNumbersIsRepeatable) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {101, 102})), Admission::admitted);
  EXPECT_EQ(release(hold(named(1, 1, {101, 102}))), 2);
  ASSERT_EQ(admission(named(2, 2, {101, 102})), Admission::admitted);
  EXPECT_EQ(release(hold(named(1, 1, {101, 102}))), 0) << "they are another order's by now";
  EXPECT_EQ(numbers_of(named(2, 2, {})), (Numbers{101, 102}));
}

TEST_P(NumberGates, B036_WhoLetANumberGoCanHaveItAgain) {
  open_seats(10);
  ASSERT_EQ(admission(named(1, 1, {107})), Admission::admitted);
  EXPECT_EQ(release(hold(named(1, 1, {107}))), 1);
  EXPECT_EQ(admission(named(1, 1, {107})), Admission::ended);
  EXPECT_EQ(admission(named(2, 1, {107})), Admission::admitted) << "a new purchase has a new id";
}

TEST_P(NumberGates, ARepeatTakesNothingAndTellsTheNumbers) {
  open_seats(10, 5);
  const Verdict drawn = reserve(random(1, 1, 2));
  ASSERT_EQ(admission(named(2, 2, {numbers(drawn)[0]})), Admission::number_taken);
  const Verdict again = reserve(random(1, 1, 2));
  EXPECT_EQ(again.admission, Admission::repeated);
  EXPECT_EQ(again.numbers, drawn.numbers) << "and not others";
  EXPECT_EQ(counts(kSeats), (Counts{8, 2, 0}));
  sell(hold_after(random(1, 1, 2), drawn));
  EXPECT_EQ(reserve(random(1, 1, 2)).numbers, drawn.numbers);
  EXPECT_EQ(counts(kSeats), (Counts{8, 0, 2}));
}

TEST_P(NumberGates, ARepeatOfAPartialWishIsOneThatHoldsWhatTheOrderGot) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {102})), Admission::admitted);
  ASSERT_EQ(numbers(reserve(partial(2, 2, {101, 102, 103}))), (Numbers{101, 103}));
  EXPECT_EQ(numbers(reserve(partial(2, 2, {101, 102, 103}))), (Numbers{101, 103}));
  EXPECT_EQ(numbers(reserve(partial(2, 2, {101, 103}))), (Numbers{101, 103})) << "the claim once it was admitted";
  EXPECT_EQ(release(hold(named(1, 1, {102}))), 1);
  const Verdict again = reserve(partial(2, 2, {101, 102, 103}));
  EXPECT_EQ(again.admission, Admission::repeated);
  EXPECT_EQ(numbers(again), (Numbers{101, 103})) << "what became free since is not his";
  EXPECT_EQ(admission(partial(2, 2, {101, 102})), Admission::key_reused);
}

TEST_P(NumberGates, OneIdStandsForOneWish) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {101, 102})), Admission::admitted);
  EXPECT_EQ(admission(named(1, 1, {101})), Admission::key_reused);
  EXPECT_EQ(admission(named(1, 1, {101, 103})), Admission::key_reused);
  EXPECT_EQ(admission(named(1, 1, {101, 102, 103})), Admission::key_reused);
  EXPECT_EQ(admission(named(1, 1, {999})), Admission::key_reused) << "also for numbers that are not there";
  EXPECT_EQ(admission(random(1, 1, 3)), Admission::key_reused);
  EXPECT_EQ(admission(claim(1, 1, 2, kSeats)), Admission::key_reused);
  EXPECT_EQ(admission(claim(1, 1, 2, kHat)), Admission::key_reused);
  ASSERT_EQ(admission(claim(2, 2, 2, kHat)), Admission::admitted);
  EXPECT_EQ(admission(named(2, 2, {101, 102})), Admission::key_reused);
  EXPECT_EQ(counts(kSeats), (Counts{8, 2, 0}));
}

TEST_P(NumberGates, TheLimitCountsNumbersAndUnitsOfTheSaleTogether) {
  open_seats(10, 4);
  ASSERT_EQ(admission(claim(1, 1, 2, kHat)), Admission::admitted);
  EXPECT_EQ(reserve(named(2, 1, {101, 102, 103})).units_held, 2);
  ASSERT_EQ(admission(named(3, 1, {101})), Admission::admitted);
  EXPECT_EQ(admission(random(4, 1, 2)), Admission::over_limit);
  EXPECT_EQ(admission(claim(5, 1, 2, kHat)), Admission::over_limit);
  ASSERT_EQ(admission(random(6, 1)), Admission::admitted);
  EXPECT_EQ(reserve(claim(7, 1, 1, kHat)).units_held, 4);
}

TEST_P(NumberGates, TheLimitIsLookedAtBeforeTheNumbers) {
  open_seats(10, 2);
  ASSERT_EQ(admission(named(1, 1, {101, 102})), Admission::admitted);
  const Verdict over = reserve(named(2, 1, {101}));
  EXPECT_EQ(over.admission, Admission::over_limit);
  EXPECT_TRUE(over.numbers.is_empty());
  EXPECT_EQ(admission(partial(3, 2, {101, 102, 103})), Admission::over_limit) << "by what is asked for, not got";
  EXPECT_EQ(admission(partial(4, 2, {102, 103})), Admission::admitted);
  EXPECT_EQ(admission(named(5, 2, {104})), Admission::admitted) << "of the two he got one";
}

TEST_P(NumberGates, APausedSaleSellsNoNumbers) {
  open_seats(10, 5);
  ASSERT_EQ(admission(named(1, 1, {101})), Admission::admitted);
  open_seats(10, 5, false);
  EXPECT_EQ(admission(named(2, 2, {102})), Admission::not_on_sale);
  EXPECT_EQ(admission(random(3, 3)), Admission::not_on_sale);
  EXPECT_EQ(numbers(reserve(named(1, 1, {101}))), Numbers{101});
}

TEST_P(NumberGates, LateMoneyRetakesItsOwnNumbersOrNone) {
  open_seats(10);
  const Verdict drawn = reserve(random(1, 1));
  const Hold had = hold_after(random(1, 1), drawn);
  ASSERT_EQ(release(had), 1);
  open_seats(10, 1, false);
  Claim late = retake(named(1, 1, numbers(drawn)));
  EXPECT_EQ(numbers(reserve(late)), numbers(drawn)) << "a pause does not stop it";
  EXPECT_EQ(admission(late), Admission::repeated);
  ASSERT_EQ(release(had), 1);
  open_seats(10);
  ASSERT_EQ(admission(named(2, 2, numbers(drawn))), Admission::admitted);
  const Verdict refused = reserve(late);
  EXPECT_EQ(refused.admission, Admission::number_taken) << "a number that was sold again is not revived";
  EXPECT_EQ(numbers(refused), numbers(drawn));
}

TEST_P(NumberGates, ANumberedTotalIsFixed) {
  open_seats(10);
  for (const std::int64_t delta : {std::int64_t{1}, std::int64_t{-1}, std::int64_t{0}, INT64_MAX, INT64_MIN}) {
    const auto refused = gate_->restock(kSeats, delta, 7, kNever);
    ASSERT_FALSE(refused) << delta;
    EXPECT_EQ(refused.error().failure, Failure::unfit);
  }
  EXPECT_EQ(counts(kSeats), (Counts{10, 0, 0}));
  ASSERT_TRUE(gate_->restock(kHat, 1, 7, kNever)) << "a refused change is not remembered";
  EXPECT_EQ(shelf(kHat).total, 101);
}

TEST_P(NumberGates, F17_OpeningAgainFreesNoNumber) {
  open_seats(10);
  ASSERT_EQ(admission(named(1, 1, {101})), Admission::admitted);
  for (int i = 0; i < 10; ++i) open_seats(10);
  open_seats(999);
  EXPECT_EQ(counts(kSeats), (Counts{9, 1, 0}));
  EXPECT_EQ(admission(named(2, 2, {101})), Admission::number_taken);
}

TEST_P(NumberGates, AnItemThatIsOpenedWithOtherNumbersIsCorrupt) {
  open_seats(10);
  for (const GateItem& other :
       {GateItem{kSeats, 10}, GateItem{kSeats, 10, true, kFirst + 1}, GateItem{kHat, 100, true, 1}}) {
    const auto refused = gate_->open({kSale, 1, true}, {&other, 1}, kNever);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().failure, Failure::corrupt);
  }
  EXPECT_EQ(numbers(reserve(named(1, 1, {101}))), Numbers{101});
}

TEST_P(NumberGates, F59_NumbersBeyondTheLimitsAreUnfit) {
  const auto opens = [&](const GateItem& item) { return gate_->open({kSale, 1, true}, {&item, 1}, kNever); };
  for (const GateItem& beyond :
       {GateItem{kSeats, kNumbersPerItemMax + 1, true, 1}, GateItem{kSeats, 2, true, kNumberMax},
        GateItem{kSeats, 1, true, kNumberMax + 1}, GateItem{kSeats, 1, true, UINT32_MAX}}) {
    const auto refused = opens(beyond);
    ASSERT_FALSE(refused) << beyond.first_number;
    EXPECT_EQ(refused.error().failure, Failure::unfit);
  }
  ASSERT_TRUE(opens({kSeats, 1, true, kNumberMax}));
  EXPECT_EQ(numbers(reserve(random(1, 1))), Numbers{kNumberMax});
  EXPECT_EQ(release(hold(named(1, 1, {kNumberMax}))), 1);
  ASSERT_TRUE(opens({{4}, 0, true, 1})) << "none at all";
  Claim of_none = random(2, 2);
  of_none.item = {4};
  EXPECT_EQ(admission(of_none), Admission::sold_out);
  gate_ = GetParam().make();
}

TEST_P(NumberGates, NumberedItemsCanBeAddedToASaleOfCountedOnes) {
  open(10, 5);
  for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_EQ(admission(claim(i, i)), Admission::admitted);
  open_seats(1000, 5);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(admission(named(100 + i, i, {static_cast<std::uint32_t>(kFirst + i - 1)})), Admission::admitted);
  }
  for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_EQ(admission(claim(i, i)), Admission::repeated);
  const GateItem more{{5}, 2000, true, 1};
  ASSERT_TRUE(gate_->open({kSale, 5, true}, {&more, 1}, kNever)) << "the table of holds grows";
  const std::map<OrderId, Hold> all = listed();
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const Hold& one = all.at(claim(100 + i, i).order);
    ASSERT_TRUE(std::ranges::equal(one.numbers.view(), Numbers{static_cast<std::uint32_t>(kFirst + i - 1)}));
  }
  EXPECT_EQ(release(hold(claim(1, 1))), 1);
}

TEST_P(NumberGates, B060_ASeatThatTwoOrdersHaveIsCorrupt) {
  open_seats(10, 5);
  ASSERT_TRUE(adopt(hold(named(1, 1, {101, 103}))));
  for (const Numbers& misfit : {Numbers{101}, Numbers{102, 103, 104}, Numbers{100}, Numbers{110, 111}}) {
    const auto refused = adopt(hold(named(2, 2, misfit)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().failure, Failure::corrupt);
  }
  EXPECT_EQ(counts(kSeats), (Counts{8, 2, 0})) << "nothing of them was taken";
  EXPECT_EQ(admission(named(3, 3, {102, 104, 110})), Admission::admitted);
}

TEST_P(NumberGates, AHoldMustHaveAsManyNumbersAsUnits) {
  open_seats(10, 5);
  Hold uneven = hold(named(1, 1, {101, 102}));
  const auto is_corrupt = [&](const Hold& one) {
    const auto refused = adopt(one);
    return !refused && refused.error().failure == Failure::corrupt;
  };
  uneven.units = 1;
  EXPECT_TRUE(is_corrupt(uneven));
  uneven.units = 3;
  EXPECT_TRUE(is_corrupt(uneven));
  uneven.numbers = {};
  EXPECT_TRUE(is_corrupt(uneven));
  Hold counted = hold(claim(2, 2, 1, kHat));
  counted.numbers = *NumberList::from(Numbers{1});
  EXPECT_TRUE(is_corrupt(counted));
  EXPECT_EQ(counts(kSeats), (Counts{10, 0, 0}));
  EXPECT_EQ(counts(kHat), (Counts{100, 0, 0}));
}

TEST_P(NumberGates, AdoptOfNumbersIsRepeatable) {
  open_seats(10, 5);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(adopt(hold(named(1, 1, {101, 110}))));
  EXPECT_EQ(counts(kSeats), (Counts{8, 2, 0}));
  ASSERT_TRUE(adopt(hold(named(1, 1, {101, 110}), true)));
  EXPECT_EQ(counts(kSeats), (Counts{8, 0, 2})) << "paid meanwhile";
  EXPECT_FALSE(adopt(hold(named(1, 1, {101, 109})))) << "it has other numbers";
  EXPECT_FALSE(adopt(hold(named(1, 1, {101}))));
  EXPECT_EQ(numbers(reserve(random(1, 1, 2))), (Numbers{101, 110})) << "the claim of old, sent again";
}

TEST_P(NumberGates, B055_EveryDrawnNumberIsAnotherAlsoAfterARebuild) {
  constexpr std::uint64_t kBuyers = 5000;
  open_seats(kBuyers);
  std::set<std::uint32_t> drawn;
  for (std::uint64_t i = 1; i <= kBuyers; ++i) {
    const Verdict verdict = reserve(random(i, i));
    ASSERT_EQ(verdict.admission, Admission::admitted);
    ASSERT_TRUE(drawn.insert(numbers(verdict)[0]).second);
    if (i % 7 == 0) {
      sell(hold_after(random(i, i), verdict));
    }
    if (i != kBuyers / 2) continue;
    const std::map<OrderId, Hold> before = listed();
    const Shelf shelf_before = shelf(kSeats);
    gate_ = GetParam().make();
    open_seats(kBuyers);
    for (const auto& [order, one] : before) ASSERT_TRUE(adopt(one));
    const std::map<OrderId, Hold> after = listed();
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [order, one] : before) {
      ASSERT_EQ(after.at(order).numbers, one.numbers);
      ASSERT_EQ(after.at(order).sold, one.sold);
    }
    EXPECT_EQ(counts(kSeats), (Counts{shelf_before.free, shelf_before.held, shelf_before.sold}));
  }
  EXPECT_EQ(drawn.size(), kBuyers);
  EXPECT_EQ(admission(random(9999, 9999)), Admission::sold_out);
}

/// Chi-squared over `counts`, every cell being equally likely, as how many standard deviations it lies above its mean.
inline double deviations_of(const std::vector<std::uint32_t>& counts) {
  double total = 0;
  for (const std::uint32_t count : counts) total += count;
  const double wanted = total / static_cast<double>(counts.size());
  double chi = 0;
  for (const std::uint32_t count : counts) chi += (count - wanted) * (count - wanted) / wanted;
  // Wilson and Hilferty: the cube root of chi-squared over its degrees is nearly normal.
  const double degrees = static_cast<double>(counts.size()) - 1;
  return (std::cbrt(chi / degrees) - (1 - 2 / (9 * degrees))) / std::sqrt(2 / (9 * degrees));
}

TEST_P(NumberGates, DrawnNumbersAreUniformAtEveryFill) {
  constexpr std::size_t kSize = 10'000;
  constexpr int kDraws = 500'000;
  constexpr double kDeviationsMax = 3.09;  // One in a thousand lies above.
  for (const std::size_t free : {kSize, kSize / 2, kSize / 100}) {
    gate_ = GetParam().make();
    open_seats(kSize);
    std::uint64_t order = 1;
    while (shelf(kSeats).free > static_cast<std::int64_t>(free)) {
      ASSERT_EQ(admission(random(order, order)), Admission::admitted);
      ++order;
    }
    std::vector<std::uint32_t> drawn(kSize);
    const Claim one = random(order, order);
    Hold back = hold(one);
    back.recorded = false;
    for (int draw = 0; draw < kDraws; ++draw) {
      Verdict verdict;
      ASSERT_TRUE(gate_->reserve({&one, 1}, {&verdict, 1}, kNever));
      ++drawn[verdict.numbers.view().front() - kFirst];
      ASSERT_EQ(gate_->release({&back, 1}, kNever).value_or(-1), 1);
    }
    std::erase(drawn, 0U);
    EXPECT_EQ(drawn.size(), free) << "each of the free ones, and no other";
    EXPECT_LT(deviations_of(drawn), kDeviationsMax) << free << " free";
  }
}

TEST_P(NumberGates, F76_AnyMixOfCallsAddsUpAsTheSlowModelSays) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    gate_ = GetParam().make();
    SeededRandom chance(seed);
    GateWalk walk(*gate_, GateWalk::Stock::mixed);
    for (int step = 0; step < 500; ++step) {
      const std::uint64_t a = chance.draw();
      const std::uint64_t b = chance.draw();
      const auto word = [](std::uint64_t of, int half) { return static_cast<std::uint32_t>(of >> (32 * half)); };
      ASSERT_TRUE(walk.step({word(a, 0), word(a, 1), word(b, 0), word(b, 1)}))
          << "seed " << seed << " step " << step << ": " << walk.difference();
    }
  }
  gate_ = GetParam().make();
}

}  // namespace weir
