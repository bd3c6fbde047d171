#include "base/ring.h"

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Ring, RoundsItsCapacityUpToAPowerOfTwo) {
  EXPECT_EQ(Ring<int>(1).capacity(), 1U);
  EXPECT_EQ(Ring<int>(5).capacity(), 8U);
  EXPECT_EQ(Ring<int>(1024).capacity(), 1024U);
}

TEST(Ring, AFullRingRefusesAndLosesNothing) {
  Ring<int> ring(4);
  EXPECT_EQ(ring.room(), 4U);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
  EXPECT_EQ(ring.room(), 0U);
  EXPECT_EQ(ring.size(), 4U);
  EXPECT_FALSE(ring.push(99));
  std::array<int, 8> out{};
  ASSERT_EQ(ring.pop(out), 4U);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(ring.pop(out), 0U);
  EXPECT_EQ(ring.room(), 4U);
}

TEST(Ring, TakesNoMoreThanWasAskedFor) {
  Ring<int> ring(4);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.push(i));
  std::array<int, 2> out{};
  EXPECT_EQ(ring.pop(out), 2U);
  EXPECT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring.pop({}), 0U);
}

TEST(Ring, KeepsOrderAcrossManyTurns) {
  Ring<int> ring(8);
  int pushed = 0;
  int popped = 0;
  std::array<int, 3> out{};
  for (int turn = 0; turn < 1000; ++turn) {
    while (ring.push(pushed)) ++pushed;
    const std::size_t count = ring.pop(out);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], popped++);
  }
  EXPECT_EQ(static_cast<std::size_t>(pushed - popped), ring.size());
}

TEST(Ring, TwoThreadsSeeEveryValueOnceAndWhole) {
  struct Wide {
    std::uint64_t first = 0;
    std::array<std::uint64_t, 6> rest{};
    std::uint64_t last = 0;
  };
  constexpr std::uint64_t kCount = 200'000;
  Ring<Wide> ring(64);
  std::thread producer([&ring] {
    for (std::uint64_t i = 0; i < kCount;) {
      if (ring.room() == 0) {
        std::this_thread::yield();
      } else {
        ASSERT_TRUE(ring.push({i, {i, i, i, i, i, i}, i})) << "room() promised it";
        ++i;
      }
    }
  });
  std::uint64_t expected = 0;
  bool torn = false;
  std::array<Wide, 16> out{};
  while (expected < kCount) {
    const std::size_t count = ring.pop(out);
    if (count == 0) std::this_thread::yield();
    for (std::size_t i = 0; i < count; ++i, ++expected) {
      torn = torn || out[i].first != expected || out[i].rest[3] != expected || out[i].last != expected;
    }
  }
  producer.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(ring.size(), 0U);
}

}  // namespace
}  // namespace weir
