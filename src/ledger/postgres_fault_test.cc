#include "ledger/postgres_schema.h"
#include "ledger/postgres_test_cluster.h"

#include <array>
#include <filesystem>
#include <thread>

#include <libpq-fe.h>

/// What breaks around a ledger on PostgreSQL: lines, servers, settings, other sessions.
namespace weir {
namespace {

using testing::HasSubstr;

class PostgresFault : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(scene.audit(), ""); }

  /// Opens the writer anew, through a line that can be cut.
  void open_through_cutter() {
    cutter = std::make_unique<LineCutter>(bed.cluster(), bed.cluster().folder() + "/" + bed.schema());
    options_through_cutter = bed.options;
    options_through_cutter.dsn = bed.cluster().dsn(bed.schema(), cutter->folder());
    bed.writer.reset();
    auto opened = PostgresLedger::open(options_through_cutter, bed.clock(), random);
    ASSERT_TRUE(opened) << opened.error().message;
    bed.writer = std::move(*opened);
  }
  [[nodiscard]] Failure failure_of(const Claim& claim, Micros patience = Micros{2'000'000}) {
    Outcome outcome;
    const auto done = bed.writer->record(std::span{&claim, 1}, std::span{&outcome, 1}, bed.clock().ticks() + patience);
    EXPECT_FALSE(done);
    return done ? Failure::corrupt : done.error().failure;
  }
  [[nodiscard]] Error refusal(const PostgresOptions& options) {
    auto opened = PostgresLedger::open(options, bed.clock(), random);
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }
  void recover() {
    const auto recovered = bed.writer->recover(scene.deadline());
    ASSERT_TRUE(recovered) << recovered.error().message;
  }

  SeededRandom random{7};
  std::unique_ptr<LineCutter> cutter;
  PostgresOptions options_through_cutter;
  PostgresBed bed{*shared_cluster()};
  LedgerScene scene{bed};
};

TEST_F(PostgresFault, F47_ACommitWhoseAnswerIsLostIsUnknownAndFoundAgain) {
  scene.open_sale(5);
  open_through_cutter();
  const Claim claim = scene.claim("ann");
  cutter->cut(LineCutter::Cut::answer, "commit");
  EXPECT_EQ(failure_of(claim), Failure::timed_out);
  EXPECT_EQ(failure_of(scene.claim("ben")), Failure::timed_out) << "until it has recovered";
  recover();
  EXPECT_EQ(scene.record(claim).recording, Recording::repeated);
  EXPECT_EQ(scene.shelf(), counts(5, 1, 0));
}

TEST_F(PostgresFault, F47_ACommitThatNeverArrivedIsUnknownAndMadeAgain) {
  scene.open_sale(5);
  open_through_cutter();
  const Claim claim = scene.claim("ann");
  cutter->cut(LineCutter::Cut::request, "commit");
  EXPECT_EQ(failure_of(claim), Failure::timed_out);
  recover();
  EXPECT_EQ(scene.record(claim).recording, Recording::recorded);
  EXPECT_EQ(scene.shelf(), counts(5, 1, 0));
}

TEST_F(PostgresFault, F47_MoneyWhoseCommitIsUnknownCountsOnce) {
  scene.open_sale(5);
  open_through_cutter();
  const OrderId order = scene.buy("ann");
  ASSERT_EQ(scene.settle(LedgerScene::start(order, "ann", 1)).settled, Settled::done);
  const std::array commands{SettleCommand{LedgerScene::captured(1)}};
  std::array<Settlement, 1> settlements;
  cutter->cut(LineCutter::Cut::answer, "commit");
  EXPECT_EQ(bed.writer->settle(commands, settlements, scene.deadline()).error().failure, Failure::timed_out);
  recover();
  EXPECT_EQ(scene.settle(LedgerScene::captured(1)).settled, Settled::repeated);
  EXPECT_EQ(scene.shelf(), counts(5, 0, 1));
  cutter->cut(LineCutter::Cut::answer, "commit");
  std::vector<Ended> ended(8);
  const Claim unpaid = scene.claim("ben");
  EXPECT_EQ(failure_of(unpaid), Failure::timed_out);
  recover();
  scene.let_pass(LedgerScene::kPayWithin);
  cutter->cut(LineCutter::Cut::answer, "commit");
  EXPECT_EQ(bed.writer->expire(ended, scene.deadline()).error().failure, Failure::timed_out);
  recover();
  EXPECT_TRUE(scene.expire().empty()) << "it has ended once";
  EXPECT_EQ(scene.shelf(), counts(5, 0, 1));
}

