#include "gate/redis_fixture.h"
#include "gate/redis_proxy.h"

#include <atomic>
#include <thread>

namespace weir {
namespace {

using redis_bed::claim;
using redis_bed::hold;

class RedisShared : public RedisGateTest {};

TEST_F(RedisShared, F02_AReserveWhoseAnswerIsLostMeetsItself) {
  build();
  LossyProxy proxy(server_->port());
  const auto far = redis_bed::connect({proxy.address()});
  ASSERT_TRUE(far->attach(*gate_->place(kSale)));
  ASSERT_EQ(redis_bed::reserve(*far, claim(9, 9)), "admitted");
  proxy.lose_answer_to("EVALSHA");
  EXPECT_EQ(redis_bed::reserve(*far, claim(1, 1)), "timed_out");
  EXPECT_EQ(redis_bed::reserve(*far, claim(1, 1)), "repeated") << "it had happened";
  proxy.lose_request_with("EVALSHA");
  EXPECT_EQ(redis_bed::reserve(*far, claim(2, 2)), "timed_out");
  EXPECT_EQ(redis_bed::reserve(*far, claim(2, 2)), "admitted") << "it had not";
  proxy.lose_answer_to("EVALSHA");
  const Hold held = hold(claim(1, 1));
  EXPECT_EQ(far->release({&held, 1}, kNoDeadline).error().failure, Failure::timed_out);
  EXPECT_EQ(far->release({&held, 1}, kNoDeadline).value_or(-1), 0) << "given back once";
  EXPECT_EQ(proxy.losses(), 3);
  EXPECT_EQ(counts(), (Counts{8, 2, 0}));
}

TEST_F(RedisShared, B063_AScriptThatTheServerForgotRunsAllTheSame) {
  build(100, 1);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(server_->ask("SCRIPT FLUSH").text, "OK");
    EXPECT_EQ(reserve(claim(i, i)), "admitted");
    ASSERT_EQ(server_->ask("SCRIPT FLUSH").text, "OK");
    EXPECT_EQ(release(claim(i, i)), 1);
  }
  EXPECT_EQ(counts(), (Counts{100, 0, 0}));
}

TEST_F(RedisShared, ProcessesSellFromOneShelf) {
  build(2, 1);
  const auto other = redis_bed::connect({server_->address()});
  ASSERT_TRUE(other->attach(*gate_->place(kSale)));
  EXPECT_EQ(reserve(claim(1, 1)), "admitted");
  EXPECT_EQ(redis_bed::reserve(*other, claim(1, 1)), "repeated");
  EXPECT_EQ(redis_bed::reserve(*other, claim(2, 1)), "over_limit");
  EXPECT_EQ(redis_bed::reserve(*other, claim(3, 2)), "admitted");
  EXPECT_EQ(reserve(claim(4, 3)), "sold_out");
}

TEST_F(RedisShared, B063_ProcessesThatRaceSellEveryUnitOnceWhileScriptsAreForgotten) {
  constexpr std::uint64_t kProcesses = 4;
  constexpr std::uint64_t kClaimsEach = 300;
  build(100, 1);
  std::atomic<int> admitted = 0;
  std::atomic<std::uint64_t> ended = 0;
  std::vector<std::thread> processes;
  for (std::uint64_t process = 0; process < kProcesses; ++process) {
    processes.emplace_back([&, process] {
      const auto own = redis_bed::connect({server_->address()});
      EXPECT_TRUE(own->attach(*gate_->place(kSale)));
      for (std::uint64_t i = 1; i <= kClaimsEach; ++i) {
        // Every buyer comes to every process, with an order id of his own at each.
        const std::string answer = redis_bed::reserve(*own, claim(1000 * (process + 1) + i, i));
        EXPECT_TRUE(answer == "admitted" || answer == "over_limit" || answer == "sold_out") << answer;
        admitted += answer == "admitted";
      }
      ++ended;
    });
  }
  EXPECT_TRUE(wait_until([&] {
    server_->ask("SCRIPT FLUSH");
    return ended == kProcesses;
  }));
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(admitted, 100);
  EXPECT_EQ(counts(), (Counts{0, 100, 0}));
  EXPECT_EQ(server_->ask("HLEN " + key("buyers")).integer, 101) << "a hundred buyers and the sentinel";
}

TEST_F(RedisShared, TroubleWithOneSaleLeavesTheOthersAlone) {
  build(5, 1);
  GatePlace second = place(1);
  second.sale = {2};
  second.name = "shop:second";
  const GateItem item{{2}, 5};
  ASSERT_TRUE(redis_bed::build(*gate_, second, {1, true, 1}, {&item, 1}));
  ASSERT_TRUE(gate_->close({2}, kNoDeadline));
  const Claim here = claim(1, 1);
  Claim there = claim(2, 2, 1, {2});
  there.sale = {2};
  Verdict verdicts[2];
  ReserveBatch batches[2];
  batches[0] = {.sale = {2}, .claims = {&there, 1}, .verdicts = {&verdicts[0], 1}, .trouble = {}, .message = {}};
  batches[1] = {.sale = kSale, .claims = {&here, 1}, .verdicts = {&verdicts[1], 1}, .trouble = {}, .message = {}};
  gate_->reserve_batches(batches, kNoDeadline);
  EXPECT_EQ(batches[0].trouble, GateTrouble::closed);
  EXPECT_EQ(batches[1].trouble, GateTrouble::none);
  EXPECT_EQ(verdicts[1].admission, Admission::admitted);
  const Claim both[2] = {here, there};
  const auto mixed = gate_->reserve(both, verdicts, kNoDeadline);
  EXPECT_EQ(mixed.error().failure, Failure::timed_out) << "a part of it may have happened";
}

TEST_F(RedisShared, WhatIsTakenIsInFlightUntilTheLedgerHasIt) {
  build(10, 2);
  const Claim first = claim(1, 1, 2);
  ASSERT_EQ(reserve(first), "admitted");
  ASSERT_EQ(reserve(claim(2, 2)), "admitted");
  ASSERT_EQ(in_flight().size(), 2U);
  const InFlight oldest = in_flight().front();
  EXPECT_EQ(oldest.hold.claim.order, first.order);
  EXPECT_EQ(oldest.hold.claim.item, first.item);
  EXPECT_EQ(oldest.hold.claim.units, 2);
  EXPECT_EQ(oldest.hold.claim.buyer, first.buyer);
  EXPECT_EQ(oldest.hold.claim.digest, first.digest);
  EXPECT_EQ(oldest.hold.claim.promised_pay_by, first.promised_pay_by);
  EXPECT_EQ(oldest.hold.claim.sale, kSale);
  EXPECT_EQ(oldest.hold.kind, HoldKind::claim);
  EXPECT_GE(oldest.age.count(), 0);
  EXPECT_TRUE(in_flight(Micros{3'600'000'000}).empty()) << "nothing is that old";

  Verdict verdict;
  ASSERT_TRUE(gate_->reserve({&first, 1}, {&verdict, 1}, kNoDeadline));
  EXPECT_FALSE(verdict.recorded);
  EXPECT_FALSE(gate_->find_hold(kSale, first.order, kNoDeadline)->value().recorded);
  confirm(first);
  confirm(first);
  ASSERT_TRUE(gate_->reserve({&first, 1}, {&verdict, 1}, kNoDeadline));
  EXPECT_EQ(verdict.admission, Admission::repeated);
  EXPECT_TRUE(verdict.recorded) << "the ledger has it: nothing is published again";
  EXPECT_TRUE(gate_->find_hold(kSale, first.order, kNoDeadline)->value().recorded);
  EXPECT_EQ(in_flight().size(), 1U);
  EXPECT_EQ(release(claim(2, 2)), 1);
  EXPECT_TRUE(in_flight().empty());
  EXPECT_FALSE(gate_->find_hold(kSale, claim(2, 2).order, kNoDeadline)->has_value());
}

TEST_F(RedisShared, AStragglerIsTakenUpOnceAndIsInFlight) {
  build(3, 2);
  ASSERT_TRUE(gate_->set_terms(kSale, {2, false, 2}, kNoDeadline));
  EXPECT_EQ(reserve(claim(9, 9)), "not_on_sale");
  EXPECT_EQ(straggler(claim(1, 1, 2)).adoption, Adoption::adopted) << "a pause does not stop it";
  EXPECT_EQ(straggler(claim(1, 1, 2)).adoption, Adoption::adopted);
  EXPECT_EQ(counts(), (Counts{1, 2, 0}));
  EXPECT_EQ(in_flight().size(), 1U);
  EXPECT_EQ(straggler(claim(2, 1)).adoption, Adoption::refused) << "the limit";
  EXPECT_EQ(straggler(claim(3, 3, 2)).adoption, Adoption::refused) << "the stock";
  EXPECT_EQ(straggler(claim(4, 4, 1, {77})).adoption, Adoption::refused) << "no such item";
  Claim changed = claim(1, 1, 1);
  const Adopted other = straggler(changed);
  EXPECT_EQ(other.adoption, Adoption::other);
  EXPECT_EQ(other.held.units, 2) << "what the gate holds is what counts";
  EXPECT_EQ(other.held.buyer, changed.buyer);
  EXPECT_EQ(release(claim(1, 1, 2)), 2);
  EXPECT_EQ(straggler(claim(1, 1, 2)).adoption, Adoption::ended);
  EXPECT_EQ(counts(), (Counts{3, 0, 0}));
}

TEST_F(RedisShared, LateMoneyTakesASecondHold) {
  build(1, 1);
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  ASSERT_EQ(release(claim(1, 1)), 1);
  const Claim second = claim(101, 1);
  EXPECT_EQ(straggler(second, HoldKind::retake).adoption, Adoption::adopted);
  ASSERT_EQ(in_flight().size(), 1U);
  EXPECT_EQ(in_flight().front().hold.kind, HoldKind::retake);
  EXPECT_EQ(release(claim(1, 1)), 0) << "a stale release of the first hold frees nothing";
  EXPECT_EQ(counts(), (Counts{0, 1, 0}));
}

TEST_F(RedisShared, AWithdrawalTakesUnitsOutOfTheSale) {
  build(10, 1);
  Claim out = claim(50, 1, 4);
  out.buyer = {};
  EXPECT_EQ(straggler(out, HoldKind::withdrawal).adoption, Adoption::adopted) << "the limit is for buyers";
  EXPECT_EQ(counts(), (Counts{6, 4, 0}));
  confirm(out);
  EXPECT_EQ(counts(), (Counts{6, 0, 0}));
  confirm(out);
  EXPECT_EQ(straggler(out, HoldKind::withdrawal).adoption, Adoption::ended);
  Claim given_up = claim(51, 1, 6);
  given_up.buyer = {};
  EXPECT_EQ(straggler(given_up, HoldKind::withdrawal).adoption, Adoption::adopted);
  EXPECT_EQ(release(given_up), 6);
  EXPECT_EQ(counts(), (Counts{6, 0, 0}));
}

TEST_F(RedisShared, OlderTermsNeverReplaceNewerOnes) {
  build(10, 1);
  ASSERT_TRUE(gate_->set_terms(kSale, {1, false, 5}, kNoDeadline));
  const GateItem item{kShoe, 10};
  ASSERT_TRUE(gate_->open({kSale, 1, true, 4}, {&item, 1}, kNoDeadline)) << "a process that lags behind";
  EXPECT_EQ(reserve(claim(1, 1)), "not_on_sale");
  ASSERT_TRUE(gate_->set_terms(kSale, {1, true, 6}, kNoDeadline));
  EXPECT_EQ(reserve(claim(1, 1)), "admitted");
}

TEST_F(RedisShared, ABuildHoldsExactlyWhatTheLedgerSays) {
  SharedHold pending{.claim = claim(1, 1, 2), .kind = HoldKind::claim, .sold = false, .recorded = true};
  SharedHold paid{.claim = claim(2, 2, 1), .kind = HoldKind::claim, .sold = true, .recorded = true};
  const SharedHold holds[] = {pending, paid};
  const OrderId ended[] = {claim(3, 3).order};
  const GateItem item{kShoe, 10};
  ASSERT_TRUE(redis_bed::build(*gate_, place(1), {2, true, 1}, {&item, 1}, holds, ended));
  EXPECT_EQ(counts(), (Counts{7, 2, 1}));
  EXPECT_TRUE(in_flight().empty()) << "the ledger has all of it";
  EXPECT_EQ(reserve(claim(1, 1, 2)), "repeated");
  EXPECT_EQ(reserve(claim(4, 1)), "over_limit");
  EXPECT_EQ(reserve(claim(3, 3)), "ended");
  EXPECT_EQ(reserve(claim(5, 2)), "admitted");
}

TEST_F(RedisShared, EveryStepOfABuildCanBeRepeated) {
  const GateItem item{kShoe, 10};
  const SharedHold held{.claim = claim(1, 1), .kind = HoldKind::claim, .sold = false, .recorded = true};
  const OrderId ended = claim(2, 2).order;
  const StockChange change{kShoe, 77};
  ASSERT_TRUE(gate_->attach(place(4)));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(gate_->close(kSale, kNoDeadline));
  ASSERT_TRUE(gate_->attach(place(4, pin(*gate_))));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(gate_->start_build(kSale, {1, true, 1}, {&item, 1}, kNoDeadline));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(gate_->build_holds(kSale, {&held, 1}, kNoDeadline));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(gate_->build_ended(kSale, {&ended, 1}, kNoDeadline));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(gate_->build_changes(kSale, {&change, 1}, kNoDeadline));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(gate_->open_epoch(kSale, kNoDeadline));
  EXPECT_EQ(counts(), (Counts{9, 1, 0}));
  ASSERT_TRUE(gate_->restock(kShoe, 5, 77, kNoDeadline)) << "the totals contain it already";
  EXPECT_EQ(counts(), (Counts{9, 1, 0}));
  EXPECT_EQ(gate_->build_holds(kSale, {&held, 1}, kNoDeadline).error().trouble, GateTrouble::already_open);
  EXPECT_EQ(gate_->start_build(kSale, {1, true, 1}, {&item, 1}, kNoDeadline).error().trouble,
            GateTrouble::already_open);
  EXPECT_EQ(counts(), (Counts{9, 1, 0})) << "a late step of the build does no harm";
}

TEST_F(RedisShared, ALedgerThatDoesNotFitItsTotalsOpensNothing) {
  const GateItem item{kShoe, 1};
  const SharedHold holds[] = {{.claim = claim(1, 1), .kind = HoldKind::claim, .sold = false, .recorded = true},
                              {.claim = claim(2, 2), .kind = HoldKind::claim, .sold = false, .recorded = true}};
  const auto built = redis_bed::build(*gate_, place(1), {1, true, 1}, {&item, 1}, holds);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().trouble, GateTrouble::corrupt);
  EXPECT_EQ(reserve(claim(3, 3)), "closed");
}

TEST_F(RedisShared, ABuildThatIsNotFinishedDoesNotOpen) {
  ASSERT_TRUE(gate_->attach(place(1)));
  ASSERT_TRUE(gate_->close(kSale, kNoDeadline));
  ASSERT_TRUE(gate_->attach(place(1, pin(*gate_))));
  EXPECT_EQ(gate_->open_epoch(kSale, kNoDeadline).error().trouble, GateTrouble::missing);
  const auto seen = gate_->look(kSale, kNoDeadline);
  EXPECT_FALSE(seen->open);
  EXPECT_FALSE(seen->missing) << "who looks meanwhile does not take a build for a loss";
}

TEST_F(RedisShared, ABuilderThatWakesUpLateChangesNothing) {
  build(10, 1, 1);
  const auto sleeper = redis_bed::connect({server_->address()});
  ASSERT_TRUE(sleeper->attach(place(2)));
  ASSERT_TRUE(sleeper->close(kSale, kNoDeadline));
  ASSERT_TRUE(sleeper->attach(place(2, pin(*sleeper))));
  build(10, 1, 3);
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  const std::string before = digest();
  const GateItem item{kShoe, 99};
  const SharedHold held{.claim = claim(8, 8), .kind = HoldKind::claim, .sold = false, .recorded = true};
  const OrderId ended = claim(1, 1).order;
  EXPECT_EQ(sleeper->close(kSale, kNoDeadline).error().trouble, GateTrouble::wrong_epoch);
  EXPECT_EQ(sleeper->start_build(kSale, {9, true, 9}, {&item, 1}, kNoDeadline).error().trouble,
            GateTrouble::wrong_epoch);
  EXPECT_EQ(sleeper->build_holds(kSale, {&held, 1}, kNoDeadline).error().trouble, GateTrouble::wrong_epoch);
  EXPECT_EQ(sleeper->build_ended(kSale, {&ended, 1}, kNoDeadline).error().trouble, GateTrouble::wrong_epoch);
  EXPECT_EQ(sleeper->open_epoch(kSale, kNoDeadline).error().trouble, GateTrouble::wrong_epoch);
  EXPECT_EQ(sleeper->drop_older(kSale, kNoDeadline).error().trouble, GateTrouble::wrong_epoch);
  EXPECT_EQ(digest(), before);
  EXPECT_EQ(counts(), (Counts{9, 1, 0}));
}

TEST_F(RedisShared, OlderEpochsAreDropped) {
  build(10, 1, 1);
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  build(10, 1, 2);
  build(10, 1, 5);
  EXPECT_EQ(server_->ask("DBSIZE").integer, 1 + 3 * 6);
  ASSERT_TRUE(gate_->drop_older(kSale, kNoDeadline));
  ASSERT_TRUE(gate_->drop_older(kSale, kNoDeadline));
  EXPECT_EQ(server_->ask("DBSIZE").integer, 1 + 6);
  EXPECT_EQ(reserve(claim(1, 1)), "admitted");
}

TEST_F(RedisShared, F20_AClaimCostsTheServerTheSameHoweverManyAreHeld) {
  constexpr std::uint64_t kHeld = 3000;
  build(2 * kHeld, 1);
  // What the script does with keys; what is asked for the pin from time to time does not count.
  const auto cost_of = [&](const Claim& one) {
    EXPECT_EQ(server_->ask("CONFIG RESETSTAT").text, "OK");
    EXPECT_EQ(reserve(one), "admitted");
    std::int64_t calls = 0;
    const std::string stats = server_->ask("INFO commandstats").text;
    for (std::size_t at = stats.find("cmdstat_"); at != std::string::npos; at = stats.find("cmdstat_", at + 1)) {
      const std::string line = stats.substr(at + 8, stats.find('\r', at) - at - 8);
      const std::string command = line.substr(0, line.find(':'));
      EXPECT_TRUE(command != "keys" && command != "hgetall" && command != "hkeys" && command != "smembers") << command;
      if (command.starts_with("h") || command.starts_with("z") || command.starts_with("s")) {
        calls += std::stoll(line.substr(line.find("calls=") + 6));
      }
    }
    EXPECT_GT(calls, 0);
    return calls;
  };
  const std::int64_t alone = cost_of(claim(1, 1));
  for (std::uint64_t i = 2; i <= kHeld; ++i) ASSERT_EQ(reserve(claim(i, i)), "admitted");
  EXPECT_EQ(cost_of(claim(kHeld + 1, kHeld + 1)), alone);
}

TEST_F(RedisShared, VersionsGrowOverBuilds) {
  build(10, 1, 1);
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_EQ(reserve(claim(i, i)), "admitted");
  const std::uint64_t before = gate_->shelf(kShoe, kNoDeadline)->version;
  build(10, 1, 2);
  EXPECT_GT(gate_->shelf(kShoe, kNoDeadline)->version, before);
}

TEST_F(RedisShared, ManyItemsAndHoldsAreBuiltAndListed) {
  std::vector<GateItem> items;
  for (std::uint32_t i = 1; i <= 5000; ++i) items.push_back({{i}, 10});
  std::vector<SharedHold> holds;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    holds.push_back({.claim = claim(i, i, 1, {static_cast<std::uint32_t>(i)}),
                     .kind = HoldKind::claim,
                     .sold = i % 2 == 0,
                     .recorded = true});
  }
  ASSERT_TRUE(redis_bed::build(*gate_, place(1), {1, true, 1}, items, holds));
  ASSERT_TRUE(gate_->open({kSale, 1, true, 1}, items, kNoDeadline));
  std::size_t listed = 0;
  std::size_t sold = 0;
  const auto done = gate_->each_hold(
      [&](const Hold& one) {
        ++listed;
        sold += one.sold;
        EXPECT_EQ(one.buyer_key.value, one.order.low);
      },
      kNoDeadline);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(listed, 3000U);
  EXPECT_EQ(sold, 1500U);
}

TEST_F(RedisShared, AServerThatDoesNotAnswerCostsNoMoreThanTheDeadline) {
  RedisServer own;
  own.start();
  const auto gate = redis_bed::connect({own.address()});
  const GateItem item{kShoe, 10};
  ASSERT_TRUE(redis_bed::build(*gate, place(1), {1, true, 1}, {&item, 1}));
  own.freeze();
  const Ticks start = redis_bed::clock().ticks();
  const std::string during = redis_bed::reserve(*gate, claim(1, 1), redis_bed::in(Micros{150'000}));
  EXPECT_TRUE(during == "timed_out" || during == "unavailable") << during;
  EXPECT_LT((redis_bed::clock().ticks() - start).count(), 2'000'000);
  own.thaw();
  std::string after;
  EXPECT_TRUE(wait_until([&] {
    after = redis_bed::reserve(*gate, claim(1, 1), redis_bed::in(Micros{1'000'000}));
    return after == "admitted" || after == "repeated";
  })) << after;
}

}  // namespace
}  // namespace weir
