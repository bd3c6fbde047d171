#include "gate/hold_table.h"

#include "base/random.h"
#include "config/limits.h"
#include "gate/slot_order.h"

#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

void put(HoldTable& table, std::uint64_t buyer, std::uint64_t order, HoldTable::Units units = {0, 1, false}) {
  table.insert(table.walk({buyer}, {0, order}), {buyer}, {0, order}, units);
}

/// Buyers whose runs all begin within the last slots of the table, so that they wrap round its end.
std::vector<std::uint64_t> buyers_at_the_end(std::size_t capacity, std::size_t count) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t key = 1; found.size() < count; ++key) {
    if (home_slot(key, capacity) + 3 >= capacity) found.push_back(key);
  }
  return found;
}

TEST(HoldTable, FindsEachOrderOfABuyer) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(10));
  put(table, 5, 1, {3, 2, false});
  put(table, 5, 2, {4, 7, true});
  put(table, 6, 3);
  const HoldTable::Walk walk = table.walk({5}, {0, 2});
  EXPECT_EQ(walk.units, 9);
  ASSERT_NE(walk.slot, HoldTable::kNone);
  EXPECT_EQ(table.at(walk.slot).item, 4);
  EXPECT_EQ(table.at(walk.slot).units, 7);
  EXPECT_TRUE(table.at(walk.slot).sold);
  EXPECT_EQ(table.walk({5}, {0, 3}).slot, HoldTable::kNone) << "another buyer's";
  EXPECT_EQ(table.walk({7}, {0, 1}).units, 0);
}

TEST(HoldTable, KeepsTheLargestItemAndUnits) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(1));
  put(table, UINT64_MAX, 1, {65'535, 32'767, false});
  const std::size_t slot = table.walk({UINT64_MAX}, {0, 1}).slot;
  table.mark_sold(slot);
  EXPECT_EQ(table.at(slot).item, 65'535);
  EXPECT_EQ(table.at(slot).units, 32'767);
  EXPECT_TRUE(table.at(slot).sold);
}

TEST(HoldTable, TakesAsManyHoldsAsItHasRoomForAndNoMore) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(3));
  for (std::uint64_t buyer = 1; buyer <= 3; ++buyer) put(table, buyer, buyer);
  EXPECT_EQ(table.size(), table.bound());
  EXPECT_FALSE(table.may_hold({4})) << "a full table still tells";
  EXPECT_DEATH(put(table, 4, 4), "3 holds in a table for 3");
}

TEST(HoldTable, AChainMovesWithItsHold) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(10));
  put(table, 1, 1);
  EXPECT_EQ(table.bytes() % HoldTable::kBytesPerSlot, 0U);
  ASSERT_TRUE(table.make_chains());
  ASSERT_TRUE(table.make_chains());
  const auto chain_of = [&](std::uint64_t buyer) { return table.at(table.walk({buyer}, {0, buyer}).slot).chain; };
  EXPECT_EQ(chain_of(1), 0U) << "what was there before has none";
  constexpr std::uint32_t kBuyers = 500;
  for (std::uint32_t buyer = 2; buyer <= kBuyers; ++buyer) {
    ASSERT_TRUE(table.make_room(table.size() + 1));
    put(table, buyer, buyer, {0, 1, false, UINT32_MAX - buyer});
  }
  for (std::uint32_t buyer = 2; buyer <= kBuyers; buyer += 2) table.remove(table.walk({buyer}, {0, buyer}).slot);
  for (std::uint32_t buyer = 3; buyer <= kBuyers; buyer += 2) {
    table.mark_sold(table.walk({buyer}, {0, buyer}).slot);
    ASSERT_EQ(chain_of(buyer), UINT32_MAX - buyer);
  }
  std::size_t met = 0;
  table.each([&](BuyerKey buyer, const OrderId&, HoldTable::Units units) {
    ++met;
    EXPECT_EQ(units.chain, buyer.value == 1 ? 0 : UINT32_MAX - buyer.value);
  });
  EXPECT_EQ(met, table.size());
  put(table, 2, 2);
  EXPECT_EQ(chain_of(2), 0U) << "nothing is left of who was there before";
}

