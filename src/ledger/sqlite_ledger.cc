#include "ledger/sqlite_ledger.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"
#include "ledger/schema.h"
#include "ledger/sqlite_lock.h"
#include "ledger/sqlite_statements.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kBusyLeast{1'000};
constexpr Micros kBusyMost{kLedgerWaitUs};
constexpr Micros kCloseWait{100'000};

int count_frames(void* out, sqlite3*, const char*, int frames) {
  *static_cast<std::int64_t*>(out) = frames;
  return SQLITE_OK;
}

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Failure::unfit, fmt::format("cannot make the folder '{}': {} (data)", folder, error.message()));
  if (is_new) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return {};
}

std::int64_t schema_version(const sqlite::Connection& db) {
  sqlite::Statement read = db.prepare("PRAGMA user_version");
  return read.step() ? read.whole(0) : 0;
}

std::string_view bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

SqliteLedger::SqliteLedger(SqliteOptions options, const Clock& clock, Random& random)
    : options_(std::move(options)), clock_(clock), random_(random) {}

SqliteLedger::~SqliteLedger() {
  if (connection_ == nullptr || statements_ == nullptr || is_unknown_) return;
  if (sqlite3_get_autocommit(connection_->get()) == 0) return;
  // A folder that is copied now is whole even without its log. If it cannot be, the next opening reads the log.
  try {
    copy_log(SQLITE_CHECKPOINT_TRUNCATE, kCloseWait);
  } catch (const sqlite::SqliteFailure&) {
    log::warn("ledger_closed_with_log", {{"data", options_.data}});
  }
}

Result<std::unique_ptr<SqliteLedger>> SqliteLedger::open(SqliteOptions options, const Clock& clock, Random& random) {
  std::unique_ptr<SqliteLedger> ledger{new SqliteLedger{std::move(options), clock, random}};
  if (ledger->options_.uses_lock) {
    if (const auto made = make_folder(ledger->options_.data); !made) return std::unexpected(made.error());
    auto lock = Lock::take(ledger->options_.data);
    if (!lock) return std::unexpected(lock.error());
    ledger->lock_ = std::move(*lock);
  }
  try {
    ledger->connect(sqlite::Access::make);
    ledger->migrate();
    if (!ledger->start_anew(kBusyMost)) {
      ledger->is_unknown_ = true;
      return fail(
          Failure::unavailable,
          fmt::format("another program reads the ledger in '{}': its log cannot be cut (data)", ledger->options_.data));
    }
  } catch (const sqlite::SqliteFailure& failure) {
    ledger->is_unknown_ = true;
    return std::unexpected(sqlite::error_of(failure, sqlite::Stage::opening));
  }
  ledger->make_reserve();
  return ledger;
}

void SqliteLedger::connect(sqlite::Access access) {
  statements_.reset();
  connection_.reset();
  log_frames_ = 0;
  copy_at_frames_ = 0;
  connection_ = std::make_unique<sqlite::Connection>(
      sqlite::ConnectionOptions{.path = fmt::format("{}/ledger.db", options_.data),
                                .vfs = options_.vfs,
                                .access = access,
                                .log_keep_bytes = options_.log_bytes_max / kLedgerLogCopyPart});
  sqlite3_wal_hook(connection_->get(), &count_frames, &log_frames_);
}

void SqliteLedger::migrate() {
  const auto known = static_cast<std::int64_t>(kSchemaSteps.size());
  const std::int64_t version = schema_version(*connection_);
  if (version > known) {
    throw sqlite::SqliteFailure{
        SQLITE_MISUSE, fmt::format("the ledger in '{}' has schema {}, this program knows {}: use the newer program",
                                   options_.data, version, known)};
  }
  for (std::int64_t step = version; step < known; ++step) {
    connection_->execute("BEGIN IMMEDIATE");
    connection_->execute(std::string{kSchemaSteps[static_cast<std::size_t>(step)]});
    if (step == 0) found();
    connection_->execute(fmt::format("PRAGMA user_version = {}", step + 1));
    connection_->execute("COMMIT");
  }
}

/// What a ledger has from its first moment: a name of its own and the tenant `default`.
void SqliteLedger::found() {
  std::array<std::byte, 32> keys{};
  random_.fill(keys);
  const std::string_view bytes = bytes_of(keys);
  connection_->prepare("INSERT INTO flash_sale_meta (name, value) VALUES ('epoch', 0), ('ledger_id', ?1)")
      .bind(1, static_cast<std::int64_t>(random_.next() >> 1))
      .run();
  connection_
      ->prepare("INSERT INTO flash_sale_tenant (id, domains, order_key_0, order_key_1) VALUES ('default', '', ?1, ?2)")
      .bind_blob(1, bytes.substr(0, 16))
      .bind_blob(2, bytes.substr(16))
      .run();
}

void SqliteLedger::raise_epoch() {
  connection_->execute("UPDATE flash_sale_meta SET value = value + 1 WHERE name = 'epoch'");
  sqlite::Statement read = connection_->prepare("SELECT value FROM flash_sale_meta WHERE name = 'epoch'");
  if (read.step()) epoch_ = read.whole(0);
}

Result<void> SqliteLedger::transact(Deadline deadline, const std::function<void()>& work) {
  if (is_unknown_) return fail(Failure::timed_out, "a commit is unknown: the ledger has to recover first");
  is_full_ = false;
  auto stage = sqlite::Stage::working;
  try {
    connection_->wait_when_busy(std::clamp(deadline - clock_.ticks(), kBusyLeast, kBusyMost));
    statements_->begin.run();
    work();
    FAULT("before_commit");
    stage = sqlite::Stage::committing;
    statements_->commit.run();
    FAULT("after_commit");
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(undo(failure, stage));
  }
  shorten_log();
  return {};
}

/// Leaves the connection outside of a transaction, or marks it as not to be used again.
Error SqliteLedger::undo(const sqlite::SqliteFailure& failure, sqlite::Stage stage) {
  Error error = sqlite::error_of(failure, stage);
  is_full_ = failure.kind() == SQLITE_FULL;
  if (error.failure == Failure::timed_out) {
    is_unknown_ = true;  // Nothing is tried again on this connection, not even the rollback.
    return error;
  }
  if (sqlite3_get_autocommit(connection_->get()) != 0) return error;
  try {
    statements_->rollback.run();
  } catch (const sqlite::SqliteFailure& rollback_failure) {
    is_unknown_ = true;
    return sqlite::error_of(rollback_failure, sqlite::Stage::working);
  }
  return error;
}

Result<void> SqliteLedger::transact_on_reserve(Deadline deadline, const std::function<void()>& work) {
  auto done = transact(deadline, work);
  if (done || !is_full_) return done;
  reuse_log();
  done = transact(deadline, work);
  if (done || !is_full_ || !has_reserve_) return done;
  drop_reserve();
  reuse_log();
  return transact(deadline, work);
}

}  // namespace weir
