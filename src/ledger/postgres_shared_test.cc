#include "ledger/postgres_test_cluster.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <thread>

/// What several processes need of the ledger: epochs, offsets, builds, the outbox, late money of a shared gate.
namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::string_view kTopic = "topic-a";

class PostgresShared : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(scene.audit(), ""); }

  /// The sale `drop`, its gate OPEN at epoch 1, one partition at offset 0.
  void open_gate(std::int64_t units = 100, std::int32_t limit = 1) {
    scene.open_sale(units, limit);
    start_log(0);
    ASSERT_EQ(begin(0, "ann's builder"), 1);
    ASSERT_EQ(finish(1, "ann's builder").end, BuildEnd::open);
  }
  void start_log(std::int32_t partition) {
    ASSERT_EQ(ledger().start_log({std::string{kTopic}, partition, 0}, deadline()).value_or(-1), 0);
  }
  [[nodiscard]] std::optional<std::int64_t> begin(std::int64_t believed, std::string builder) {
    const auto begun =
        ledger().begin_build({.sale = {1}, .believed = believed, .builder = std::move(builder)}, deadline());
    EXPECT_TRUE(begun) << begun.error().message;
    return begun.value_or(std::nullopt);
  }
  [[nodiscard]] BuildResult finish(std::int64_t epoch, std::string builder, std::vector<LogMark> marks = {}) {
    auto done = ledger().finish_build(
        {.sale = {1}, .epoch = epoch, .builder = std::move(builder), .pin = "redis-1", .marks = std::move(marks)},
        deadline());
    EXPECT_TRUE(done) << done.error().message;
    return done ? std::move(*done) : BuildResult{};
  }
  /// A new gate after the old one was lost.
  void rebuild(std::int64_t epoch) {
    ASSERT_EQ(begin(epoch - 1, "next"), epoch);
    ASSERT_EQ(finish(epoch, "next").end, BuildEnd::open);
  }

  [[nodiscard]] static LogClaim message(const Claim& claim, std::int64_t epoch = 1) {
    LogClaim one;
    one.claim = claim;
    one.epoch = epoch;
    return one;
  }
  [[nodiscard]] LogClaim message(std::string_view buyer, std::int64_t epoch = 1) {
    return message(scene.claim(buyer), epoch);
  }
  [[nodiscard]] static LogClaim answered(LogClaim one, StragglerAnswer answer, std::int64_t at) {
    one.answer = answer;
    one.answered_at = at;
    return one;
  }
  [[nodiscard]] static LogClaim unreadable(std::optional<OrderId> id, SaleNo sale = {1}) {
    LogClaim one;
    one.key = "hat";
    one.bytes = std::string{"\0\xff{", 3};
    one.problem = "malformed";
    one.order = id;
    one.sale = sale;
    return one;
  }

  struct Recorded {
    SliceResult result;
    std::vector<LogOutcome> outcomes;
    [[nodiscard]] std::vector<LogFate> fates() const {
      std::vector<LogFate> all;
      for (const LogOutcome& outcome : outcomes) all.push_back(outcome.fate);
      return all;
    }
  };
  /// Records from where the partition stands.
  Recorded record(std::vector<LogClaim> claims) {
    Recorded done = record_at(ledger(), offset_, claims);
    if (done.result.end == SliceEnd::recorded) offset_ = done.result.next;
    return done;
  }
  Recorded record_at(SharedLedger& by, std::int64_t from, std::vector<LogClaim>& claims, std::int32_t partition = 0) {
    std::int64_t offset = from;
    for (LogClaim& claim : claims) claim.offset = offset++;
    Recorded done;
    done.outcomes.resize(claims.size());
    auto result =
        by.record_log({.topic_id = kTopic, .partition = partition, .expected = from, .next = offset, .claims = claims},
                      done.outcomes, deadline());
    EXPECT_TRUE(result) << result.error().message;
    if (result) done.result = std::move(*result);
    return done;
  }
  LogFate record_one(LogClaim claim) { return record({std::move(claim)}).outcomes.front().fate; }
  [[nodiscard]] std::vector<OrderId> releases() {
    std::vector<OrderId> holds;
    const auto found = ledger().releases({1}, 100, deadline());
    EXPECT_TRUE(found);
    for (const Release& one : *found) holds.push_back(one.hold);
    return holds;
  }
  [[nodiscard]] HoldStanding standing(OrderId hold) {
    HoldStanding standing{};
    EXPECT_TRUE(ledger().look_up_holds(std::span{&hold, 1}, std::span{&standing, 1}, deadline()));
    return standing;
  }
  RetakeEnd decide(std::uint64_t payment, std::int64_t epoch, bool taken) {
    const RetakeDecision decision{.payment = {7, payment}, .epoch = epoch, .taken = taken};
    RetakeEnd end{};
    EXPECT_TRUE(ledger().decide_retakes(std::span{&decision, 1}, std::span{&end, 1}, deadline()));
    return end;
  }
  /// An order that expired, and whose money came afterwards.
  OrderId pay_late(std::string_view buyer, std::uint64_t payment) {
    const Claim claim = scene.claim(buyer);
    EXPECT_EQ(record_one(message(claim)), LogFate::recorded);
    EXPECT_EQ(scene.settle(LedgerScene::start(claim.order, buyer, payment)).settled, Settled::done);
    scene.let_pass(LedgerScene::kPayWithin);
    EXPECT_EQ(scene.expire().size(), 1U);
    EXPECT_EQ(scene.settle(LedgerScene::captured(payment)).settled, Settled::late);
    return claim.order;
  }

  [[nodiscard]] PostgresLedger& ledger() { return *bed.writer; }
  [[nodiscard]] Deadline deadline() { return scene.deadline(); }

  PostgresBed bed{*shared_cluster(), false};
  LedgerScene scene{bed};
  std::int64_t offset_ = 0;
};

