#include "gate/memory_gate.h"

#include "gate/gate_conformance.h"
#include "gate/gate_conformance_numbers.h"

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include <rapidcheck.h>

namespace weir {
namespace {

/// Numbers drawn by lot are the same in every run.
std::unique_ptr<MemoryGate> make_gate() {
  static SeededRandom random{1};
  random = SeededRandom{20261201};
  return std::make_unique<MemoryGate>(random);
}
const GateMaker kMaker{"memory", make_gate};

INSTANTIATE_TEST_SUITE_P(Memory, Gates, testing::Values(kMaker), [](const auto& maker) { return maker.param.adapter; });
INSTANTIATE_TEST_SUITE_P(Memory, NumberGates, testing::Values(kMaker),
                         [](const auto& maker) { return maker.param.adapter; });

constexpr Deadline kNever{INT64_MAX};

Claim claim_of(std::uint64_t buyer, std::int32_t units = 1) {
  Claim claim;
  claim.order = {buyer * 0x9e3779b97f4a7c15U, buyer};
  claim.sale = {1};
  claim.item = {1};
  claim.units = units;
  claim.buyer_key = {buyer};
  return claim;
}
Hold hold_of(std::uint64_t buyer, std::int32_t units = 1) {
  const Claim claim = claim_of(buyer, units);
  return {.order = claim.order, .sale = claim.sale, .item = claim.item, .units = units, .buyer_key = claim.buyer_key};
}
void open(MemoryGate& gate, std::int64_t units, std::int32_t limit = 1) {
  const GateItem item{{1}, units};
  ASSERT_TRUE(gate.open({{1}, limit, true}, {&item, 1}, kNever));
}
Admission admission(MemoryGate& gate, const Claim& claim) {
  Verdict verdict;
  EXPECT_TRUE(gate.reserve({&claim, 1}, {&verdict, 1}, kNever));
  return verdict.admission;
}

TEST(MemoryGate, B006_AnyCallsShrinkToTheSmallestThatDifferFromTheModel) {
  EXPECT_TRUE(rc::check("a gate and its model agree", [](const std::vector<std::array<std::uint32_t, 4>>& chances) {
    MemoryGate gate;
    GateWalk walk(gate);
    for (const auto& chance : chances) {
      if (!walk.step(chance)) RC_FAIL(walk.difference());
    }
  }));
}

/// Says where what other threads read, or what a random wish finds, differs from what the orders have.
std::string difference_of(MemoryGate& gate, std::span<const ItemNo> items) {
  std::map<ItemNo, std::set<std::uint32_t>> taken;
  const auto listed = gate.each_hold(
      [&](const Hold& hold) { taken[hold.item].insert(hold.numbers.view().begin(), hold.numbers.view().end()); },
      kNever);
  EXPECT_TRUE(listed);
  std::vector<std::uint64_t> words(NumberBoard::kPageWords);
  for (const ItemNo item : items) {
    const auto range = gate.numbers().item(item);
    if (!range) return fmt::format("item {} shows no numbers", item.value);
    std::int64_t free = 0;
    const auto pages = static_cast<std::uint32_t>((range->total + kNumberPageBits - 1) / kNumberPageBits);
    for (std::uint32_t page = 0; page < pages; ++page) {
      const auto read = gate.numbers().read(item, page, words);
      for (std::uint32_t at = 0; at < read->count; ++at) {
        const bool is_free = (words[at / 64] >> (at % 64) & 1) != 0;
        free += is_free;
        if (is_free == taken[item].contains(read->first + at))
          return fmt::format("item {}: number {} is shown as {}", item.value, read->first + at, is_free);
      }
    }
    if (free != gate.shelf(item, kNever)->free || free != gate.shelves().read(item).free)
      return fmt::format("item {}: {} numbers are free, {} units", item.value, free, gate.shelf(item, kNever)->free);
  }
  return {};
}

constexpr std::array kNumberedOfWalk{ItemNo{4}, ItemNo{71}};

TEST(MemoryGate, F76_BitsChainsAndShelfAgreeAfterEveryCall) {
  for (std::uint64_t seed = 101; seed <= 110; ++seed) {
    const auto gate = make_gate();
    SeededRandom chance(seed);
    GateWalk walk(*gate, GateWalk::Stock::mixed);
    for (int step = 0; step < 500; ++step) {
      const std::uint64_t a = chance.draw();
      const std::uint64_t b = chance.draw();
      const auto word = [](std::uint64_t of, int half) { return static_cast<std::uint32_t>(of >> (32 * half)); };
      ASSERT_TRUE(walk.step({word(a, 0), word(a, 1), word(b, 0), word(b, 1)})) << seed << ": " << walk.difference();
      ASSERT_EQ(difference_of(*gate, kNumberedOfWalk), "") << "seed " << seed << " step " << step;
    }
  }
}

TEST(MemoryGate, F76_AnyCallsOnNumbersShrinkToTheSmallestThatDifferFromTheModel) {
  EXPECT_TRUE(
      rc::check("a gate of numbers and its model agree", [](const std::vector<std::array<std::uint32_t, 4>>& chances) {
        const auto gate = make_gate();
        GateWalk walk(*gate, GateWalk::Stock::mixed);
        for (const auto& chance : chances) {
          if (!walk.step(chance)) RC_FAIL(walk.difference());
        }
        RC_ASSERT(difference_of(*gate, kNumberedOfWalk).empty());
      }));
}

TEST(MemoryGate, AGateWithoutChanceSellsNoNumbers) {
  MemoryGate gate;
  const GateItem numbered{{1}, 10, true, 1};
  const auto refused = gate.open({{1}, 1, true}, {&numbered, 1}, kNever);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().failure, Failure::unfit);
  open(gate, 10);
  EXPECT_EQ(gate.numbers().item({1}), std::nullopt);
}

TEST(MemoryGate, NumbersCostTheHoldsOfOtherSalesNothing) {
  const auto gate = make_gate();
  open(*gate, 100);
  const GateItem numbered{{2}, 100, true, 1};
  ASSERT_TRUE(gate->open({{2}, 1, true}, {&numbered, 1}, kNever));
  EXPECT_EQ(admission(*gate, claim_of(1)), Admission::admitted);
  Claim drawn = claim_of(1);
  drawn.sale = {2};
  drawn.item = {2};
  drawn.wish = Wish::random;
  EXPECT_EQ(admission(*gate, drawn), Admission::admitted);
  EXPECT_DOUBLE_EQ(gate->bytes_per_hold({1}) * 32, gate->bytes_per_hold({2}) * 28);
}

TEST(MemoryGate, AVersionOfAPageGrowsWithItsNumbersAlone) {
  const auto gate = make_gate();
  const GateItem numbered{{1}, 3 * kNumberPageBits, true, 10};
  ASSERT_TRUE(gate->open({{1}, 5, true}, {&numbered, 1}, kNever));
  const auto versions = [&] {
    return std::array{*gate->numbers().version({1}, 0), *gate->numbers().version({1}, 1),
                      *gate->numbers().version({1}, 2)};
  };
  auto last = versions();
  const auto grown = [&] {
    const auto before = std::exchange(last, versions());
    return std::array{last[0] > before[0], last[1] > before[1], last[2] > before[2]};
  };
  Claim claim = claim_of(1, 3);
  claim.wish = Wish::named;
  claim.numbers = *NumberList::from(std::array{10U, 11U, 10 + 2 * kNumberPageBits});
  EXPECT_EQ(admission(*gate, claim), Admission::admitted);
  EXPECT_EQ(grown(), (std::array{true, false, true}));
  EXPECT_EQ(admission(*gate, claim), Admission::repeated);
  Claim refused = claim;
  refused.order = {9, 9};
  refused.buyer_key = {9};
  EXPECT_EQ(admission(*gate, refused), Admission::number_taken);
  const Hold hold = hold_of(1, 3);
  ASSERT_TRUE(gate->sell({&hold, 1}, kNever));
  EXPECT_EQ(grown(), (std::array{false, false, false})) << "nothing became free or taken";
  ASSERT_EQ(gate->release({&hold, 1}, kNever), 3);
  EXPECT_EQ(grown(), (std::array{true, false, true}));
  refused.wish = Wish::random;
  refused.units = 1;
  EXPECT_EQ(admission(*gate, refused), Admission::admitted);
  EXPECT_NE(grown(), (std::array{false, false, false}));
  Hold adopted = hold_of(3, 1);
  adopted.numbers = *NumberList::from(std::array{11 + kNumberPageBits});
  static_cast<void>(grown());
  ASSERT_TRUE(gate->adopt({&adopted, 1}, kNever));
  EXPECT_EQ(grown(), (std::array{false, true, false}));
}

TEST(MemoryGate, AMillionKnownBuyersCostAtMost32BytesEach) {
  constexpr std::uint64_t kBuyers = 1'000'000;
  MemoryGate gate;
  open(gate, kBuyers);
  SeededRandom random(1);
  std::vector<Claim> batch(kGateBatchMax);
  std::vector<Verdict> verdicts(kGateBatchMax);
  for (std::uint64_t done = 0; done < kBuyers;) {
    const std::size_t count = std::min<std::size_t>(kGateBatchMax, kBuyers - done);
    for (std::size_t i = 0; i < count; ++i) {
      batch[i] = claim_of(1);
      batch[i].order = OrderId::random(random);
      batch[i].buyer_key = {random.draw()};
    }
    ASSERT_TRUE(gate.reserve(std::span(batch).first(count), std::span(verdicts).first(count), kNever));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(verdicts[i].admission, Admission::admitted);
    done += count;
  }
  EXPECT_LE(gate.bytes_per_hold({1}), 32.0);
  EXPECT_GE(gate.bytes_per_hold({1}), 28.0);
  EXPECT_EQ(gate.shelves().read({1}).free, 0);
}

TEST(MemoryGate, WhatEveryCallChangedIsPublished) {
  MemoryGate gate;
  const auto published = [&] { return gate.shelves().read({1}); };
  open(gate, 2);
  EXPECT_EQ(published(), *gate.shelf({1}, kNever));
  EXPECT_EQ(published().free, 2);
  EXPECT_EQ(admission(gate, claim_of(1)), Admission::admitted);
  EXPECT_EQ(published().held, 1);
  const Hold first = hold_of(1);
  ASSERT_TRUE(gate.sell({&first, 1}, kNever));
  EXPECT_EQ(published().sold, 1);
  const Hold second = hold_of(2);
  ASSERT_TRUE(gate.adopt({&second, 1}, kNever));
  EXPECT_EQ(published().held, 1);
  ASSERT_TRUE(gate.release({&second, 1}, kNever));
  EXPECT_EQ(published().free, 1);
  ASSERT_TRUE(gate.restock({1}, 5, 1, kNever));
  EXPECT_EQ(published().total, 7);
  EXPECT_EQ(published(), *gate.shelf({1}, kNever));
}

TEST(MemoryGate, F16_TheFrontDoorSeesAReleaseAtOnce) {
  MemoryGate gate;
  open(gate, 1);
  EXPECT_TRUE(gate.shelves().has_free({1}, 1));
  EXPECT_EQ(admission(gate, claim_of(1)), Admission::admitted);
  EXPECT_FALSE(gate.shelves().has_free({1}, 1));
  EXPECT_TRUE(gate.shelves().may_return({1}));
  const Hold hold = hold_of(1);
  ASSERT_TRUE(gate.release({&hold, 1}, kNever));
  EXPECT_TRUE(gate.shelves().has_free({1}, 1));
  EXPECT_FALSE(gate.shelves().may_return({1}));
}

TEST(MemoryGate, KnownBuyersAreThoseWhoHoldSomething) {
  MemoryGate gate;
  EXPECT_FALSE(gate.known_buyers().may_hold({1}, {5}));
  open(gate, 10);
  EXPECT_FALSE(gate.known_buyers().may_hold({1}, {5}));
  EXPECT_EQ(admission(gate, claim_of(5)), Admission::admitted);
  EXPECT_TRUE(gate.known_buyers().may_hold({1}, {5}));
  EXPECT_FALSE(gate.known_buyers().may_hold({2}, {5})) << "in another sale he is nobody";
  const Hold hold = hold_of(5);
  ASSERT_TRUE(gate.release({&hold, 1}, kNever));
  EXPECT_FALSE(gate.known_buyers().may_hold({1}, {5}));
  EXPECT_TRUE(gate.known_buyers().may_have_ended(hold.order));
}

TEST(MemoryGate, OrdersThatEndedBeforeTheStartAreEnded) {
  MemoryGate gate;
  open(gate, 10);
  const OrderId order = claim_of(1).order;
  gate.remember_ended({&order, 1});
  EXPECT_EQ(admission(gate, claim_of(1)), Admission::ended);
  EXPECT_TRUE(gate.known_buyers().may_have_ended(order));
  EXPECT_FALSE(gate.known_buyers().may_have_ended(claim_of(2).order));
}

TEST(MemoryGate, GrowingStockKeepsEveryHold) {
  MemoryGate gate;
  open(gate, 10, 2);
  std::uint64_t buyers = 0;
  for (std::uint64_t change = 1; change <= 40; ++change) {
    while (admission(gate, claim_of(buyers + 1)) == Admission::admitted) ++buyers;
    ASSERT_TRUE(gate.restock({1}, static_cast<std::int64_t>(change), change, kNever));
  }
  EXPECT_EQ(buyers, 10U + 39U * 40U / 2U);
  for (std::uint64_t buyer = 1; buyer <= buyers; ++buyer) {
    ASSERT_TRUE(gate.known_buyers().may_hold({1}, {buyer}));
    ASSERT_EQ(admission(gate, claim_of(buyer)), Admission::repeated);
  }
}

TEST(MemoryGate, ItemsCanBeAddedToASale) {
  MemoryGate gate;
  open(gate, 1);
  const std::vector<GateItem> more{{{1}, 1}, {{7}, 100}, {{7}, 100}};
  ASSERT_TRUE(gate.open({{1}, 1, true}, more, kNever));
  EXPECT_EQ(gate.shelf({7}, kNever)->total, 100) << "named twice, opened once";
  for (std::uint64_t buyer = 1; buyer <= 100; ++buyer) {
    Claim claim = claim_of(buyer);
    claim.item = {7};
    ASSERT_EQ(admission(gate, claim), Admission::admitted);
  }
}

TEST(MemoryGate, F59_ASaleBeyondTheLimitsIsUnfitAndNothingIsOpened) {
  const auto failure = [](GateSale sale, std::vector<GateItem> items) {
    MemoryGate gate;
    const auto opened = gate.open(sale, items, kNever);
    EXPECT_EQ(admission(gate, claim_of(1)), Admission::not_on_sale);
    return opened ? std::string_view("none") : name(opened.error().failure);
  };
  EXPECT_EQ(failure({{0}, 1, true}, {}), "unfit");
  EXPECT_EQ(failure({{kSalesMax + 1}, 1, true}, {}), "unfit");
  EXPECT_EQ(failure({{UINT32_MAX}, 1, true}, {}), "unfit");
  for (const std::int32_t limit : {0, -1, INT32_MIN, kBuyerLimitMax + 1, INT32_MAX}) {
    EXPECT_EQ(failure({{1}, limit, true}, {{{1}, 1}}), "unfit") << limit;
  }
  for (const std::int64_t total : {std::int64_t{-1}, INT64_MIN, kUnitsPerItemMax + 1, INT64_MAX}) {
    EXPECT_EQ(failure({{1}, 1, true}, {{{1}, 1}, {{2}, total}}), "unfit") << total;
  }
  for (const std::uint32_t no : {std::uint32_t{0}, std::uint32_t{kItemsMax + 1}, UINT32_MAX}) {
    EXPECT_EQ(failure({{1}, 1, true}, {{{1}, 1}, {{no}, 1}}), "unfit") << no;
  }
}

TEST(MemoryGate, AnItemThatMovesToAnotherSaleIsCorrupt) {
  MemoryGate gate;
  open(gate, 1);
  const GateItem item{{1}, 1};
  const auto refused = gate.open({{2}, 1, true}, {&item, 1}, kNever);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().failure, Failure::corrupt);
}

