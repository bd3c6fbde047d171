#include "ledger/postgres_connection.h"

#include "base/check.h"
#include "base/encoding.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir::postgres {
namespace {

constexpr int kVersionLeast = 140'000;

/// The first line of what libpq says, without its end.
std::string first_line(std::string_view text) {
  return std::string{text.substr(0, std::min(text.find('\n'), text.size()))};
}

/// What libpq or the server says when only the operator can help. There is no code for these before a session exists.
bool names_a_setting(std::string_view message) {
  constexpr std::array<std::string_view, 10> kWords{
      "password",    "authentication", "does not exist",       "pg_hba.conf", "SSL",
      "certificate", "invalid port",   "session is read-only", "in recovery", "connection option"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return message.contains(word); });
}

bool is_class(std::string_view state, std::string_view of) { return state.starts_with(of); }

PostgresFailure unfit(std::string message) {
  return {.state = {}, .message = std::move(message), .is_lost = false, .is_unfit = true};
}

}  // namespace

bool PostgresFailure::is_retryable() const {
  // Serialization failure, deadlock, and a row that another session put there first: next time it is seen.
  return state == "40001" || state == "40P01" || state == "23505";
}

Error error_of(const PostgresFailure& failure, Stage stage) {
  const std::string message =
      failure.state.empty() ? failure.message : fmt::format("{} (SQLSTATE {})", failure.message, failure.state);
  if (failure.is_unfit) return {Failure::unfit, message};
  if (failure.is_lost && stage == Stage::committing) return {Failure::timed_out, message};
  if (failure.is_lost) return {Failure::unavailable, message};
  const std::string_view state = failure.state;
  // Constraints and counts that no healthy ledger breaks, data that cannot be, damaged storage.
  const bool is_corrupt = state == "23514" || state == "23502" || state == "WE001" || is_class(state, "22") ||
                          state == "XX001" || state == "XX002";
  if (is_corrupt) return {Failure::corrupt, message};
  const bool is_unfit = is_class(state, "42") || is_class(state, "28") || is_class(state, "3D") ||
                        is_class(state, "3F") || is_class(state, "0A");
  return {is_unfit ? Failure::unfit : Failure::unavailable, message};
}

Countdown::Countdown(Micros span) : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  CHECK(timer_ >= 0, "timerfd_create");
  const std::int64_t us = std::max<std::int64_t>(span.count(), 1);  // 0 would never end.
  const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1'000}};
  CHECK(::timerfd_settime(timer_, 0, &when, nullptr) == 0, "timerfd_settime");
}

Countdown::~Countdown() { ::close(timer_); }

std::optional<short> Countdown::wait(int socket, short wants) {
  std::array<pollfd, 2> waits{pollfd{.fd = socket, .events = wants, .revents = 0},
                              pollfd{.fd = timer_, .events = POLLIN, .revents = 0}};
  // A signal ends a wait early: the caller looks and waits again.
  if (::poll(waits.data(), waits.size(), -1) < 0) return short{0};
  if (waits[0].revents != 0) return waits[0].revents;
  is_over_ = waits[1].revents != 0;
  return is_over_ ? std::nullopt : std::optional{short{0}};
}

