#include "ledger/postgres_ledger.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"
#include "ledger/postgres_schema.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir {

using postgres::Countdown;
using postgres::PostgresFailure;
using postgres::Session;
using postgres::Stage;

namespace {

/// Everything is reached by key here, whatever the statistics of a table that was empty a second ago say.
std::string session_settings() {
  return fmt::format(
      "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply' "
      "THEN 'remote_apply' ELSE 'on' END, false);"
      "SET statement_timeout = {0}; SET lock_timeout = {0}; SET idle_in_transaction_session_timeout = {1};"
      "SET client_min_messages = error; SET jit = off; SET plan_cache_mode = force_generic_plan;"
      "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off",
      kPostgresStatementUsMax / 1000, kPostgresIdleUsMax / 1000);
}

PostgresFailure unfit(std::string message) {
  return {.state = {}, .message = std::move(message), .is_lost = false, .is_unfit = true};
}

std::int64_t schema_version(postgres::Connection& db, Countdown& countdown) {
  if (db.ask("SELECT to_regclass('flash_sale_meta') IS NOT NULL", countdown).truth(0, 0) == false) return 0;
  const postgres::Rows row = db.ask("SELECT value FROM flash_sale_meta WHERE name = 'schema'", countdown);
  return row.size() == 1 ? row.whole(0, 0) : 0;
}

std::string newer_schema(std::int64_t found, std::size_t known) {
  return fmt::format(
      "the ledger has schema {}, this program knows {}: use the newer program, or `weir migrate` "
      "(postgres.dsn)",
      found, known);
}

/// What a ledger has from its first moment: a name of its own and the tenant `default`.
std::string founding(Random& random) {
  const auto key = [&] { return OrderId::random(random).text(); };
  return fmt::format(
      "INSERT INTO flash_sale_meta (name, value) VALUES ('schema', 0), ('ledger_id', {}), ('probe', 0);"
      "INSERT INTO flash_sale_tenant (tenant_no, id, domains, order_key_0, order_key_1) "
      "VALUES (1, 'default', '', '{}', '{}');",
      random.next() >> 1, key(), key());
}

}  // namespace

Result<std::int64_t> PostgresLedger::migrate(const PostgresOptions& options, const Clock&, Random& random) {
  const auto known = static_cast<std::int64_t>(postgres::kSchemaSteps.size());
  Countdown countdown{Micros{kPostgresMigrateUsMax}};
  try {
    postgres::Connection db{options.dsn, "SET client_min_messages = error", options.allows_unsafe_storage, countdown};
    db.execute("BEGIN", countdown);
    db.execute(std::string{postgres::sql::kLockSchema}, countdown);
    const std::int64_t version = schema_version(db, countdown);
    if (version > known) throw unfit(newer_schema(version, postgres::kSchemaSteps.size()));
    for (std::int64_t step = version; step < known; ++step) {
      db.execute(std::string{postgres::kSchemaSteps[static_cast<std::size_t>(step)]}, countdown);
      if (step == 0) db.execute(founding(random), countdown);
    }
    db.execute(fmt::format("UPDATE flash_sale_meta SET value = {} WHERE name = 'schema'", known), countdown);
    db.execute("COMMIT", countdown);
    return known;
  } catch (const PostgresFailure& failure) {
    return std::unexpected(error_of(failure, Stage::connecting));
  }
}

PostgresLedger::PostgresLedger(PostgresOptions options, const Clock& clock, Random& random)
    : options_(std::move(options)), clock_(clock), random_(random) {}

PostgresLedger::~PostgresLedger() = default;

Result<std::unique_ptr<PostgresLedger>> PostgresLedger::open(PostgresOptions options, const Clock& clock,
                                                             Random& random) {
  std::unique_ptr<PostgresLedger> ledger{new PostgresLedger{std::move(options), clock, random}};
  Countdown countdown{Micros{kPostgresCallUsMax}};
  try {
    ledger->connect(countdown);
  } catch (const PostgresFailure& failure) {
    return std::unexpected(error_of(failure, Stage::connecting));
  }
  return ledger;
}

void PostgresLedger::connect(Countdown& countdown) {
  if (connection_ != nullptr) old_session_ = connection_->backend();
  connection_.reset();
  auto fresh = std::make_unique<postgres::Connection>(options_.dsn, session_settings(), options_.allows_unsafe_storage,
                                                      countdown);
  const std::int64_t version = schema_version(*fresh, countdown);
  if (version != static_cast<std::int64_t>(postgres::kSchemaSteps.size())) {
    throw unfit(newer_schema(version, postgres::kSchemaSteps.size()));
  }
  std::swap(connection_, fresh);
  try {
    end_old_session(countdown);
    if (options_.sells_alone && !connection_->ask(std::string{postgres::sql::kTakeShop}, countdown).truth(0, 0)) {
      throw unfit("another process sells on this ledger: stop it, or share a gate (postgres.dsn)");
    }
    Session session{*connection_, countdown, given_time()};
    note_time(session.run(postgres::sql::kNow, postgres::Values{}.add(given_time())).moment(0, 0));
  } catch (const PostgresFailure&) {
    connection_.reset();
    throw;
  }
}

