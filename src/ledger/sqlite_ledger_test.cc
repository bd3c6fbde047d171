#include "ledger/schema.h"
#include "ledger/sqlite_bed.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <string_view>

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

// What is SQLite's own about this ledger: the folder and its lock, the settings, the schema, the audit of broken rows.
namespace weir {
namespace {

class SqliteLedgerTest : public testing::Test {
 protected:
  /// Runs SQL on a connection of its own, as a person with the sqlite3 shell would.
  int run_sql(const std::string& sql) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open((bed.folder() + "/ledger.db").c_str(), &db), SQLITE_OK);
    const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
    sqlite3_close(db);
    return code;
  }
  Result<std::unique_ptr<SqliteLedger>> open_again() { return SqliteLedger::open(bed.options, bed.clock(), random); }

  SqliteFileBed bed;
  LedgerScene scene{bed};
  SeededRandom random{2};
};

TEST_F(SqliteLedgerTest, F21_ASecondProcessIsRefusedWithTheFolderAndTheSetting) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = open_again();
    const bool is_right = !second && second.error().failure == Failure::unfit &&
                          second.error().message.find(bed.folder()) != std::string::npos &&
                          second.error().message.find("(data)") != std::string::npos &&
                          second.error().message.find(std::to_string(::getppid())) != std::string::npos;
    ::_exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(open_again().error().failure, Failure::unfit) << "nor twice in one process";
}

TEST_F(SqliteLedgerTest, F21_ALockFileThatWasLeftBehindRefusesNobody) {
  bed.close();
  std::ofstream{bed.folder() + "/ledger.lock"} << "1\n";
  const auto opened = open_again();
  EXPECT_TRUE(opened) << opened.error().message;
}

TEST_F(SqliteLedgerTest, F21_AReaderOpensBesideTheWriterAndSeesItsCommits) {
  scene.open_sale(5);
  const auto second = SqliteReader::open(bed.options, bed.clock());
  ASSERT_TRUE(second);
  const OrderId order = scene.buy("ann");
  EXPECT_TRUE((*second)->order(order)->has_value());
}

TEST_F(SqliteLedgerTest, AFolderThatCannotBeMadeIsUnfit) {
  SqliteOptions options = bed.options;
  options.data = bed.folder() + "/ledger.db/below";
  const auto opened = SqliteLedger::open(options, bed.clock(), random);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().failure, Failure::unfit);
  EXPECT_NE(opened.error().message.find("(data)"), std::string::npos);
}

TEST_F(SqliteLedgerTest, AReaderWithoutALedgerIsUnfit) {
  SqliteOptions options = bed.options;
  options.data = bed.folder() + "/none";
  const auto opened = SqliteReader::open(options, bed.clock());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().failure, Failure::unfit);
  EXPECT_NE(opened.error().message.find(options.data), std::string::npos);
}

TEST_F(SqliteLedgerTest, F52_AFileSystemWithoutSharedMemoryIsUnfit) {
  bed.close();
  SqliteOptions options = bed.options;
  options.data = bed.folder() + "/other";
  options.vfs = "unix-dotfile";  // SQLite's own file system without shared memory: WAL does not take.
  const auto opened = SqliteLedger::open(options, bed.clock(), random);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().failure, Failure::unfit);
  EXPECT_NE(opened.error().message.find("journal_mode"), std::string::npos) << opened.error().message;
}

TEST_F(SqliteLedgerTest, F52_SettingsAreReadBackOnEveryConnection) {
  using sqlite::Access;
  for (const Access access : {Access::write, Access::read}) {
    sqlite::Connection connection{
        {.path = bed.folder() + "/ledger.db", .vfs = "", .access = access, .log_keep_bytes = 4096}};
    const auto value = [&](std::string_view pragma) {
      sqlite::Statement row = connection.prepare(fmt::format("PRAGMA {}", pragma));
      return row.step() ? std::string{row.text(0)} : "";
    };
    EXPECT_EQ(value("journal_mode"), "wal");
    EXPECT_EQ(value("synchronous"), "2");
    EXPECT_EQ(value("foreign_keys"), "1");
    EXPECT_EQ(value("wal_autocheckpoint"), "0");
    EXPECT_EQ(value("query_only"), access == Access::read ? "1" : "0");
    EXPECT_NE(value("busy_timeout"), "0");
  }
}

