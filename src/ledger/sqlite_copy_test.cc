#include "ledger/sqlite_copy.h"

#include "ledger/sqlite_bed.h"

#include <filesystem>
#include <fstream>

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr Micros kHour{3'600'000'000};

class SqliteCopyTest : public testing::Test {
 protected:
  SqliteCopyTest() { scene.open_sale(5); }

  [[nodiscard]] std::string file(const char* name) const { return other.path() + "/" + name; }
  [[nodiscard]] Result<void> back_up(const char* name = "copy") {
    return back_up_ledger(bed.folder(), file(name), bed.clock());
  }
  [[nodiscard]] Result<std::optional<Instant>> mark() const { return unconfirmed_copy(bed.folder()); }

  SqliteFileBed bed;
  TemporaryFolder other;
  LedgerScene scene{bed};
};

TEST_F(SqliteCopyTest, F53_ACopyIsMadeBesideTheWriterAndIsOneWholeFile) {
  const OrderId sold = scene.buy("ana");
  const OrderId cancelled = scene.buy("eve");
  ASSERT_TRUE(back_up());
  EXPECT_EQ(std::distance(fs::directory_iterator(other.path()), fs::directory_iterator()), 1) << "no log, no draft";
  EXPECT_EQ(scene.settle(scene.cancel(cancelled, "eve")).settled, Settled::done) << "the writer goes on";
  bed.close();
  const auto restored = restore_ledger(bed.folder(), file("copy"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->orders, 2);
  bed.open();
  EXPECT_EQ(scene.status(sold), OrderStatus::pending);
  EXPECT_EQ(scene.status(cancelled), OrderStatus::pending) << "as it was";
  EXPECT_EQ(scene.audit(), "");
}

TEST_F(SqliteCopyTest, F53_ARestoredLedgerIsKnownUntilItsGapIsConfirmed) {
  EXPECT_EQ(mark().value(), std::nullopt);
  const Instant made_at = bed.clock().now();
  ASSERT_TRUE(back_up());
  EXPECT_EQ(mark().value(), std::nullopt) << "the ledger itself is no copy";
  bed.clock().pass(kHour);
  bed.close();
  ASSERT_TRUE(restore_ledger(bed.folder(), file("copy")));
  EXPECT_EQ(mark().value(), made_at);
  ASSERT_TRUE(confirm_gap(bed.folder()));
  ASSERT_TRUE(confirm_gap(bed.folder())) << "repeatable";
  EXPECT_EQ(mark().value(), std::nullopt);
  bed.open();
  EXPECT_EQ(scene.audit(), "");
}

TEST_F(SqliteCopyTest, F53_ACopyThatIsPutBackByHandIsKnownToo) {
  const Instant made_at = bed.clock().now();
  ASSERT_TRUE(back_up());
  bed.close();
  for (const char* suffix : {"-wal", "-shm"}) fs::remove(bed.folder() + "/ledger.db" + suffix);
  fs::copy_file(file("copy"), bed.folder() + "/ledger.db", fs::copy_options::overwrite_existing);
  EXPECT_EQ(mark().value(), made_at);
}

TEST_F(SqliteCopyTest, AFileWithoutTheMarkIsGivenOne) {
  bed.close();
  fs::copy_file(bed.folder() + "/ledger.db", file("bare"));
  const auto restored = restore_ledger(bed.folder(), file("bare"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_GT(restored->made_at.us, 0);
  EXPECT_EQ(mark().value(), restored->made_at);
}

TEST_F(SqliteCopyTest, TheReplacedLedgerIsKeptWithEverythingInIt) {
  ASSERT_TRUE(back_up());
  const OrderId later = scene.buy("ana");
  bed.close();
  const auto restored = restore_ledger(bed.folder(), file("copy"));
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->orders, 0);
  TemporaryFolder kept;
  fs::copy_file(restored->replaced, kept.path() + "/ledger.db");
  const auto reader = SqliteReader::open({.data = kept.path()}, bed.clock());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE((*reader)->order(later).value().has_value());
}

TEST_F(SqliteCopyTest, R8_TheEpochNeverGoesBack) {
  ASSERT_TRUE(back_up());
  for (int i = 0; i < 5; ++i) bed.restart();
  const std::int64_t before = bed.writer->epoch();
  bed.close();
  ASSERT_TRUE(restore_ledger(bed.folder(), file("copy")));
  bed.open();
  EXPECT_GT(bed.writer->epoch(), before);
}

TEST_F(SqliteCopyTest, ARestoreInAnEmptyFolderMakesIt) {
  ASSERT_TRUE(back_up());
  const std::string folder = other.path() + "/new";
  const auto restored = restore_ledger(folder, file("copy"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->replaced, "");
  EXPECT_TRUE(SqliteReader::open({.data = folder}, bed.clock())) << "can be looked at before it is confirmed";
}

TEST_F(SqliteCopyTest, F53_NothingIsReplacedThatIsServedOrByWhatIsNoLedger) {
  ASSERT_TRUE(back_up());
  EXPECT_THAT(back_up().error().message, HasSubstr(file("copy"))) << "a copy replaces no file";
  EXPECT_FALSE(restore_ledger(bed.folder(), file("copy"))) << "a process serves the folder";
  EXPECT_FALSE(confirm_gap(bed.folder()));
  const OrderId sold = scene.buy("ana");
  bed.close();
  std::ofstream{file("text")} << std::string(8192, 'x');
  std::ofstream{file("empty")} << "";
  fs::copy_file(file("copy"), file("torn"));
  fs::resize_file(file("torn"), fs::file_size(file("torn")) / 2);
  for (const char* name : {"text", "empty", "torn", "none"}) {
    const auto restored = restore_ledger(bed.folder(), file(name));
    ASSERT_FALSE(restored) << name;
    EXPECT_EQ(restored.error().failure, Failure::unfit) << name;
    EXPECT_THAT(restored.error().message, HasSubstr(file(name)));
  }
  bed.open();
  EXPECT_EQ(scene.status(sold), OrderStatus::pending) << "what was there is there";
  EXPECT_FALSE(back_up_ledger(other.path() + "/nothing", file("x"), bed.clock()));
}

TEST_F(SqliteCopyTest, ALedgerThatIsPastReadingCanBeReplaced) {
  ASSERT_TRUE(back_up());
  bed.close();
  std::ofstream{bed.folder() + "/ledger.db"} << std::string(8192, 'x');
  const auto restored = restore_ledger(bed.folder(), file("copy"));
  ASSERT_TRUE(restored) << restored.error().message;
  bed.open();
  EXPECT_EQ(scene.audit(), "");
}

}  // namespace
}  // namespace weir
