#include "gate/redis_gate.h"

#include "gate/gate_conformance.h"
#include "gate/redis_bed.h"
#include "gate/redis_gate_bed.h"

#include <cstdio>

namespace weir {
namespace {

/// A gate in which nothing is open, as the conformance suite wants it: a sale that is opened for the first time is
/// built as a builder would do it, at epoch 1 and under a name of its own.
class FreshGate final : public Gate {
 public:
  explicit FreshGate(std::unique_ptr<RedisGate> gate) : gate_(std::move(gate)), number_(++made_) {}

  Result<void> open(const GateSale& sale, std::span<const GateItem> items, Deadline deadline) override {
    if (gate_->place(sale.no) == nullptr) {
      const GateTerms terms{.limit_per_buyer = sale.limit_per_buyer, .selling = sale.selling, .version = sale.version};
      const auto built = redis_bed::build(
          *gate_, {sale.no, {1}, fmt::format("tenant:sale-{}-{}", number_, sale.no.value), 1, ""}, terms, items);
      if (!built) return fail(Failure::unavailable, built.error().message);
    }
    return gate_->open(sale, items, deadline);
  }
  Result<void> restock(ItemNo item, std::int64_t delta, std::uint64_t change_id, Deadline deadline) override {
    return gate_->restock(item, delta, change_id, deadline);
  }
  Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline deadline) override {
    return gate_->reserve(claims, verdicts, deadline);
  }
  Result<void> adopt(std::span<const Hold> holds, Deadline deadline) override { return gate_->adopt(holds, deadline); }
  Result<void> confirm(std::span<const Hold> holds, Deadline deadline) override {
    return gate_->confirm(holds, deadline);
  }
  Result<void> sell(std::span<const Hold> holds, Deadline deadline) override { return gate_->sell(holds, deadline); }
  Result<std::int64_t> release(std::span<const Hold> holds, Deadline deadline) override {
    return gate_->release(holds, deadline);
  }
  Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) override {
    return gate_->each_hold(each, deadline);
  }
  Result<Shelf> shelf(ItemNo item, Deadline deadline) override { return gate_->shelf(item, deadline); }

 private:
  static inline int made_ = 0;
  std::unique_ptr<RedisGate> gate_;
  int number_;
};

std::vector<std::string> single_server() {
  static RedisServer server;
  static const bool kStarted = (server.start(), true);
  EXPECT_TRUE(kStarted);
  return {server.address()};
}

std::vector<std::string> cluster() {
  static RedisClusterBed bed;
  return bed.addresses();
}

std::vector<GateMaker> makers() {
  if (const auto missing = redis_is_missing()) {
    std::printf("SKIPPED: %s\n", missing->c_str());
    return {};
  }
  return {{"redis", [] { return std::make_unique<FreshGate>(redis_bed::connect(single_server())); }},
          {"redis_cluster", [] { return std::make_unique<FreshGate>(redis_bed::connect(cluster())); }}};
}

INSTANTIATE_TEST_SUITE_P(Redis, Gates, testing::ValuesIn(makers()),
                         [](const auto& maker) { return maker.param.adapter; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Gates);

}  // namespace
}  // namespace weir