TEST_F(SqliteLedgerTest, AReaderCannotWrite) {
  sqlite::Connection connection{
      {.path = bed.folder() + "/ledger.db", .vfs = "", .access = sqlite::Access::read, .log_keep_bytes = 0}};
  EXPECT_THROW(connection.execute("UPDATE flash_sale_meta SET value = 7"), sqlite::SqliteFailure);
}

TEST_F(SqliteLedgerTest, R8_EveryOpeningRaisesTheEpoch) {
  const std::int64_t first = bed.writer->epoch();
  EXPECT_GE(first, 1);
  bed.restart();
  EXPECT_EQ(bed.writer->epoch(), first + 1);
}

TEST_F(SqliteLedgerTest, ANewerSchemaIsRefusedAndLeftAlone) {
  ASSERT_EQ(run_sql("PRAGMA user_version = 99"), SQLITE_OK);
  bed.close();
  const auto opened = open_again();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().failure, Failure::unfit);
  EXPECT_NE(opened.error().message.find("99"), std::string::npos);
  EXPECT_EQ(SqliteReader::open(bed.options, bed.clock()).error().failure, Failure::unfit);
}

/// The tables of a ledger's file, by name.
std::map<std::string, std::string> tables_of(sqlite3* db) {
  std::map<std::string, std::string> tables;
  sqlite::Statement row{db, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"};
  while (row.step()) tables.emplace(row.text(0), row.text(1));
  return tables;
}

/// As the first schema made it, with a sale under way: ann's order of 2 hats is PENDING, ben's is PAID, and cat's has
/// expired and was paid too late.
class OldLedgerTest : public SqliteLedgerTest {
 protected:
  OldLedgerTest() {
    scene.open_sale(10, 2);
    cats = scene.buy("cat");
    EXPECT_EQ(scene.settle(LedgerScene::start(cats, "cat", 2)).settled, Settled::done);
    scene.let_pass(LedgerScene::kPayWithin);
    EXPECT_EQ(scene.expire().size(), 1U);
    EXPECT_EQ(scene.settle(LedgerScene::captured(2)).settled, Settled::late);
    anns = scene.buy("ann", 2);
    bens = scene.buy("ben");
    EXPECT_EQ(scene.pay(bens, "ben", 1).settled, Settled::done);
    bed.close();
    EXPECT_EQ(run_sql("DROP TABLE flash_sale_number; ALTER TABLE flash_sale_order DROP COLUMN numbers; "
                      "ALTER TABLE flash_sale_item DROP COLUMN labels; "
                      "ALTER TABLE flash_sale_item DROP COLUMN first_number; "
                      "ALTER TABLE flash_sale_item DROP COLUMN numbered; PRAGMA user_version = 1"),
              SQLITE_OK);
  }

  OrderId anns, bens, cats;
};

TEST_F(OldLedgerTest, IsWhatTheFirstSchemaMade) {
  sqlite3* fresh = nullptr;
  sqlite3* old = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &fresh), SQLITE_OK);
  ASSERT_EQ(sqlite3_open((bed.folder() + "/ledger.db").c_str(), &old), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(fresh, std::string{kSchemaSteps[0]}.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(tables_of(old), tables_of(fresh));
  sqlite3_close(fresh);
  sqlite3_close(old);
}

TEST_F(OldLedgerTest, IsReadOnlyAfterTheWriterHasBroughtItUpToDate) {
  const auto early = SqliteReader::open(bed.options, bed.clock());
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().failure, Failure::unfit);
  bed.open();
  EXPECT_TRUE(SqliteReader::open(bed.options, bed.clock()));
  bed.restart();
}

