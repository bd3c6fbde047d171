#include "base/random.h"
#include "ledger/sqlite_bed.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>

// What storage does to the ledger: lost power, failed syncs and writes, a full disk. All on a simulated disk.
namespace weir {
namespace {

/// A ledger on a disk, its process, and what it has acknowledged.
struct Machine {
  explicit Machine(std::uint64_t seed) : disk(seed), random(seed) { boot(); }

  void boot() {
    bed.reset();
    bed = std::make_unique<SqliteBed>(options_on(disk));
  }
  LedgerScene& scene() {
    words = std::make_unique<LedgerScene>(*bed);
    words->made = made;
    return *words;
  }

  /// Records a batch of new buyers; when it is acknowledged, remembers the orders.
  Result<void> sell(std::size_t count) {
    std::vector<Claim> claims;
    for (std::size_t i = 0; i < count; ++i) {
      LedgerScene& say = scene();
      claims.push_back(say.claim("buyer-" + std::to_string(made)));
      made = say.made;
    }
    return sell(claims);
  }
  Result<void> sell(const std::vector<Claim>& claims) {
    std::vector<Outcome> outcomes(claims.size());
    const auto done = bed->ledger().record(claims, outcomes, bed->clock().ticks() + Micros{1'000'000});
    if (!done) return done;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const Recording recording = outcomes[i].recording;
      EXPECT_TRUE(recording == Recording::recorded || recording == Recording::repeated);
      acknowledged.insert(claims[i].order);
    }
    return done;
  }
  /// Those of the acknowledged orders that the ledger does not have.
  std::size_t lost() {
    std::set<OrderId> left = acknowledged;
    EXPECT_TRUE(bed->reader().live_orders([&](const Ended& one, bool) { left.erase(one.order); }));
    return static_cast<std::size_t>(std::ranges::count_if(left, [&](OrderId order) {
      const auto found = bed->reader().order(order);
      return !found || !found->has_value();
    }));
  }

  FaultDisk disk;
  SeededRandom random;
  std::unique_ptr<SqliteBed> bed;
  std::unique_ptr<LedgerScene> words;
  std::set<OrderId> acknowledged;
  std::uint64_t made = 0;
};

constexpr std::int64_t kManyUnits = 1'000'000;

TEST(SqliteFault, F45_B081_NothingAcknowledgedIsLostByAPowerCut) {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Machine machine{seed};
    machine.scene().open_sale(kManyUnits);
    for (int cut = 0; cut < 10; ++cut) {
      const std::uint64_t batches = machine.random.below(6);
      for (std::uint64_t i = 0; i < batches; ++i) {
        ASSERT_TRUE(machine.sell(1 + machine.random.below(20)));
        if (machine.random.below(4) == 0) {
          ASSERT_TRUE(machine.bed->ledger().tidy_up());
        }
      }
      // The power may go in the middle of a batch, at any of its writes.
      if (machine.random.below(2) == 0) {
        machine.disk.fail_nth_write(1 + machine.random.below(12));
        static_cast<void>(machine.sell(1 + machine.random.below(20)));
        machine.disk.heal();
      }
      machine.disk.power_cut();
      machine.boot();
      ASSERT_EQ(machine.lost(), 0U) << "seed " << seed << ", cut " << cut;
      if (cut % 3 == 0) {
        ASSERT_EQ(machine.scene().audit(), "") << "seed " << seed << ", cut " << cut;
      }
      checked += machine.acknowledged.size();
    }
  }
  EXPECT_GT(checked, 10'000U);
}

TEST(SqliteFault, F45_ADiskThatLiesIsFoundOut) {
  // The same as above, on a disk whose syncs do nothing: the test would notice.
  std::size_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Machine machine{seed};
    machine.scene().open_sale(kManyUnits);
    machine.disk.ignore_syncs(true);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(machine.sell(10));
    machine.disk.power_cut();
    machine.disk.ignore_syncs(false);
    machine.boot();
    lost += machine.lost();
  }
  EXPECT_GT(lost, 0U);
}

TEST(SqliteFault, F45_AProcessThatDiesAtAnyWriteLosesNothing) {
  for (std::uint64_t nth = 1; nth <= 25; ++nth) {
    Machine machine{nth};
    machine.scene().open_sale(kManyUnits);
    ASSERT_TRUE(machine.sell(8));
    machine.disk.fail_nth_write(nth);
    static_cast<void>(machine.sell(8));
    machine.disk.heal();
    machine.disk.kill();
    machine.boot();
    EXPECT_EQ(machine.lost(), 0U);
    EXPECT_EQ(machine.scene().audit(), "") << nth;
  }
}

