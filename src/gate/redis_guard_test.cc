#include "gate/redis_fixture.h"

#include <array>

namespace weir {
namespace {

using redis_bed::claim;
using redis_bed::hold;

constexpr std::array kKeys{"meta", "shelf", "held", "buyers", "inflight", "ended", "changes"};

class RedisGuard : public RedisGateTest {
 protected:
  /// Every call about the sale meets this trouble, and none of them changes anything.
  void expect_all_refused(GateTrouble wanted) {
    const Claim known = claim(1, 1);
    const Hold held = hold(known);
    const std::string before = digest();
    const auto expect = [&](bool went_well, std::string_view call) {
      EXPECT_FALSE(went_well) << call;
      EXPECT_EQ(name(gate_->trouble(kSale)), name(wanted)) << call;
    };
    expect(reserve(claim(2, 2)) == "admitted", "reserve");
    expect(gate_->release({&held, 1}, kNoDeadline).has_value(), "release");
    expect(gate_->confirm({&held, 1}, kNoDeadline).has_value(), "confirm");
    expect(gate_->sell({&held, 1}, kNoDeadline).has_value(), "sell");
    expect(gate_->adopt({&held, 1}, kNoDeadline).has_value(), "adopt");
    expect(gate_->restock(kShoe, 5, 1, kNoDeadline).has_value(), "restock");
    expect(gate_->shelf(kShoe, kNoDeadline).has_value(), "shelf");
    expect(gate_->each_hold([](const Hold&) {}, kNoDeadline).has_value(), "each_hold");
    expect(gate_->set_terms(kSale, {5, true, 9}, kNoDeadline).has_value(), "set_terms");
    expect(gate_->in_flight(kSale, Micros{0}, 10, kNoDeadline).has_value(), "in_flight");
    expect(gate_->find_hold(kSale, known.order, kNoDeadline).has_value(), "find_hold");
    Adopted adopted;
    expect(gate_->adopt_stragglers(kSale, HoldKind::claim, {&known, 1}, {&adopted, 1}, kNoDeadline).has_value(),
           "adopt_stragglers");
    expect(gate_->drop_older(kSale, kNoDeadline).has_value(), "drop_older");
    EXPECT_EQ(digest(), before) << "nothing was written";
  }
};

TEST_F(RedisGuard, B067_EveryLostKeyStopsTheSaleUntilItIsBuiltAgain) {
  std::int64_t epoch = 1;
  for (const char* const lost : kKeys) {
    build(10, 1, epoch);
    ASSERT_EQ(reserve(claim(1, 1)), "admitted");
    ASSERT_EQ(server_->ask("DEL " + key(lost, epoch)).integer, 1) << lost;
    expect_all_refused(GateTrouble::missing);
    EXPECT_TRUE(gate_->look(kSale, kNoDeadline)->missing);
    ++epoch;
    build(10, 1, epoch);
    EXPECT_EQ(reserve(claim(1, 1)), "admitted") << lost;
    EXPECT_FALSE(gate_->look(kSale, kNoDeadline)->missing);
  }
}

TEST_F(RedisGuard, F11_AKeyOfAnotherTypeIsMissingAndNothingIsHalfWritten) {
  std::int64_t epoch = 1;
  for (const char* const spoilt : kKeys) {
    build(10, 1, epoch);
    ASSERT_EQ(reserve(claim(1, 1)), "admitted");
    ASSERT_EQ(server_->ask(fmt::format("SET {} text", key(spoilt, epoch))).text, "OK");
    expect_all_refused(GateTrouble::missing);
    ++epoch;
    build(10, 1, epoch);
    EXPECT_EQ(reserve(claim(1, 1)), "admitted") << spoilt;
  }
}

TEST_F(RedisGuard, AnEmptyKeyIsNotALostOne) {
  build();
  EXPECT_EQ(reserve(claim(1, 1)), "admitted");
  EXPECT_EQ(release(claim(1, 1)), 1);
  EXPECT_EQ(reserve(claim(2, 1)), "admitted") << "nobody holds anything, and all is there";
  for (const char* const command : {"HDEL {} _", "ZREM {} _"}) {
    const std::string lost = std::string_view(command).starts_with("H") ? "buyers" : "inflight";
    ASSERT_EQ(server_->ask(fmt::format(fmt::runtime(command), key(lost))).integer, 1);
    EXPECT_EQ(reserve(claim(3, 3)), "missing") << command;
    server_->ask(lost == "buyers" ? "HSET " + key(lost) + " _ x" : "ZADD " + key(lost) + " +inf _");
    EXPECT_EQ(reserve(claim(2, 1)), "repeated");
  }
}

TEST_F(RedisGuard, AValueThatNobodyWroteIsMissing) {
  build();
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  server_->ask("HSET " + key("shelf") + " 1 junk");
  EXPECT_EQ(reserve(claim(2, 2)), "missing");
  server_->ask("HSET " + key("shelf") + " 1 9");
  EXPECT_EQ(release(claim(1, 1)), -1);
  EXPECT_EQ(gate_->trouble(kSale), GateTrouble::missing);
}

TEST_F(RedisGuard, AGateThatIsClosedSellsNothing) {
  build();
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  ASSERT_TRUE(gate_->close(kSale, kNoDeadline));
  expect_all_refused(GateTrouble::closed);
}

TEST_F(RedisGuard, AProcessWithAnOldEpochSellsNothing) {
  build(10, 1, 1);
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  const auto newer = redis_bed::connect({server_->address()});
  const GateItem item{kShoe, 10};
  ASSERT_TRUE(redis_bed::build(*newer, place(2), {1, true, 1}, {&item, 1}));
  expect_all_refused(GateTrouble::wrong_epoch);
  ASSERT_TRUE(gate_->attach(*newer->place(kSale)));
  EXPECT_EQ(reserve(claim(2, 2)), "admitted");
}

TEST_F(RedisGuard, F19_AnotherLayoutIsAnotherBuild) {
  build();
  server_->ask("HSET " + key("meta") + " layout 99");
  EXPECT_EQ(reserve(claim(1, 1)), "wrong_epoch");
}

TEST_F(RedisGuard, F18_AGateOfAnotherLedgerIsLeftAlone) {
  build();
  auto options = redis_bed::options_for({server_->address()});
  options.ledger = "staging";
  const auto stranger = redis_bed::try_connect(options);
  ASSERT_TRUE(stranger);
  ASSERT_TRUE((*stranger)->attach(*gate_->place(kSale)));
  const std::string before = digest();
  EXPECT_EQ(redis_bed::reserve(**stranger, claim(1, 1)), "foreign");
  EXPECT_EQ((*stranger)->close(kSale, kNoDeadline).error().trouble, GateTrouble::foreign);
  ASSERT_TRUE((*stranger)->attach(place(7)));
  EXPECT_EQ((*stranger)->close(kSale, kNoDeadline).error().trouble, GateTrouble::foreign);
  EXPECT_EQ((*stranger)->look(kSale, kNoDeadline)->ledger, "ledger-of-the-tests");
  EXPECT_EQ(digest(), before);
}

TEST_F(RedisGuard, F18_TenantsWithTheSameSaleIdShareNothing) {
  build(1);
  GatePlace other = place(1);
  other.sale = {2};
  other.name = "other-shop:drop";
  const GateItem item{{2}, 1};
  ASSERT_TRUE(redis_bed::build(*gate_, other, {1, true, 1}, {&item, 1}));
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  Claim elsewhere = claim(1, 1, 1, {2});
  elsewhere.sale = {2};
  EXPECT_EQ(reserve(elsewhere), "admitted") << "same order, same buyer, another tenant";
}

TEST_F(RedisGuard, F05_ACountOfWritesThatWentBackIsNotBelieved) {
  build();
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  server_->ask("HSET " + key("meta") + " seq 1");
  EXPECT_EQ(reserve(claim(2, 2)), "went_back");
}

TEST_F(RedisGuard, AGateWithoutAPinSellsNothing) {
  build();
  ASSERT_TRUE(gate_->attach(place(1)));
  EXPECT_EQ(reserve(claim(1, 1)), "wrong_pin");
  EXPECT_EQ(gate_->start_build(kSale, {1, true, 1}, {}, kNoDeadline).error().trouble, GateTrouble::wrong_pin);
  gate_->detach(kSale);
  EXPECT_EQ(gate_->trouble(kSale), GateTrouble::unattached);
  EXPECT_EQ(gate_->look(kSale, kNoDeadline).error().trouble, GateTrouble::unattached);
}

TEST_F(RedisGuard, B066_OutOfMemoryWritesNothingAndIsNoSoldOut) {
  build(10, 3);
  ASSERT_EQ(reserve(claim(1, 1)), "admitted");
  ASSERT_EQ(server_->ask("CONFIG SET maxmemory 1").text, "OK");
  const std::string before = digest();
  EXPECT_EQ(reserve(claim(2, 2)), "unavailable");
  EXPECT_EQ(reserve(claim(1, 1)), "repeated") << "what writes nothing goes on";
  EXPECT_EQ(release(claim(1, 1)), -1);
  EXPECT_EQ(gate_->trouble(kSale), GateTrouble::unavailable);
  const Hold held = hold(claim(1, 1));
  EXPECT_FALSE(gate_->sell({&held, 1}, kNoDeadline));
  EXPECT_FALSE(gate_->restock(kShoe, 5, 1, kNoDeadline));
  Adopted adopted;
  const Claim late = claim(3, 3);
  EXPECT_FALSE(gate_->adopt_stragglers(kSale, HoldKind::claim, {&late, 1}, {&adopted, 1}, kNoDeadline));
  EXPECT_EQ(digest(), before);
  ASSERT_EQ(server_->ask("CONFIG SET maxmemory 0").text, "OK");
  EXPECT_EQ(reserve(claim(2, 2)), "admitted");
  EXPECT_EQ(release(claim(1, 1)), 1);
  EXPECT_EQ(counts(), (Counts{9, 1, 0}));
}

TEST_F(RedisGuard, B064_NamesThatWouldLieInSeveralSlotsAreNoPlaces) {
  for (const char* const bad :
       {"", "shop", "shop:", ":drop", "shop:a{b", "shop:a}b", "shop:{}", "shop:a b", "shop:\xc3\xa4", "sh:op:drop"}) {
    GatePlace wrong = place(1);
    wrong.name = bad;
    const auto refused = gate_->attach(wrong);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().trouble, GateTrouble::unfit);
  }
  GatePlace wrong = place(0);
  EXPECT_FALSE(gate_->attach(wrong));
}

TEST_F(RedisGuard, F14_NumbersBeyondDoublesStayApart) {
  build(100, 1);
  std::uint64_t buyer = 1;
  for (const std::uint64_t number : {(1ULL << 53) - 1, 1ULL << 53, (1ULL << 53) + 1, (1ULL << 63) - 1, 1ULL << 63}) {
    Claim one = claim(number, buyer++);
    one.digest = {number};
    EXPECT_EQ(reserve(one), "admitted");
    EXPECT_EQ(reserve(one), "repeated");
    Claim other = one;
    other.digest = {number + 1};
    EXPECT_EQ(reserve(other), "key_reused");
    EXPECT_EQ(gate_->find_hold(kSale, one.order, kNoDeadline)->value().claim.digest, one.digest);
    ASSERT_TRUE(gate_->restock(kShoe, 1, number, kNoDeadline));
  }
  EXPECT_EQ(counts(), (Counts{100, 5, 0})) << "each change of stock counted once";
}

}  // namespace
}  // namespace weir