TEST_F(OldLedgerTest, KeepsWhatWasSoldAndSellsNumbersFromNowOn) {
  bed.open();
  EXPECT_EQ(scene.audit(), "");
  EXPECT_EQ(scene.shelf(), counts(10, 2, 1));
  EXPECT_EQ(scene.order(anns).units, 2);
  EXPECT_TRUE(scene.order(anns).numbers.is_empty());
  EXPECT_EQ(scene.status(bens), OrderStatus::paid);
  EXPECT_FALSE(bed.reader().catalog()->item_by_id({1}, "hat")->numbered);
  EXPECT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::item_draft("hat", 10, 1999))), Changed::repeated);
  // Everything goes on: late money, a cancel, a new order, and an item that has numbers.
  EXPECT_EQ(scene.settle(DecideLate{.payment = {7, 2}, .units_taken = true}).settled, Settled::done);
  EXPECT_EQ(scene.status(cats), OrderStatus::paid);
  EXPECT_EQ(scene.settle(LedgerScene::cancel(anns, "ann")).settled, Settled::done);
  static_cast<void>(scene.buy("dan", 2));
  const auto seat = scene.ledger().add_item(LedgerScene::numbered_draft("seat", 10, 1));
  ASSERT_EQ(LedgerScene::changed(seat), Changed::done);
  const Claim claim = scene.claim_numbers("ann", {3, 4}, seat->item);
  EXPECT_EQ(scene.record(claim).recording, Recording::recorded);
  bed.restart();
  EXPECT_EQ(*bed.reader().owner_of(seat->item, 4), claim.order);
  EXPECT_EQ(scene.audit(), "");
}

TEST_F(SqliteLedgerTest, NumbersThatNobodyOwnsTakeNoRoom) {
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("drop"))), Changed::done);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::numbered_draft("raffle", kNumbersPerItemMax, 1))),
            Changed::done);
  sqlite::Connection connection{
      {.path = bed.folder() + "/ledger.db", .vfs = "", .access = sqlite::Access::read, .log_keep_bytes = 0}};
  sqlite::Statement rows = connection.prepare("SELECT count(*) FROM flash_sale_number");
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.whole(0), 0);
  const Claim claim = scene.claim_numbers("ann", {static_cast<std::uint32_t>(kNumbersPerItemMax)});
  EXPECT_EQ(scene.record(claim).recording, Recording::recorded);
  rows.reset();
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.whole(0), 1);
  EXPECT_EQ(scene.audit(), "");
}

TEST_F(SqliteLedgerTest, AFileThatIsNoLedgerIsRefused) {
  bed.close();
  std::ofstream{bed.folder() + "/ledger.db", std::ios::trunc} << std::string(8192, 'x');
  EXPECT_EQ(open_again().error().failure, Failure::corrupt);
}

TEST_F(SqliteLedgerTest, F53_AClosedLedgerIsOneWholeFile) {
  scene.open_sale(5);
  static_cast<void>(scene.buy("ann"));
  bed.close();
  std::error_code error;
  const auto log = std::filesystem::file_size(bed.folder() + "/ledger.db-wal", error);
  EXPECT_TRUE(error || log == 0) << "nothing is left in the log that a copy of the file would miss";
  bed.open();
  EXPECT_EQ(scene.units_of("ann"), 1);
}

