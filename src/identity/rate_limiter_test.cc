#include "identity/rate_limiter.h"

#include "base/fault.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr SipKey kKey{11, 22};
constexpr Ticks kStart{5'000'000'123};

int taken(RateLimiter& limiter, std::uint64_t key, Ticks now, int tries) {
  int allowed = 0;
  for (int i = 0; i < tries; ++i) allowed += limiter.allow(key, now) ? 1 : 0;
  return allowed;
}

TEST(RateLimiterTest, BurstIsExactlyOneSecondsWorth) {
  for (const std::uint32_t rate : {1U, 2U, 3U, 7U, 10U, 200U, 999U, 33'333U, 99'999U, 100'000U}) {
    RateLimiter limiter{rate, kKey};
    const int most = static_cast<int>(rate);
    for (const Ticks now : {Ticks{0}, kStart, Ticks{kStart.us + 7'777'777}}) {
      EXPECT_EQ(taken(limiter, 42, now, most + 5), most) << rate;
    }
  }
}

TEST(RateLimiterTest, OneTokenComesBackAfterItsShareOfASecond) {
  RateLimiter limiter{10, kKey};
  ASSERT_EQ(taken(limiter, 1, kStart, 20), 10);
  EXPECT_FALSE(limiter.allow(1, kStart + Micros{99'999}));
  EXPECT_TRUE(limiter.allow(1, kStart + Micros{100'000}));
  EXPECT_FALSE(limiter.allow(1, kStart + Micros{199'999}));
  EXPECT_EQ(taken(limiter, 1, kStart + Micros{500'000}, 20), 4);
  EXPECT_EQ(RateLimiter::retry_after_s(), 1);
}

TEST(RateLimiterTest, RefusalCostsNothing) {
  RateLimiter limiter{10, kKey};
  ASSERT_EQ(taken(limiter, 1, kStart, 100'000), 10);
  EXPECT_TRUE(limiter.allow(1, kStart + Micros{100'000}));
}

TEST(RateLimiterTest, NoRateDrifts) {
  for (const std::uint32_t rate : {3U, 7U, 999U}) {
    RateLimiter limiter{rate, kKey};
    constexpr int kSeconds = 300;
    int allowed = 0;
    for (std::int64_t us = 0; us < kSeconds * 1'000'000; us += 500)
      allowed += limiter.allow(9, kStart + Micros{us}) ? 1 : 0;
    // The burst at the start, then the rate; the last token is due just after the end.
    EXPECT_EQ(allowed, static_cast<int>(rate) * (kSeconds + 1) - 1) << rate;
  }
}

TEST(RateLimiterTest, RestNeverSavesMoreThanOneSecond) {
  RateLimiter limiter{10, kKey};
  ASSERT_EQ(taken(limiter, 1, kStart, 20), 10);
  EXPECT_EQ(taken(limiter, 1, kStart + Micros{3'600'000'000}, 50), 10);
}

TEST(RateLimiterTest, KeysDoNotShare) {
  RateLimiter limiter{3, kKey};
  for (std::uint64_t key = 0; key < 5000; ++key) ASSERT_EQ(taken(limiter, key, kStart, 5), 3) << key;
}

TEST(RateLimiterTest, ZeroIsOff) {
  RateLimiter limiter{0, kKey};
  EXPECT_TRUE(limiter.is_off());
  EXPECT_EQ(taken(limiter, 1, kStart, 1000), 1000);
}

TEST(RateLimiterTest, ThreadWhoseClockIsBehindGetsNoFreshBucket) {
  RateLimiter limiter{10, kKey};
  ASSERT_EQ(taken(limiter, 1, kStart + Micros{900'000}, 20), 10);
  EXPECT_EQ(taken(limiter, 1, kStart, 20), 0);
}

TEST(RateLimiterTest, TimeMayWrapInsideAWord) {
  RateLimiter limiter{10, kKey};
  const Ticks just_before{(std::int64_t{1} << 40) - 50'000};
  ASSERT_EQ(taken(limiter, 1, just_before, 20), 10);
  EXPECT_EQ(taken(limiter, 1, just_before + Micros{99'999}, 20), 0);
  EXPECT_EQ(taken(limiter, 1, just_before + Micros{300'000}, 20), 3);
}

TEST(RateLimiterTest, FullestBucketMakesWay) {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {  // Wherever the buckets happen to lie.
    RateLimiter limiter{10, SipKey{seed, 7}, 4};
    ASSERT_EQ(taken(limiter, 1, kStart, 5), 5);
    ASSERT_EQ(taken(limiter, 2, kStart, 1), 1);
    ASSERT_EQ(taken(limiter, 3, kStart, 4), 4);
    ASSERT_EQ(taken(limiter, 4, kStart, 3), 3);
    ASSERT_EQ(taken(limiter, 5, kStart, 10), 10);  // Takes the place of key 2.
    EXPECT_EQ(taken(limiter, 1, kStart, 20), 5) << seed;
    EXPECT_EQ(taken(limiter, 3, kStart, 20), 6) << seed;
    EXPECT_EQ(taken(limiter, 4, kStart, 20), 7) << seed;
    EXPECT_EQ(taken(limiter, 5, kStart, 20), 0) << seed;
  }
}

TEST(RateLimiterTest, StrangerCannotAimAtANeighbour) {
  // Keys that would share all low or all high bits of an unkeyed table still fall apart.
  RateLimiter limiter{1, kKey, 4096};
  int refused = 0;
  for (std::uint64_t i = 0; i < 512; ++i) {
    refused += limiter.allow(i << 52, kStart) ? 0 : 1;
    refused += limiter.allow(i << 20 | 7, kStart) ? 0 : 1;
  }
  EXPECT_LE(refused, 1) << "only 0 << 52 and others that are really the same may meet";
  RateLimiter other{1, SipKey{33, 44}, 4096};
  EXPECT_TRUE(other.allow(0, kStart));
}

/// Every thread asks for every key in turn, so that all meet at each new key; no key may be allowed more than its rate.
void race(RateLimiter& limiter, std::uint64_t keys, int tries, int expected) {
  constexpr std::size_t kThreads = 4;
  std::vector<std::atomic<int>> allowed(keys);
  std::barrier start{static_cast<std::ptrdiff_t>(kThreads)};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (std::uint64_t key = 0; key < keys; ++key) allowed[key] += taken(limiter, key, kStart, tries);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t key = 0; key < keys; ++key) ASSERT_EQ(allowed[key], expected) << key;
}

TEST(RateLimiterTest, OneKeyIsExactUnderConcurrency) {
  RateLimiter limiter{20'000, kKey};
  race(limiter, 1, 30'000, 20'000);
}

TEST(RateLimiterTest, NewKeysAreExactWhenThreadsMeetAtThem) {
  RateLimiter limiter{5, kKey};
  race(limiter, 20'000, 4, 5);
}

TEST(RateLimiterTest, NewKeysAreExactAlsoInOneCrowdedSet) {
  // Each round brings four new keys to one set of four places, to each thread in another order; the keys of the round
  // before are rested and make way.
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kRounds = 3000;
  constexpr std::uint64_t kKeys = 4;
  constexpr std::int64_t kRestUs = 10'000'000;
  RateLimiter limiter{2, kKey, kKeys};
  std::vector<std::atomic<int>> allowed(kRounds * kKeys);
  std::barrier together{static_cast<std::ptrdiff_t>(kThreads)};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        together.arrive_and_wait();
        const Ticks now = kStart + Micros{static_cast<std::int64_t>(round) * kRestUs};
        for (std::uint64_t k = 0; k < kKeys; ++k) {
          const std::uint64_t key = round * kKeys + (k + i) % kKeys;
          allowed[key] += taken(limiter, key, now, 3);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t key = 0; key < allowed.size(); ++key) ASSERT_EQ(allowed[key], 2) << key;
}

#ifdef WEIR_FAULTS
/// What other threads do between a search that found nothing and the new bucket.
struct Meeting {
  RateLimiter* limiter = nullptr;
  void (*others)(Meeting&) = nullptr;
  int others_allowed = 0;
};

/// Asks for `key` while the others come between, once.
int taken_at_meeting(RateLimiter& limiter, std::uint64_t key, int tries, Meeting& meeting) {
  meeting.limiter = &limiter;
  set_fault_hook(
      [](std::string_view point, void* context) {
        if (point != "rate_key_not_found") return;
        set_fault_hook(nullptr, nullptr);
        auto& met = *static_cast<Meeting*>(context);
        met.others(met);
      },
      &meeting);
  const int own = taken(limiter, key, kStart, tries);
  set_fault_hook(nullptr, nullptr);
  return own;
}

TEST(RateLimiterTest, KeyThatAppearsBehindTheSearchKeepsOneBucket) {
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    RateLimiter limiter{3, SipKey{seed, 5}, 4};
    ASSERT_TRUE(limiter.allow(1000, kStart));  // A neighbour, so that places differ.
    Meeting meeting;
    meeting.others = [](Meeting& met) { met.others_allowed = taken(*met.limiter, 1, kStart, 2); };
    EXPECT_EQ(taken_at_meeting(limiter, 1, 5, meeting), 1) << seed;
    EXPECT_EQ(meeting.others_allowed, 2);
  }
}

TEST(RateLimiterTest, NobodyMakesWayForAKeyThatIsThere) {
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    RateLimiter limiter{3, SipKey{seed, 5}, 4};
    for (std::uint64_t neighbour = 10; neighbour < 13; ++neighbour) ASSERT_EQ(taken(limiter, neighbour, kStart, 1), 1);
    Meeting meeting;
    meeting.others = [](Meeting& met) { met.others_allowed = taken(*met.limiter, 1, kStart, 2); };
    EXPECT_EQ(taken_at_meeting(limiter, 1, 5, meeting), 1) << seed;
    EXPECT_EQ(meeting.others_allowed, 2);
    for (std::uint64_t neighbour = 10; neighbour < 13; ++neighbour) {
      EXPECT_EQ(taken(limiter, neighbour, kStart, 5), 2) << seed;
    }
  }
}
#endif

}  // namespace
}  // namespace weir
