#include "flow/reconcile_shared.h"
#include "gate/redis_bed.h"
#include "gate/redis_gate_bed.h"
#include "ledger/postgres_test_cluster.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace weir {
namespace {

constexpr std::string_view kTopic = "topic-a";

class NoLog final : public LogProducer {
 public:
  std::size_t room() override { return 0; }
  void append(std::span<const ClaimMessage>) override {}
  std::size_t outcomes(std::span<Outcome>) override { return 0; }
  std::size_t drain(Deadline) override { return 0; }
};
class NoLetters final : public DeadLetters {
 public:
  Result<void> publish(std::span<const DeadLetter>, Deadline) override { return {}; }
};

/// A gate in Redis and a ledger on PostgreSQL, with disagreements planted into them by hand.
class ReconcileStores : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = redis_is_missing()) {
      std::printf("SKIPPED: %s\n", missing->c_str());
      GTEST_SKIP() << *missing;
    }
    server.start();
    scene.open_sale(10, 1);
    gate = redis_bed::connect({server.address()});
    worker = redis_bed::connect({server.address()});
    ASSERT_TRUE(ledger().start_log({std::string{kTopic}, 0, 0}, deadline()));
    ASSERT_TRUE(ledger().begin_build({.sale = {1}, .believed = 0, .builder = "me"}, deadline()));
    place.name = "default:drop";
    ASSERT_TRUE(worker->attach(place));
    place.pin = worker->look({1}, kNoDeadline).value_or(GateLook{}).pin;
    const auto finished =
        ledger().finish_build({.sale = {1}, .epoch = 1, .builder = "me", .pin = place.pin, .marks = {}}, deadline());
    ASSERT_TRUE(finished && finished->end == BuildEnd::open);
    std::vector<GateItem> items;
    for (const auto& [item, total] : finished->snapshot.totals) items.push_back({item, total});
    ASSERT_TRUE(redis_bed::build(*worker, place, {1, true, 1}, items));
  }

  /// Taken, recorded and confirmed, as node and worker do it.
  Claim sell(std::string_view buyer) {
    const Claim made = scene.claim(buyer);
    EXPECT_EQ(redis_bed::reserve(*worker, made), "admitted");
    LogClaim one;
    one.claim = made;
    one.epoch = 1;
    one.offset = offset;
    LogOutcome outcome;
    EXPECT_TRUE(ledger().record_log(
        {.topic_id = kTopic, .partition = 0, .expected = offset, .next = offset + 1, .claims = {&one, 1}},
        {&outcome, 1}, deadline()));
    ++offset;
    EXPECT_EQ(outcome.fate, LogFate::recorded);
    const Hold hold = redis_bed::hold(made);
    EXPECT_TRUE(worker->confirm({&hold, 1}, kNoDeadline));
    return made;
  }
  /// Looks now, and again when everything seen has lasted.
  Findings look(bool dry_run) {
    static_cast<void>(step(true));
    passed += kReconcileGrace;
    return step(dry_run);
  }
  Findings step(bool dry_run) {
    auto found = verb.step(redis_bed::clock().ticks() + passed, dry_run);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Findings{});
  }
  using Kinds = std::multiset<std::pair<std::string, OrderId>>;
  static Kinds kinds(const Findings& findings) {
    Kinds out;
    for (const Mismatch& one : findings.shared) out.emplace(name(one.what), one.hold.order);
    for (const std::string& why : findings.not_compared) out.emplace(why, OrderId{});
    return out;
  }
  bool holds(OrderId id) {
    const auto held = worker->find_hold({1}, id, kNoDeadline);
    return held && held->has_value();
  }
  std::vector<std::int64_t> counts() {
    const ItemNo item{1};
    Shelf shelf;
    EXPECT_TRUE(worker->shelves({1}, {&item, 1}, {&shelf, 1}, kNoDeadline));
    return {shelf.free, shelf.held, shelf.sold};
  }
  /// A command on a key of the epoch.
  RedisReply ask(std::string_view command, std::string_view key, std::initializer_list<std::string_view> words) {
    RedisCommand asked;
    asked.add(command).add("{default:drop}:1:" + std::string{key});
    for (const std::string_view word : words) asked.add(word);
    return server.ask(asked);
  }
  static std::string bytes(OrderId id) {
    const auto raw = id.bytes();
    return {raw.data(), raw.size()};
  }
  std::string digest() { return server.ask("DEBUG DIGEST").text; }

  [[nodiscard]] PostgresLedger& ledger() { return *bed.writer; }
  [[nodiscard]] Deadline deadline() { return scene.deadline(); }

  RedisServer server{{"--enable-debug-command", "yes"}};
  PostgresBed bed{*shared_cluster(), false};
  LedgerScene scene{bed};
  std::unique_ptr<RedisGate> gate;
  std::unique_ptr<RedisGate> worker;
  GatePlace place{.sale = {1}, .tenant = {1}, .name = {}, .epoch = 1, .pin = {}};
  NoLog log;
  NoLetters letters;
  std::int64_t offset = 0;
  Micros passed{0};
  struct Late {
    ReconcileStores& test;
    std::unique_ptr<ReconcileShared> verb;
    Result<Findings> step(Ticks now, bool dry_run) {
      if (!verb) {
        verb = std::make_unique<ReconcileShared>(
            ReconcileParts{.ledger = test.ledger(),
                           .reader = test.bed.reader(),
                           .gate = *test.gate,
                           .log = test.log,
                           .letters = test.letters,
                           .ask_log_end = [this](Deadline) -> Result<LogRanges> {
                             return LogRanges{.topic_id = std::string{kTopic},
                                              .partitions = {{.partition = 0, .first = 0, .end = test.offset}}};
                           }},
            redis_bed::clock());
      }
      return verb->step(now, dry_run);
    }
  };
  Late verb{*this, nullptr};
};