TEST_F(SqliteLedgerTest, F60_ConstraintsStandBehindTheRules) {
  scene.open_sale(2);
  static_cast<void>(scene.buy("ann"));
  const std::array walls{
      "UPDATE flash_sale_item SET held = held + 2 WHERE item_no = 1",
      "UPDATE flash_sale_item SET held = -1 WHERE item_no = 1",
      "UPDATE flash_sale_item SET sold = -1 WHERE item_no = 1",
      "UPDATE flash_sale_item SET total = 0 WHERE item_no = 1",
      "UPDATE flash_sale_buyer SET units = units + 1",
      "UPDATE flash_sale_buyer SET units = -1",
      "UPDATE flash_sale_order SET status = 1",
      "UPDATE flash_sale_order SET status = 9",
      "UPDATE flash_sale_order SET quantity = 0",
      "UPDATE flash_sale_order SET order_id = x'00'",
      "INSERT INTO flash_sale_stock_change (item_no, change_key, delta, at) VALUES (1, 'k', 1, 0), (1, 'k', 1, 0)",
      "INSERT INTO flash_sale_number VALUES (1, 7, zeroblob(16)), (1, 7, zeroblob(16))",
      "INSERT INTO flash_sale_number VALUES (1, -1, zeroblob(16))",
      "INSERT INTO flash_sale_number VALUES (1, 7, x'00')",
      "UPDATE flash_sale_order SET numbers = x'0000000700000008'",
      "UPDATE flash_sale_item SET first_number = -1",
  };
  for (const char* const wall : walls) EXPECT_EQ(run_sql(wall), SQLITE_CONSTRAINT) << wall;
}

/// One row is broken by hand; the audit names the invariant.
struct Broken {
  std::string_view id;
  std::string sql;
};

TEST_F(SqliteLedgerTest, TheAuditFindsEveryKindOfBrokenRow) {
  const std::vector<Broken> cases{
      {"I1", "UPDATE flash_sale_item SET held = held - 1 WHERE item_no = 1"},
      {"I1", "UPDATE flash_sale_item SET sold = sold + 1 WHERE item_no = 1"},
      {"I3", "UPDATE flash_sale_buyer SET units = units - 1 WHERE buyer = 'ann'"},
      {"I3", "DELETE FROM flash_sale_buyer WHERE buyer = 'ann'"},
      {"I4", "UPDATE flash_sale_order SET ended_at = 5 WHERE status = 0"},
      {"I4", "UPDATE flash_sale_order SET ended_at = NULL WHERE status = 2"},
      {"I4", "UPDATE flash_sale_order SET sale_no = 9 WHERE status = 0"},
      {"I4", "UPDATE flash_sale_buyer SET last_order = zeroblob(16) WHERE buyer = 'ann'"},
      {"I5", "UPDATE flash_sale_order SET status = 3 WHERE status = 2"},
      {"I5", "DELETE FROM flash_sale_event WHERE event = 'paid'"},
      {"I5",
       "INSERT INTO flash_sale_event (order_id, event, at, detail) SELECT order_id, 'expired', 0, '' FROM "
       "flash_sale_order WHERE status = 1"},
      {"I5", "INSERT INTO flash_sale_event (order_id, event, at, detail) VALUES (zeroblob(16), 'paid', 0, '')"},
      {"I6", "DELETE FROM flash_sale_event WHERE event = 'restocked'"},
      {"I6",
       "INSERT INTO flash_sale_event (order_id, event, at, detail) SELECT order_id, 'restocked', 0, '' FROM "
       "flash_sale_order WHERE status = 5"},
      {"I7", "UPDATE flash_sale_payment SET captured = captured - 1 WHERE state = 2"},
      {"I7", "UPDATE flash_sale_payment SET state = 0 WHERE state = 2"},
      {"I7", "UPDATE flash_sale_refund SET amount = amount - 1 WHERE of_order = 0"},
      {"I7", "DELETE FROM flash_sale_refund WHERE of_order = 0"},
      {"I7", "UPDATE flash_sale_refund SET state = 0 WHERE of_order = 1"},
  };
  for (const Broken& broken : cases) {
    SqliteFileBed fresh;
    LedgerScene say{fresh};
    say.open_sale(10);
    static_cast<void>(say.buy("ann"));
    const OrderId paid = say.buy("ben");
    ASSERT_EQ(say.pay(paid, "ben", 1).settled, Settled::done);
    const OrderId refunded = say.buy("cat");
    ASSERT_EQ(say.pay(refunded, "cat", 2).settled, Settled::done);
    const Settlement asked = say.settle(LedgerScene::refund(refunded, 1));
    ASSERT_EQ(say.settle(LedgerScene::refunded(2, *asked.order->refund)).settled, Settled::done);
    const OrderId cancelled = say.buy("dan");
    ASSERT_EQ(say.settle(LedgerScene::start(cancelled, "dan", 3)).settled, Settled::done);
    ASSERT_EQ(say.settle(LedgerScene::cancel(cancelled, "dan")).settled, Settled::done);
    ASSERT_EQ(say.settle(LedgerScene::captured(3)).settled, Settled::refund_due);
    say.let_pass(Micros{1});
    // Only ann's order is still to be paid; another one of hers expires.
    say.let_pass(LedgerScene::kPayWithin);
    ASSERT_EQ(say.expire().size(), 1U);
    static_cast<void>(say.buy("ann"));
    ASSERT_EQ(say.audit(), "");
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((fresh.folder() + "/ledger.db").c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, broken.sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << broken.sql;
    ASSERT_GT(sqlite3_changes(db), 0) << broken.sql;
    sqlite3_close(db);
    const auto report = fresh.reader().audit();
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->ok) << broken.sql;
    const auto found = std::ranges::find(report->invariants, broken.id, &AuditInvariant::id);
    ASSERT_NE(found, report->invariants.end());
    EXPECT_FALSE(found->violations.empty()) << broken.id << " should see: " << broken.sql;
  }
}

