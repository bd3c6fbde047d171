#include "gate/number_board.h"

#include "base/random.h"
#include "gate/memory_gate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr Deadline kNever{INT64_MAX};
constexpr std::size_t kPage = kNumberPageBits;

std::vector<std::uint64_t> page_room() { return std::vector<std::uint64_t>(NumberBoard::kPageWords); }

/// The lowest number of a page that is free, counted from the page's first; kPage when none is.
std::size_t lowest_free(const std::vector<std::uint64_t>& words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] != 0) return at * 64 + static_cast<std::size_t>(std::countr_zero(words[at]));
  }
  return kPage;
}

TEST(NumberBoard, ShowsNothingOfWhatWasNotAdded) {
  NumberBoard board;
  auto words = page_room();
  for (const ItemNo item : {ItemNo{0}, ItemNo{1}, ItemNo{kItemsMax}, ItemNo{kItemsMax + 1}}) {
    EXPECT_EQ(board.item(item), std::nullopt);
    EXPECT_EQ(board.version(item, 0), std::nullopt);
    EXPECT_FALSE(board.read(item, 0, words));
  }
  const NumberSet set{10};
  board.add({2}, 1, set);
  EXPECT_EQ(board.item({1}), std::nullopt) << "a neighbour";
  EXPECT_EQ(board.item({2}), (NumberRange{1, 10}));
}

TEST(NumberBoard, PagesCoverTheItemAndEndWithIt) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{64}, kPage - 1, kPage, kPage + 1, 3 * kPage}) {
    NumberBoard board;
    const NumberSet set{size};
    board.add({1}, 1000, set);
    auto words = page_room();
    const auto pages = static_cast<std::uint32_t>((size + kPage - 1) / kPage);
    std::size_t seen = 0;
    for (std::uint32_t page = 0; page < pages; ++page) {
      std::ranges::fill(words, 0);
      const auto read = board.read({1}, page, words);
      ASSERT_TRUE(read);
      EXPECT_EQ(read->first, 1000 + page * kPage);
      EXPECT_EQ(read->version, 1U);
      std::size_t bits = 0;
      for (const std::uint64_t word : words) bits += static_cast<std::size_t>(std::popcount(word));
      EXPECT_EQ(bits, read->count);
      seen += read->count;
    }
    EXPECT_EQ(seen, size);
    EXPECT_FALSE(board.read({1}, pages, words));
    EXPECT_EQ(board.version({1}, pages), std::nullopt);
    EXPECT_EQ(board.version({1}, UINT32_MAX), std::nullopt);
  }
}

TEST(NumberBoard, AShortPageNeedsNoMoreWordsThanItHas) {
  NumberBoard board;
  const NumberSet set{65};
  board.add({1}, 1, set);
  std::array<std::uint64_t, 3> words{7, 7, 7};
  ASSERT_TRUE(board.read({1}, 0, words));
  EXPECT_EQ(words, (std::array<std::uint64_t, 3>{UINT64_MAX, 1, 7}));
  EXPECT_DEATH(static_cast<void>(board.read({1}, 0, std::span(words).first(1))), "1 words of 2");
}

TEST(NumberBoard, AChangeGrowsTheVersionsOfItsPagesOnce) {
  NumberBoard board;
  NumberSet set{3 * kPage};
  board.add({1}, 5, set);
  const std::array<std::uint32_t, 4> numbers{5, 6, 5 + kPage - 1, 5 + 2 * kPage};
  for (const std::uint32_t number : numbers) ASSERT_TRUE(set.take(number - 5));
  board.changed({1}, numbers);
  EXPECT_EQ(board.version({1}, 0), 2U);
  EXPECT_EQ(board.version({1}, 1), 1U);
  EXPECT_EQ(board.version({1}, 2), 2U);
  auto words = page_room();
  ASSERT_TRUE(board.read({1}, 0, words));
  EXPECT_EQ(words[0], UINT64_MAX << 2);
  EXPECT_EQ(words.back(), UINT64_MAX >> 1);
}

