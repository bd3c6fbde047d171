#include "app/node_bed.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Everything is sold by another node, and this one has heard of it.
void sell_out(NodeBed& bed) {
  for (int i = 0; bed.gate.sales[NodeBed::kSale].items[NodeBed::kItem].free > 0; ++i)
    bed.gate.take(bed.claim_of("owner" + std::to_string(i), "k"));
  bed.look();
}

TEST(Node, A202FollowsTheLogsAcknowledgement) {
  NodeBed bed;
  EXPECT_EQ(bed.status(bed.buy("ada", "k")), 0) << "published, and the log has not answered";
  ASSERT_EQ(bed.log.messages.size(), 1U);
  EXPECT_EQ(bed.log.messages[0].order, bed.id_of("ada", "k"));
  EXPECT_EQ(bed.log.messages[0].epoch, 1);
  bed.log.acknowledge();
  const auto answer = bed.late_answer();
  ASSERT_EQ(bed.status(answer), 202);
  EXPECT_THAT(answer->body, HasSubstr(bed.id_of("ada", "k").text()));
}

TEST(Node, WhatTheLogMayNotHaveIs503WithTheIdAndNothingIsGivenBack) {
  for (const Fate fate : {Fate::unknown, Fate::not_persisted}) {
    NodeBed bed;
    ASSERT_EQ(bed.status(bed.buy("ada", "k")), 0);
    bed.log.acknowledge(fate);
    const auto answer = bed.late_answer();
    ASSERT_EQ(bed.status(answer), 503);
    EXPECT_THAT(answer->body, HasSubstr(bed.id_of("ada", "k").text()));
    EXPECT_TRUE(answer->header("Retry-After"));
    EXPECT_EQ(bed.gate.held(), 1U);
  }
}

TEST(Node, ARepeatOfAClaimThatMayNotBeInTheLogIsPublishedAgain) {
  NodeBed bed;
  ASSERT_EQ(bed.status(bed.buy("ada", "k")), 0);
  bed.log.acknowledge(Fate::unknown);
  ASSERT_EQ(bed.status(bed.late_answer()), 503);
  EXPECT_EQ(bed.status(bed.buy("ada", "k")), 0) << "the gate's memory alone is no 202";
  EXPECT_EQ(bed.log.messages.size(), 2U);
  bed.log.acknowledge();
  EXPECT_EQ(bed.status(bed.late_answer()), 202);
  EXPECT_EQ(bed.gate.held(), 1U);
}

TEST(Node, ARepeatOfARecordedClaimIsAnsweredByTheLedgersRow) {
  NodeBed bed;
  ASSERT_EQ(bed.status(bed.buy("ada", "k")), 0);
  bed.log.acknowledge();
  ASSERT_EQ(bed.status(bed.late_answer()), 202);
  bed.record("ada", "k");
  const auto answer = bed.buy("ada", "k");
  ASSERT_EQ(bed.status(answer), 202);
  EXPECT_EQ(bed.log.messages.size(), 1U) << "nothing is published again";
  const auto row = bed.get("ada", bed.id_of("ada", "k"));
  ASSERT_EQ(bed.status(row), 200);
  const std::string pay_by = row->body.substr(row->body.find("\"payBy\""), 34);
  EXPECT_THAT(answer->body, HasSubstr(pay_by)) << "the row's, which is later than the promise";
}

TEST(Node, ALostReplyOfTheGateIs503WithTheIdAndTheRepeatMeetsItself) {
  NodeBed bed;
  bed.gate.loses_next_reply = true;
  const auto answer = bed.buy("ada", "k");
  ASSERT_EQ(bed.status(answer), 503);
  EXPECT_THAT(answer->body, HasSubstr(bed.id_of("ada", "k").text()));
  EXPECT_TRUE(bed.log.messages.empty());
  EXPECT_EQ(bed.status(bed.buy("ada", "k")), 0);
  bed.log.acknowledge();
  EXPECT_EQ(bed.status(bed.late_answer()), 202);
  EXPECT_EQ(bed.gate.held(), 1U);
}