TEST_F(PostgresShared, NumberedStockIsRefusedInWords) {
  open_gate();
  const auto added = ledger().add_item(LedgerScene::numbered_draft("seat", 10, 1));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().failure, Failure::unfit);
  EXPECT_THAT(added.error().message, testing::HasSubstr("no numbered stock"));
  EXPECT_EQ(bed.reader().owner_of({1}, 1).error().failure, Failure::unfit);
}

TEST_F(PostgresShared, F30_F31_AnOffsetAndWhatLiesBelowItAreOne) {
  open_gate();
  std::vector<LogClaim> claims{message("ann"), message("ben"), message("ann")};
  const Recorded done = record(claims);
  EXPECT_EQ(done.result.end, SliceEnd::recorded);
  EXPECT_EQ(done.result.next, 3);
  ASSERT_EQ(done.result.gates.size(), 1U);
  EXPECT_EQ(done.result.gates[0].epoch, 1);
  EXPECT_THAT(done.fates(), ElementsAre(LogFate::recorded, LogFate::recorded, LogFate::rejected));
  EXPECT_EQ(done.outcomes[2].why, Rejection::over_limit);
  EXPECT_EQ(scene.shelf(), counts(100, 2, 0));
  EXPECT_EQ(ledger().log_marks(kTopic, deadline())->front().offset, 3);
  // The same run once more, as after an answer that was lost.
  const Recorded again = record_at(ledger(), 0, claims);
  EXPECT_EQ(again.result.end, SliceEnd::fenced);
  EXPECT_EQ(again.result.next, 3);
  // The same messages at other offsets.
  claims.pop_back();
  EXPECT_THAT(record(claims).fates(), ElementsAre(LogFate::repeated, LogFate::repeated));
  EXPECT_EQ(scene.shelf(), counts(100, 2, 0));
}

TEST_F(PostgresShared, F33_AZombieWritesNothing) {
  open_gate();
  const auto zombie = bed.open_another();
  ASSERT_EQ(record_one(message("ann")), LogFate::recorded);
  std::vector<LogClaim> stale{message("ben"), message("cat")};
  const Recorded done = record_at(*zombie, 0, stale);
  EXPECT_EQ(done.result.end, SliceEnd::fenced);
  EXPECT_EQ(done.result.next, 1);
  EXPECT_EQ(scene.shelf(), counts(100, 1, 0));
  EXPECT_THAT(releases(), IsEmpty());
  std::vector<LogClaim> unknown_partition{message("dan")};
  EXPECT_EQ(record_at(*zombie, 0, unknown_partition, 9).result.end, SliceEnd::fenced);
}

