#include "gate/redis_fixture.h"

#include <map>

namespace weir {
namespace {

using redis_bed::claim;

class RedisList : public RedisGateTest {
 protected:
  /// Every hold and whether it is called recorded; empty when the list failed.
  std::map<OrderId, bool> list() {
    std::map<OrderId, bool> listed;
    const auto done = gate_->each_hold([&](const Hold& hold) { listed[hold.order] = hold.recorded; }, kNoDeadline);
    return done ? listed : std::map<OrderId, bool>{};
  }
};

TEST_F(RedisList, F74_AHoldInFlightIsNotCalledRecorded) {
  build(10, 1);
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  ASSERT_EQ(reserve(claim(2, 2)), "admitted");
  confirm(claim(2, 2));
  EXPECT_EQ(list(), (std::map<OrderId, bool>{{claim(1, 1).order, false}, {claim(2, 2).order, true}}));
}

TEST_F(RedisList, F74_EveryHoldOfALongListIsAskedFor) {
  constexpr std::uint64_t kMany = 3 * kRedisScanCount;
  build(2 * kMany, 1);
  for (std::uint64_t i = 1; i <= kMany; ++i) ASSERT_EQ(reserve(claim(i, i)), "admitted");
  for (std::uint64_t i = 1; i <= kMany; i += 3) confirm(claim(i, i));
  const auto listed = list();
  ASSERT_EQ(listed.size(), kMany);
  for (std::uint64_t i = 1; i <= kMany; ++i) EXPECT_EQ(listed.at(claim(i, i).order), i % 3 == 1) << i;
}

TEST_F(RedisList, F12_ALostListOfWhatIsInFlightCallsNothingRecorded) {
  build(10, 1);
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  ASSERT_EQ(server_->ask("DEL " + key("inflight")).integer, 1);
  EXPECT_TRUE(list().empty()) << "the list fails as a whole";
}

}  // namespace
}  // namespace weir