/// A session whose connection is gone may still be at work: what it was sent can commit seconds later. It is ended, and
/// only then is asking by id an answer.
void PostgresLedger::end_old_session(Countdown& countdown) {
  if (!old_session_) return;
  static constexpr postgres::Statement kEnd{
      "end_session",
      "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity WHERE pid = $1::int AND backend_start::text = $2"};
  const postgres::Rows ended = connection_->run(kEnd,
                                                postgres::Values{}
                                                    .add(std::int64_t{old_session_->pid})
                                                    .add(std::string_view{old_session_->started})
                                                    .add(std::int64_t{kPostgresEndWaitUs / 1000}),
                                                countdown);
  if (ended.size() > 0 && !ended.truth(0, 0)) {
    throw PostgresFailure{.state = "57P05",
                          .message = "the session before this one has not ended yet",
                          .is_lost = false,
                          .is_unfit = false};
  }
  old_session_.reset();
}

Micros PostgresLedger::span_until(Deadline deadline, Micros most) const {
  return std::clamp(deadline - clock_.ticks(), Micros{kPostgresCallUsMin}, most);
}

std::optional<Instant> PostgresLedger::given_time() const {
  return options_.takes_time_from_clock ? std::optional{clock_.now()} : std::nullopt;
}

void PostgresLedger::note_time(Instant server) {
  clock_offset_us_.store((server - clock_.now()).count(), std::memory_order_relaxed);
}

Instant PostgresLedger::now() const {
  if (options_.takes_time_from_clock) return clock_.now();
  return clock_.now() + Micros{clock_offset_us_.load(std::memory_order_relaxed)};
}

void PostgresLedger::try_transaction(Countdown& countdown, const Work& work, Stage& stage) {
  stage = Stage::connecting;
  if (connection_ == nullptr) connect(countdown);
  stage = Stage::working;
  Session session{*connection_, countdown, given_time()};
  session.queue(postgres::sql::kBegin);
  const Finish finish = work(session);
  FAULT("before_commit");
  if (finish == Finish::roll_back) {
    session.queue(postgres::sql::kRollBack);
    static_cast<void>(session.run());
    return;
  }
  stage = Stage::committing;
  session.queue(postgres::sql::kCommit);
  const std::vector<postgres::Rows> answers = session.run();
  FAULT("after_commit");
  // A transaction that had failed answers COMMIT with ROLLBACK; `run` has thrown then.
  if (answers.back().command() != "COMMIT") throw PostgresFailure{.state = "40000", .message = "rolled back"};
}

/// Leaves the connection outside of a transaction, or without one; false: lost.
bool PostgresLedger::clean_up(Countdown& countdown) {
  try {
    if (connection_ != nullptr && connection_->is_in_transaction()) connection_->execute("ROLLBACK", countdown);
    return connection_ != nullptr;
  } catch (const PostgresFailure&) {
    old_session_ = connection_->backend();
    connection_.reset();
    return false;
  }
}

Result<void> PostgresLedger::transact(Deadline deadline, const Work& work, Micros most) {
  if (is_unknown_) return fail(Failure::timed_out, "a commit is unknown: the ledger has to recover first");
  Countdown countdown{span_until(deadline, most)};
  bool may_reconnect = true;
  for (int tries = 1;; ++tries) {
    auto stage = Stage::connecting;
    try {
      try_transaction(countdown, work, stage);
      return {};
    } catch (const PostgresFailure& failure) {
      Error error = error_of(failure, stage);
      const bool is_read_only = failure.state == "25006";  // Demoted under us: the primary is elsewhere.
      if (failure.is_lost || is_read_only) {
        if (connection_ != nullptr) old_session_ = connection_->backend();
        connection_.reset();
        is_unknown_ = error.failure == Failure::timed_out;
        const bool tries_again = !is_unknown_ && stage == Stage::working && may_reconnect && !countdown.is_over();
        if (!tries_again) return std::unexpected(std::move(error));
        may_reconnect = false;
        continue;
      }
      const bool is_clean = clean_up(countdown);
      if (!is_clean || !failure.is_retryable() || tries == kPostgresTriesMax || countdown.is_over()) {
        return std::unexpected(std::move(error));
      }
      ++repeats_;
    }
  }
}

Result<void> PostgresLedger::look(Deadline deadline, const std::function<void(Session&)>& work) {
  if (is_unknown_) return fail(Failure::timed_out, "a commit is unknown: the ledger has to recover first");
  Countdown countdown{span_until(deadline)};
  for (bool may_reconnect = true;; may_reconnect = false) {
    auto stage = Stage::connecting;
    try {
      if (connection_ == nullptr) connect(countdown);
      stage = Stage::working;
      Session session{*connection_, countdown, given_time()};
      work(session);
      return {};
    } catch (const PostgresFailure& failure) {
      Error error = error_of(failure, stage);
      if (!failure.is_lost) return std::unexpected(std::move(error));
      if (connection_ != nullptr) old_session_ = connection_->backend();
      connection_.reset();
      if (stage == Stage::connecting || !may_reconnect || countdown.is_over()) return std::unexpected(std::move(error));
    }
  }
}

Result<void> PostgresLedger::recover(Deadline deadline) {
  if (!is_unknown_ && connection_ != nullptr) return {};
  Countdown countdown{span_until(deadline)};
  try {
    connect(countdown);
  } catch (const PostgresFailure& failure) {
    return std::unexpected(error_of(failure, Stage::connecting));
  }
  is_unknown_ = false;
  return {};
}

}  // namespace weir