TEST_F(PostgresShared, F32_AStragglerIsLeftUntilItsGateHasAnsweredAndNothingBehindItIsPassed) {
  open_gate();
  rebuild(2);
  const Claim late = scene.claim("ben");
  const Recorded done = record({message("ann", 2), message(late), message("cat", 2)});
  EXPECT_THAT(done.fates(), ElementsAre(LogFate::recorded, LogFate::left, LogFate::left));
  EXPECT_EQ(done.result.next, 1) << "the run ends before it";
  EXPECT_EQ(ledger().log_marks(kTopic, deadline())->front().offset, 1);
  EXPECT_EQ(scene.shelf(), counts(100, 1, 0)) << "what came later waits with it";
  EXPECT_EQ(record_one(answered(message(late), StragglerAnswer::adopted, 1)), LogFate::left)
      << "an answer of a gate that is gone";
  EXPECT_EQ(record_one(answered(message(late), StragglerAnswer::adopted, 2)), LogFate::recorded);
  EXPECT_EQ(record_one(message(late)), LogFate::repeated) << "a row needs no answer";
  EXPECT_EQ(scene.shelf(), counts(100, 2, 0));
}

TEST_F(PostgresShared, WhatTheGateRefusedOrHasSeenEndIsRejected) {
  open_gate();
  rebuild(2);
  const Claim refused = scene.claim("ann");
  const Claim ended = scene.claim("ben");
  const Recorded done = record(
      {answered(message(refused), StragglerAnswer::refused, 2), answered(message(ended), StragglerAnswer::ended, 2)});
  EXPECT_THAT(done.fates(), ElementsAre(LogFate::rejected, LogFate::rejected));
  EXPECT_EQ(done.outcomes[0].why, Rejection::gate_refused);
  EXPECT_EQ(scene.order(refused.order).status, OrderStatus::rejected);
  EXPECT_EQ(scene.order(refused.order).reason, "GATE_LOST");
  EXPECT_THAT(releases(), UnorderedElementsAre(refused.order, ended.order));
  EXPECT_EQ(record_one(message("ann", 2)), LogFate::recorded) << "who was rejected may buy again";
}

TEST_F(PostgresShared, WhatTheGateHoldsOtherwiseIsRecordedAsItHoldsIt) {
  open_gate(100, 3);
  rebuild(2);
  const Claim old_claim = scene.claim("ann", 1);
  Claim held = LedgerScene::claim_as(old_claim.order, "ann", 2);
  LogClaim one = answered(message(old_claim), StragglerAnswer::adopted_other, 2);
  one.held = held;
  EXPECT_EQ(record_one(one), LogFate::recorded);
  EXPECT_EQ(scene.order(old_claim.order).units, 2);
}

TEST_F(PostgresShared, WhileAGateIsBuiltOnlyTheLastOpenOneCounts) {
  open_gate();
  rebuild(2);
  ASSERT_EQ(begin(2, "next"), 3);
  const Claim older = scene.claim("ann");
  const Recorded done = record({message("ben", 2), message(older, 1), message("cat", 3)});
  EXPECT_THAT(done.fates(), ElementsAre(LogFate::recorded, LogFate::rejected, LogFate::recorded));
  EXPECT_EQ(done.outcomes[1].why, Rejection::gate_lost);
  EXPECT_THAT(releases(), ElementsAre(older.order));
}

TEST_F(PostgresShared, F53_F54_AnEpochThatTheLedgerDoesNotKnowStopsEverything) {
  open_gate();
  const Recorded done = record({message("ann"), message("ben", 7)});
  EXPECT_EQ(done.result.end, SliceEnd::lost_commits);
  EXPECT_EQ(done.result.epoch_seen, 7);
  EXPECT_EQ(scene.shelf(), counts(100, 0, 0));
  EXPECT_EQ(ledger().log_marks(kTopic, deadline())->front().offset, 0);
  const auto begun =
      ledger().begin_build({.sale = {1}, .believed = 1, .seen_in_log = 7, .builder = "next"}, deadline());
  EXPECT_EQ(*begun, 8);
  EXPECT_THAT(record({message("ann", 7), message("ben", 7)}).fates(),
              ElementsAre(LogFate::recorded, LogFate::recorded));
}

