#pragma once

#include "gate/redis_bed.h"
#include "gate/redis_gate_bed.h"

#include <memory>
#include <string>
#include <vector>

namespace weir {

/// One real server for all tests of a program, empty at the start of each, and one sale on it.
class RedisGateTest : public testing::Test {
 protected:
  static constexpr SaleNo kSale{1};
  static constexpr ItemNo kShoe{1};
  static constexpr std::string_view kName = "shop:drop";

  void SetUp() override {
    if (const auto missing = redis_is_missing()) {
      std::printf("SKIPPED: %s\n", missing->c_str());
      GTEST_SKIP() << *missing;
    }
    static RedisServer shared({"--enable-debug-command", "yes"});
    static const bool kStarted = (shared.start(), true);
    ASSERT_TRUE(kStarted);
    server_ = &shared;
    server_->ask("CONFIG SET maxmemory 0");
    server_->ask("FLUSHALL");
    gate_ = redis_bed::connect({server_->address()});
  }

  static GatePlace place(std::int64_t epoch, std::string pin = "") {
    return {kSale, {1}, std::string(kName), epoch, std::move(pin)};
  }
  std::string pin(SharedGate& gate) { return gate.look(kSale, kNoDeadline).value_or(GateLook{}).pin; }

  /// Builds the sale on the server and opens it.
  void build(std::int64_t units = 10, std::int32_t limit = 1, std::int64_t epoch = 1) {
    const GateItem item{kShoe, units};
    const auto built = redis_bed::build(*gate_, place(epoch), {limit, true, 1}, {&item, 1});
    ASSERT_TRUE(built) << built.error().message;
  }
  std::string reserve(const Claim& one) { return redis_bed::reserve(*gate_, one); }
  std::int64_t release(const Hold& one) { return gate_->release({&one, 1}, kNoDeadline).value_or(-1); }
  std::int64_t release(const Claim& one) { return release(redis_bed::hold(one)); }
  void confirm(const Claim& one) {
    const Hold hold = redis_bed::hold(one);
    ASSERT_TRUE(gate_->confirm({&hold, 1}, kNoDeadline));
  }
  Adopted straggler(const Claim& one, HoldKind kind = HoldKind::claim) {
    Adopted adopted;
    const auto done = gate_->adopt_stragglers(kSale, kind, {&one, 1}, {&adopted, 1}, kNoDeadline);
    EXPECT_TRUE(done) << done.error().message;
    return adopted;
  }
  std::vector<InFlight> in_flight(Micros age = Micros{0}) {
    return gate_->in_flight(kSale, age, 100, kNoDeadline).value_or(std::vector<InFlight>{});
  }
  /// free, held, sold.
  std::vector<std::int64_t> counts() {
    Shelf shelf;
    const auto done = gate_->shelves(kSale, {&kShoe, 1}, {&shelf, 1}, kNoDeadline);
    EXPECT_TRUE(done) << done.error().message;
    return {shelf.free, shelf.held, shelf.sold};
  }
  using Counts = std::vector<std::int64_t>;

  /// A key of the sale, `meta` or with the epoch in its name.
  static std::string key(std::string_view what, std::int64_t epoch = 1) {
    return what == "meta" ? fmt::format("{{{}}}:meta", kName) : fmt::format("{{{}}}:{}:{}", kName, epoch, what);
  }
  /// Of everything that the server holds.
  std::string digest() { return server_->ask("DEBUG DIGEST").text; }

  RedisServer* server_ = nullptr;
  std::unique_ptr<RedisGate> gate_;
};

}  // namespace weir