TEST(MemoryGate, TheHighestNumbersFit) {
  MemoryGate gate;
  const GateItem item{{kItemsMax}, 1};
  ASSERT_TRUE(gate.open({{kSalesMax}, 1, true}, {&item, 1}, kNever));
  Claim claim = claim_of(UINT64_MAX);
  claim.sale = {kSalesMax};
  claim.item = {kItemsMax};
  EXPECT_EQ(admission(gate, claim), Admission::admitted);
  EXPECT_FALSE(gate.shelves().has_free({kItemsMax}, 1));
  EXPECT_TRUE(gate.known_buyers().may_hold({kSalesMax}, {UINT64_MAX}));
}

TEST(MemoryGateDeathTest, F59_UnitsThatNoRequestMayCarryAreABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  MemoryGate gate;
  open(gate, 10, 5);
  for (const std::int32_t units : {0, -1, kUnitsPerClaimMax + 1, INT32_MIN, INT32_MAX}) {
    EXPECT_DEATH(static_cast<void>(admission(gate, claim_of(1, units))), "units=") << units;
  }
  Claim nobody = claim_of(1);
  nobody.buyer_key = {};
  EXPECT_DEATH(static_cast<void>(admission(gate, nobody)), "no buyer");
}

TEST(MemoryGateDeathTest, ABatchBeyondItsBoundIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  MemoryGate gate;
  open(gate, 10);
  const std::vector<Claim> claims(kGateBatchMax + 1, claim_of(1));
  std::vector<Verdict> verdicts(claims.size());
  EXPECT_DEATH(static_cast<void>(gate.reserve(claims, verdicts, kNever)), "claims=257");
  EXPECT_DEATH(static_cast<void>(gate.reserve(std::span(claims).first(2), std::span(verdicts).first(1), kNever)),
               "verdicts=1");
}