/// One row of numbered stock is broken by hand; the audit says this of I2.
struct BrokenNumber {
  std::string sql;
  std::string_view sentence;
};

TEST_F(SqliteLedgerTest, F76_TheAuditFindsEveryKindOfBrokenNumber) {
  // ann has 100 and 101, ben has paid 102, cat's 103 was refunded and not restocked, dan's 104 was cancelled.
  const std::vector<BrokenNumber> cases{
      {"UPDATE flash_sale_order SET numbers = x'0000006500000066' WHERE buyer = 'ann'",
       "number 102 has another live order too"},
      {"UPDATE flash_sale_order SET numbers = x'00000067' WHERE buyer = 'ben'",
       "number 103 has another live order too"},
      {"UPDATE flash_sale_number SET order_id = (SELECT order_id FROM flash_sale_order WHERE buyer = 'dan') "
       "WHERE number = 102",
       "which is CANCELLED"},
      {"INSERT INTO flash_sale_number SELECT item_no, 104, order_id FROM flash_sale_order WHERE buyer = 'dan'",
       "number 104 of item 1 is kept for order"},
      {"INSERT INTO flash_sale_number VALUES (1, 109, zeroblob(16))", "which does not exist"},
      {"INSERT INTO flash_sale_number SELECT item_no, 109, order_id FROM flash_sale_order WHERE buyer = 'ann'",
       "which does not have it"},
      {"INSERT INTO flash_sale_number SELECT 2, 100, order_id FROM flash_sale_order WHERE buyer = 'ann'",
       "which does not have it"},
      {"DELETE FROM flash_sale_number WHERE number = 101", "number 101 has no row that keeps it"},
      {"DELETE FROM flash_sale_number WHERE number = 103", "number 103 has no row that keeps it"},
      {"UPDATE flash_sale_order SET numbers = x'000000c8' WHERE buyer = 'ben'; "
       "UPDATE flash_sale_number SET number = 200 WHERE number = 102",
       "number 200 is not one of the item's"},
      {"UPDATE flash_sale_order SET numbers = x'00000063' WHERE buyer = 'ben'; "
       "UPDATE flash_sale_number SET number = 99 WHERE number = 102",
       "number 99 is not one of the item's"},
      {"PRAGMA ignore_check_constraints = ON; "
       "UPDATE flash_sale_order SET numbers = x'000000640000006500000069' WHERE buyer = 'ann'",
       "has 3 numbers for 2 units"},
      {"UPDATE flash_sale_order SET numbers = NULL WHERE buyer = 'dan'", "has 0 numbers for 1 units"},
      {"UPDATE flash_sale_order SET numbers = x'0000006500000064' WHERE buyer = 'ann'",
       "its numbers do not ascend, or cannot be read"},
      {"UPDATE flash_sale_order SET numbers = x'0000006400000064' WHERE buyer = 'ann'",
       "its numbers do not ascend, or cannot be read"},
      {"UPDATE flash_sale_order SET numbers = x'00000001' WHERE buyer = 'eve'", "has numbers, and the item has none"},
      {"UPDATE flash_sale_item SET numbered = 0 WHERE item_no = 1", "has numbers, and the item has none"},
      {"UPDATE flash_sale_item SET first_number = 101 WHERE item_no = 1", "number 100 is not one of the item's"},
  };
  for (const BrokenNumber& broken : cases) {
    SqliteFileBed fresh;
    LedgerScene say{fresh};
    ASSERT_EQ(LedgerScene::changed(say.ledger().create_sale(say.sale_draft("drop", 2))), Changed::done);
    ASSERT_EQ(LedgerScene::changed(say.ledger().add_item(LedgerScene::numbered_draft("seat", 10, 100))), Changed::done);
    ASSERT_EQ(LedgerScene::changed(say.ledger().add_item(LedgerScene::item_draft("hat", 10, 500))), Changed::done);
    const std::array claims{say.claim_numbers("ann", {100, 101}), say.claim_numbers("ben", {102}),
                            say.claim_numbers("cat", {103}), say.claim_numbers("dan", {104}), say.claim("eve", 1, {2})};
    for (const Claim& claim : claims) ASSERT_EQ(say.record(claim).recording, Recording::recorded);
    ASSERT_EQ(say.pay(claims[1].order, "ben", 1).settled, Settled::done);
    ASSERT_EQ(say.pay(claims[2].order, "cat", 2).settled, Settled::done);
    RefundOrder refund = LedgerScene::refund(claims[2].order, 1);
    refund.restock = false;
    const Settlement asked = say.settle(refund);
    ASSERT_EQ(say.settle(LedgerScene::refunded(2, *asked.order->refund)).settled, Settled::done);
    ASSERT_EQ(say.settle(LedgerScene::cancel(claims[3].order, "dan")).settled, Settled::done);
    ASSERT_EQ(say.audit(), "");
    EXPECT_EQ(fresh.reader().audit()->invariants[1].checked, 4);
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((fresh.folder() + "/ledger.db").c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, broken.sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << broken.sql;
    ASSERT_GT(sqlite3_changes(db), 0) << broken.sql;
    sqlite3_close(db);
    const auto report = fresh.reader().audit();
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->ok) << broken.sql;
    EXPECT_THAT(report->invariants[1].violations, testing::Contains(testing::HasSubstr(broken.sentence))) << broken.sql;
  }
}