TEST_F(PostgresShared, F42_ABatchTouchesItsItemOnce) {
  constexpr int kBuyers = 300;
  open_gate(kBuyers);
  bed.ask(
      "CREATE TABLE touched (item int);"
      "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN INSERT INTO touched VALUES (NEW.item_no); RETURN NULL; END';"
      "CREATE TRIGGER touch AFTER UPDATE ON flash_sale_item FOR EACH ROW EXECUTE FUNCTION touch()");
  std::vector<LogClaim> claims;
  for (int i = 0; i < kBuyers; ++i) claims.push_back(message(fmt::format("buyer-{}", i)));
  ASSERT_EQ(record(std::move(claims)).result.next, kBuyers);
  EXPECT_EQ(scene.shelf(), counts(kBuyers, kBuyers, 0));
  EXPECT_EQ(bed.ask("SELECT count(*) FROM touched"), "1") << "one row for all, whatever their number";
}

TEST_F(PostgresShared, F37_AnEndedIdThatComesAgainIsReleasedAgain) {
  open_gate();
  const Claim claim = scene.claim("ann");
  ASSERT_EQ(record_one(message(claim)), LogFate::recorded);
  ASSERT_EQ(scene.settle(LedgerScene::cancel(claim.order, "ann")).settled, Settled::done);
  ASSERT_THAT(releases(), ElementsAre(claim.order));
  const Recorded again = record({message(claim), message(claim)});
  EXPECT_THAT(again.fates(), ElementsAre(LogFate::ended, LogFate::ended));
  EXPECT_EQ(again.outcomes[0].status, OrderStatus::cancelled);
  EXPECT_THAT(releases(), ElementsAre(claim.order, claim.order, claim.order));
}

TEST_F(PostgresShared, F38_EveryMessageIsDecidedAlone) {
  open_gate(2);
  const Claim known = scene.claim("eve");
  ASSERT_EQ(record_one(message(known)), LogFate::recorded);
  Claim stranger = scene.claim("fay", 1, {99});
  Claim other = LedgerScene::claim_as(known.order, "gil");
  const Recorded done =
      record({message("ann"), message("ben"), message("ann"), message(stranger), message(other), unreadable({}, {})});
  EXPECT_THAT(done.fates(), ElementsAre(LogFate::recorded, LogFate::rejected, LogFate::rejected, LogFate::parked,
                                        LogFate::repeated, LogFate::parked));
  EXPECT_EQ(done.outcomes[1].why, Rejection::exceeds_stock);
  EXPECT_EQ(done.outcomes[2].why, Rejection::over_limit);
  EXPECT_EQ(scene.shelf(), counts(2, 2, 0));
  EXPECT_EQ(scene.order(known.order).buyer, "eve");
  EXPECT_EQ(record_one(message(stranger)), LogFate::ended) << "an order it never was, but its id has ended";
}

TEST_F(PostgresShared, F35_F36_WhatNobodyCanReadIsKeptBeforeItIsPassed) {
  open_gate();
  const Claim claim = scene.claim("ann");
  EXPECT_THAT(record({unreadable({}), unreadable(claim.order)}).fates(), ElementsAre(LogFate::parked, LogFate::parked));
  EXPECT_THAT(releases(), ElementsAre(claim.order));
  const auto parked = ledger().parked(10, deadline());
  ASSERT_EQ(parked->size(), 2U);
  EXPECT_EQ(parked->front().bytes, (std::string{"\0\xff{", 3}));
  EXPECT_EQ(parked->front().key, "hat");
  EXPECT_EQ(parked->front().problem, "malformed");
  EXPECT_EQ(parked->back().offset, 1);
  EXPECT_EQ(record_one(message(claim)), LogFate::ended) << "driven again, its id has ended";
  const LogMark shown{.topic_id = std::string{kTopic}, .partition = 0, .offset = 0};
  ASSERT_TRUE(ledger().mark_replayed(std::span{&shown, 1}, deadline()));
  ASSERT_TRUE(ledger().mark_replayed(std::span{&shown, 1}, deadline()));
  EXPECT_EQ(ledger().parked(10, deadline())->size(), 1U);
  // A live order is not ended by bytes that name it.
  const Claim live = scene.claim("ben");
  ASSERT_EQ(record_one(message(live)), LogFate::recorded);
  EXPECT_EQ(record_one(unreadable(live.order)), LogFate::parked);
  EXPECT_EQ(scene.status(live.order), OrderStatus::pending);
}

