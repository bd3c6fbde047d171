#include "gate/known_buyers.h"

#include "base/random.h"
#include "gate/ended_ids.h"
#include "gate/hold_table.h"
#include "gate/slot_order.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

void put(HoldTable& table, std::uint64_t buyer, std::uint64_t order) {
  table.insert(table.walk({buyer}, {0, order}), {buyer}, {0, order}, {0, 1, false});
}

/// Buyers whose run begins at that slot.
std::vector<std::uint64_t> buyers_of_slot(std::size_t slot, std::size_t capacity, std::size_t count) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t key = 1; found.size() < count; ++key) {
    if (home_slot(key, capacity) == slot) found.push_back(key);
  }
  return found;
}

TEST(KnownBuyers, OfASharedGateWhoWasNotedIsKnownInHisSale) {
  EndedIds ended;
  EndedIds owners;
  const KnownBuyers known(ended, owners);
  EXPECT_FALSE(known.may_hold({1}, {7}));
  owners.remember(KnownBuyers::mark({1}, {7}));
  EXPECT_TRUE(known.may_hold({1}, {7}));
  EXPECT_FALSE(known.may_hold({2}, {7})) << "another sale";
  EXPECT_FALSE(known.may_hold({1}, {8}));
}

TEST(KnownBuyers, ASaleThatWasNeverOpenedKnowsNobody) {
  EndedIds ended;
  KnownBuyers known(ended);
  for (const std::uint32_t sale : {0U, 1U, 2U, 1024U, 65'537U, UINT32_MAX}) EXPECT_FALSE(known.may_hold({sale}, {1}));
  HoldTable holds;
  ASSERT_TRUE(holds.make_room(4));
  put(holds, 1, 1);
  known.add({2}, holds);
  known.add({2}, holds);
  EXPECT_TRUE(known.may_hold({2}, {1}));
  EXPECT_FALSE(known.may_hold({1}, {1})) << "a neighbour that shares its chunk";
}

TEST(KnownBuyers, AHoldIsNeverDeniedWhileOthersMoveRoundIt) {
  // All buyers share one run. The one in front leaves and comes back at the end, so every round moves all the others by
  // a slot, under the eyes of a reader who walks along the same run.
  constexpr std::size_t kBuyers = 100;
  constexpr std::uint64_t kRounds = 40'000;
  EndedIds ended;
  KnownBuyers known(ended);
  HoldTable holds;
  ASSERT_TRUE(holds.make_room(kBuyers));
  known.add({1}, holds);
  const std::vector<std::uint64_t> buyers = buyers_of_slot(0, holds.bytes() / HoldTable::kBytesPerSlot, kBuyers);
  for (const std::uint64_t buyer : buyers) put(holds, buyer, buyer);
  std::vector<std::atomic<std::uint64_t>> leaves(kBuyers);  // Twice the times that a buyer left; odd while he is away.
  std::atomic<bool> is_done{false};
  std::atomic<std::uint64_t> denied{0};
  std::thread reader([&] {
    while (!is_done.load()) {
      for (std::size_t i = 0; i < kBuyers; ++i) {
        const std::uint64_t before = leaves[i].load();
        const bool may_hold = known.may_hold({1}, {buyers[i]});
        denied += !may_hold && before % 2 == 0 && leaves[i].load() == before;
      }
    }
  });
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::size_t front = round % kBuyers;
    ++leaves[front];
    holds.remove(holds.walk({buyers[front]}, {0, buyers[front]}).slot);
    put(holds, buyers[front], buyers[front]);
    ++leaves[front];
  }
  is_done.store(true);
  reader.join();
  EXPECT_EQ(denied.load(), 0U);
}

TEST(KnownBuyers, AHoldIsNeverDeniedWhileTheTableGrows) {
  constexpr std::uint64_t kBuyers = 200;
  EndedIds ended;
  KnownBuyers known(ended);
  HoldTable holds;
  ASSERT_TRUE(holds.make_room(kBuyers));
  known.add({1}, holds);
  for (std::uint64_t buyer = 1; buyer <= kBuyers; ++buyer) put(holds, buyer, buyer);
  std::atomic<bool> is_done{false};
  std::atomic<std::uint64_t> denied{0};
  std::thread reader([&] {
    while (!is_done.load()) {
      for (std::uint64_t buyer = 1; buyer <= kBuyers; ++buyer) denied += !known.may_hold({1}, {buyer});
    }
  });
  for (int growth = 0; growth < 40; ++growth) {
    ASSERT_TRUE(holds.make_room(holds.bound() + 1));
    std::this_thread::yield();
  }
  is_done.store(true);
  reader.join();
  EXPECT_EQ(denied.load(), 0U);
  EXPECT_FALSE(known.may_hold({1}, {kBuyers + 1}));
}

TEST(EndedIds, RemembersAcrossItsLevels) {
  EndedIds ended;
  SeededRandom random(1);
  std::vector<OrderId> ids;
  for (int i = 0; i < 8'000; ++i) {
    ids.push_back(OrderId::random(random));
    ended.remember(ids.back());
    ended.remember(ids.back());
  }
  EXPECT_EQ(ended.size(), ids.size()) << "once each";
  for (const OrderId& id : ids) ASSERT_TRUE(ended.contains(id));
  for (int i = 0; i < 8'000; ++i) ASSERT_FALSE(ended.contains(OrderId::random(random)));
}

TEST(EndedIds, BothHalvesOfAnIdCount) {
  EndedIds ended;
  ended.remember({1, 2});
  for (const OrderId& other : {OrderId{1, 3}, OrderId{2, 2}, OrderId{2, 1}, OrderId{0, 2}, OrderId{1, 0}}) {
    EXPECT_FALSE(ended.contains(other)) << other.text();
  }
  ended.remember({});
  EXPECT_TRUE(ended.contains({})) << "also an id whose fingerprint would mean vacant";
}

TEST(EndedIds, PastItsBoundNewOnesAreLeftToTheLedger) {
  EndedIds ended(5000);
  ended.expect(1'000'000'000);
  for (std::uint64_t i = 1; i <= 6000; ++i) ended.remember({i, 0});
  EXPECT_EQ(ended.size(), 5000U);
  EXPECT_TRUE(ended.contains({5000, 0}));
  EXPECT_FALSE(ended.contains({5001, 0}));
}

TEST(EndedIds, AReaderNeverMissesWhatWasRememberedBefore) {
  constexpr std::uint64_t kIds = 20'000;
  EndedIds ended;
  std::atomic<std::uint64_t> remembered{0};
  std::atomic<std::uint64_t> missed{0};
  std::thread reader([&] {
    SeededRandom random(2);
    for (std::uint64_t known = 0; known < kIds; known = remembered.load(std::memory_order_acquire)) {
      if (known > 0) missed += !ended.contains({1 + random.below(known), 9});
    }
  });
  for (std::uint64_t i = 1; i <= kIds; ++i) {
    ended.remember({i, 9});
    remembered.store(i, std::memory_order_release);
  }
  reader.join();
  EXPECT_EQ(missed.load(), 0U);
}

}  // namespace
}  // namespace weir
