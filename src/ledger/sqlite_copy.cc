#include "ledger/sqlite_copy.h"

#include "base/durable_file.h"
#include "ledger/schema.h"
#include "ledger/sqlite_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

using sqlite::Statement;

constexpr int kBusyMs = 5'000;
constexpr int kPagesAStep = 16'384;

std::string ledger_file(const std::string& folder) { return fmt::format("{}/ledger.db", folder); }

std::unexpected<Error> unfit(std::string_view what, const std::string& path, std::string_view why) {
  return fail(Failure::unfit, fmt::format("cannot {} '{}': {}", what, path, why));
}

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Database = std::unique_ptr<sqlite3, Close>;

/// A plain connection: a copy is no ledger yet, and has none of its settings.
Database open_database(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Database database{raw};
  if (code != SQLITE_OK) throw sqlite::SqliteFailure{code, raw == nullptr ? "no memory" : sqlite3_errmsg(raw)};
  sqlite3_busy_timeout(raw, kBusyMs);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);  // A ledger's log is its own business.
  return database;
}

void execute(sqlite3* db, const std::string& sql) {
  const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw sqlite::SqliteFailure{code, sqlite3_errmsg(db)};
}

std::optional<std::int64_t> number(sqlite3* db, std::string_view sql) {
  Statement ask{db, sql};
  if (!ask.step() || ask.is_null(0)) return std::nullopt;
  const std::int64_t value = ask.whole(0);
  ask.reset();
  return value;
}

constexpr std::string_view kEpoch = "SELECT value FROM flash_sale_meta WHERE name = 'epoch'";
constexpr std::string_view kMark = "SELECT value FROM flash_sale_meta WHERE name = 'copied_at'";

void mark(sqlite3* db, Instant made_at) {
  Statement put{db, "INSERT OR REPLACE INTO flash_sale_meta (name, value) VALUES ('copied_at', ?1)"};
  put.bind(1, made_at).run();
}

/// Copies every page of one moment; `to` must not be there yet.
void copy_pages(sqlite3* from, sqlite3* to) {
  sqlite3_backup* const backup = sqlite3_backup_init(to, "main", from, "main");
  if (backup == nullptr) throw sqlite::SqliteFailure{sqlite3_extended_errcode(to), sqlite3_errmsg(to)};
  int code = SQLITE_OK;
  // Bounded: every turn copies pages of the one moment that the caller's transaction sees.
  while (code == SQLITE_OK) code = sqlite3_backup_step(backup, kPagesAStep);
  const int ended = sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) throw sqlite::SqliteFailure{code, sqlite3_errstr(code)};
  if (ended != SQLITE_OK) throw sqlite::SqliteFailure{ended, sqlite3_errstr(ended)};
}

/// Null, or what is wrong with the file as a ledger.
std::optional<std::string> fault_of(sqlite3* db) {
  const auto version = number(db, "PRAGMA user_version").value_or(0);
  if (version < 1) return "it is no ledger";
  if (version > static_cast<std::int64_t>(kSchemaSteps.size())) return "a newer program made it";
  Statement check{db, "PRAGMA quick_check(1)"};
  const std::string said{check.step() ? check.text(0) : "it cannot be read"};
  check.reset();
  return said == "ok" ? std::nullopt : std::optional{said};
}

/// Removes a draft that was not published, with what SQLite keeps beside it.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) { remove(); }
  ~Draft() { remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void remove() const {
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) ::unlink((path_ + suffix).c_str());
  }
  std::string path_;
};

