#pragma once

#include "config/limits.h"
#include "queue/queue.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

/// What every queue must do. A fixture gives both ends of one queue that holds at least 8 claims.
struct QueueEnds {
  virtual ~QueueEnds() = default;
  virtual QueueProducer& producer() = 0;
  virtual QueueConsumer& consumer() = 0;
};

template <typename Fixture>
class QueueConformance : public ::testing::Test {
 protected:
  static std::vector<Claim> claims(std::uint64_t from, std::uint64_t count) {
    std::vector<Claim> made(count);
    for (std::uint64_t i = 0; i < count; ++i) made[i].order = {7, from + i};
    return made;
  }
  Fixture ends;
};
TYPED_TEST_SUITE_P(QueueConformance);

TYPED_TEST_P(QueueConformance, EachClaimComesOutOnceInOrder) {
  auto& queue = this->ends;
  queue.producer().append(this->claims(1, 3));
  queue.producer().append(this->claims(4, 2));
  std::vector<Claim> seen(8);
  std::uint64_t next = 1;
  for (int round = 0; round < 8 && next <= 5; ++round) {
    const std::size_t count = queue.consumer().peek(seen);
    std::vector<Outcome> outcomes(count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(seen[i].order.low, next++);
      outcomes[i].order = seen[i].order;
    }
    queue.consumer().finish(outcomes);
  }
  EXPECT_EQ(next, 6U);
  EXPECT_EQ(queue.consumer().peek(seen), 0U);
}

TYPED_TEST_P(QueueConformance, WhatWasNotFinishedComesAgain) {
  auto& queue = this->ends;
  queue.producer().append(this->claims(1, 3));
  std::vector<Claim> seen(8);
  ASSERT_GE(queue.consumer().peek(seen), 1U);
  const OrderId first = seen[0].order;
  ASSERT_GE(queue.consumer().peek(seen), 1U);
  EXPECT_EQ(seen[0].order, first);
  const Outcome outcome{
      .order = first, .fate = Fate::durable, .recording = Recording::recorded, .status = {}, .pay_by = {}};
  queue.consumer().finish({&outcome, 1});
  ASSERT_GE(queue.consumer().peek(seen), 1U);
  EXPECT_EQ(seen[0].order.low, first.low + 1) << "only the finished one is gone";
}

TYPED_TEST_P(QueueConformance, EachClaimHasExactlyOneOutcome) {
  auto& queue = this->ends;
  queue.producer().append(this->claims(1, 4));
  std::vector<Claim> seen(8);
  std::size_t finished = 0;
  for (int round = 0; round < 8 && finished < 4; ++round) {
    const std::size_t count = queue.consumer().peek(seen);
    std::vector<Outcome> outcomes(count);
    for (std::size_t i = 0; i < count; ++i)
      outcomes[i] = {
          .order = seen[i].order, .fate = Fate::decided, .recording = Recording::ended, .status = {}, .pay_by = {}};
    queue.consumer().finish(outcomes);
    finished += count;
  }
  std::vector<Outcome> heard(8);
  ASSERT_EQ(queue.producer().outcomes(heard), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(heard[i].order.low, i + 1);
    EXPECT_EQ(heard[i].fate, Fate::decided);
    EXPECT_EQ(heard[i].recording, Recording::ended);
  }
  EXPECT_EQ(queue.producer().outcomes(heard), 0U);
}

TYPED_TEST_P(QueueConformance, RoomIsFeltBeforeAnythingIsAppended) {
  auto& queue = this->ends;
  const std::size_t room = queue.producer().room();
  ASSERT_GE(room, 8U);
  const std::size_t taken = std::min<std::size_t>(room, 1000);
  queue.producer().append(this->claims(1, taken));
  EXPECT_EQ(queue.producer().room(), room - taken);
}

REGISTER_TYPED_TEST_SUITE_P(QueueConformance, EachClaimComesOutOnceInOrder, WhatWasNotFinishedComesAgain,
                            EachClaimHasExactlyOneOutcome, RoomIsFeltBeforeAnythingIsAppended);

}  // namespace weir