TEST_F(PostgresShared, ABuilderIsAloneAndKnowsWhenHeIsNot) {
  scene.open_sale(5);
  EXPECT_EQ(begin(3, "a"), std::nullopt) << "the sale has no such epoch";
  ASSERT_EQ(begin(0, "a"), 1);
  EXPECT_EQ(begin(0, "a"), 1) << "its own start, met again";
  EXPECT_EQ(begin(0, "b"), std::nullopt);
  scene.let_pass(Micros{1'000'000});
  EXPECT_EQ(ledger().keep_building({1}, 1, "a", deadline()), true);
  EXPECT_EQ(ledger().gate_states(deadline())->front().builder_seen_at, bed.clock().now());
  ASSERT_EQ(begin(1, "b"), 2);
  EXPECT_EQ(ledger().keep_building({1}, 1, "a", deadline()), false);
  EXPECT_EQ(finish(1, "a").end, BuildEnd::superseded);
  EXPECT_EQ(finish(2, "a").end, BuildEnd::superseded);
  EXPECT_EQ(finish(2, "b").end, BuildEnd::open);
  EXPECT_EQ(finish(2, "b").end, BuildEnd::open) << "an answer that was lost is asked for again";
  EXPECT_EQ(ledger().keep_building({1}, 2, "b", deadline()), false) << "it is built";
  const GateState state = ledger().gate_states(deadline())->front();
  EXPECT_EQ(state.phase, GatePhase::open);
  EXPECT_EQ(state.last_open, 2);
  EXPECT_EQ(state.pin, "redis-1");
  const auto nowhere = ledger().begin_build({.sale = {9}, .builder = "a"}, deadline());
  EXPECT_EQ(*nowhere, std::nullopt);
}

TEST_F(PostgresShared, ABuildWaitsForTheLogAndSeesAllOfIt) {
  open_gate();
  const Claim first = scene.claim("ann");
  const Claim second = scene.claim("ben");
  ASSERT_EQ(record_one(message(first)), LogFate::recorded);
  ASSERT_EQ(begin(1, "next"), 2);
  const std::vector<LogMark> marks{{std::string{kTopic}, 0, 2}};
  EXPECT_EQ(finish(2, "next", marks).end, BuildEnd::behind);
  EXPECT_EQ(finish(2, "next", {{std::string{kTopic}, 7, 1}}).end, BuildEnd::behind) << "an unknown partition";
  ASSERT_EQ(record_one(message(second)), LogFate::recorded);
  ASSERT_EQ(scene.settle(LedgerScene::cancel(first.order, "ann")).settled, Settled::done);
  const BuildResult built = finish(2, "next", marks);
  ASSERT_EQ(built.end, BuildEnd::open);
  ASSERT_EQ(built.snapshot.live.size(), 1U);
  EXPECT_EQ(built.snapshot.live[0].hold, second.order);
  EXPECT_EQ(built.snapshot.live[0].buyer, "ben");
  EXPECT_EQ(built.snapshot.live[0].digest, second.digest);
  EXPECT_THAT(built.snapshot.ended, ElementsAre(first.order));
  EXPECT_THAT(built.snapshot.totals, ElementsAre(std::pair{ItemNo{1}, 100}, std::pair{ItemNo{2}, 10}));
  EXPECT_EQ(built.snapshot.limit_per_buyer, 1);
}

