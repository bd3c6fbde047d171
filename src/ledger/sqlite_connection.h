#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/ids.h"
#include "domain/money.h"
#include "ledger/gathering_vfs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sqlite3.h>

/// SQLite as the ledger's files use it. Inside this folder a failed call throws `SqliteFailure`; the public calls of
/// the adapter catch it and return an `Error`.
namespace weir::sqlite {

struct SqliteFailure {
  int code = 0;  // Extended result code.
  std::string message;

  [[nodiscard]] int kind() const { return code & 0xff; }
};

/// Where a call failed decides what its failure means: a failed read did nothing, a failed commit may have happened.
enum class Stage : std::uint8_t { opening, reading, working, committing };

/// What a failure means to the caller of a port.
[[nodiscard]] Error error_of(const SqliteFailure& failure, Stage stage);

/// A prepared statement that is kept and reset. Binds count from 1, columns from 0.
class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* db, std::string_view sql);

  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, std::string_view text);
  Statement& bind(int at, Instant moment) { return bind(at, moment.us); }
  Statement& bind_blob(int at, std::string_view bytes);
  Statement& bind_null(int at);
  template <typename Tag>
  Statement& bind(int at, const Id128<Tag>& id) {
    const auto bytes = id.bytes();
    return bind_blob(at, {bytes.data(), bytes.size()});
  }
  template <typename Tag>
  Statement& bind(int at, Number<Tag, std::uint32_t> number) {
    return bind(at, std::int64_t{number.value});
  }
  /// As `bind`, without a copy: what is bound must live until the statement has run. For the hot path.
  Statement& bind_kept(int at, std::string_view text);
  Statement& bind_kept_blob(int at, std::string_view bytes);

  /// True: a row is there. False: done, and the statement is reset.
  [[nodiscard]] bool step();
  /// Runs a statement without rows and resets it.
  void run();
  /// The same; returns how many rows it changed.
  [[nodiscard]] std::int64_t run_counted();
  void reset();

  [[nodiscard]] std::int64_t whole(int at) const { return sqlite3_column_int64(handle_.get(), at); }
  [[nodiscard]] std::string_view text(int at) const;
  [[nodiscard]] std::string_view blob(int at) const;
  [[nodiscard]] bool is_null(int at) const { return sqlite3_column_type(handle_.get(), at) == SQLITE_NULL; }
  [[nodiscard]] Instant moment(int at) const { return {whole(at)}; }
  [[nodiscard]] std::optional<Instant> maybe_moment(int at) const;
  template <typename Id>
  [[nodiscard]] Id id(int at) const {
    return Id::from_bytes(blob(at)).value_or(Id{});
  }
  template <typename No>
  [[nodiscard]] No number(int at) const {
    return {static_cast<std::uint32_t>(whole(at))};
  }
  [[nodiscard]] Money money(int value_at, int currency_at) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void check(int code) const;

  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Resets a statement when a loop over its rows is left early.
class ResetLater {
 public:
  explicit ResetLater(Statement& statement) : statement_(statement) {}
  ~ResetLater() { statement_.reset(); }
  ResetLater(const ResetLater&) = delete;
  ResetLater& operator=(const ResetLater&) = delete;

 private:
  Statement& statement_;
};

/// `make`: the writer, and the file is made if it is missing. `write`: the writer, of a file that is there.
enum class Access : std::uint8_t { make, write, read };

struct ConnectionOptions {
  std::string path;
  std::string vfs;  // Empty: the machine's.
  Access access = Access::read;
  std::int64_t log_keep_bytes = 0;  // What the log file is cut back to after it was copied.
};

/// An open connection whose settings were set and read back: WAL, `synchronous` FULL, foreign keys on, checkpoints only
/// when asked for. Closing it copies no log: that is asked for as well.
class Connection {
 public:
  /// Throws SqliteFailure; a setting that did not take is SQLITE_MISUSE with a message that names it.
  explicit Connection(const ConnectionOptions& options);

  [[nodiscard]] sqlite3* get() const { return handle_.get(); }
  void execute(const std::string& sql);
  [[nodiscard]] Statement prepare(std::string_view sql) const { return Statement{handle_.get(), sql}; }
  void wait_when_busy(Micros most);
  [[nodiscard]] SqliteFailure failure(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  void set_up(const ConnectionOptions& options);
  /// Sets a pragma and asks what it is now: some answer when they are set, some must be asked.
  void require(std::string_view pragma, std::string_view value, std::string_view wanted);

  std::unique_ptr<GatheringVfs> gathering_;  // A writer's. Outlives the handle.
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace weir::sqlite