/// Whatever fails inside a batch: it is certain that nothing happened, or everything waits for `recover`, and the same
/// batch afterwards finds what is true. Nothing is sold twice and nothing is lost, power cut or not.
enum class After : std::uint8_t { recovery, recovery_without_readers, restart, power_cut };

void fail_somewhere(std::uint64_t nth, After after, const std::function<void(FaultDisk&)>& arm) {
  SCOPED_TRACE(fmt::format("fault {}, after it {}", nth, static_cast<int>(after)));
  Machine machine{nth};
  machine.scene().open_sale(40);
  ASSERT_TRUE(machine.sell(10));
  std::vector<Claim> claims;
  for (int i = 0; i < 10; ++i)
    claims.push_back(
        machine.scene().claim_as({900, nth * 100 + static_cast<std::uint64_t>(i)}, "b" + std::to_string(i)));
  arm(machine.disk);
  const auto first = machine.sell(claims);
  machine.disk.heal();
  if (!first && first.error().failure == Failure::timed_out) {
    // Nothing else is answered before the recovery.
    std::vector<Outcome> outcomes(claims.size());
    EXPECT_EQ(machine.bed->ledger().record(claims, outcomes, {}).error().failure, Failure::timed_out);
    std::vector<Ended> ended(1);
    EXPECT_EQ(machine.bed->ledger().expire(ended, {}).error().failure, Failure::timed_out);
    EXPECT_EQ(machine.bed->ledger().next_expiry().error().failure, Failure::timed_out);
    EXPECT_EQ(machine.bed->ledger().tidy_up().error().failure, Failure::timed_out);
    EXPECT_EQ(machine.bed->ledger().create_tenant("t", {}).error().failure, Failure::timed_out);
  } else if (!first) {
    EXPECT_EQ(first.error().failure, Failure::unavailable) << first.error().message;
  }
  switch (after) {
    case After::recovery:
    case After::recovery_without_readers:
      if (after == After::recovery_without_readers) machine.bed->look.reset();
      ASSERT_TRUE(machine.bed->ledger().recover(machine.bed->clock().ticks() + Micros{1'000'000}));
      if (after == After::recovery_without_readers) machine.bed->open_reader();
      break;
    case After::restart:
      machine.disk.kill();
      machine.boot();
      break;
    case After::power_cut:
      machine.disk.power_cut();
      machine.boot();
      break;
  }
  EXPECT_EQ(machine.lost(), 0U);
  // Asked again under the same ids, and then the power goes: what was said now must hold.
  ASSERT_TRUE(machine.sell(claims));
  ASSERT_TRUE(machine.sell(3));
  machine.disk.power_cut();
  machine.boot();
  EXPECT_EQ(machine.lost(), 0U);
  EXPECT_EQ(machine.scene().shelf(), counts(40, 23, 0));
  EXPECT_EQ(machine.scene().audit(), "");
}

constexpr std::array kAfter{After::recovery, After::recovery_without_readers, After::restart, After::power_cut};

TEST(SqliteFault, F46_F47_AFailedSyncIsUnknownUntilItIsRecovered) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const After after : kAfter) {
      fail_somewhere(seed, after, [](FaultDisk& disk) { disk.fail_nth_sync(1); });
    }
  }
}

TEST(SqliteFault, F47_AFailedWriteIsUnknownUntilItIsRecovered) {
  for (std::uint64_t nth = 1; nth <= 24; ++nth) {
    fail_somewhere(nth, kAfter.at(nth % 4), [nth](FaultDisk& disk) { disk.fail_nth_write(nth); });
  }
}