TEST_F(SqliteLedgerTest, F76_ANumberIsFreedOnlyByTheOrderItIsKeptFor) {
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("drop", 2))), Changed::done);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::numbered_draft("seat", 10, 100))), Changed::done);
  const Claim claim = scene.claim_numbers("ann", {100, 101});
  ASSERT_EQ(scene.record(claim).recording, Recording::recorded);
  ASSERT_EQ(run_sql("UPDATE flash_sale_number SET order_id = zeroblob(16) WHERE number = 101"), SQLITE_OK);
  ASSERT_EQ(scene.settle(LedgerScene::cancel(claim.order, "ann")).settled, Settled::done);
  EXPECT_EQ(*bed.reader().owner_of({1}, 100), std::nullopt);
  EXPECT_EQ(*bed.reader().owner_of({1}, 101), OrderId{}) << "an audit tells of it; nobody buys the seat meanwhile";
  EXPECT_EQ(scene.record(scene.claim_numbers("ben", {101})).recording, Recording::number_taken);
}

TEST_F(SqliteLedgerTest, TheAuditAddsUpNumberedItemsToo) {
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(scene.sale_draft("drop"))), Changed::done);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::numbered_draft("seat", 10, 100))), Changed::done);
  ASSERT_EQ(scene.record(scene.claim_numbers("ann", {100})).recording, Recording::recorded);
  ASSERT_EQ(run_sql("UPDATE flash_sale_item SET held = 0"), SQLITE_OK);
  EXPECT_THAT(scene.audit(), testing::HasSubstr("I1: item seat: held 0"));
}