TEST(Node, AFullLogIsFeltBeforeTheGate) {
  NodeBed bed;
  bed.log.room = 0;
  EXPECT_EQ(bed.status(bed.buy("ada", "k")), 503);
  EXPECT_EQ(bed.gate.held(), 0U);
}

TEST(Node, ALostLeaseIs503AndNever410) {
  NodeBed bed;
  sell_out(bed);
  ASSERT_EQ(bed.status(bed.buy("bob")), 410);
  bed.ledger.is_gone = true;
  bed.live(Micros{kLeaseUs / 2});
  EXPECT_EQ(bed.status(bed.buy("bob")), 410) << "the lease still holds";
  bed.live(Micros{kLeaseUs / 2 + 100'000});
  EXPECT_EQ(bed.status(bed.buy("bob")), 503);
  EXPECT_FALSE(bed.node->is_ready());
  bed.ledger.is_gone = false;
  bed.live(Micros{300'000});
  EXPECT_EQ(bed.status(bed.buy("bob")), 410);
}

TEST(Node, CountsMayNotOutliveTheLease) {
  NodeBed bed;
  sell_out(bed);
  bed.ledger.is_gone = true;
  bed.live(Micros{kLeaseUs - 100'000});
  bed.node->shelf_turn();
  const Ticks until = bed.node->shelves().refuses_until();
  EXPECT_LE(until, bed.node->lease().states()->asked_at + Micros{kLeaseUs});
  EXPECT_GT(until, Ticks{});
}

TEST(Node, CountsThatAreTooOldSendTheClaimToTheGate) {
  NodeBed bed;
  sell_out(bed);
  const int calls = bed.gate.reserve_calls;
  ASSERT_EQ(bed.status(bed.buy("bob")), 410);
  ASSERT_EQ(bed.gate.reserve_calls, calls) << "refused without the gate";
  bed.clock.pass(Micros{kShelfAgeUsMax});
  EXPECT_EQ(bed.status(bed.buy("bob")), 410);
  EXPECT_EQ(bed.gate.reserve_calls, calls + 1);
  bed.gate.give_back(bed.id_of("owner0", "k"));
  EXPECT_EQ(bed.status(bed.buy("bob")), 0) << "no false SOLD_OUT from old counts";
}

TEST(Node, CountsHoldFromTheStartOfTheQuestionOn) {
  NodeBed bed;
  sell_out(bed);
  const Ticks asked_at = bed.clock.ticks();
  bed.node->shelf_turn();
  EXPECT_EQ(bed.node->shelves().refuses_until(), asked_at + Micros{kShelfAgeUsMax});
}

TEST(Node, AnotherEpochDropsTheCountsAtOnce) {
  NodeBed bed;
  sell_out(bed);
  ASSERT_EQ(bed.status(bed.buy("bob")), 410);
  bed.ledger.gates[NodeBed::kSale].epoch = 2;
  bed.ledger.gates[NodeBed::kSale].phase = GatePhase::building;
  bed.clock.pass(Micros{kLeaseLookUs});
  bed.node->shelf_turn();  // Still within the lease on the first epoch.
  bed.clock.pass(Micros{1});
  ASSERT_EQ(bed.status(bed.buy("bob")), 410);
  bed.node->lease_turn();
  EXPECT_EQ(bed.status(bed.buy("bob")), 503);
}

TEST(Node, AGateThatDoesNotAnswerRefusesNobody) {
  NodeBed bed;
  sell_out(bed);
  ASSERT_EQ(bed.status(bed.buy("bob")), 410);
  bed.gate.trouble = GateTrouble::missing;
  bed.look();
  EXPECT_EQ(bed.status(bed.buy("bob")), 503);
  bed.gate.trouble = GateTrouble::none;
  bed.live(Micros{200'000});
  EXPECT_EQ(bed.status(bed.buy("bob")), 410);
}

TEST(Node, ABuyerOfAnotherNodeHearsOfHisOrder) {
  NodeBed bed;
  sell_out(bed);
  const auto answer = bed.buy("owner0", "other key");
  ASSERT_EQ(bed.status(answer), 409);
  EXPECT_THAT(answer->body, HasSubstr(bed.id_of("owner0", "k").text()));
  EXPECT_THAT(answer->body, HasSubstr("ALREADY_PURCHASED"));
  EXPECT_EQ(bed.status(bed.buy("stranger")), 410);
}

TEST(Node, NobodyIsRefusedByCountsBeforeItIsKnownWhoHoldsUnits) {
  NodeBed bed;
  for (int i = 0; i < 2; ++i) bed.gate.take(bed.claim_of("owner" + std::to_string(i), "k"));
  bed.node->shelf_turn();
  const int calls = bed.gate.reserve_calls;
  EXPECT_EQ(bed.status(bed.buy("owner0", "other key")), 409);
  EXPECT_EQ(bed.status(bed.buy("stranger")), 410);
  EXPECT_EQ(bed.gate.reserve_calls, calls + 2) << "both by the gate's own word";
}

TEST(Node, ACrowdIsRefusedEvenIfOwnersCannotBeListed) {
  NodeBed bed;
  bed.gate.cannot_list = true;
  sell_out(bed);
  bed.live(Micros{kOwnerPatienceUs + 2 * kOwnerLookUs});
  const int calls = bed.gate.reserve_calls;
  EXPECT_EQ(bed.status(bed.buy("stranger")), 410);
  EXPECT_EQ(bed.gate.reserve_calls, calls);
}

TEST(Node, OwnersAreListedAgainOnlyWhenTheSaleHasChangedAndAtMostOnceASecond) {
  NodeBed bed;
  sell_out(bed);
  EXPECT_EQ(bed.gate.lists, 1);
  bed.live(Micros{2 * kOwnerLookUs});
  EXPECT_EQ(bed.gate.lists, 1);
  bed.gate.give_back(bed.id_of("owner0", "k"));
  bed.gate.take(bed.claim_of("late", "k"));
  bed.live(Micros{100'000});
  bed.gate.give_back(bed.id_of("owner1", "k"));
  bed.gate.take(bed.claim_of("later", "k"));
  bed.live(Micros{kOwnerLookUs / 2});
  EXPECT_EQ(bed.gate.lists, 2);
  bed.live(Micros{kOwnerLookUs});
  EXPECT_EQ(bed.gate.lists, 3);
  EXPECT_EQ(bed.status(bed.buy("later", "other key")), 409);
}

TEST(Node, ARepeatOfAnOrderThatEndedHearsOfItsEnd) {
  NodeBed bed;
  bed.gate.take(bed.claim_of("ada", "k"));
  bed.record("ada", "k", OrderStatus::expired);
  bed.gate.give_back(bed.id_of("ada", "k"));
  sell_out(bed);
  const auto answer = bed.buy("ada", "k");
  ASSERT_EQ(bed.status(answer), 202);
  EXPECT_THAT(answer->body, HasSubstr("EXPIRED"));
}

TEST(Node, AnOrderThatIsNotRecordedIsFoundInTheGate) {
  NodeBed bed;
  bed.gate.take(bed.claim_of("ada", "k"));
  const auto answer = bed.get("ada", bed.id_of("ada", "k"));
  ASSERT_EQ(bed.status(answer), 200);
  EXPECT_THAT(answer->body, HasSubstr("PENDING"));
  EXPECT_EQ(bed.status(bed.get("eve", bed.id_of("ada", "k"))), 404) << "foreign and unknown ids sound the same";
}

TEST(Node, NoOrderIsUnknownWhileAGateOrTheLogMayHaveIt) {
  NodeBed bed;
  const OrderId order = bed.id_of("ada", "k");
  EXPECT_EQ(bed.status(bed.get("ada", order)), 404);
  bed.log.ends.partitions[0].end = 1;
  auto answer = bed.get("ada", order);
  EXPECT_EQ(bed.status(answer), 503) << "the log is not read up to its end";
  EXPECT_TRUE(answer->header("Retry-After"));
  bed.ledger.marks.push_back({.topic_id = "topic", .partition = 0, .offset = 1});
  EXPECT_EQ(bed.status(bed.get("ada", order)), 404);
  bed.log.cannot_tell_ends = true;
  EXPECT_EQ(bed.status(bed.get("ada", order)), 503);
  bed.log.cannot_tell_ends = false;
  bed.live(Micros{kUpkeepRestUs});
  EXPECT_EQ(bed.status(bed.get("ada", order)), 404);
  bed.gate.sales[NodeBed::kSale].is_open = false;
  EXPECT_EQ(bed.status(bed.get("ada", order)), 503) << "the gate is closed";
}

TEST(Node, ACancelWaitsForTheRow) {
  NodeBed bed;
  bed.gate.take(bed.claim_of("ada", "k"));
  const OrderId order = bed.id_of("ada", "k");
  EXPECT_EQ(bed.status(bed.cancel("ada", order)), 0);
  bed.live(Micros{200'000});
  EXPECT_EQ(bed.status(bed.late_answer()), 0);
  bed.record("ada", "k");
  bed.live(Micros{50'000});
  const auto answer = bed.late_answer();
  ASSERT_EQ(bed.status(answer), 200);
  EXPECT_THAT(answer->body, HasSubstr("CANCELLED"));
}

TEST(Node, ACancelGivesUpWaitingAfterASecond) {
  NodeBed bed;
  bed.gate.take(bed.claim_of("ada", "k"));
  const OrderId order = bed.id_of("ada", "k");
  EXPECT_EQ(bed.status(bed.cancel("eve", order)), 404) << "nobody waits for another's order";
  EXPECT_EQ(bed.status(bed.cancel("ada", bed.id_of("ada", "never"))), 404);
  EXPECT_EQ(bed.status(bed.cancel("ada", order)), 0);
  bed.live(Micros{kRowWaitUs + 50'000});
  const auto answer = bed.late_answer();
  ASSERT_EQ(bed.status(answer), 503);
  EXPECT_TRUE(answer->header("Retry-After"));
}

TEST(Node, IsReadyWhileItMaySell) {
  NodeBed bed;
  EXPECT_TRUE(bed.node->is_ready());
  bed.log.room = 0;
  bed.node->look_around();
  bed.run();
  EXPECT_FALSE(bed.node->is_ready()) << "no room in the log";
  bed.log.room = 1;
  bed.node->look_around();
  bed.run();
  EXPECT_TRUE(bed.node->is_ready());
  bed.ledger.gates[NodeBed::kSale].phase = GatePhase::building;
  bed.live(Micros{kLeaseLookUs + 50'000});
  EXPECT_FALSE(bed.node->is_ready()) << "a sale is open and its gate is not";
}

TEST(Node, PromisesNothingByAClockThatIsFarFromTheLedgers) {
  NodeBed bed;
  bed.ledger.clock_ahead = Micros{kClockSkewUsMax + 1};
  bed.node->lease_turn();
  EXPECT_EQ(bed.status(bed.buy("ada", "k")), 503);
  EXPECT_EQ(bed.gate.held(), 0U);
  EXPECT_FALSE(bed.node->is_ready());
}

Result<ChangeResult> change(NodeBed& bed, http::ChangeRequest request) {
  Result<ChangeResult> heard = fail(Failure::unavailable, "no answer");
  request.done = [&](const Result<ChangeResult>& result) { heard = result; };
  EXPECT_TRUE(bed.node->change(std::move(request)));
  bed.run();
  return heard;
}

http::ChangeRequest more_units(std::int64_t units, std::string key) {
  http::ChangeRequest request;
  request.item = NodeBed::kItem;
  request.add = units;
  request.run = [units, key = std::move(key)](Ledger& ledger) {
    return ledger.change_stock("default", "item0", units, key);
  };
  return request;
}

TEST(Node, MoreUnitsReachTheGateOnceAndNeverPassTheLedgersTotal) {
  NodeBed bed{2};
  const auto& item = bed.gate.sales[NodeBed::kSale].items[NodeBed::kItem];
  ASSERT_TRUE(change(bed, more_units(3, "a")));
  EXPECT_EQ(item.total, 5);
  EXPECT_EQ(bed.node->catalog()->item(NodeBed::kItem)->total, 5);
  ASSERT_TRUE(change(bed, more_units(3, "a"))) << "a repeat";
  EXPECT_EQ(item.total, 5);
  // The gate is built anew from the ledger, and forgets which changes it has seen.
  bed.gate.sales[NodeBed::kSale].changes.clear();
  ASSERT_TRUE(change(bed, more_units(3, "a")));
  EXPECT_EQ(item.total, 5);
}

TEST(Node, MoreUnitsThatTheGateDidNotTakeAreTakenByTheRepeat) {
  NodeBed bed{2};
  const auto& item = bed.gate.sales[NodeBed::kSale].items[NodeBed::kItem];
  bed.gate.trouble = GateTrouble::unavailable;
  EXPECT_FALSE(change(bed, more_units(3, "a")));
  EXPECT_EQ(item.total, 2);
  bed.gate.trouble = GateTrouble::none;
  EXPECT_TRUE(change(bed, more_units(3, "a")));
  EXPECT_EQ(item.total, 5);
}

TEST(Node, UnitsAreNotTakenOutOfASaleThatOthersSell) {
  NodeBed bed;
  http::ChangeRequest request;
  request.item = NodeBed::kItem;
  request.withdraw = 1;
  request.run = [](Ledger& ledger) { return ledger.change_stock("default", "item0", -1, "a"); };
  const auto result = change(bed, std::move(request));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("several processes"));
  EXPECT_EQ(bed.ledger.items.front().total, 2);
}

TEST(Node, APauseReachesTheGateAndTheCatalog) {
  NodeBed bed;
  http::ChangeRequest request;
  request.run = [](Ledger& ledger) { return ledger.change_sale("default", "drop", SaleAction::pause); };
  ASSERT_TRUE(change(bed, std::move(request)));
  EXPECT_FALSE(bed.gate.sales[NodeBed::kSale].terms.selling);
  EXPECT_EQ(bed.status(bed.buy("ada")), 403);
}

TEST(Node, AnItemThatTheGateLacksIsAddedByTheWatch) {
  NodeBed bed;
  bed.ledger.items.push_back({.no = {2},
                              .sale = NodeBed::kSale,
                              .id = "item1",
                              .title = "Second",
                              .price = bed.ledger.items.front().price,
                              .total = 7});
  bed.live(Micros{kCatalogLookUs + kShelfIdleLookUs + 200'000});
  EXPECT_EQ(bed.gate.sales[NodeBed::kSale].items[{2}].total, 7);
  EXPECT_EQ(bed.status(bed.buy("ada", "k", "item1")), 0);
  bed.log.acknowledge();
  EXPECT_EQ(bed.status(bed.late_answer()), 202);
}

TEST(Node, WhatIsTakenIsSplitByTheLedgersWordOnWhatWasPaid) {
  NodeBed bed{3};
  bed.gate.take(bed.claim_of("ada", "k"));
  bed.gate.take(bed.claim_of("bob", "k"));
  bed.ledger.sold[NodeBed::kItem] = 1;
  bed.live(Micros{kSoldLookUs + 100'000});
  Shelf shelf = bed.node->shelves().read(NodeBed::kItem);
  EXPECT_EQ(shelf.free, 1);
  EXPECT_EQ(shelf.held, 1);
  EXPECT_EQ(shelf.sold, 1);
  const std::uint64_t version = shelf.version;
  bed.ledger.sold[NodeBed::kItem] = 5;
  bed.live(Micros{kSoldLookUs + 100'000});
  shelf = bed.node->shelves().read(NodeBed::kItem);
  EXPECT_EQ(shelf.held, 0) << "never below nothing";
  EXPECT_EQ(shelf.sold, 2);
  EXPECT_GT(shelf.version, version);
}

TEST(Node, CountsWithFewerChangesThanBeforeRefuseNobody) {
  NodeBed bed;
  sell_out(bed);
  ASSERT_FALSE(bed.node->shelves().has_free(NodeBed::kItem, 1));
  bed.gate.sales[NodeBed::kSale].items[NodeBed::kItem].version = 1;
  bed.node->shelf_turn();
  EXPECT_TRUE(bed.node->shelves().has_free(NodeBed::kItem, 1));
}

}  // namespace
}  // namespace weir