/// Numbers go the way of their orders: asked again after any fault, a batch of crossing claims ends in the same owners.
TEST(SqliteFault, F22_F47_NumbersAreOwnedWithTheirOrdersOrNotAtAll) {
  for (std::uint64_t nth = 1; nth <= 16; ++nth) {
    for (const bool is_power_cut : {false, true}) {
      SCOPED_TRACE(fmt::format("fault {}, power cut {}", nth, is_power_cut));
      Machine machine{nth};
      LedgerScene& say = machine.scene();
      ASSERT_EQ(LedgerScene::changed(say.ledger().create_sale(say.sale_draft("drop", 3))), Changed::done);
      ASSERT_EQ(LedgerScene::changed(say.ledger().add_item(LedgerScene::numbered_draft("seat", 40, 1))), Changed::done);
      std::vector<Claim> claims;
      for (std::uint32_t i = 0; i < 12; ++i) {
        claims.push_back(say.claim_numbers("buyer-" + std::to_string(i), {1 + i, 2 + i, 3 + i}));
      }
      std::vector<Outcome> outcomes(claims.size());
      if (nth % 4 == 0)
        machine.disk.fail_nth_sync(nth / 4);
      else
        machine.disk.fail_nth_write(nth);
      const auto first = machine.bed->ledger().record(claims, outcomes, say.deadline());
      machine.disk.heal();
      if (is_power_cut) {
        machine.disk.power_cut();
        machine.boot();
      } else {
        ASSERT_TRUE(machine.bed->ledger().recover(say.deadline()));
      }
      for (int turn = 0; turn < 2; ++turn) {
        const auto again = machine.scene().record(claims);
        for (std::size_t i = 0; i < claims.size(); ++i) {
          const Recording recording = again[i].recording;
          const bool is_owner = i % 3 == 0;  // The others cross the claim before them.
          EXPECT_EQ(recording == Recording::recorded || recording == Recording::repeated, is_owner) << i;
          if (first || turn > 0) {
            EXPECT_EQ(recording, is_owner ? Recording::repeated : Recording::number_taken) << i;
          }
          const auto owner = machine.bed->reader().owner_of({1}, static_cast<std::uint32_t>(i) + 1);
          EXPECT_EQ(*owner, claims[i / 3 * 3].order) << i;
        }
      }
      EXPECT_EQ(machine.scene().shelf(), counts(40, 12, 0));
      EXPECT_EQ(machine.scene().audit(), "");
    }
  }
}

TEST(SqliteFault, F49_AFullDiskAtAnyWriteIsCertain) {
  for (std::uint64_t nth = 1; nth <= 24; ++nth) {
    fail_somewhere(nth, kAfter.at(nth % 4),
                   [nth](FaultDisk& disk) { disk.fail_nth_write(nth, FaultDisk::WriteFault::full); });
  }
}

TEST(SqliteFault, F47_ACommitThatWasReportedAsFailedMayBeThereAfterACrash) {
  // This is why an unknown commit keeps its units: both ends are seen.
  std::set<bool> seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Machine machine{seed};
    machine.scene().open_sale(40);
    const Claim claim = LedgerScene::claim_as({1, seed}, "ann");
    machine.disk.fail_nth_sync(1);
    ASSERT_EQ(machine.sell({claim}).error().failure, Failure::timed_out);
    machine.disk.power_cut();
    machine.boot();
    const auto found = machine.bed->reader().order(claim.order);
    ASSERT_TRUE(found);
    seen.insert(found->has_value());
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(SqliteFault, F46_ASyncThatFailsWhileTheLogIsCopiedLosesNothing) {
  for (std::uint64_t nth = 1; nth <= 4; ++nth) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      Machine machine{seed * 10 + nth};
      machine.bed.reset();
      SqliteOptions options = options_on(machine.disk);
      options.log_bytes_max = 256 * 1024;  // Copied by nearly every batch.
      machine.bed = std::make_unique<SqliteBed>(options);
      machine.scene().open_sale(kManyUnits);
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(machine.sell(20));
      machine.disk.fail_nth_sync(nth);
      for (int i = 0; i < 6; ++i) {
        if (machine.sell(20)) continue;
        machine.disk.heal();
        ASSERT_TRUE(machine.bed->ledger().recover(machine.bed->clock().ticks() + Micros{1'000'000}));
      }
      machine.disk.power_cut();
      machine.boot();
      ASSERT_EQ(machine.lost(), 0U) << "seed " << seed << ", sync " << nth;
      ASSERT_EQ(machine.scene().audit(), "");
    }
  }
}

TEST(SqliteFault, RecoveryIsTriedUntilStorageIsWell) {
  Machine machine{5};
  machine.scene().open_sale(40);
  machine.disk.fail_nth_sync(1);
  ASSERT_FALSE(machine.sell(1));
  for (int i = 0; i < 3; ++i) {
    machine.disk.fail_nth_write(1);
    EXPECT_EQ(machine.bed->ledger().recover({}).error().failure, Failure::unavailable);
    machine.disk.heal();
    machine.disk.fail_nth_open(1);
    EXPECT_FALSE(machine.bed->ledger().recover({}));
    machine.disk.heal();
  }
  EXPECT_FALSE(machine.sell(1)) << "still refused";
  EXPECT_TRUE(machine.bed->ledger().recover({}));
  EXPECT_TRUE(machine.sell(1));
  EXPECT_EQ(machine.scene().audit(), "");
}