TEST(NumberBoard, AVersionNeverClaimsMoreThanTheBitsShow) {
  // Number i is taken by the change that makes version i + 2: who reads version v sees v - 1 numbers gone.
  constexpr std::uint32_t kRounds = 10;
  NumberBoard board;
  std::vector<NumberSet> sets(kRounds, NumberSet{kPage});
  for (std::uint32_t round = 0; round < kRounds; ++round) board.add({1 + round}, 1, sets[round]);
  std::atomic<std::uint32_t> reading{0};  // The item whose pages are being read; the writer waits for it.
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    auto words = page_room();
    for (std::uint32_t item = 1; item <= kRounds; ++item) {
      std::uint64_t last = 0;
      while (last <= kPage) {
        const auto page = board.read({item}, 0, words);
        if (page->version < last || lowest_free(words) < page->version - 1) ++wrong;
        last = page->version;
        reading.store(item);
      }
    }
  });
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    while (reading.load() != round + 1) std::this_thread::yield();
    for (std::uint32_t place = 0; place < kPage; ++place) {
      if (!sets[round].take(place)) ++wrong;
      board.changed({1 + round}, std::array{place + 1});
    }
  }
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(board.version({kRounds}, 0), kPage + 1);
}

TEST(NumberBoard, F76_ReadersOfAGateSeeItsNumbersWhileItSells) {
  constexpr std::uint32_t kSteady = 1000;  // Numbers from 1 on that are taken all the time.
  constexpr std::uint32_t kItemsLast = 20;
  SeededRandom random{1};
  MemoryGate gate{random};
  const auto open = [&](std::uint32_t item) {
    const GateItem numbered{{item}, static_cast<std::int64_t>(kPage + 500), true, 1};
    ASSERT_TRUE(gate.open({{1}, 1000, true}, {&numbered, 1}, kNever));
  };
  const auto claim_of = [](std::uint64_t order, Wish wish, std::int32_t units) {
    Claim claim;
    claim.order = {1, order};
    claim.sale = {1};
    claim.item = {1};
    claim.wish = wish;
    claim.units = units;
    claim.buyer_key = {order};
    return claim;
  };
  open(1);
  std::vector<std::uint32_t> steady(kSteady);
  for (std::uint32_t i = 0; i < kSteady; ++i) steady[i] = i + 1;
  Claim first = claim_of(1, Wish::named, kSteady);
  first.numbers = *NumberList::from(steady);
  Verdict verdict;
  ASSERT_TRUE(gate.reserve({&first, 1}, {&verdict, 1}, kNever));
  ASSERT_EQ(verdict.admission, Admission::admitted);

  std::atomic<bool> is_done{false};
  std::atomic<int> wrong{0};
  const auto watch = [&] {
    auto words = page_room();
    std::uint64_t last = 0;
    while (!is_done.load()) {
      const auto page = gate.numbers().read({1}, 0, words);
      if (!page || page->version < last || lowest_free(words) < kSteady) ++wrong;
      last = page ? page->version : last;
      for (std::uint32_t item = 2; item <= kItemsLast; ++item) {  // Of those that are not open yet there is nothing.
        const auto range = gate.numbers().item({item});
        if (range && range->total != static_cast<std::int64_t>(kPage + 500)) ++wrong;
        if (range && gate.numbers().read({item}, 1, words)->count != 500) ++wrong;
      }
      std::this_thread::yield();
    }
  };
  std::thread one(watch);
  std::thread two(watch);
  for (std::uint64_t round = 2; round <= 2000; ++round) {
    const Claim claim = claim_of(round, Wish::random, static_cast<std::int32_t>(1 + round % 50));
    ASSERT_TRUE(gate.reserve({&claim, 1}, {&verdict, 1}, kNever));
    ASSERT_EQ(verdict.admission, Admission::admitted);
    if (round % 100 == 0) open(static_cast<std::uint32_t>(1 + round / 100));
    if (round % 3 == 0) continue;
    const Hold hold{.order = claim.order, .sale = {1}, .item = {1}, .units = 1, .buyer_key = claim.buyer_key};
    ASSERT_EQ(gate.release({&hold, 1}, kNever), claim.units);
  }
  is_done.store(true);
  one.join();
  two.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace weir