/// A recorder goes on while gates are built over and over: what a snapshot has is exactly what was recorded before it.
TEST_F(PostgresShared, P7_NoCommitSlipsBetweenSnapshotAndOpen) {
  open_gate(5000);
  std::atomic<bool> is_done{false};
  const auto other = bed.open_another();
  const auto counter = bed.open_another();
  std::vector<std::pair<std::int64_t, OrderId>> recorded;  // With the epoch at which it was.
  std::thread recorder{[&] {
    std::int64_t at = 0;
    for (int number = 0; number < 400 && !is_done; ++number) {
      LedgerScene here{bed};
      const Claim claim =
          LedgerScene::claim_as({static_cast<std::uint64_t>(number) + 1, 5}, "buyer-" + std::to_string(number));
      const auto gates = counter->gate_states(deadline());
      std::vector<LogClaim> one{message(claim, gates->front().epoch)};
      const Recorded done = record_at(*other, at, one);
      if (done.result.end != SliceEnd::recorded) break;
      if (done.outcomes[0].fate == LogFate::recorded) {
        const GateState& gate = done.result.gates[0];
        recorded.emplace_back(gate.phase == GatePhase::open ? gate.epoch : gate.epoch - 1, claim.order);
      }
      at = done.result.next;
    }
  }};
  std::vector<std::set<OrderId>> snapshots;
  for (std::int64_t epoch = 2; epoch < 12; ++epoch) {
    EXPECT_EQ(begin(epoch - 1, "next"), epoch);
    const BuildResult built = finish(epoch, "next");
    EXPECT_EQ(built.end, BuildEnd::open);
    snapshots.emplace_back();
    for (const LiveHold& hold : built.snapshot.live) snapshots.back().insert(hold.order);
  }
  is_done = true;
  recorder.join();
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    const auto epoch = static_cast<std::int64_t>(i) + 2;
    for (const auto& [at, order] : recorded) {
      EXPECT_EQ(snapshots[i].contains(order), at < epoch) << "recorded at " << at << ", snapshot of " << epoch;
    }
  }
}

TEST_F(PostgresShared, F15_F57_TwoRecordersNeitherOversellNorPassTheLimit) {
  constexpr std::int32_t kUnits = 60;
  open_gate(kUnits);
  start_log(1);
  const auto other = bed.open_another();
  const std::array<PostgresLedger*, 2> ledgers{bed.writer.get(), other.get()};
  std::array<std::map<std::string, int>, 2> bought;
  std::array<std::thread, 2> threads;
  for (std::size_t who = 0; who < 2; ++who) {
    threads.at(who) = std::thread{[&, who] {
      SeededRandom random{who + 1};
      std::int64_t at = 0;
      for (std::uint64_t round = 0; round < 20; ++round) {
        std::vector<LogClaim> claims;
        for (std::uint64_t i = 0; i < 20; ++i) {
          const OrderId id{(round * 20 + i + 1) * 0x9e3779b97f4a7c15U, who + 10};
          const ItemNo item{static_cast<std::uint32_t>(random.below(2)) + 1};
          claims.push_back(message(LedgerScene::claim_as(id, "b" + std::to_string(random.below(80)), 1, item)));
        }
        const Recorded done = record_at(*ledgers.at(who), at, claims, static_cast<std::int32_t>(who));
        EXPECT_EQ(done.result.end, SliceEnd::recorded);
        at = done.result.next;
        for (std::size_t i = 0; i < claims.size(); ++i) {
          if (done.outcomes[i].fate == LogFate::recorded) ++bought.at(who)[std::string{claims[i].claim->buyer.view()}];
        }
      }
    }};
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, int> all = bought[0];
  for (const auto& [buyer, times] : bought[1]) all[buyer] += times;
  std::int64_t sum = 0;
  for (const auto& [buyer, times] : all) {
    EXPECT_EQ(times, 1) << buyer;
    sum += times;
  }
  EXPECT_EQ(sum, scene.shelf({1}).held + scene.shelf({2}).held);
  EXPECT_LE(scene.shelf({1}).held, kUnits);
  EXPECT_EQ(scene.shelf({2}).held, 10) << "nothing that could be sold was refused";
}

TEST_F(PostgresShared, F61_TwoExpirersEndEachOrderOnce) {
  open_gate(400);
  std::vector<LogClaim> claims;
  for (int i = 0; i < 400; ++i) claims.push_back(message("buyer-" + std::to_string(i)));
  static_cast<void>(record(std::move(claims)));
  scene.let_pass(LedgerScene::kPayWithin);
  const auto other = bed.open_another();
  const std::array<PostgresLedger*, 2> ledgers{bed.writer.get(), other.get()};
  std::array<std::vector<OrderId>, 2> ended;
  std::array<std::thread, 2> threads;
  for (std::size_t who = 0; who < 2; ++who) {
    threads.at(who) = std::thread{[&, who] {
      for (int turn = 0; turn < 10; ++turn) {
        std::vector<Ended> some(50);
        const auto count = ledgers.at(who)->expire(some, deadline());
        EXPECT_TRUE(count) << count.error().message;
        for (std::size_t i = 0; i < count.value_or(0); ++i) ended.at(who).push_back(some[i].order);
      }
    }};
  }
  for (std::thread& thread : threads) thread.join();
  std::set<OrderId> all{ended[0].begin(), ended[0].end()};
  all.insert(ended[1].begin(), ended[1].end());
  EXPECT_EQ(all.size(), ended[0].size() + ended[1].size());
  EXPECT_EQ(scene.shelf().held, 400 - static_cast<std::int64_t>(all.size()));
  EXPECT_EQ(bed.ask("SELECT count(*) FROM flash_sale_release"), std::to_string(all.size()));
}

TEST_F(PostgresShared, F60_F64_AReleaseLeavesOnlyAtTheEpochItRanAt) {
  open_gate();
  const Claim claim = scene.claim("ann");
  ASSERT_EQ(record_one(message(claim)), LogFate::recorded);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  const auto found = ledger().releases({1}, 10, deadline());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().hold, claim.order);
  const std::uint64_t id = found->front().id;
  const auto drop = [&](std::int64_t epoch) {
    return ledger().drop_releases({1}, epoch, std::span{&id, 1}, deadline());
  };
  EXPECT_EQ(drop(2), 0U) << "no such epoch";
  ASSERT_EQ(begin(1, "next"), 2);
  EXPECT_EQ(drop(1), 0U) << "ran on the gate that was lost";
  EXPECT_EQ(drop(2), 0U) << "not open yet";
  ASSERT_EQ(finish(2, "next").end, BuildEnd::open);
  EXPECT_EQ(drop(1), 0U);
  EXPECT_EQ(drop(2), 1U);
  EXPECT_EQ(drop(2), 0U);
  EXPECT_THAT(releases(), IsEmpty());
}

