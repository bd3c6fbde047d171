#include "queue/direct_queue.h"

#include "queue/queue_conformance.h"

#include <thread>

namespace weir {
namespace {

struct DirectEnds final : QueueEnds {
  QueueProducer& producer() override { return queue; }
  QueueConsumer& consumer() override { return queue; }
  DirectQueue queue{64};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Direct, QueueConformance, DirectEnds);

TEST(DirectQueueTest, TwoThreadsLoseNothing) {
  constexpr std::uint64_t kCount = 20'000;
  DirectQueue queue{256};
  std::thread recorder{[&] {
    std::vector<Claim> seen(64);
    for (std::uint64_t done = 0; done < kCount;) {
      const std::size_t count = queue.peek(seen);
      std::vector<Outcome> outcomes(count);
      for (std::size_t i = 0; i < count; ++i) outcomes[i].order = seen[i].order;
      queue.finish(outcomes);
      done += count;
      if (count == 0) std::this_thread::yield();
    }
  }};
  std::uint64_t next = 1;
  std::uint64_t heard = 0;
  std::vector<Outcome> out(64);
  while (heard < kCount) {
    if (next <= kCount && queue.room() > 0) {
      Claim claim;
      claim.order = {1, next++};
      queue.append({&claim, 1});
    }
    const std::size_t count = queue.outcomes(out);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i].order.low, ++heard);
    if (count == 0) std::this_thread::yield();
  }
  recorder.join();
  EXPECT_EQ(queue.room(), 256U);
}

TEST(DirectQueueTest, RoomComesBackWhenTheOutcomeIsTaken) {
  DirectQueue queue{2};
  const std::vector<Claim> claims(2);
  queue.append(claims);
  EXPECT_EQ(queue.room(), 0U);
  std::vector<Claim> seen(2);
  ASSERT_EQ(queue.peek(seen), 2U);
  EXPECT_EQ(queue.room(), 0U) << "taken by the ledger, not answered yet";
  queue.finish(std::vector<Outcome>(2));
  EXPECT_EQ(queue.room(), 0U) << "its outcome still needs a place";
  Outcome heard;
  ASSERT_EQ(queue.outcomes({&heard, 1}), 1U);
  EXPECT_EQ(queue.room(), 1U);
}

TEST(DirectQueueTest, APeekTakesNoMoreThanItHasRoomFor) {
  DirectQueue queue{8};
  std::vector<Claim> claims(5);
  for (std::uint64_t i = 0; i < claims.size(); ++i) claims[i].order = {1, i};
  queue.append(claims);
  std::vector<Claim> seen(8);
  ASSERT_EQ(queue.peek(std::span(seen).first(3)), 3U);
  ASSERT_EQ(queue.peek(seen), 3U) << "the same ones until they are finished";
  queue.finish(std::vector<Outcome>(2));
  ASSERT_EQ(queue.peek(seen), 1U);
  EXPECT_EQ(seen[0].order.low, 2U);
  queue.finish(std::vector<Outcome>(1));
  ASSERT_EQ(queue.peek(seen), 2U);
  EXPECT_EQ(seen[1].order.low, 4U);
}

TEST(DirectQueueDeathTest, MoreThanThereIsRoomForIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  DirectQueue queue{2};
  EXPECT_DEATH(queue.append(std::vector<Claim>(3)), "3 claims, room for 2");
  EXPECT_DEATH(queue.finish(std::vector<Outcome>(1)), "1 outcomes for 0 claims");
}

TEST(DirectQueueTest, EachSideIsWokenByTheOther) {
  DirectQueue queue{8};
  int consumer_woken = 0;
  int producer_woken = 0;
  queue.set_wakes([&] { ++consumer_woken; }, [&] { ++producer_woken; });
  const Claim claim;
  queue.append({&claim, 1});
  EXPECT_EQ(consumer_woken, 1);
  std::vector<Claim> seen(1);
  ASSERT_EQ(queue.peek(seen), 1U);
  const Outcome outcome;
  queue.finish({&outcome, 1});
  EXPECT_EQ(producer_woken, 1);
  queue.append({});
  queue.finish({});
  EXPECT_EQ(consumer_woken + producer_woken, 2) << "nothing wakes nobody";
}

}  // namespace
}  // namespace weir