/// Keeps servers away from the folder, as they keep each other away.
class Hold {
 public:
  explicit Hold(const std::string& folder)
      : descriptor_(::open(fmt::format("{}/ledger.lock", folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        is_held_(descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {}
  ~Hold() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  int descriptor_;
  bool is_held_;
};

Instant written_at(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_mtim.tv_sec * 1'000'000 + facts.st_mtim.tv_nsec / 1000};
}

/// The epoch of the ledger that is about to be replaced, its log copied into it. A ledger that is past reading is what
/// a copy is for: then it is kept as it is.
std::int64_t close_replaced(const std::string& path) {
  try {
    const Database old = open_database(path, SQLITE_OPEN_READWRITE);
    const std::int64_t epoch = number(old.get(), kEpoch).value_or(0);
    static_cast<void>(sqlite3_wal_checkpoint_v2(old.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr));
    return epoch;
  } catch (const sqlite::SqliteFailure&) {
    return 0;
  }
}

/// Gives the ledger and its log a second name, then takes the log away: beside another file it would be read as that
/// file's.
Result<std::string> set_aside(const std::string& path) {
  for (int i = 1; i <= 1000; ++i) {
    const std::string name = fmt::format("{}.replaced-{}", path, i);
    if (::link(path.c_str(), name.c_str()) != 0) {
      if (errno == EEXIST) continue;
      return unfit("keep", path, std::strerror(errno));
    }
    if (::link((path + "-wal").c_str(), (name + "-wal").c_str()) != 0 && errno != ENOENT)
      return unfit("keep", path + "-wal", std::strerror(errno));
    if (const auto synced = sync_folder_of(path); !synced) return unfit("keep", path, synced.error().message);
    for (const char* suffix : {"-wal", "-shm"}) ::unlink((path + suffix).c_str());
    return name;
  }
  return unfit("keep", path, "there are a thousand replaced ledgers beside it already");
}

/// Writes the draft of a restored ledger and says what is in it.
Restored make_restored(const std::string& file, const Draft& draft, std::int64_t epoch_before) {
  const Database from = open_database(file, SQLITE_OPEN_READONLY);
  if (const auto wrong = fault_of(from.get())) throw sqlite::SqliteFailure{SQLITE_NOTADB, *wrong};
  const Database to = open_database(draft.path(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  copy_pages(from.get(), to.get());
  execute(to.get(), "PRAGMA journal_mode = DELETE");  // What is written here has to be in this one file.
  Restored restored{.made_at = {number(to.get(), kMark).value_or(written_at(file).us)},
                    .orders = number(to.get(), "SELECT count(*) FROM flash_sale_order").value_or(0),
                    .replaced = ""};
  mark(to.get(), restored.made_at);
  const std::int64_t epoch = std::max(epoch_before, number(to.get(), kEpoch).value_or(0));
  Statement raise{to.get(), "UPDATE flash_sale_meta SET value = ?1 WHERE name = 'epoch'"};
  raise.bind(1, epoch).run();
  execute(to.get(), "PRAGMA journal_mode = WAL");  // As a reader wants to find it.
  return restored;
}

}  // namespace

Result<void> back_up_ledger(const std::string& folder, const std::string& file, const Clock& clock) try {
  if (::access(file.c_str(), F_OK) == 0) return unfit("make", file, "there is such a file");
  const Draft draft{file + ".draft"};
  const Instant made_at = clock.now();
  {
    const sqlite::Connection from{{.path = ledger_file(folder), .vfs = "", .access = sqlite::Access::read}};
    const Database to = open_database(draft.path(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    static_cast<void>(::chmod(draft.path().c_str(), 0600));
    execute(from.get(), "BEGIN");
    static_cast<void>(number(from.get(), kEpoch));  // The first read fixes the moment.
    copy_pages(from.get(), to.get());
    mark(to.get(), made_at);
    execute(to.get(), "PRAGMA journal_mode = DELETE");  // One file, whole without a log.
    if (const auto wrong = fault_of(to.get())) return unfit("copy", ledger_file(folder), *wrong);
  }
  const auto named = publish_draft(draft.path(), file);
  if (!named) return unfit("make", file, named.error().message);
  if (!*named) return unfit("make", file, "there is such a file");
  return {};
} catch (const sqlite::SqliteFailure& failure) {
  return unfit("copy the ledger in", folder, failure.message);
}

Result<Restored> restore_ledger(const std::string& folder, const std::string& file) try {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  const Hold hold{folder};
  if (!hold.is_held()) return unfit("restore into", folder, "a process serves it, or it cannot be written (data)");
  const std::string path = ledger_file(folder);
  const bool is_replaced = ::access(path.c_str(), F_OK) == 0;
  const Draft draft{path + ".draft"};
  auto restored = make_restored(file, draft, is_replaced ? close_replaced(path) : 0);
  static_cast<void>(::chmod(draft.path().c_str(), 0600));
  if (is_replaced) {
    auto aside = set_aside(path);
    if (!aside) return std::unexpected(aside.error());
    restored.replaced = std::move(*aside);
  }
  const auto placed = replace_with_draft(draft.path(), path);
  if (!placed) return unfit("make", path, placed.error().message);
  return restored;
} catch (const sqlite::SqliteFailure& failure) {
  return unfit("restore", file, failure.message);
}

Result<std::optional<Instant>> unconfirmed_copy(const std::string& folder) try {
  const std::string path = ledger_file(folder);
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  // For writing, so that a log that was left behind is read.
  const Database database = open_database(path, SQLITE_OPEN_READWRITE);
  if (number(database.get(), "SELECT count(*) FROM sqlite_master WHERE name = 'flash_sale_meta'").value_or(0) == 0)
    return std::nullopt;
  const auto made_at = number(database.get(), kMark);
  return made_at ? std::optional{Instant{*made_at}} : std::nullopt;
} catch (const sqlite::SqliteFailure&) {
  return std::nullopt;  // What is wrong with the file is said by its opening.
}

Result<void> confirm_gap(const std::string& folder) try {
  const Hold hold{folder};
  if (!hold.is_held()) return unfit("confirm the gap of", folder, "a process serves it (data)");
  const Database database = open_database(ledger_file(folder), SQLITE_OPEN_READWRITE);
  execute(database.get(), "PRAGMA synchronous = FULL");
  execute(database.get(), "DELETE FROM flash_sale_meta WHERE name = 'copied_at'");
  return {};
} catch (const sqlite::SqliteFailure& failure) {
  return unfit("confirm the gap of", folder, failure.message);
}

}  // namespace weir
