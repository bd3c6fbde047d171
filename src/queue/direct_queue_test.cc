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
}

}  // namespace
}  // namespace weir
