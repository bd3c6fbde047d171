#include "gate/redis_bed.h"
#include "gate/redis_gate_bed.h"

#include <cstdio>

namespace weir {
namespace {

using redis_bed::claim;

/// That run id and replication id betray everything that may have lost writes, on real servers. The whole protocol
/// stands on this.
class RedisPin : public testing::Test {
 protected:
  static constexpr SaleNo kSale{1};
  static constexpr ItemNo kShoe{1};

  void SetUp() override {
    if (const auto missing = redis_is_missing()) {
      std::printf("SKIPPED: %s\n", missing->c_str());
      GTEST_SKIP() << *missing;
    }
  }
  /// One cluster for all tests; each leaves it whole.
  static RedisClusterBed& cluster() {
    static RedisClusterBed bed;
    return bed;
  }
  void build(const std::vector<std::string>& nodes) {
    static int sales = 0;
    name_ = fmt::format("shop:drop-{}", ++sales);
    gate_ = redis_bed::connect(nodes);
    ASSERT_NE(gate_, nullptr);
    const GateItem item{kShoe, 100};
    const auto built = redis_bed::build(*gate_, {kSale, {1}, name_, 1, ""}, {1, true, 1}, {&item, 1});
    ASSERT_TRUE(built) << built.error().message;
    ASSERT_EQ(reserve(), "admitted");
  }
  [[nodiscard]] std::string key() const { return fmt::format("{{{}}}:meta", name_); }

  std::string reserve() {
    ++orders_;
    return redis_bed::reserve(*gate_, claim(orders_, orders_), redis_bed::in(Micros{2'000'000}));
  }
  /// Nothing is sold from now on, and before long everybody knows why.
  void expect_betrayed() {
    bool is_known = false;
    const bool was_told = wait_until([&] {
      const std::string answer = reserve();
      EXPECT_NE(answer, "admitted");
      is_known = answer == "wrong_pin";
      return is_known || answer == "admitted";
    });
    EXPECT_TRUE(was_told && is_known);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(reserve(), "wrong_pin");
  }
  /// A build on whoever serves now sells again.
  void expect_heals() {
    const GateItem item{kShoe, 100};
    EXPECT_TRUE(wait_until(
        [&] { return redis_bed::build(*gate_, {kSale, {1}, name_, 2, ""}, {1, true, 1}, {&item, 1}).has_value(); }));
    EXPECT_EQ(reserve(), "admitted");
  }

  std::string name_;
  std::unique_ptr<RedisGate> gate_;
  std::uint64_t orders_ = 0;
};

TEST_F(RedisPin, B061_APromotedReplicaThatLacksOrdersSellsNothing) {
  RedisClusterBed& bed = cluster();
  build(bed.addresses());
  RedisServer& primary = bed.owner_of(key());
  RedisServer& replica = bed.replica_of(primary);
  replica.freeze();  // It follows no more: what is sold now it will never hear of.
  for (int i = 0; i < 20; ++i) ASSERT_EQ(reserve(), "admitted");
  primary.kill();
  replica.thaw();
  expect_betrayed();
  expect_heals();
  EXPECT_EQ(&bed.owner_of(key()), &replica);
  primary.start();
  EXPECT_TRUE(bed.is_whole());
  EXPECT_EQ(reserve(), "admitted") << "the old primary came back as a replica and changes nothing";
}

TEST_F(RedisPin, P3_APlannedFailoverBetraysItselfAlsoOnTheWayBack) {
  RedisClusterBed& bed = cluster();
  build(bed.addresses());
  RedisServer& primary = bed.owner_of(key());
  RedisServer& replica = bed.replica_of(primary);
  const std::string run_id = primary.info("run_id");
  bed.fail_over_to(replica);
  expect_betrayed();
  bed.fail_over_to(primary);
  EXPECT_EQ(primary.info("run_id"), run_id) << "the same process as before";
  expect_betrayed();
  expect_heals();
}

TEST_F(RedisPin, F13_ARestartFromNothingOrFromAnOldSnapshotBetraysItself) {
  RedisServer server;
  server.start();
  build({server.address()});
  server.take_snapshot();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(reserve(), "admitted");
  server.restart_from_snapshot();
  EXPECT_EQ(server.ask("EXISTS " + key()).integer, 1) << "an old state that looks whole";
  expect_betrayed();
  expect_heals();
  server.restart_empty();
  expect_betrayed();
}

TEST_F(RedisPin, P3_ARestartInsideAClusterBetraysItself) {
  RedisClusterBed& bed = cluster();
  build(bed.addresses());
  RedisServer& primary = bed.owner_of(key());
  primary.restart_empty();
  expect_betrayed();
  EXPECT_TRUE(bed.is_whole());
}

TEST_F(RedisPin, P3_AFullSynchronisationBetraysItself) {
  RedisServer server;
  RedisServer other;
  server.start();
  other.start();
  build({server.address()});
  const std::string run_id = server.info("run_id");
  const std::string replication_id = server.info("master_replid");
  // It takes over the state of another one, and is a primary again: the same process with another history.
  ASSERT_EQ(server.ask(fmt::format("REPLICAOF 127.0.0.1 {}", other.port())).text, "OK");
  ASSERT_TRUE(wait_until([&] { return server.info("master_link_status") == "up"; }));
  ASSERT_EQ(server.ask("REPLICAOF NO ONE").text, "OK");
  EXPECT_EQ(server.info("run_id"), run_id);
  EXPECT_NE(server.info("master_replid"), replication_id);
  expect_betrayed();
}

TEST_F(RedisPin, F10_ASlotThatMovesBetraysItself) {
  RedisClusterBed& bed = cluster();
  build(bed.addresses());
  bed.move_slot(key());
  EXPECT_EQ(bed.owner_of(key()).ask("EXISTS " + key()).integer, 1) << "every key came along";
  expect_betrayed();
  expect_heals();
}

TEST_F(RedisPin, F10_AHalfMovedSlotSellsAtMostWhereItWasBuilt) {
  RedisClusterBed& bed = cluster();
  build(bed.addresses());
  RedisServer& before = bed.owner_of(key());
  bed.begin_to_move_slot(key());
  EXPECT_EQ(reserve(), "admitted") << "all keys are still there";
  // One key has gone: the script's keys lie on two servers now, and neither may run it.
  RedisServer& importer = *[&] {
    for (auto& server : bed.servers()) {
      if (server->ask("CLUSTER NODES").text.find("-<-") != std::string::npos) return server.get();
    }
    return bed.servers().front().get();
  }();
  RedisCommand move{"MIGRATE", "127.0.0.1"};
  move.add(std::int64_t{importer.port()}).add(fmt::format("{{{}}}:1:ended", name_)).add("0").add("5000");
  ASSERT_FALSE(before.ask(move).is_error());
  for (int i = 0; i < 3; ++i) {
    const std::string answer = reserve();
    EXPECT_TRUE(answer == "unavailable" || answer == "wrong_pin") << answer;
  }
  bed.move_slot(key());
  expect_betrayed();
}

TEST_F(RedisPin, AClientFindsTheClusterFromAnyOneNode) {
  RedisClusterBed& bed = cluster();
  ASSERT_TRUE(bed.is_whole());
  for (const std::string& address : bed.addresses()) build({address});
}

}  // namespace
}  // namespace weir