TEST_F(PostgresShared, ASaleWithoutASharedGateHasNoOutbox) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::cancel(order, "ann")).effect, GateEffect::release);
  EXPECT_THAT(releases(), IsEmpty());
}

TEST_F(PostgresShared, P1_F62_LateMoneyTakesAHoldOfItsOwn) {
  open_gate();
  const OrderId order = pay_late("ann", 1);
  const auto open = ledger().undecided_retakes(10, deadline());
  ASSERT_EQ(open->size(), 1U);
  const OrderId hold = open->front().hold;
  EXPECT_EQ(open->front().order.id, order);
  EXPECT_NE(hold, order);
  EXPECT_EQ(standing(hold), HoldStanding::undecided);
  EXPECT_EQ(standing(order), HoldStanding::ended);
  EXPECT_EQ(scene.settle(DecideLate{.payment = {7, 1}, .units_taken = true}).settled, Settled::late)
      << "a shared gate answers for an epoch";
  EXPECT_EQ(decide(1, 9, true), RetakeEnd::moved);
  EXPECT_EQ(decide(2, 1, true), RetakeEnd::unknown);
  EXPECT_EQ(decide(1, 1, true), RetakeEnd::kept);
  EXPECT_EQ(decide(1, 1, true), RetakeEnd::kept) << "decided once";
  EXPECT_EQ(scene.status(order), OrderStatus::paid);
  EXPECT_EQ(scene.shelf(), counts(100, 0, 1));
  EXPECT_EQ(standing(hold), HoldStanding::live);
  EXPECT_EQ(standing(order), HoldStanding::ended) << "the first hold does not come back";
  ASSERT_EQ(begin(1, "next"), 2);
  const BuildResult built = finish(2, "next");
  ASSERT_EQ(built.snapshot.live.size(), 1U);
  EXPECT_EQ(built.snapshot.live[0].hold, hold);
  EXPECT_EQ(built.snapshot.live[0].order, order);
  EXPECT_TRUE(built.snapshot.live[0].sold);
  EXPECT_THAT(built.snapshot.ended, ElementsAre(order));
  // What ends now is the second hold.
  const Settlement asked = scene.settle(LedgerScene::refund(order, 1));
  ASSERT_EQ(scene.settle(LedgerScene::refunded(1, *asked.order->refund)).settled, Settled::done);
  EXPECT_THAT(releases(), ElementsAre(order, hold));
  EXPECT_EQ(standing(hold), HoldStanding::ended);
}