TEST_F(ReconcileStores, F74_PlantedDisagreementsAreFoundAndRepairedOneByOne) {
  const Claim lost = sell("ana");
  const Claim leaked = sell("ben");
  sell("cia");
  EXPECT_EQ(kinds(look(false)), Kinds{}) << "they agree before anything is planted";

  // A hold too few: given back as if the ledger had never had it.
  Hold forgotten = redis_bed::hold(lost);
  forgotten.recorded = false;
  ASSERT_EQ(worker->release({&forgotten, 1}, kNoDeadline).value_or(0), 1);
  // A hold too many.
  const Claim extra = scene.claim("mallory");
  ASSERT_EQ(redis_bed::reserve(*worker, extra), "admitted");
  const Hold confirmed = redis_bed::hold(extra);
  ASSERT_TRUE(worker->confirm({&confirmed, 1}, kNoDeadline));
  // An end that the gate never hears of.
  ASSERT_EQ(scene.settle(LedgerScene::cancel(leaked.order, "ben")).settled, Settled::done);
  ASSERT_EQ(bed.ask("DELETE FROM flash_sale_release"), "");

  const std::string before = digest();
  const Kinds planted{{"ledger_only", lost.order}, {"gate_only", extra.order}, {"unreleased", leaked.order}};
  EXPECT_EQ(kinds(look(true)), planted);
  EXPECT_EQ(digest(), before) << "a dry run changes nothing";
  EXPECT_EQ(bed.ask("SELECT count(*) FROM flash_sale_repair"), "0");

  const Findings done = step(false);
  EXPECT_EQ(kinds(done), planted);
  for (const Mismatch& one : done.shared) EXPECT_TRUE(one.is_repaired) << one.detail << "; " << one.repair;
  EXPECT_EQ(bed.ask("SELECT count(*) FROM flash_sale_repair"), "3");
  EXPECT_TRUE(holds(lost.order));
  EXPECT_FALSE(holds(extra.order));
  EXPECT_FALSE(holds(leaked.order));
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{8, 2, 0}));
  EXPECT_EQ(kinds(look(false)), Kinds{}) << "the next run finds nothing";
  EXPECT_EQ(scene.audit(), "");
}

TEST_F(ReconcileStores, F74_AHoldThatIsGoneWhileTheCountsKnowItAsksForABuild) {
  const Claim order = sell("ana");
  sell("ben");
  ASSERT_EQ(ask("HDEL", "held", {bytes(order.order)}).integer, 1);
  const std::string before = digest();
  EXPECT_EQ(kinds(look(true)), (Kinds{{"counts", OrderId{}}, {"ledger_only", order.order}}));
  EXPECT_EQ(digest(), before);
  for (const Mismatch& one : step(false).shared) EXPECT_TRUE(one.is_repaired) << one.repair;
  EXPECT_EQ(redis_bed::reserve(*worker, scene.claim("cia")), "closed") << "nothing is sold before the build";
  EXPECT_EQ(bed.ask("SELECT count(*) FROM flash_sale_repair"), "2");
  EXPECT_EQ(scene.audit(), "");
}

TEST_F(ReconcileStores, F74_WhatIsInFlightIsLeftAlone) {
  const Claim waiting = scene.claim("ana");
  ASSERT_EQ(redis_bed::reserve(*worker, waiting), "admitted");
  const std::string before = digest();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(kinds(look(false)), Kinds{});
  EXPECT_EQ(digest(), before);
  EXPECT_TRUE(holds(waiting.order));
}

TEST_F(ReconcileStores, F64_AReleaseThatWaitsIsDeliveredOnce) {
  const Claim order = sell("ana");
  ASSERT_EQ(scene.settle(LedgerScene::cancel(order.order, "ana")).settled, Settled::done);
  EXPECT_EQ(kinds(look(false)), (Kinds{{"outbox", order.order}}));
  EXPECT_EQ(bed.ask("SELECT count(*) FROM flash_sale_release"), "0");
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{10, 0, 0}));
  EXPECT_EQ(kinds(look(false)), Kinds{});
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::run_on_postgres(argc, argv); }
