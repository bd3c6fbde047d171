#include "app/engine.h"

#include "app/engine_bed.h"
#include "config/limits.h"

#include <filesystem>

#include <sqlite3.h>

namespace weir {
namespace {

constexpr Micros kSecond{1'000'000};

class EngineTest : public testing::Test {
 protected:
  void start(std::int64_t units) {
    bed.make_sale(units);
    const auto wrong = bed.start();
    ASSERT_FALSE(wrong) << wrong->message;
  }
  void TearDown() override {
    bed.stop();
    EXPECT_EQ(bed.audit(), "");
    EXPECT_EQ(bed.corrupt, "");
  }

  TemporaryFolder folder;
  EngineBed bed{{.data = folder.path()}};
};

/// Late money: an order that has expired, and its payment captured after that. The gate has not been asked yet.
OrderId capture_late(EngineBed& bed) {
  const auto answer = bed.buy("ana");
  EXPECT_TRUE(answer && answer->kind == ClaimAnswerKind::accepted);
  const OrderId order = answer ? answer->order : OrderId{};
  EXPECT_EQ(bed.settle(LedgerScene::start(order, "ana", 1)), Settled::done);
  bed.clock.pass(EngineBed::kPayWithin + kSecond);
  bed.run();
  EXPECT_EQ(bed.status(order), OrderStatus::expired);
  EXPECT_TRUE(bed.engine->settle({LedgerScene::captured(1), [](const Result<Settlement>&) {}}));
  EXPECT_GT(bed.engine->writer().turn(), 0U);
  return order;
}

TEST_F(EngineTest, ALateDecisionThatMeetsAFullQueueIsOfferedAgain) {
  start(1);
  const OrderId order = capture_late(bed);
  std::size_t waiting = 0;
  // Commands that change nothing fill the queue; the gate's answer comes when there is no room.
  while (waiting <= kSettleQueueMax &&
         bed.engine->settle({LedgerScene::cancel({9, 9}, "eve"), [](const Result<Settlement>&) {}})) {
    ++waiting;
  }
  EXPECT_EQ(waiting, kSettleQueueMax);
  EXPECT_GT(bed.engine->desk().turn(), 0U);
  bed.run();
  EXPECT_EQ(bed.status(order), OrderStatus::expired) << "undecided: the decision found no room";
  EXPECT_EQ(bed.shelf().free, 0) << "the gate keeps the unit for it";
  bed.engine->look_around();
  bed.run();
  EXPECT_EQ(bed.status(order), OrderStatus::paid);
  EXPECT_EQ(bed.shelf().sold, 1);
}

TEST_F(EngineTest, ALateDecisionThatIsNeverMadeIsAskedForByTheNextStart) {
  start(1);
  const OrderId order = capture_late(bed);
  bed.stop();
  ASSERT_FALSE(bed.start());
  bed.run();
  EXPECT_EQ(bed.status(order), OrderStatus::paid);
}

TEST_F(EngineTest, F50_B085_SellingStopsAtTheBoundOfTheLogAndResumesByItself) {
  bed.options.log_bytes_max = 512 * 1024;
  start(100'000);
  ASSERT_EQ(bed.buy_kind("first"), ClaimAnswerKind::accepted);
  sqlite3* stranger = nullptr;
  ASSERT_EQ(sqlite3_open((folder.path() + "/ledger.db").c_str(), &stranger), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(stranger, "BEGIN; SELECT count(*) FROM flash_sale_order", nullptr, nullptr, nullptr),
            SQLITE_OK);
  bool is_refused = false;
  for (int i = 0; i < 2000 && !is_refused; ++i) {
    bed.clock.pass(Micros{10'000});
    const auto kind = bed.buy_kind("buyer" + std::to_string(i));
    is_refused = kind != ClaimAnswerKind::accepted;
  }
  EXPECT_TRUE(is_refused) << "the log has no bound";
  for (int i = 0; i < 300; ++i) {
    bed.clock.pass(Micros{10'000});
    static_cast<void>(bed.buy_kind("more" + std::to_string(i)));
  }
  EXPECT_LT(std::filesystem::file_size(folder.path() + "/ledger.db-wal"),
            2 * static_cast<std::uintmax_t>(bed.options.log_bytes_max));
  EXPECT_FALSE(bed.engine->is_ready()) << "the outside is told";
  sqlite3_close(stranger);
  for (int i = 0; i < 100 && !bed.engine->is_ready(); ++i) {
    bed.clock.pass(Micros{50'000});
    bed.run();
  }
  EXPECT_EQ(bed.buy_kind("last"), ClaimAnswerKind::accepted);
}

TEST_F(EngineTest, AChangeOfStockIsSoldAtOnce) {
  start(1);
  ASSERT_EQ(bed.buy_kind("ana"), ClaimAnswerKind::accepted);
  ASSERT_EQ(bed.buy_kind("bob"), ClaimAnswerKind::sold_out);
  const auto add = [](Ledger& ledger) { return ledger.change_stock("default", "item0", 1, "k"); };
  EXPECT_EQ(bed.change(add), Changed::done);
  EXPECT_EQ(bed.change(add), Changed::repeated);
  EXPECT_EQ(bed.shelf().total, 2);
  EXPECT_EQ(bed.buy_kind("bob"), ClaimAnswerKind::accepted);
  EXPECT_EQ(bed.buy_kind("eve"), ClaimAnswerKind::sold_out);
}

}  // namespace
}  // namespace weir
