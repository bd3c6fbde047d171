#include "ledger/gathering_vfs.h"

#include "ledger/fault_vfs.h"
#include "ledger/sqlite_connection.h"

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::sqlite {
namespace {

constexpr const char* kPath = "gathered.db";

class GatheringVfsTest : public ::testing::Test {
 protected:
  GatheringVfsTest() : disk(1) {
    writer.emplace(options(Access::make));
    writer->execute("CREATE TABLE sold (at INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  }
  [[nodiscard]] ConnectionOptions options(Access access) const {
    return {.path = kPath, .vfs = disk.vfs_name(), .access = access, .log_keep_bytes = 1 << 20};
  }
  /// A transaction of about this many pages.
  void write_pages(int pages) {
    writer->execute("BEGIN IMMEDIATE");
    for (int i = 0; i < pages; ++i) {
      writer->prepare("INSERT INTO sold (text) VALUES (?1)").bind(1, std::string(3'500, 'x')).run();
    }
    writer->execute("COMMIT");
  }
  [[nodiscard]] std::int64_t rows_seen_by_another() const {
    const Connection reader{options(Access::read)};
    Statement count = reader.prepare("SELECT count(*) FROM sold");
    return count.step() ? count.whole(0) : -1;
  }

  FaultDisk disk;
  std::optional<Connection> writer;
};

TEST_F(GatheringVfsTest, ACommitIsFewWritesAndOneSync) {
  write_pages(1);
  const std::uint64_t writes = disk.writes();
  const std::uint64_t syncs = disk.syncs();
  write_pages(25);
  EXPECT_EQ(disk.writes() - writes, 1U) << "two a page without gathering";
  EXPECT_EQ(disk.syncs() - syncs, 1U);
  EXPECT_EQ(rows_seen_by_another(), 26);
}

TEST_F(GatheringVfsTest, ACommitLargerThanWhatIsGatheredIsWholeToo) {
  write_pages(400);
  EXPECT_EQ(rows_seen_by_another(), 400);
  disk.power_cut();
  writer.reset();
  writer.emplace(options(Access::write));
  EXPECT_EQ(rows_seen_by_another(), 400) << "synced before the commit was reported";
}

TEST_F(GatheringVfsTest, F47_AFullDiskAtTheWriteLeavesNothingOfTheTransaction) {
  write_pages(2);
  disk.fail_nth_write(1, FaultDisk::WriteFault::full);
  try {
    write_pages(20);
    FAIL() << "the commit was reported as done";
  } catch (const SqliteFailure& failure) {
    EXPECT_EQ(failure.kind(), SQLITE_FULL);
  }
  if (sqlite3_get_autocommit(writer->get()) == 0) writer->execute("ROLLBACK");
  EXPECT_EQ(rows_seen_by_another(), 2);
  write_pages(3);
  EXPECT_EQ(rows_seen_by_another(), 5);
}

TEST_F(GatheringVfsTest, ALogIsCopiedWithWhatWasGathered) {
  write_pages(30);
  int frames = 0;
  int copied = 0;
  ASSERT_EQ(sqlite3_wal_checkpoint_v2(writer->get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, &frames, &copied), SQLITE_OK);
  EXPECT_EQ(frames, copied);
  EXPECT_EQ(disk.file_bytes("gathered.db-wal"), 0);
  write_pages(5);
  EXPECT_EQ(rows_seen_by_another(), 35);
}

TEST_F(GatheringVfsTest, AFileSystemThatIsNotThereIsSaid) {
  EXPECT_THROW(GatheringVfs{"no-such-file-system"}, SqliteFailure);
}

}  // namespace
}  // namespace weir::sqlite
