#include "ledger/sqlite_connection.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::sqlite {
namespace {

constexpr Micros kOpenWait{2'000'000};
constexpr std::int64_t kWriterCacheKib = 64 * 1024;
constexpr std::int64_t kReaderCacheKib = 8 * 1024;

/// A failure that says nothing about the moment it came at.
std::optional<Error> plain_error_of(const SqliteFailure& failure) {
  switch (failure.kind()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Error{Failure::unavailable, fmt::format("another program locks the ledger: {} (data)", failure.message)};
    case SQLITE_FULL:
      // In WAL mode a write finds the disk full before the frame that ends the transaction is whole: nothing happened.
      return Error{Failure::unavailable, fmt::format("the ledger's disk is full: {} (data)", failure.message)};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error{Failure::corrupt, fmt::format("the ledger's file is damaged: {} (data)", failure.message)};
    case SQLITE_CONSTRAINT:
      return Error{Failure::corrupt, fmt::format("a constraint of the ledger fired: {}", failure.message)};
    default: return std::nullopt;
  }
}

}  // namespace

Error error_of(const SqliteFailure& failure, Stage stage) {
  if (auto plain = plain_error_of(failure)) return *std::move(plain);
  switch (stage) {
    case Stage::opening:
      if (failure.kind() == SQLITE_IOERR || failure.kind() == SQLITE_NOMEM) break;
      return {Failure::unfit, fmt::format("the ledger cannot be opened: {} (data)", failure.message)};
    case Stage::reading: break;
    case Stage::working:
      return {Failure::timed_out, fmt::format("storage failed inside a transaction: {} (data)", failure.message)};
    case Stage::committing:
      return {Failure::timed_out, fmt::format("the commit may or may not have happened: {} (data)", failure.message)};
  }
  return {Failure::unavailable, fmt::format("the ledger cannot be read: {} (data)", failure.message)};
}

Statement::Statement(sqlite3* db, std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  handle_.reset(raw);
  if (code != SQLITE_OK) {
    throw SqliteFailure{sqlite3_extended_errcode(db), fmt::format("{} in: {}", sqlite3_errmsg(db), sql)};
  }
}

void Statement::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  SqliteFailure failure{code, sqlite3_errmsg(sqlite3_db_handle(handle_.get()))};
  sqlite3_reset(handle_.get());
  throw failure;
}

Statement& Statement::bind(int at, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), at, value));
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(handle_.get(), at, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_blob(int at, std::string_view bytes) {
  check(sqlite3_bind_blob64(handle_.get(), at, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_null(int at) {
  check(sqlite3_bind_null(handle_.get(), at));
  return *this;
}

Statement& Statement::bind_kept(int at, std::string_view text) {
  check(sqlite3_bind_text64(handle_.get(), at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_kept_blob(int at, std::string_view bytes) {
  check(sqlite3_bind_blob64(handle_.get(), at, bytes.data(), bytes.size(), SQLITE_STATIC));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  check(code);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(handle_.get());
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

std::int64_t Statement::run_counted() {
  run();
  return sqlite3_changes64(sqlite3_db_handle(handle_.get()));
}

void Statement::reset() { sqlite3_reset(handle_.get()); }

std::string_view Statement::text(int at) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), at));
  return {data == nullptr ? "" : data, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), at))};
}

std::string_view Statement::blob(int at) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_.get(), at));
  return {data == nullptr ? "" : data, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), at))};
}

std::optional<Instant> Statement::maybe_moment(int at) const {
  if (is_null(at)) return std::nullopt;
  return moment(at);
}

Money Statement::money(int value_at, int currency_at) const {
  return {whole(value_at), Currency::parse(text(currency_at)).value_or(Currency{})};
}

Connection::Connection(const ConnectionOptions& options) {
  const int create = options.access == Access::make ? SQLITE_OPEN_CREATE : 0;
  const int flags = SQLITE_OPEN_READWRITE | create | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  sqlite3* raw = nullptr;
  if (options.access != Access::read) gathering_ = std::make_unique<GatheringVfs>(options.vfs);
  const std::string& vfs = gathering_ == nullptr ? options.vfs : gathering_->name();
  const int code = sqlite3_open_v2(options.path.c_str(), &raw, flags, vfs.empty() ? nullptr : vfs.c_str());
  handle_.reset(raw);
  if (code != SQLITE_OK) {
    throw SqliteFailure{code, fmt::format("{}: {}", options.path, raw == nullptr ? "no memory" : sqlite3_errmsg(raw))};
  }
  set_up(options);
}

void Connection::set_up(const ConnectionOptions& options) {
  const bool is_reader = options.access == Access::read;
  wait_when_busy(kOpenWait);
  // A failed sync must not be followed by a quiet copy of the log at the close.
  sqlite3_db_config(get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  require("journal_mode", is_reader ? "" : "WAL", "wal");
  require("foreign_keys", "ON", "1");
  require("synchronous", "FULL", "2");
  require("wal_autocheckpoint", "0", "0");
  require("secure_delete", "OFF", "0");
  require("temp_store", "MEMORY", "2");
  const std::string cache = fmt::format("-{}", is_reader ? kReaderCacheKib : kWriterCacheKib);
  require("cache_size", cache, cache);
  const std::string keep = fmt::format("{}", options.log_keep_bytes);
  if (!is_reader) require("journal_size_limit", keep, keep);
  if (is_reader) require("query_only", "ON", "1");
}

void Connection::require(std::string_view pragma, std::string_view value, std::string_view wanted) {
  if (!value.empty()) prepare(fmt::format("PRAGMA {}={}", pragma, value)).run();
  Statement ask = prepare(fmt::format("PRAGMA {}", pragma));
  const std::string got{ask.step() ? ask.text(0) : ""};
  if (got == wanted) return;
  throw SqliteFailure{SQLITE_MISUSE,
                      fmt::format("PRAGMA {} is '{}', not '{}': does the file system of the folder support shared "
                                  "memory and locks?",
                                  pragma, got, wanted)};
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw failure(code);
}

void Connection::wait_when_busy(Micros most) {
  sqlite3_busy_timeout(get(), static_cast<int>(std::max<std::int64_t>(1, most.count() / 1000)));
}

SqliteFailure Connection::failure(int code) const { return {code, sqlite3_errmsg(get())}; }

}  // namespace weir::sqlite
