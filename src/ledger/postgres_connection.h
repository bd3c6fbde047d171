#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/ids.h"
#include "domain/money.h"
#include "ledger/postgres_array.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

/// PostgreSQL as the ledger's files use it. Inside this folder a failed call throws `PostgresFailure`; the public calls
/// of the adapter catch it and return an `Error`.
namespace weir::postgres {

struct PostgresFailure {
  std::string state;     // SQLSTATE; empty when the server did not say one.
  std::string message;   // One line for the operator. Never holds the DSN.
  bool is_lost = false;  // The connection is gone; whether its last statements ran is not known.
  bool is_unfit = false;

  /// The whole transaction may be run again with the same ids.
  [[nodiscard]] bool is_retryable() const;
};

/// Where a call failed decides what its failure means: whatever was not followed by COMMIT did nothing.
enum class Stage : std::uint8_t { connecting, working, committing };

/// What a failure means to the caller of a port.
[[nodiscard]] Error error_of(const PostgresFailure& failure, Stage stage);

/// A span of waiting that runs by itself from its making, so that nothing here reads a clock.
class Countdown {
 public:
  explicit Countdown(Micros span);
  ~Countdown();
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  /// Waits for the socket; `wants` is poll's. Null: the span is over.
  [[nodiscard]] std::optional<short> wait(int socket, short wants);
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  int timer_ = -1;
  bool is_over_ = false;
};

/// A statement by its name. Prepared when a connection first meets it.
struct Statement {
  const char* name;
  const char* sql;
};

/// The values of one statement, in order. Casts in the statement say their types.
class Values {
 public:
  Values& add(std::int64_t value) { return add(std::string_view{std::to_string(value)}); }
  Values& add(Instant moment) { return add(moment.us); }
  Values& add(std::string_view text) {
    texts_.emplace_back(std::string{text});
    return *this;
  }
  Values& add(bool value) { return add(std::string_view{value ? "t" : "f"}); }
  Values& add(const char*) = delete;  // It would become a bool.
  Values& add_null() {
    texts_.emplace_back(std::nullopt);
    return *this;
  }
  Values& add(Array array) {
    texts_.emplace_back(std::move(array).take());
    return *this;
  }
  template <typename Tag>
  Values& add(const Id128<Tag>& id) {
    return add(std::string_view{id.text()});
  }
  template <typename Tag>
  Values& add(Number<Tag, std::uint32_t> number) {
    return add(std::int64_t{number.value});
  }
  template <typename T>
  Values& add(const std::optional<T>& value) {
    return value ? add(*value) : add_null();
  }
  [[nodiscard]] const std::vector<std::optional<std::string>>& texts() const { return texts_; }

 private:
  std::vector<std::optional<std::string>> texts_;
};

/// What a statement answered. Rows and columns count from 0.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}

  [[nodiscard]] int size() const { return PQntuples(result_.get()); }
  [[nodiscard]] bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  [[nodiscard]] std::string_view text(int row, int column) const;
  [[nodiscard]] std::int64_t whole(int row, int column) const;
  [[nodiscard]] bool truth(int row, int column) const { return text(row, column) == "t"; }
  [[nodiscard]] std::string bytes(int row, int column) const;
  [[nodiscard]] Instant moment(int row, int column) const { return {whole(row, column)}; }
  [[nodiscard]] std::optional<Instant> maybe_moment(int row, int column) const;
  [[nodiscard]] Money money(int row, int value_column, int currency_column) const;
  template <typename Id>
  [[nodiscard]] Id id(int row, int column) const {
    return {id_word(row, column, 0), id_word(row, column, 1)};
  }
  template <typename Id>
  [[nodiscard]] std::optional<Id> maybe_id(int row, int column) const {
    if (is_null(row, column)) return std::nullopt;
    return id<Id>(row, column);
  }
  template <typename No>
  [[nodiscard]] No number(int row, int column) const {
    return {static_cast<std::uint32_t>(whole(row, column))};
  }
  /// The command's own word, as `COMMIT`.
  [[nodiscard]] std::string_view command() const { return PQcmdStatus(result_.get()); }
  [[nodiscard]] std::int64_t changed() const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  /// Half of a UUID; 0 where there is none.
  [[nodiscard]] std::uint64_t id_word(int row, int column, int half) const;

  std::unique_ptr<PGresult, Clear> result_;
};

/// Who a connection is to the server; lets a later connection end this one.
struct Backend {
  int pid = 0;
  std::string started;  // As the server writes it; a pid alone may be another's by now.
};

/// A connection to the primary in pipeline mode: statements are queued, `run` sends them all and takes their answers in
/// one round trip. Never blocks without a countdown; a wait that runs out closes the connection.
class Connection {
 public:
  /// Throws PostgresFailure; `is_unfit` with the setting's name when this server may not hold a ledger.
  Connection(const std::string& dsn, std::string_view session, bool allows_unsafe_storage, Countdown& countdown);

  void queue(const Statement& statement, const Values& values = {});
  /// The answers of what is queued, in order. Throws the first failure of any of them, after all answers are in.
  [[nodiscard]] std::vector<Rows> run(Countdown& countdown);
  /// The same with one more statement; its answer.
  [[nodiscard]] Rows run(const Statement& statement, const Values& values, Countdown& countdown);
  /// Statements without values, as one simple command. For the schema and for settings.
  void execute(const std::string& sql, Countdown& countdown);
  /// As `execute`; gives the rows of the last one.
  [[nodiscard]] Rows ask(const std::string& sql, Countdown& countdown);

  [[nodiscard]] bool is_in_transaction() const {
    return handle_ != nullptr && PQtransactionStatus(handle_.get()) != PQTRANS_IDLE;
  }
  [[nodiscard]] const Backend& backend() const { return backend_; }

 private:
  struct Close {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  void connect(const std::string& dsn, Countdown& countdown);
  void check_server(bool allows_unsafe_storage, Countdown& countdown);
  /// The next answer of the server, null at the end of a statement's.
  [[nodiscard]] PGresult* next(Countdown& countdown);
  [[noreturn]] void lose(std::string_view what);
  [[nodiscard]] PostgresFailure failure_of(const PGresult* result) const;

  std::unique_ptr<PGconn, Close> handle_;
  std::set<std::string, std::less<>> prepared_;
  struct Queued {
    std::string prepares;  // Not empty: the answer is that of preparing this statement.
  };
  std::vector<Queued> queued_;
  Backend backend_;
};

}  // namespace weir::postgres