TEST(SqliteFault, F46_RecoveryWaitsForReadersOfTheLog) {
  Machine machine{6};
  machine.scene().open_sale(40);
  ASSERT_TRUE(machine.sell(1));
  std::optional<Failure> meanwhile;
  ASSERT_TRUE(machine.bed->reader().live_orders([&](const Ended&, bool) {
    machine.disk.fail_nth_sync(1);
    EXPECT_FALSE(machine.sell(1));
    const auto recovered = machine.bed->ledger().recover({});
    if (!recovered) meanwhile = recovered.error().failure;
  }));
  EXPECT_EQ(meanwhile, Failure::unavailable) << "a reader holds the log that must be cut";
  EXPECT_TRUE(machine.bed->ledger().recover({}));
  EXPECT_TRUE(machine.sell(1));
}

TEST(SqliteFault, F49_AFullDiskStopsClaimsAndNothingElse) {
  Machine machine{7};
  machine.bed.reset();
  SqliteOptions options = options_on(machine.disk);
  options.reserve_bytes = 512 * 1024;
  options.free_bytes = [&machine] { return machine.disk.free_bytes(); };
  machine.bed = std::make_unique<SqliteBed>(options);
  LedgerScene& scene = machine.scene();
  scene.open_sale(kManyUnits);
  std::vector<OrderId> orders;
  for (int i = 0; i < 3; ++i) orders.push_back(scene.buy("early-" + std::to_string(i)));
  machine.made = scene.made;
  machine.disk.set_capacity(2 * 1024 * 1024);
  Result<void> sold;
  int batches = 0;
  for (; batches < 1000 && (sold = machine.sell(50)); ++batches) {
  }
  ASSERT_LT(batches, 1000);
  EXPECT_EQ(sold.error().failure, Failure::unavailable);
  EXPECT_NE(sold.error().message.find("sqlite.reserve_bytes"), std::string::npos) << sold.error().message;
  EXPECT_EQ(machine.bed->ledger().record({}, {}, {}).error().failure, Failure::unavailable);
  // Payments, cancels, expiry and reading go on.
  LedgerScene& later = machine.scene();
  EXPECT_EQ(later.pay(orders[0], "early-0", 1).settled, Settled::done);
  EXPECT_EQ(later.settle(LedgerScene::cancel(orders[1], "early-1")).settled, Settled::done);
  EXPECT_EQ(later.status(orders[0]), OrderStatus::paid);
  later.let_pass(LedgerScene::kPayWithin);
  EXPECT_EQ(later.expire(1).size(), 1U);
  EXPECT_EQ(machine.lost(), 0U);
  // Selling resumes by itself.
  machine.disk.set_capacity(64 * 1024 * 1024);
  EXPECT_TRUE(machine.bed->ledger().record({}, {}, {}));
  EXPECT_TRUE(machine.sell(50));
  EXPECT_EQ(machine.scene().audit(), "");
}

TEST(SqliteFault, F49_ADiskThatIsFullToTheLastByteDamagesNothing) {
  Machine machine{8};
  machine.scene().open_sale(kManyUnits);
  ASSERT_TRUE(machine.sell(20));
  for (int round = 0; round < 30; ++round) {
    machine.disk.set_capacity(machine.disk.file_bytes("ledger/ledger.db") +
                              machine.disk.file_bytes("ledger/ledger.db-wal") + round * 700);
    const auto sold = machine.sell(20);
    if (!sold) {
      EXPECT_EQ(sold.error().failure, Failure::unavailable) << sold.error().message;
    }
    static_cast<void>(machine.bed->ledger().tidy_up());
    machine.disk.set_capacity(INT64_MAX);
    ASSERT_TRUE(machine.sell(1)) << "no recovery is needed";
  }
  machine.disk.power_cut();
  machine.boot();
  EXPECT_EQ(machine.lost(), 0U);
  EXPECT_EQ(machine.scene().audit(), "");
}