std::string_view Rows::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::whole(int row, int column) const {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string Rows::bytes(int row, int column) const {
  std::string_view digits = text(row, column);
  digits.remove_prefix(std::min<std::size_t>(digits.size(), 2));  // `\x`
  return parse_hex(digits).value_or("");
}

std::optional<Instant> Rows::maybe_moment(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return moment(row, column);
}

Money Rows::money(int row, int value_column, int currency_column) const {
  return {whole(row, value_column), Currency::parse(text(row, currency_column)).value_or(Currency{})};
}

std::uint64_t Rows::id_word(int row, int column, int half) const {
  std::uint64_t word = 0;
  int digits = 0;
  for (const char c : text(row, column)) {
    if (c == '-') continue;
    const auto digit = static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (digits++ / 16 == half) word = word << 4 | digit;
  }
  return word;
}

std::int64_t Rows::changed() const {
  const std::string_view digits{PQcmdTuples(result_.get())};
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

Connection::Connection(const std::string& dsn, std::string_view session, bool allows_unsafe_storage,
                       Countdown& countdown) {
  connect(dsn, countdown);
  execute(std::string{session}, countdown);
  check_server(allows_unsafe_storage, countdown);
  if (PQenterPipelineMode(handle_.get()) != 1) lose("pipeline mode");
}

void Connection::connect(const std::string& dsn, Countdown& countdown) {
  // What stands before `dbname` the DSN may change, what stands behind it not.
  constexpr std::array kNames{"tcp_user_timeout",          "dbname",
                              "target_session_attrs",      "client_encoding",
                              "fallback_application_name", static_cast<const char*>(nullptr)};
  const std::array values{"5000", dsn.c_str(), "read-write", "UTF8", "weir", static_cast<const char*>(nullptr)};
  handle_.reset(PQconnectStartParams(kNames.data(), values.data(), 1));
  CHECK(handle_ != nullptr, "libpq has no memory");
  auto state = PQstatus(handle_.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
    const short wants = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!countdown.wait(PQsocket(handle_.get()), wants)) lose("PostgreSQL did not answer in time (postgres.dsn)");
    state = PQconnectPoll(handle_.get());
  }
  if (state != PGRES_POLLING_OK) {
    PostgresFailure failure{
        .state = {},
        .message = fmt::format("cannot use PostgreSQL: {} (postgres.dsn)", first_line(PQerrorMessage(handle_.get()))),
        .is_lost = true,
        .is_unfit = names_a_setting(PQerrorMessage(handle_.get()))};
    handle_.reset();
    throw failure;
  }
  if (PQsetnonblocking(handle_.get(), 1) != 0) lose("non-blocking mode");
}

/// Read back, not believed: a setting of the server, the database or the role may have won over ours.
void Connection::check_server(bool allows_unsafe_storage, Countdown& countdown) {
  const Rows row =
      ask("SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', "
          "current_setting('server_version_num'), current_setting('synchronous_commit'), current_setting('fsync'), "
          "current_setting('full_page_writes'), current_setting('server_encoding'), pg_backend_pid(), "
          "(SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid())",
          countdown);
  if (row.truth(0, 0)) throw unfit("this PostgreSQL is a standby or read-only: name the primary (postgres.dsn)");
  if (row.whole(0, 1) < kVersionLeast) {
    throw unfit(fmt::format("PostgreSQL {} is too old, 14 is the least (postgres.dsn)", row.whole(0, 1) / 10'000));
  }
  const auto require = [&](int column, std::string_view setting, std::string_view wanted) {
    if (row.text(0, column) == wanted) return;
    throw unfit(fmt::format("PostgreSQL has {} = {}: a commit would not be durable, set it to {} (postgres.dsn)",
                            setting, row.text(0, column), wanted));
  };
  if (row.text(0, 2) != "remote_apply") require(2, "synchronous_commit", "on");
  if (!allows_unsafe_storage) {
    require(3, "fsync", "on");
    require(4, "full_page_writes", "on");
  }
  if (row.text(0, 5) != "UTF8") {
    throw unfit(fmt::format("the database is encoded in {}: make one in UTF8 (postgres.dsn)", row.text(0, 5)));
  }
  backend_ = {.pid = static_cast<int>(row.whole(0, 6)), .started = std::string{row.text(0, 7)}};
}

void Connection::queue(const Statement& statement, const Values& values) {
  if (handle_ == nullptr) lose("the connection was lost before");
  if (!prepared_.contains(statement.name)) {
    const bool is_queued =
        std::ranges::any_of(queued_, [&](const Queued& one) { return one.prepares == statement.name; });
    if (!is_queued) {
      if (PQsendPrepare(handle_.get(), statement.name, statement.sql, 0, nullptr) != 1) lose("cannot send");
      queued_.push_back({.prepares = statement.name});
    }
  }
  std::vector<const char*> texts;
  texts.reserve(values.texts().size());
  for (const auto& text : values.texts()) texts.push_back(text ? text->c_str() : nullptr);
  const int sent = PQsendQueryPrepared(handle_.get(), statement.name, static_cast<int>(texts.size()), texts.data(),
                                       nullptr, nullptr, 0);
  if (sent != 1) lose("cannot send");
  queued_.push_back({});
}

std::vector<Rows> Connection::run(Countdown& countdown) {
  if (handle_ == nullptr) lose("the connection was lost before");
  if (PQpipelineSync(handle_.get()) != 1) lose("cannot send");
  const std::vector<Queued> queued = std::exchange(queued_, {});
  std::vector<Rows> answers;
  std::optional<PostgresFailure> failure;
  for (const Queued& one : queued) {
    PGresult* result = next(countdown);
    if (result == nullptr) lose("an answer is missing");
    Rows rows{result};
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      if (one.prepares.empty())
        answers.push_back(std::move(rows));
      else
        prepared_.insert(one.prepares);
    } else if (status != PGRES_PIPELINE_ABORTED && !failure) {
      failure = failure_of(result);
      if (failure->is_lost) {
        handle_.reset();
        throw *failure;
      }
    }
    if (next(countdown) != nullptr) lose("an answer too many");
  }
  const Rows sync{next(countdown)};
  if (failure) throw *failure;
  return answers;
}

Rows Connection::run(const Statement& statement, const Values& values, Countdown& countdown) {
  queue(statement, values);
  return std::move(run(countdown).back());
}

void Connection::execute(const std::string& sql, Countdown& countdown) { static_cast<void>(ask(sql, countdown)); }

Rows Connection::ask(const std::string& sql, Countdown& countdown) {
  if (handle_ == nullptr) lose("the connection was lost before");
  const bool is_piped = PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF;
  if (is_piped && PQexitPipelineMode(handle_.get()) != 1) lose("answers are left");
  if (PQsendQuery(handle_.get(), sql.c_str()) != 1) lose("cannot send");
  std::optional<Rows> last;
  std::optional<PostgresFailure> failure;
  while (PGresult* result = next(countdown)) {
    last.emplace(result);
    if (PQresultStatus(result) != PGRES_FATAL_ERROR) continue;
    failure = failure_of(result);
    if (!failure->is_lost) continue;
    handle_.reset();
    throw *failure;
  }
  if (is_piped && PQenterPipelineMode(handle_.get()) != 1) lose("pipeline mode");
  if (failure) throw *failure;
  if (!last) lose("no answer");
  return *std::move(last);
}

PGresult* Connection::next(Countdown& countdown) {
  for (;;) {  // Ends with an answer, a lost connection or the countdown.
    const int unsent = PQflush(handle_.get());
    if (unsent < 0) lose(first_line(PQerrorMessage(handle_.get())));
    if (PQisBusy(handle_.get()) == 0) return PQgetResult(handle_.get());
    const auto ready = countdown.wait(PQsocket(handle_.get()), unsent > 0 ? POLLIN | POLLOUT : POLLIN);
    if (!ready) lose("PostgreSQL did not answer in time");
    const bool has_input = (*ready & (POLLIN | POLLHUP | POLLERR)) != 0;
    if (has_input && PQconsumeInput(handle_.get()) != 1) lose(first_line(PQerrorMessage(handle_.get())));
  }
}

void Connection::lose(std::string_view what) {
  PostgresFailure failure{.state = {}, .message = std::string{what}, .is_lost = true, .is_unfit = false};
  handle_.reset();
  queued_.clear();
  throw failure;
}

PostgresFailure Connection::failure_of(const PGresult* result) const {
  const auto field = [&](int code) {
    const char* text = PQresultErrorField(result, code);
    return std::string{text == nullptr ? "" : text};
  };
  const std::string severity = field(PG_DIAG_SEVERITY_NONLOCALIZED);
  // Without a severity the message is libpq's own, and the connection is gone.
  const bool is_lost = severity != "ERROR" || PQstatus(handle_.get()) != CONNECTION_OK;
  std::string message = severity.empty() ? first_line(PQresultErrorMessage(result)) : field(PG_DIAG_MESSAGE_PRIMARY);
  return {.state = field(PG_DIAG_SQLSTATE), .message = std::move(message), .is_lost = is_lost, .is_unfit = false};
}

}  // namespace weir::postgres
