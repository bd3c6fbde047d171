#include "ledger/sqlite_connection.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::sqlite {

Error error_of(const SqliteFailure& failure, bool in_commit) {
  if (in_commit) return {Failure::timed_out, fmt::format("the commit may or may not have happened: {}", failure.message)};
  switch (failure.code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Failure::unavailable, fmt::format("the ledger is locked by another program: {} (data)", failure.message)};
    case SQLITE_FULL: return {Failure::unavailable, fmt::format("the disk of the ledger is full: {} (data)", failure.message)};
    case SQLITE_NOMEM: return {Failure::unavailable, "memory is short"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return {Failure::corrupt, fmt::format("the ledger's file is damaged: {} (data)", failure.message)};
    case SQLITE_CONSTRAINT: return {Failure::corrupt, fmt::format("a constraint of the ledger fired: {}", failure.message)};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
    case SQLITE_MISUSE: return {Failure::unfit, fmt::format("the ledger cannot be opened: {} (data)", failure.message)};
    default: return {Failure::timed_out, fmt::format("storage failed: {} (data)", failure.message)};
  }
}

Statement::Statement(sqlite3* db, std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  handle_.reset(raw);
  if (code != SQLITE_OK) throw SqliteFailure{sqlite3_extended_errcode(db), fmt::format("{} in: {}", sqlite3_errmsg(db), sql)};
}

void Statement::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  sqlite3* db = sqlite3_db_handle(handle_.get());
  SqliteFailure failure{sqlite3_extended_errcode(db), sqlite3_errmsg(db)};
  if (failure.code == SQLITE_OK) failure.code = code;
  sqlite3_reset(handle_.get());
  throw failure;
}

Statement& Statement::bind(int at, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), at, value));
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  check(sqlite3_bind_text64(handle_.get(), at, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
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

Connection::Connection(const std::string& path, const std::string& vfs, Access access) {
  const int flags = (access == Access::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, vfs.empty() ? nullptr : vfs.c_str());
  handle_.reset(raw);
  if (code != SQLITE_OK) throw SqliteFailure{code, fmt::format("{}: {}", path, raw == nullptr ? "no memory" : sqlite3_errmsg(raw))};
  wait_when_busy(Micros{2'000'000});
  require("journal_mode=WAL", "wal");
  require("foreign_keys=ON", "");
  require("foreign_keys", "1");
  require("synchronous=FULL", "");
  require("synchronous", "2");
  require("wal_autocheckpoint=0", "0");
  require("temp_store=MEMORY", "");
  require("cache_size=-65536", "");
  if (access == Access::read) require("query_only=ON", "");
}

void Connection::require(const std::string& pragma, std::string_view wanted) {
  Statement statement = prepare("PRAGMA " + pragma);
  const std::string got{statement.step() ? statement.text(0) : ""};
  statement.reset();
  if (!wanted.empty() && got != wanted) {
    throw SqliteFailure{SQLITE_MISUSE, fmt::format("PRAGMA {} did not take: it is '{}' (does the file system support it?)", pragma, got)};
  }
}

void Connection::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw SqliteFailure{sqlite3_extended_errcode(handle_.get()), sqlite3_errmsg(handle_.get())};
  }
}

void Connection::wait_when_busy(Micros most) {
  sqlite3_busy_timeout(handle_.get(), static_cast<int>(std::max<std::int64_t>(1, most.count() / 1000)));
}

}  // namespace weir::sqlite