TEST(HoldTable, AChainNeedsRoom) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(10));
  EXPECT_DEATH(put(table, 1, 1, {0, 1, false, 7}), "no room for the chain 7");
}

TEST(HoldTable, AMillionHoldsTake32BytesEach) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(1'000'000));
  EXPECT_LE(table.bytes(), 32'000'000U);
}

TEST(HoldTable, RemovalClosesTheRunAlsoRoundTheEnd) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(20));
  const std::size_t capacity = table.bytes() / HoldTable::kBytesPerSlot;
  const std::vector<std::uint64_t> buyers = buyers_at_the_end(capacity, 12);
  for (std::size_t gone = 0; gone < buyers.size(); ++gone) {
    for (const std::uint64_t buyer : buyers) put(table, buyer, buyer);
    table.remove(table.walk({buyers[gone]}, {0, buyers[gone]}).slot);
    for (std::size_t i = 0; i < buyers.size(); ++i) {
      ASSERT_EQ(table.may_hold({buyers[i]}), i != gone) << "removed " << gone << ", asked for " << i;
    }
    for (const std::uint64_t buyer : buyers) {
      const std::size_t slot = table.walk({buyer}, {0, buyer}).slot;
      if (slot != HoldTable::kNone) table.remove(slot);
    }
    ASSERT_EQ(table.size(), 0U);
  }
}

TEST(HoldTable, AnyMixOfInsertsAndRemovalsKeepsExactlyTheHoldsThatAreThere) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SeededRandom random(seed);
    HoldTable table;
    ASSERT_TRUE(table.make_room(60));
    std::map<std::uint64_t, std::uint64_t> held;  // Order to buyer.
    for (std::uint64_t step = 1; step <= 3000; ++step) {
      const std::uint64_t buyer = 1 + random.below(40);
      if (random.below(2) == 0 && held.size() < 60) {
        put(table, buyer, step, {static_cast<std::uint16_t>(step % 5), static_cast<std::int32_t>(1 + step % 3), false});
        held[step] = buyer;
      } else if (!held.empty()) {
        auto gone = held.lower_bound(random.below(step));
        if (gone == held.end()) gone = held.begin();
        table.remove(table.walk({gone->second}, {0, gone->first}).slot);
        held.erase(gone);
      }
      ASSERT_EQ(table.size(), held.size());
      std::int32_t units = 0;
      for (const auto& [order, of] : held) units += of == buyer ? static_cast<std::int32_t>(1 + order % 3) : 0;
      ASSERT_EQ(table.walk({buyer}, {}).units, units) << "seed " << seed << " step " << step;
      ASSERT_EQ(table.may_hold({buyer}), units > 0) << "seed " << seed << " step " << step;
    }
    for (const auto& [order, buyer] : held) {
      const std::size_t slot = table.walk({buyer}, {0, order}).slot;
      ASSERT_NE(slot, HoldTable::kNone);
      EXPECT_EQ(table.at(slot).item, order % 5);
    }
  }
}

TEST(HoldTable, GrowsByAnEighthAtLeastSoThatOldKeysStayFew) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(1000));
  for (std::uint64_t buyer = 1; buyer <= 1000; ++buyer) put(table, buyer, buyer);
  for (std::uint64_t holds = 1001; holds <= 16'000; ++holds) ASSERT_TRUE(table.make_room(holds));
  EXPECT_LE(table.generations(), 26U);
  EXPECT_EQ(table.size(), 1000U);
  for (std::uint64_t buyer = 1; buyer <= 1000; ++buyer) ASSERT_TRUE(table.may_hold({buyer}));
  EXPECT_FALSE(table.may_hold({1001}));
}

TEST(HoldTable, MemoryThatIsNotThereChangesNothing) {
  HoldTable table;
  ASSERT_TRUE(table.make_room(2));
  put(table, 1, 1);
  EXPECT_FALSE(table.make_room(std::uint64_t{1} << 52));
  EXPECT_TRUE(table.may_hold({1}));
  EXPECT_EQ(table.bound(), 2U);
}

}  // namespace
}  // namespace weir