TEST(SqliteFault, F50_B085_AReaderThatNeverEndsStopsClaimsBeforeTheLogFillsTheDisk) {
  Machine machine{9};
  machine.bed.reset();
  SqliteOptions options = options_on(machine.disk);
  options.log_bytes_max = 1024 * 1024;
  machine.bed = std::make_unique<SqliteBed>(options);
  machine.scene().open_sale(kManyUnits);
  ASSERT_TRUE(machine.sell(1));
  bool is_stopped = false;
  ASSERT_TRUE(machine.bed->reader().live_orders([&](const Ended&, bool) {
    for (int i = 0; i < 1000 && !is_stopped; ++i) {
      const auto sold = machine.sell(50);
      if (!sold) {
        EXPECT_EQ(sold.error().failure, Failure::unavailable);
      }
      is_stopped = !sold;
    }
  }));
  EXPECT_TRUE(is_stopped);
  EXPECT_LT(machine.disk.file_bytes("ledger/ledger.db-wal"), 2 * options.log_bytes_max);
  EXPECT_TRUE(machine.bed->ledger().tidy_up());
  EXPECT_TRUE(machine.sell(50)) << "the reader has let go";
  EXPECT_EQ(machine.scene().audit(), "");
}

TEST(SqliteFault, F50_TheLogStaysShortByItself) {
  Machine machine{10};
  machine.bed.reset();
  SqliteOptions options = options_on(machine.disk);
  options.log_bytes_max = 8 * 1024 * 1024;
  machine.bed = std::make_unique<SqliteBed>(options);
  machine.scene().open_sale(kManyUnits);
  std::int64_t longest = 0;
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(machine.sell(200));
    longest = std::max(longest, machine.disk.file_bytes("ledger/ledger.db-wal"));
  }
  EXPECT_LT(longest, options.log_bytes_max / 2) << "copied by the commits themselves, without tidy_up";
}

TEST(SqliteFault, ACopyOfTheLogDoesNotBurdenEveryCommit) {
  Machine machine{11};
  machine.scene().open_sale(kManyUnits);
  ASSERT_TRUE(machine.sell(10));
  const std::uint64_t before = machine.disk.syncs();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(machine.sell(10));
  EXPECT_EQ(machine.disk.syncs() - before, 50U) << "one sync a batch";
}

TEST(SqliteFault, F51_B083_ALockByAnotherProgramIsWaitedForAndDropsNothing) {
  Machine machine{12};
  machine.scene().open_sale(40);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open_v2("ledger/ledger.db", &other, SQLITE_OPEN_READWRITE, machine.disk.vfs_name().c_str()),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto sold = machine.sell(1);
  EXPECT_EQ(sold.error().failure, Failure::unavailable);
  EXPECT_NE(sold.error().message.find("data"), std::string::npos);
  std::vector<Ended> ended(1);
  EXPECT_EQ(machine.bed->ledger().expire(ended, {}).error().failure, Failure::unavailable);
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(machine.sell(1)) << "no recovery is needed";
  sqlite3_close(other);
}

TEST(SqliteFault, ADamagedFileIsCorruptAndNotServed) {
  Machine machine{13};
  machine.scene().open_sale(kManyUnits);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(machine.sell(50));
  machine.bed.reset();
  const auto size = static_cast<std::size_t>(machine.disk.file_bytes("ledger/ledger.db"));
  // Page headers from the second page on: whichever of them is read first says so.
  for (std::size_t page = 4096; page < size; page += 4096) machine.disk.damage("ledger/ledger.db", page);
  ManualClock clock;
  SeededRandom random{1};
  const auto opened = SqliteLedger::open(options_on(machine.disk), clock, random);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().failure, Failure::corrupt) << opened.error().message;
}

TEST(SqliteFault, AReadThatFailsCanBeTriedAgain) {
  Machine machine{14};
  machine.scene().open_sale(40);
  ASSERT_TRUE(machine.sell(5));
  SqliteOptions options = options_on(machine.disk);
  ManualClock clock;
  const auto fresh = SqliteReader::open(options, clock);
  ASSERT_TRUE(fresh);
  machine.disk.fail_nth_read(1);
  const auto failed = (*fresh)->audit();
  if (!failed) {
    EXPECT_EQ(failed.error().failure, Failure::unavailable) << failed.error().message;
  }
  machine.disk.heal();
  EXPECT_TRUE((*fresh)->audit()->ok);
}

}  // namespace
}  // namespace weir
