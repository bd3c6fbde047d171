#include "payment/sandbox_store.h"

#include "base/check.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sqlite3.h>

namespace weir {
namespace {

constexpr int kBusyWaitMs = 1000;
constexpr std::string_view kVersion = "1";

constexpr const char* kSchema = R"(
CREATE TABLE payment (
  id       BLOB PRIMARY KEY CHECK (length(id) = 16),
  amount   INTEGER NOT NULL CHECK (amount >= 0),
  currency TEXT    NOT NULL CHECK (length(currency) = 3),
  captured INTEGER NOT NULL DEFAULT 0 CHECK (captured IN (0, amount)),
  refunded INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND captured)
) STRICT, WITHOUT ROWID;
CREATE TABLE refund (
  no      INTEGER PRIMARY KEY,
  id      BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
  payment BLOB    NOT NULL REFERENCES payment (id),
  amount  INTEGER NOT NULL CHECK (amount >= 0)
) STRICT;
CREATE INDEX refund_by_payment ON refund (payment);
CREATE TABLE event (
  no   INTEGER PRIMARY KEY,
  id   TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL
) STRICT;
PRAGMA user_version = 1;
)";

}  // namespace

/// One prepared statement with its values bound in order.
class SandboxStore::Statement {
 public:
  Statement(sqlite3* database, std::string_view sql) {
    sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <typename Tag>
  Statement& bind(const Id128<Tag>& id) {
    const auto bytes = id.bytes();
    sqlite3_bind_blob(statement_, ++bound_, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(std::int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  Statement& bind(std::string_view text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }

  /// True while there is a row.
  [[nodiscard]] bool step() {
    code_ = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
    return code_ == SQLITE_ROW;
  }
  [[nodiscard]] bool is_done() const { return code_ == SQLITE_DONE; }

  [[nodiscard]] std::int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string bytes(int column) {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? std::string()
                           : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int code_ = SQLITE_ERROR;
};

Result<std::unique_ptr<SandboxStore>> SandboxStore::open(const std::string& path) {
  // SQLite gives its side files the permissions of the main one, which is therefore made first.
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (made < 0) return fail(Failure::unfit, fmt::format("data: {} cannot be opened: {}", path, std::strerror(errno)));
  ::close(made);
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<SandboxStore> store(new SandboxStore(database));
  if (code != SQLITE_OK) return store->broken();
  if (const Result<void> ready = store->prepare_file(); !ready) {
    return fail(Failure::unfit, fmt::format("data: {}: {}", path, ready.error().message));
  }
  return store;
}

SandboxStore::~SandboxStore() { sqlite3_close(database_); }

Result<void> SandboxStore::prepare_file() {
  sqlite3_busy_timeout(database_, kBusyWaitMs);
  const Result<void> set = execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;");
  if (!set) return set;
  Statement version(database_, "PRAGMA user_version");
  if (!version.step()) return broken();
  const std::int64_t found = version.number(0);
  if (found == 1) return {};
  if (found != 0) return fail(Failure::unfit, fmt::format("version {} of the sandbox is not {}", found, kVersion));
  if (const Result<void> begun = begin(); !begun) return begun;
  if (const Result<void> made = execute(kSchema); !made) {
    roll_back();
    return made;
  }
  return commit();
}

std::unexpected<Error> SandboxStore::broken() const {
  return fail(Failure::unavailable, fmt::format("the sandbox's file: {}", sqlite3_errmsg(database_)));
}

Result<void> SandboxStore::execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return broken();
  return {};
}

Result<void> SandboxStore::begin() { return execute("BEGIN IMMEDIATE"); }
Result<void> SandboxStore::commit() { return execute("COMMIT"); }
void SandboxStore::roll_back() {
  // A failed write may have ended the transaction already; then there is nothing to do.
  if (sqlite3_get_autocommit(database_) == 0) CHECK(execute("ROLLBACK").has_value(), "{}", sqlite3_errmsg(database_));
}

Result<void> SandboxStore::add_payment(PaymentId payment, Money amount) {
  Statement insert(database_, "INSERT INTO payment (id, amount, currency) VALUES (?, ?, ?)");
  insert.bind(payment).bind(amount.value).bind(amount.currency.view());
  if (insert.step() || !insert.is_done()) return broken();
  return {};
}

Result<std::optional<SandboxStatus>> SandboxStore::status(PaymentId payment) {
  Statement select(database_, "SELECT amount, currency, captured, refunded FROM payment WHERE id = ?");
  select.bind(payment);
  if (!select.step()) {
    if (!select.is_done()) return broken();
    return std::nullopt;
  }
  SandboxStatus status;
  status.amount = {select.number(0), Currency::parse(select.bytes(1)).value_or(Currency{})};
  status.captured = select.number(2);
  status.refunded = select.number(3);
  Statement refunds(database_, "SELECT id, amount FROM refund WHERE payment = ? ORDER BY no");
  refunds.bind(payment);
  while (refunds.step()) {  // One turn a row; the sum of their amounts is within what was captured.
    const RefundId id = RefundId::from_bytes(refunds.bytes(0)).value_or(RefundId{});
    status.refunds.push_back({id, RefundState::done, {refunds.number(1), status.amount.currency}});
  }
  if (!refunds.is_done()) return broken();
  return status;
}

Result<void> SandboxStore::capture(PaymentId payment) {
  Statement update(database_, "UPDATE payment SET captured = amount WHERE id = ?");
  update.bind(payment);
  if (update.step() || !update.is_done()) return broken();
  return {};
}

Result<void> SandboxStore::add_refund(RefundId refund, PaymentId payment, std::int64_t value) {
  Statement insert(database_, "INSERT INTO refund (id, payment, amount) VALUES (?, ?, ?)");
  insert.bind(refund).bind(payment).bind(value);
  if (insert.step() || !insert.is_done()) return broken();
  Statement update(database_, "UPDATE payment SET refunded = refunded + ? WHERE id = ?");
  update.bind(value).bind(payment);
  if (update.step() || !update.is_done()) return broken();
  return {};
}

Result<std::optional<PaymentId>> SandboxStore::payment_of(RefundId refund) {
  Statement select(database_, "SELECT payment FROM refund WHERE id = ?");
  select.bind(refund);
  if (select.step()) return PaymentId::from_bytes(select.bytes(0));
  if (!select.is_done()) return broken();
  return std::nullopt;
}

Result<void> SandboxStore::add_event(const StoredEvent& event) {
  Statement insert(database_, "INSERT INTO event (id, body) VALUES (?, ?)");
  insert.bind(event.id).bind(event.body);
  if (insert.step() || !insert.is_done()) return broken();
  return {};
}

Result<void> SandboxStore::drop_event(std::string_view id) {
  Statement erase(database_, "DELETE FROM event WHERE id = ?");
  erase.bind(id);
  if (erase.step() || !erase.is_done()) return broken();
  return {};
}

Result<std::vector<StoredEvent>> SandboxStore::events(std::size_t count) {
  Statement select(database_, "SELECT id, body FROM event ORDER BY no LIMIT ?");
  select.bind(static_cast<std::int64_t>(count));
  std::vector<StoredEvent> events;
  while (select.step()) events.push_back({select.bytes(0), select.bytes(1)});
  if (!select.is_done()) return broken();
  return events;
}

}  // namespace weir