TEST_F(PostgresFault, ALineThatIsCutBeforeTheCommitIsMendedUnseen) {
  scene.open_sale(5);
  open_through_cutter();
  for (const std::string_view word : {"record_read_orders", "lock_buyers"}) {
    cutter->cut(LineCutter::Cut::request, std::string{word});
    EXPECT_EQ(scene.record(scene.claim(word)).recording, Recording::recorded);
  }
  EXPECT_EQ(scene.shelf(), counts(5, 2, 0));
}

TEST_F(PostgresFault, F47_AfterRecoveryNothingOfTheOldSessionHappensAnyMore) {
  scene.open_sale(5);
  // COMMIT takes longer than anybody waits for it.
  bed.ask(
      "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.8); RETURN NULL; END';"
      "CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON flash_sale_order DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION dawdle()");
  const Claim claim = scene.claim("ann");
  EXPECT_EQ(failure_of(claim, Micros{300'000}), Failure::timed_out);
  bed.ask("SELECT 1");
  recover();
  const std::string orders = bed.ask("SELECT count(*) FROM flash_sale_order");
  EXPECT_EQ(bed.ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                    "AND wait_event = 'PgSleep'"),
            "0");
  EXPECT_EQ(scene.record(claim).recording, orders == "0" ? Recording::recorded : Recording::repeated);
  EXPECT_EQ(scene.shelf(), counts(5, 1, 0));
}

TEST_F(PostgresFault, F41_B086_ADeadlockIsRunAgainWithTheSameIds) {
  scene.open_sale(5, 2);
  static_cast<void>(scene.buy("ann"));
  // A stranger who takes the buyer before the item, and is in no hurry to look for deadlocks.
  PGconn* stranger = PQconnectdb(bed.options.dsn.c_str());
  PQclear(PQexec(stranger, "SET deadlock_timeout = '1min'; BEGIN; SELECT * FROM flash_sale_buyer FOR UPDATE"));
  std::thread meets{[&] {
    // The recorder holds the item once it waits for the buyer.
    const std::string waiting =
        "DO 'BEGIN FOR i IN 1..500 LOOP EXIT WHEN EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = "
        "''Lock''); PERFORM pg_sleep(0.005); PERFORM pg_stat_clear_snapshot(); END LOOP; END'";
    bed.ask(waiting);
    PQclear(PQexec(stranger, "SELECT * FROM flash_sale_item WHERE item_no = 1 FOR UPDATE; COMMIT"));
  }};
  EXPECT_EQ(scene.record(scene.claim("ann")).recording, Recording::recorded);
  meets.join();
  PQfinish(stranger);
  EXPECT_GE(bed.writer->repeats(), 1U);
  EXPECT_EQ(scene.shelf(), counts(5, 2, 0));
}

TEST_F(PostgresFault, F41_ASerializationFailureIsRunAgainButNotForEver) {
  scene.open_sale(5);
  bed.ask(
      "CREATE SEQUENCE failures; CREATE FUNCTION fail_often() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN IF nextval(''failures'') <= 3 THEN RAISE EXCEPTION ''later'' USING ERRCODE = ''40001''; END IF; "
      "RETURN NEW; END'; CREATE TRIGGER fail_often BEFORE INSERT ON flash_sale_order FOR EACH ROW "
      "EXECUTE FUNCTION fail_often()");
  EXPECT_EQ(scene.record(scene.claim("ann")).recording, Recording::recorded);
  EXPECT_EQ(bed.writer->repeats(), 3U);
  bed.ask("SELECT setval('failures', 1); ALTER SEQUENCE failures INCREMENT BY -1 MINVALUE -1000 MAXVALUE 10");
  const Claim claim = scene.claim("ben");
  EXPECT_EQ(failure_of(claim), Failure::unavailable) << "bounded, and nothing happened";
  EXPECT_EQ(bed.writer->repeats(), 3U + static_cast<std::uint64_t>(kPostgresTriesMax) - 1);
  bed.ask("DROP TRIGGER fail_often ON flash_sale_order");
  EXPECT_EQ(scene.record(claim).recording, Recording::recorded) << "the connection is good";
}

TEST_F(PostgresFault, AWaitEndsAtItsDeadlineAndNothingHasHappened) {
  scene.open_sale(5);
  PGconn* stranger = PQconnectdb(bed.options.dsn.c_str());
  PQclear(PQexec(stranger, "BEGIN; SELECT * FROM flash_sale_item FOR UPDATE"));
  const Claim claim = scene.claim("ann");
  EXPECT_EQ(failure_of(claim, Micros{200'000}), Failure::unavailable);
  PQclear(PQexec(stranger, "COMMIT"));
  PQfinish(stranger);
  EXPECT_EQ(scene.record(claim).recording, Recording::recorded);
}

TEST_F(PostgresFault, F15_TheWallStandsBehindTheRules) {
  scene.open_sale(2);
  static_cast<void>(scene.buy("ann"));
  const auto refuses = [&](const std::string& change) {
    bed.ask("DO $$BEGIN BEGIN " + change +
            "; EXCEPTION WHEN check_violation OR unique_violation THEN RETURN; END; "
            "RAISE EXCEPTION 'no wall'; END$$");
  };
  refuses("UPDATE flash_sale_item SET held = total + 1");
  refuses("UPDATE flash_sale_item SET held = -1");
  refuses("UPDATE flash_sale_item SET sold = total");
  refuses("UPDATE flash_sale_buyer SET units = max_units + 1");
  refuses("UPDATE flash_sale_buyer SET units = -1");
  refuses("UPDATE flash_sale_order SET quantity = 0");
  refuses("UPDATE flash_sale_order SET status = 1");
  refuses("UPDATE flash_sale_order SET ended_at = 1");
  // A ledger that somebody has tampered with is corrupt: nothing is sold on it.
  bed.ask("ALTER TABLE flash_sale_buyer ADD CHECK (units < 1) NOT VALID");
  EXPECT_EQ(failure_of(scene.claim("ben")), Failure::corrupt);
  EXPECT_EQ(scene.shelf(), counts(2, 1, 0));
}

TEST_F(PostgresFault, F38_ABuyerThatCannotBeStoredStopsNoOther) {
  scene.open_sale(5);
  const std::array odd{std::string{"a\0b", 3}, std::string{"\xff\xfe"}, std::string{"\xed\xa0\x80"},
                       std::string{"\xc0\xaf"}};
  std::vector<Claim> claims{scene.claim("ann")};
  for (const std::string& name : odd) claims.push_back(scene.claim(name));
  claims.push_back(scene.claim("b\"e\\n,{}' \xf0\x9f\x8e\xab"));
  const auto outcomes = scene.record(claims);
  EXPECT_EQ(outcomes.front().recording, Recording::recorded);
  EXPECT_EQ(outcomes.back().recording, Recording::recorded);
  for (std::size_t i = 1; i <= odd.size(); ++i) EXPECT_EQ(outcomes[i].recording, Recording::unknown_item);
  EXPECT_EQ(scene.order(claims.back().order).buyer, claims.back().buyer.view());
  PaymentEvent event = LedgerScene::captured(1);
  event.event_id = odd[0];
  EXPECT_EQ(scene.settle(event).settled, Settled::refused);
  event.event_id = "fine";
  event.body = std::string{"\0\xff", 2};
  EXPECT_EQ(scene.settle(event).settled, Settled::unknown_order) << "kept as it came";
}

TEST_F(PostgresFault, TwoProcessesDoNotSellAloneOnOneLedger) {
  scene.open_sale(5);
  const Error error = refusal(bed.options);
  EXPECT_EQ(error.failure, Failure::unfit);
  EXPECT_THAT(error.message, HasSubstr("another process sells"));
  bed.writer.reset();
  bed.writer = bed.open_another();
  EXPECT_EQ(scene.record(scene.claim("ann")).recording, Recording::recorded);
}

TEST_F(PostgresFault, F52_AServerThatWouldLoseCommitsIsRefused) {
  PostgresOptions options = bed.options;
  options.allows_unsafe_storage = false;
  const Error error = refusal(options);
  EXPECT_EQ(error.failure, Failure::unfit);
  EXPECT_THAT(error.message, HasSubstr("fsync = off"));
  EXPECT_THAT(error.message, HasSubstr("postgres.dsn"));
}

TEST_F(PostgresFault, F52_ALaxSettingOfTheRoleIsOverruled) {
  scene.open_sale(5);
  bed.ask("ALTER ROLE weir SET synchronous_commit = off");
  bed.restart();
  bed.ask("ALTER ROLE weir RESET synchronous_commit");
  EXPECT_EQ(scene.record(scene.claim("ann")).recording, Recording::recorded);
}

TEST_F(PostgresFault, B087_TheTimeZoneOfTheServerChangesNothing) {
  bed.ask("ALTER ROLE weir SET timezone = 'Asia/Ho_Chi_Minh'");
  bed.options.takes_time_from_clock = false;
  bed.restart();
  bed.ask("ALTER ROLE weir RESET timezone");
  const auto server_time = [&] {
    return std::stoll(bed.ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"));
  };
  SaleDraft draft = scene.sale_draft("drop");
  draft.opens_at = {server_time()};
  draft.closes_at = draft.opens_at + Micros{86'400'000'000};
  ASSERT_EQ(LedgerScene::changed(scene.ledger().create_sale(draft)), Changed::done);
  ASSERT_EQ(LedgerScene::changed(scene.ledger().add_item(LedgerScene::item_draft("hat", 5, 1))), Changed::done);
  const std::int64_t before = server_time();
  const Outcome outcome = scene.record(scene.claim("ann"));
  EXPECT_GE(outcome.pay_by.us, before + LedgerScene::kPayWithin.count());
  EXPECT_LE(outcome.pay_by.us, server_time() + LedgerScene::kPayWithin.count());
  EXPECT_TRUE(scene.expire().empty());
}

TEST_F(PostgresFault, AMissingOrNewerSchemaIsNotTouched) {
  PostgresOptions bare = bed.options;
  const std::string empty = bed.cluster().make_schema();
  bare.dsn = bed.cluster().dsn(empty);
  EXPECT_EQ(refusal(bare).failure, Failure::unfit);
  EXPECT_THAT(refusal(bare).message, HasSubstr("weir migrate"));
  // Two at once, then once more: one schema, founded once.
  std::array<std::thread, 2> threads;
  for (std::uint64_t who = 0; who < 2; ++who) {
    threads.at(who) = std::thread{[&, who] {
      SeededRandom own{who};
      const auto done = PostgresLedger::migrate(bare, bed.clock(), own);
      EXPECT_TRUE(done) << done.error().message;
    }};
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(PostgresLedger::migrate(bare, bed.clock(), random),
            static_cast<std::int64_t>(postgres::kSchemaSteps.size()));
  EXPECT_EQ(bed.cluster().ask(empty, "SELECT count(*) FROM flash_sale_tenant"), "1");
  bed.cluster().ask(empty, "UPDATE flash_sale_meta SET value = 99 WHERE name = 'schema'");
  EXPECT_EQ(refusal(bare).failure, Failure::unfit);
  EXPECT_EQ(PostgresLedger::migrate(bare, bed.clock(), random).error().failure, Failure::unfit);
  bed.cluster().drop_schema(empty);
}

TEST_F(PostgresFault, AnUnreachableServerIsSaidWithItsSetting) {
  PostgresOptions options = bed.options;
  options.dsn = "host=" + bed.cluster().folder() + "/nowhere user=weir password=hunter2 dbname=postgres";
  const Error error = refusal(options);
  EXPECT_EQ(error.failure, Failure::unavailable);
  EXPECT_THAT(error.message, HasSubstr("postgres.dsn"));
  EXPECT_THAT(error.message, testing::Not(HasSubstr("hunter2")));
  options.dsn = bed.options.dsn + " nonsense=1";
  EXPECT_EQ(refusal(options).failure, Failure::unfit);
  options.dsn = "host=" + bed.cluster().folder() + " user=nobody_here dbname=postgres";
  EXPECT_EQ(refusal(options).failure, Failure::unfit);
}

TEST_F(PostgresFault, TheAuditFindsWhatWasTamperedWith) {
  scene.open_sale(5);
  const OrderId order = scene.buy("ann");
  bed.ask("UPDATE flash_sale_item SET held = 0");
  EXPECT_THAT(scene.audit(), HasSubstr("I1"));
  bed.ask("UPDATE flash_sale_item SET held = 1 WHERE item_no = 1; UPDATE flash_sale_buyer SET units = 0");
  EXPECT_THAT(scene.audit(), HasSubstr("I3"));
  bed.ask(
      "UPDATE flash_sale_buyer SET units = 1; INSERT INTO flash_sale_event (order_id, event, at, detail) "
      "SELECT order_id, 'paid', 1, '' FROM flash_sale_order");
  EXPECT_THAT(scene.audit(), HasSubstr("I5"));
  bed.ask("DELETE FROM flash_sale_event");
  bed.ask("INSERT INTO flash_sale_release (sale_no, hold_id) SELECT sale_no, order_id FROM flash_sale_order");
  EXPECT_THAT(scene.audit(), HasSubstr("I6"));
  bed.ask("DELETE FROM flash_sale_release; UPDATE flash_sale_order SET status = 1, paid_at = 1");
  EXPECT_THAT(scene.audit(), HasSubstr("I7"));
  bed.ask("UPDATE flash_sale_order SET status = 0, paid_at = NULL");
  EXPECT_EQ(scene.status(order), OrderStatus::pending);
}

/// A server of its own, because it is killed.
TEST(PostgresServer, F45_F55_AServerThatIsKilledComesBackWithEverythingAndAStandbyDecidesNothing) {
  auto started = PostgresCluster::start(PostgresCluster::Storage::durable);
  ASSERT_TRUE(started) << started.error().message;
  PostgresCluster& cluster = **started;
  {
    PostgresBed bed{cluster};
    LedgerScene scene{bed};
    scene.open_sale(50);
    const Claim before = scene.claim("ann");
    ASSERT_EQ(scene.record(before).recording, Recording::recorded);
    cluster.kill();
    const Claim during = scene.claim("ben");
    Outcome outcome;
    const auto refused = bed.writer->record(std::span{&during, 1}, std::span{&outcome, 1}, scene.deadline());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().failure, Failure::unavailable);
    EXPECT_EQ(bed.reader().order(before.order).error().failure, Failure::unavailable);
    cluster.run();
    EXPECT_EQ(scene.record(before).recording, Recording::repeated);
    EXPECT_EQ(scene.record(during).recording, Recording::recorded);
    EXPECT_EQ(scene.shelf(), counts(50, 2, 0));
    EXPECT_EQ(scene.audit(), "");

    // The same server as a standby: nothing is decided on it, and nothing is read from it.
    cluster.stop();
    cluster.become_standby();
    cluster.run();
    const Claim late = scene.claim("cat");
    const auto on_standby = bed.writer->record(std::span{&late, 1}, std::span{&outcome, 1}, scene.deadline());
    ASSERT_FALSE(on_standby);
    EXPECT_EQ(on_standby.error().failure, Failure::unfit);
    SeededRandom random{1};
    const auto opened = PostgresLedger::open(bed.options, bed.clock(), random);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().failure, Failure::unfit);
    EXPECT_THAT(opened.error().message, HasSubstr("read-only"));
    EXPECT_FALSE(bed.reader().order(before.order));
    cluster.stop();
    std::filesystem::remove(cluster.folder() + "/data/standby.signal");
    cluster.run();
    EXPECT_EQ(scene.record(late).recording, Recording::recorded);
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::run_on_postgres(argc, argv); }
