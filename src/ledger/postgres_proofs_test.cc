#include "ledger/postgres_test_cluster.h"

#include <map>

namespace weir {
namespace {

constexpr std::string_view kTopic = "topic-a";

/// What a ledger of several processes tells of itself.
class PostgresProofs : public testing::Test {
 protected:
  void SetUp() override {
    scene.open_sale(100, 1);
    ASSERT_TRUE(ledger().start_log({std::string{kTopic}, 0, 0}, deadline()));
    ASSERT_TRUE(ledger().begin_build({.sale = {1}, .believed = 0, .builder = "me"}, deadline()));
    ASSERT_TRUE(ledger().finish_build({.sale = {1}, .epoch = 1, .builder = "me", .pin = "p", .marks = {}}, deadline()));
  }
  void TearDown() override { EXPECT_EQ(scene.audit(), "") << "nothing of this is an event of an order"; }

  LogFate record(LogClaim one) {
    one.offset = offset_;
    LogOutcome outcome;
    const auto done = ledger().record_log(
        {.topic_id = kTopic, .partition = 0, .expected = offset_, .next = offset_ + 1, .claims = {&one, 1}},
        {&outcome, 1}, deadline());
    EXPECT_TRUE(done) << done.error().message;
    ++offset_;
    return outcome.fate;
  }
  OrderId sell(std::string_view buyer) {
    LogClaim one;
    one.claim = scene.claim(buyer);
    one.epoch = 1;
    EXPECT_EQ(record(one), LogFate::recorded);
    return one.claim->order;
  }
  OrderTraces traces(OrderId order) {
    const auto found = ledger().traces_of(order, deadline());
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(OrderTraces{});
  }
  std::map<OrderId, OrderId> live() {
    std::map<OrderId, OrderId> found;
    const auto read = ledger().live_holds({1}, [&](const LiveHold& hold) { found[hold.hold] = hold.order; });
    EXPECT_TRUE(read) << read.error().message;
    return found;
  }

  [[nodiscard]] PostgresLedger& ledger() { return *bed.writer; }
  [[nodiscard]] Deadline deadline() { return scene.deadline(); }

  PostgresBed bed{*shared_cluster(), false};
  LedgerScene scene{bed};
  std::int64_t offset_ = 0;
};

TEST_F(PostgresProofs, LiveHoldsAreThoseThatAGateIsBuiltFrom) {
  const OrderId ann = sell("ann");
  EXPECT_EQ(live(), (std::map<OrderId, OrderId>{{ann, ann}}));
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  const OrderId ben = sell("ben");
  EXPECT_EQ(live(), (std::map<OrderId, OrderId>{{ben, ben}}));
}

TEST_F(PostgresProofs, AnOrderRetakenByLateMoneyIsHeldUnderItsSecondHold) {
  const OrderId ann = sell("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(ann, "ann", 1)).settled, Settled::done);
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 1U);
  ASSERT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::late);
  OrderTraces told = traces(ann);
  ASSERT_EQ(told.late.size(), 1U);
  EXPECT_FALSE(told.late[0].is_kept);
  EXPECT_EQ(told.releases.size(), 1U);
  const OrderId second = told.late[0].hold;
  const RetakeDecision decision{.payment = {7, 1}, .epoch = 1, .taken = true};
  RetakeEnd end{};
  ASSERT_TRUE(ledger().decide_retakes({&decision, 1}, {&end, 1}, deadline()));
  ASSERT_EQ(end, RetakeEnd::kept);
  EXPECT_EQ(live(), (std::map<OrderId, OrderId>{{second, ann}}));
  EXPECT_EQ(traces(ann).late[0].is_kept, std::optional{true});
}

TEST_F(PostgresProofs, TracesOfAnOrderAreItsOwn) {
  const OrderId ann = sell("ann");
  const OrderId ben = sell("ben");
  OrderTraces told = traces(ann);
  EXPECT_EQ(told.epoch, std::optional<std::int64_t>{1});
  EXPECT_EQ(told.sale, SaleNo{1});
  EXPECT_TRUE(told.releases.empty());
  scene.let_pass(LedgerScene::kPayWithin);
  ASSERT_EQ(scene.expire().size(), 2U);
  told = traces(ben);
  ASSERT_EQ(told.releases.size(), 1U);
  EXPECT_EQ(told.releases[0].hold, ben);
  EXPECT_FALSE(traces({9, 9}).epoch) << "nobody has heard of it";
}

TEST_F(PostgresProofs, F36_AParkedMessageIsFoundByItsOrder) {
  LogClaim one;
  one.key = "hat";
  one.bytes = "{";
  one.problem = "malformed";
  one.order = OrderId{4, 4};
  one.sale = {1};
  ASSERT_EQ(record(one), LogFate::parked);
  const OrderTraces told = traces({4, 4});
  ASSERT_EQ(told.parked.size(), 1U);
  EXPECT_EQ(told.parked[0].place.offset, 0);
  EXPECT_EQ(told.parked[0].problem, "malformed");
  EXPECT_FALSE(told.parked[0].is_shown);
}

TEST_F(PostgresProofs, F74_ARepairIsKeptAlsoOfAHoldThatNoOrderBelongsTo) {
  const OrderId ann = sell("ann");
  const std::vector<Repair> repairs{
      {.sale = {1}, .order = ann, .finding = "ledger_only", .detail = "adopted"},
      {.sale = {1}, .order = {9, 9}, .finding = "gate_only", .detail = "released\xff"},
      {.sale = {1}, .order = {}, .finding = "counts", .detail = "built anew"},
  };
  ASSERT_TRUE(ledger().note_repairs(repairs, deadline()));
  ASSERT_EQ(traces(ann).repairs.size(), 1U);
  EXPECT_EQ(traces(ann).repairs[0].finding, "ledger_only");
  EXPECT_EQ(traces(ann).repairs[0].at, bed.clock().now());
  EXPECT_EQ(traces({9, 9}).repairs.size(), 1U);
  EXPECT_EQ(bed.ask("SELECT count(*) FROM flash_sale_repair WHERE order_id IS NULL"), "1");
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::run_on_postgres(argc, argv); }
