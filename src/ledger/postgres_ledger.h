#pragma once

#include "base/random.h"
#include "base/result.h"
#include "config/limits.h"
#include "ledger/ledger_proofs.h"
#include "ledger/postgres_options.h"
#include "ledger/postgres_session.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

namespace weir {

/// The ledger on a PostgreSQL primary: for one selling process that wants its record elsewhere, or for several that
/// share a gate and a log.
///
/// Every transaction locks what it decides on, in one order, decides in memory and writes set-wise: three round trips
/// at most, whatever the size of the batch. Serialization failures and deadlocks run it again with the same ids. A
/// connection that is lost before COMMIT was sent did nothing; it is opened again by the next call. Lost after it,
/// every call answers `timed_out` until `recover` has a new connection and the old one's session is certain to have
/// ended. Only a primary with durable commits is used; what the server says is read back at every connection.
///
/// Claims of a sale that has a gate state are recorded by `record_log`, which looks at their epochs; `record` does not.
/// Order of a claim's checks: its id, the request keys, the item, the limit, the stock. A refund without restocking
/// leaves the units sold and the buyer's. A buyer or an event that PostgreSQL cannot store (not UTF-8, or a NUL) is
/// refused alone.
///
/// Threads, blocking, failures: as the ports say. Resolving a host name is libpq's and has no deadline of ours.
class PostgresLedger final : public ProvingLedger {
 public:
  /// Brings the schema up to date, one process at a time, and returns its version. A newer one is `unfit`.
  [[nodiscard]] static Result<std::int64_t> migrate(const PostgresOptions& options, const Clock& clock, Random& random);

  /// `unfit` when the schema is not this program's, the server is no primary or would lose commits, or `sells_alone`
  /// and another process does. `clock` and `random` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<PostgresLedger>> open(PostgresOptions options, const Clock& clock,
                                                                    Random& random);
  ~PostgresLedger() override;

  // postgres_record.cc
  [[nodiscard]] Result<void> record(std::span<const Claim> claims, std::span<Outcome> outcomes,
                                    Deadline deadline) override;
  [[nodiscard]] Result<SliceResult> record_log(const LogSlice& slice, std::span<LogOutcome> outcomes,
                                               Deadline deadline) override;
  // postgres_settle.cc
  [[nodiscard]] Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                                    Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Retake>> undecided_retakes(std::size_t count, Deadline deadline) override;
  [[nodiscard]] Result<void> decide_retakes(std::span<const RetakeDecision> decisions, std::span<RetakeEnd> ends,
                                            Deadline deadline) override;
  // postgres_expire.cc
  [[nodiscard]] Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) override;
  [[nodiscard]] Result<std::optional<Instant>> next_expiry() override;
  // postgres_changes.cc
  [[nodiscard]] Result<ChangeResult> create_tenant(std::string_view id, std::span<const std::string> domains) override;
  [[nodiscard]] Result<ChangeResult> create_sale(const SaleDraft& draft) override;
  [[nodiscard]] Result<ChangeResult> change_sale(std::string_view tenant, std::string_view sale,
                                                 SaleAction action) override;
  [[nodiscard]] Result<ChangeResult> add_item(const ItemDraft& draft) override;
  [[nodiscard]] Result<ChangeResult> change_stock(std::string_view tenant, std::string_view item, std::int64_t delta,
                                                  std::string_view key) override;
  // postgres_gates.cc
  [[nodiscard]] Result<std::vector<GateState>> gate_states(Deadline deadline) override;
  [[nodiscard]] Result<std::optional<std::int64_t>> begin_build(const BuildStart& start, Deadline deadline) override;
  [[nodiscard]] Result<bool> keep_building(SaleNo sale, std::int64_t epoch, std::string_view builder,
                                           Deadline deadline) override;
  [[nodiscard]] Result<BuildResult> finish_build(const BuildFinish& finish, Deadline deadline) override;
  // postgres_outbox.cc
  [[nodiscard]] Result<std::vector<LogMark>> log_marks(std::string_view topic_id, Deadline deadline) override;
  [[nodiscard]] Result<std::int64_t> start_log(const LogMark& mark, Deadline deadline) override;
  [[nodiscard]] Result<std::vector<Release>> releases(SaleNo sale, std::size_t count, Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> drop_releases(SaleNo sale, std::int64_t epoch, std::span<const std::uint64_t> ids,
                                                  Deadline deadline) override;
  [[nodiscard]] Result<void> look_up_holds(std::span<const OrderId> holds, std::span<HoldStanding> standings,
                                           Deadline deadline) override;
  [[nodiscard]] Result<std::vector<ParkedMessage>> parked(std::size_t count, Deadline deadline) override;
  [[nodiscard]] Result<void> mark_replayed(std::span<const LogMark> places, Deadline deadline) override;
  // postgres_proofs.cc
  [[nodiscard]] Result<void> live_holds(SaleNo sale, const std::function<void(const LiveHold&)>& each) override;
  [[nodiscard]] Result<OrderTraces> traces_of(OrderId order, Deadline deadline) override;
  [[nodiscard]] Result<void> note_repairs(std::span<const Repair> repairs, Deadline deadline) override;
  // postgres_ledger.cc
  [[nodiscard]] Result<void> recover(Deadline deadline) override;
  [[nodiscard]] Result<void> tidy_up() override { return {}; }  // The server keeps its own log short.
  /// The server's clock as of the last transaction, carried on by this machine's.
  [[nodiscard]] Instant now() const override;

  /// How often a transaction was run again because another one was in its way.
  [[nodiscard]] std::uint64_t repeats() const { return repeats_; }

 private:
  /// What a transaction's work wants done with it. What it has queued is sent together with the COMMIT.
  enum class Finish : std::uint8_t { commit, roll_back };
  using Work = std::function<Finish(postgres::Session&)>;

  PostgresLedger(PostgresOptions options, const Clock& clock, Random& random);

  void connect(postgres::Countdown& countdown);
  void end_old_session(postgres::Countdown& countdown);
  /// Runs `work` in one transaction, again if others were in its way; its failures become the port's. `work` must be
  /// repeatable: it starts from nothing each time.
  [[nodiscard]] Result<void> transact(Deadline deadline, const Work& work, Micros most = Micros{kPostgresCallUsMax});
  void try_transaction(postgres::Countdown& countdown, const Work& work, postgres::Stage& stage);
  [[nodiscard]] bool clean_up(postgres::Countdown& countdown);
  /// Runs `work`, which only reads, outside of a transaction.
  [[nodiscard]] Result<void> look(Deadline deadline, const std::function<void(postgres::Session&)>& work);
  [[nodiscard]] Result<ChangeResult> change(const std::function<ChangeResult(postgres::Session&)>& work);
  [[nodiscard]] Micros span_until(Deadline deadline, Micros most = Micros{kPostgresCallUsMax}) const;
  [[nodiscard]] std::optional<Instant> given_time() const;
  void note_time(Instant server);

  const PostgresOptions options_;
  const Clock& clock_;
  Random& random_;
  std::unique_ptr<postgres::Connection> connection_;
  std::optional<postgres::Backend> old_session_;  // May still be at work on what it was sent.
  bool is_unknown_ = false;
  std::uint64_t repeats_ = 0;
  std::atomic<std::int64_t> clock_offset_us_{0};  // The server's clock less ours.
};

}  // namespace weir