TEST_F(PostgresShared, P6_LateMoneyThatDoesNotFitGoesBackOnce) {
  open_gate(1);
  const OrderId order = pay_late("ann", 1);
  ASSERT_EQ(record_one(message("ben")), LogFate::recorded) << "the unit is sold meanwhile";
  const OrderId hold = ledger().undecided_retakes(10, deadline())->front().hold;
  ASSERT_EQ(begin(1, "next"), 2);
  EXPECT_EQ(decide(1, 1, true), RetakeEnd::moved) << "that gate is gone";
  ASSERT_EQ(finish(2, "next").end, BuildEnd::open);
  EXPECT_EQ(decide(1, 2, true), RetakeEnd::refunded) << "a gate that erred: the ledger knows better";
  EXPECT_EQ(decide(1, 2, true), RetakeEnd::refunded);
  EXPECT_THAT(releases(), ElementsAre(order, hold));
  EXPECT_EQ(scene.status(order), OrderStatus::expired);
  EXPECT_EQ(bed.reader().refunds_due(10)->size(), 1U);
  EXPECT_EQ(standing(hold), HoldStanding::ended);
  EXPECT_EQ(scene.shelf(), counts(1, 1, 0));
}

TEST_F(PostgresShared, AHoldThatTheLedgerHasNeverSeenIsUnknown) {
  open_gate();
  EXPECT_EQ(standing({4, 4}), HoldStanding::unknown);
  const Claim claim = scene.claim("ann");
  ASSERT_EQ(record_one(message(claim)), LogFate::recorded);
  EXPECT_EQ(standing(claim.order), HoldStanding::live);
}

TEST_F(PostgresShared, WithoutALogTheEpochsCountAllTheSame) {
  open_gate();
  rebuild(2);
  const std::vector<LogClaim> claims{message("ann", 2), message("ben", 1)};
  std::vector<LogOutcome> outcomes(2);
  const auto done = ledger().record_log({.topic_id = {}, .partition = 0, .expected = 0, .next = 0, .claims = claims},
                                        outcomes, deadline());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(outcomes[0].fate, LogFate::recorded);
  EXPECT_EQ(outcomes[1].fate, LogFate::left);
}

TEST_F(PostgresShared, F73_TwoRequestsUnderOneKeyAtOnceAreOne) {
  open_gate(100, 2);
  const auto other = bed.open_another();
  const std::array<PostgresLedger*, 2> ledgers{bed.writer.get(), other.get()};
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::array claims{scene.claim("ann-" + std::to_string(round)), scene.claim("ben-" + std::to_string(round))};
    ASSERT_THAT(record({message(claims[0]), message(claims[1])}).fates(),
                ElementsAre(LogFate::recorded, LogFate::recorded));
    std::array<Settled, 2> settled{};
    std::array<std::thread, 2> threads;
    for (std::size_t who = 0; who < 2; ++who) {
      threads.at(who) = std::thread{[&, who] {
        CancelOrder cancel = LedgerScene::cancel(claims.at(who).order, claims.at(who).buyer.view());
        cancel.key = RequestKey{.id = {round, 77}, .digest = {who + 1}};
        const std::array commands{SettleCommand{cancel}};
        std::array<Settlement, 1> answers;
        EXPECT_TRUE(ledgers.at(who)->settle(commands, answers, deadline()));
        settled.at(who) = answers[0].settled;
      }};
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(settled, UnorderedElementsAre(Settled::done, Settled::key_reused));
  }
}

TEST_F(PostgresShared, B043_AnEventAndTheStartOfItsPaymentNeverMissEachOther) {
  open_gate(100);
  const auto other = bed.open_another();
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::string buyer = "buyer-" + std::to_string(round);
    const Claim claim = scene.claim(buyer);
    ASSERT_EQ(record_one(message(claim)), LogFate::recorded);
    std::thread gateway{[&] {
      const std::array commands{SettleCommand{LedgerScene::captured(round)}};
      std::array<Settlement, 1> answers;
      EXPECT_TRUE(other->settle(commands, answers, deadline()));
    }};
    static_cast<void>(scene.settle(LedgerScene::start(claim.order, buyer, round)));
    gateway.join();
    EXPECT_EQ(scene.status(claim.order), OrderStatus::paid);
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::run_on_postgres(argc, argv); }