TEST_F(SqliteLedgerTest, TheAuditNamesTwentyViolationsAndCountsTheRest) {
  scene.open_sale(100);
  for (int i = 0; i < 50; ++i) static_cast<void>(scene.buy("buyer-" + std::to_string(i)));
  ASSERT_EQ(run_sql("UPDATE flash_sale_buyer SET units = 0"), SQLITE_OK);
  const auto report = bed.reader().audit();
  const auto found = std::ranges::find(report->invariants, "I3", &AuditInvariant::id);
  EXPECT_EQ(found->checked, 50);
  ASSERT_EQ(found->violations.size(), kAuditViolationsMax);
  EXPECT_EQ(found->violations.back(), "and 31 more");
}

TEST_F(SqliteLedgerTest, TheAuditCountsItemsAndOrders) {
  scene.open_sale(10);
  static_cast<void>(scene.buy("ann"));
  const OrderId paid = scene.buy("ben");
  ASSERT_EQ(scene.pay(paid, "ben", 1).settled, Settled::done);
  const auto report = bed.reader().audit();
  ASSERT_EQ(report->invariants.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(report->invariants[i].id, "I" + std::to_string(i + 1));
  ASSERT_EQ(report->items.size(), 2U);
  EXPECT_EQ(report->items[0].id, "hat");
  EXPECT_EQ(report->items[0].shelf, counts(10, 1, 1));
  const std::vector<std::pair<OrderStatus, std::int64_t>> orders{{OrderStatus::pending, 1}, {OrderStatus::paid, 1}};
  EXPECT_EQ(report->orders, orders);
}

/// A small disk of its own; needs the right to mount.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
    is_mounted_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool is_mounted() const { return is_mounted_; }

 private:
  std::string folder_;
  bool is_mounted_ = false;
};

TEST_F(SqliteLedgerTest, F49_OnAFullDiskPaymentsUseTheReserveAndSellingResumes) {
  bed.close();
  const SmallDisk disk{bed.folder() + "/small"};
  if (!disk.is_mounted()) GTEST_SKIP() << "this user may not mount a small disk; the simulated one is tested elsewhere";
  SqliteOptions options;
  options.data = bed.folder() + "/small";
  SqliteBed small{options};
  LedgerScene say{small};
  const std::string reserve = options.data + "/ledger.reserve";
  EXPECT_TRUE(std::filesystem::exists(reserve));
  say.open_sale(100'000);
  std::vector<OrderId> orders;
  for (int i = 0; i < 40; ++i) orders.push_back(say.buy("early-" + std::to_string(i)));
  // Somebody else fills the disk, to the last block.
  const std::string ballast = options.data + "/ballast";
  {
    std::ofstream out{ballast, std::ios::binary};
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  const std::vector<Claim> one{say.claim("late")};
  std::vector<Outcome> outcome(1);
  EXPECT_EQ(small.ledger().record(one, outcome, say.deadline()).error().failure, Failure::unavailable);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    EXPECT_EQ(say.pay(orders[i], "early-" + std::to_string(i), i + 1).settled, Settled::done);
  }
  EXPECT_FALSE(std::filesystem::exists(reserve)) << "given up for the payments";
  EXPECT_EQ(small.ledger().record(one, outcome, say.deadline()).error().failure, Failure::unavailable);
  EXPECT_EQ(say.shelf().sold, 40);
  std::filesystem::remove(ballast);
  EXPECT_TRUE(small.ledger().tidy_up());
  EXPECT_TRUE(std::filesystem::exists(reserve)) << "made again";
  EXPECT_TRUE(small.ledger().record(one, outcome, say.deadline()));
  EXPECT_EQ(say.audit(), "");
  small.close();
}

}  // namespace
}  // namespace weir
