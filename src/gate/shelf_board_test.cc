#include "gate/shelf_board.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace weir {
namespace {

Shelf shelf(std::int64_t free, std::int64_t held, std::int64_t sold, std::uint64_t version = 1) {
  return {.total = free + held + sold, .free = free, .held = held, .sold = sold, .version = version};
}

TEST(ShelfBoard, ShowsWhatWasPublishedLast) {
  ShelfBoard board;
  board.publish({1}, shelf(3, 2, 1, 7));
  EXPECT_EQ(board.read({1}), shelf(3, 2, 1, 7));
  board.publish({1}, shelf(2, 3, 1, 8));
  board.publish({1}, shelf(2, 2, 2, 9));
  EXPECT_EQ(board.read({1}), shelf(2, 2, 2, 9));
}

TEST(ShelfBoard, AnItemThatWasNeverPublishedIsForTheDesk) {
  ShelfBoard board;
  board.publish({2}, shelf(0, 0, 5));
  for (const std::uint32_t no : {0U, 1U, 3U, 1024U, 1025U, 65'536U, 65'537U, UINT32_MAX}) {
    EXPECT_EQ(board.read({no}).version, 0U) << no;
    EXPECT_TRUE(board.has_free({no}, 1)) << "no false refusal, " << no;
    EXPECT_FALSE(board.may_return({no})) << no;
  }
  EXPECT_FALSE(board.has_free({2}, 1));
}

TEST(ShelfBoard, HasFreeComparesWithWhatIsAsked) {
  ShelfBoard board;
  board.publish({1}, shelf(3, 0, 0));
  EXPECT_TRUE(board.has_free({1}, 3));
  EXPECT_FALSE(board.has_free({1}, 4));
  EXPECT_FALSE(board.may_return({1}));
  board.publish({1}, shelf(0, 1, 2));
  EXPECT_FALSE(board.has_free({1}, 1));
  EXPECT_TRUE(board.may_return({1}));
}

TEST(ShelfBoard, WhatIsOnlyShownRefusesNobody) {
  ShelfBoard board;
  board.publish({1}, shelf(0, 1, 2, 7));
  ASSERT_FALSE(board.has_free({1}, 1));
  board.show({1}, shelf(0, 1, 2, 8));
  EXPECT_TRUE(board.has_free({1}, 1));
  EXPECT_FALSE(board.may_return({1}));
  EXPECT_EQ(board.read({1}), shelf(0, 1, 2, 8)) << "readers of counts still see them";
  board.publish({1}, shelf(0, 0, 3, 9));
  EXPECT_FALSE(board.has_free({1}, 1));
}

TEST(ShelfBoard, RefusesForEverUnlessItIsToldUntilWhen) {
  ShelfBoard board;
  EXPECT_EQ(board.refuses_until(), ShelfBoard::kForEver);
  board.refuse_until({200});
  EXPECT_EQ(board.refuses_until(), Ticks{200});
}

TEST(ShelfBoard, TheLargestCountsStayApart) {
  ShelfBoard board;
  for (const Shelf& one :
       {shelf(kUnitsPerItemMax, 0, 0), shelf(0, kUnitsPerItemMax, 0), shelf(0, 0, kUnitsPerItemMax)}) {
    board.publish({kItemsMax}, one);
    EXPECT_EQ(board.read({kItemsMax}), one);
    EXPECT_EQ(board.has_free({kItemsMax}, kUnitsPerClaimMax), one.free > 0);
    EXPECT_EQ(board.may_return({kItemsMax}), one.held > 0);
  }
}

TEST(ShelfBoardDeathTest, AShelfThatDoesNotAddUpIsABug) {
  ShelfBoard board;
  Shelf wrong = shelf(1, 1, 1);
  wrong.total = 4;
  EXPECT_DEATH(board.publish({1}, wrong), "item=1 free=1 held=1 sold=1 total=4");
  EXPECT_DEATH(board.publish({1}, shelf(-1, 1, 1)), "free=-1");
  EXPECT_DEATH(board.publish({0}, shelf(1, 0, 0)), "number 0");
  EXPECT_DEATH(board.publish({kItemsMax + 1}, shelf(1, 0, 0)), "number 65537");
}

TEST(ShelfBoard, AReaderSeesOnlyWholeShelvesAndNeverGoesBack) {
  constexpr std::uint64_t kVersions = 300'000;
  ShelfBoard board;
  const auto made = [](std::uint64_t version) {
    const auto count = static_cast<std::int64_t>(version);
    return shelf(count % 1000, count * 3 % 1001, count * 7 % 1003, version);
  };
  board.publish({1}, made(1));
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    for (std::uint64_t last = 0; last < kVersions;) {
      const Shelf seen = board.read({1});
      if (seen.version < last || seen != made(seen.version)) ++wrong;
      last = seen.version;
      if (!board.has_free({1}, 1) && board.has_free({1}, 1000)) ++wrong;
    }
  });
  for (std::uint64_t version = 2; version <= kVersions; ++version) {
    board.publish({1}, made(version));
    board.publish({2}, made(version));
  }
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace weir