TEST(MemoryGate, B006_ReadersOnOtherThreadsNeverSeeWhatNeverWas) {
  constexpr std::uint64_t kSteady = 400;  // Buyers who hold a unit all the time.
  constexpr std::uint64_t kRounds = 3000;
  MemoryGate gate;
  open(gate, 600, 5);
  for (std::uint64_t buyer = 1; buyer <= kSteady; ++buyer) {
    ASSERT_EQ(admission(gate, claim_of(buyer)), Admission::admitted);
  }
  std::atomic<bool> is_done{false};
  std::atomic<int> wrong{0};
  const auto watch = [&] {
    std::uint64_t version = 0;
    while (!is_done.load()) {
      const Shelf shelf = gate.shelves().read({1});
      if (shelf.version < version || shelf.held < static_cast<std::int64_t>(kSteady)) ++wrong;
      version = shelf.version;
      for (std::uint64_t buyer = 1; buyer <= kSteady; ++buyer) {
        if (!gate.known_buyers().may_hold({1}, {buyer})) ++wrong;
      }
      if (!gate.shelves().may_return({1})) ++wrong;
      std::this_thread::yield();
    }
  };
  std::thread first(watch);
  std::thread second(watch);
  SeededRandom random(3);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::uint64_t buyer = kSteady + 1 + random.below(100);
    const Hold hold{.order = {round, buyer}, .sale = {1}, .item = {1}, .units = 2, .buyer_key = {buyer}};
    Claim claim = claim_of(buyer, 2);
    claim.order = hold.order;
    ASSERT_EQ(admission(gate, claim), Admission::admitted);
    ASSERT_TRUE(gate.restock({1}, round % 500 == 0 ? 200 : 0, round, kNever));
    ASSERT_EQ(gate.release({&hold, 1}, kNever), 2);
  }
  is_done.store(true);
  first.join();
  second.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace weir
