#include "ledger/ledger_move.h"

#include "ledger/sqlite_bed.h"

// What is refused before the target is asked; moves between real stores are tested end to end.
namespace weir {
namespace {

TEST(LedgerMove, ALedgerWithNumberedStockStaysWhereItIs) {
  SqliteFileBed bed;
  LedgerScene scene{bed};
  SeededRandom random{1};
  scene.open_sale(5);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::numbered_draft("seat", 10, 1))), Changed::done);
  bed.close();
  const auto moved = move_ledger(bed.options, PostgresOptions{.dsn = "host=/nowhere"}, bed.clock(), random);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().failure, Failure::unfit);
  EXPECT_THAT(moved.error().message, testing::HasSubstr("item 'seat' has numbers"));
  bed.open();
  EXPECT_EQ(scene.shelf({3}), counts(10, 0, 0));
}

TEST(LedgerMove, AFolderWithoutALedgerIsUnfit) {
  const TemporaryFolder folder;
  const ManualClock clock;
  SeededRandom random{1};
  const auto moved = move_ledger({.data = folder.path()}, PostgresOptions{.dsn = "host=/nowhere"}, clock, random);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().failure, Failure::unfit);
  EXPECT_THAT(moved.error().message, testing::HasSubstr("has no ledger"));
}

}  // namespace
}  // namespace weir
