#pragma once

#include "base/random.h"
#include "base/result.h"
#include "ledger/ledger.h"
#include "ledger/sqlite_connection.h"
#include "ledger/sqlite_options.h"

#include <functional>
#include <memory>
#include <unordered_map>

namespace weir {

/// The embedded ledger: one SQLite file in WAL mode, every commit synced.
///
/// One process at a time: a lock file in the folder refuses a second one. Its epoch, stored in the file, grows with
/// every opening. After a commit that may or may not have happened every call answers `timed_out` until `recover` has
/// closed and opened the file again and has written everything that counts anew. Claims are refused with `unavailable`
/// while the disk has less free than the reserve; settling and expiring go on, and give up the reserve file when they
/// must.
///
/// Order of a claim's checks: its id, the request keys, the item, the limit, the stock, the numbers. `number_taken` is
/// said when another order owns one of them, and of the whole claim nothing stays. Numbers that the item does not have,
/// numbers of a counted item, none of a numbered one, or not as many as units: `exceeds_stock`. A refund without
/// restocking leaves the units sold and the buyer's, and the numbers the order's: they count in I1 to I3, and
/// `LedgerReader::live_orders` names them.
///
/// Threads, blocking, failures: as the port says.
class SqliteLedger final : public Ledger {
 public:
  /// Opens or makes the ledger and brings its schema up to date. `unfit` when another process holds it, or a setting
  /// did not take. `clock` and `random` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<SqliteLedger>> open(SqliteOptions options, const Clock& clock,
                                                                  Random& random);
  ~SqliteLedger() override;

  [[nodiscard]] Result<void> record(std::span<const Claim> claims, std::span<Outcome> outcomes,
                                    Deadline deadline) override;
  [[nodiscard]] Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                                    Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) override;
  [[nodiscard]] Result<std::optional<Instant>> next_expiry() override;
  [[nodiscard]] Result<ChangeResult> create_tenant(std::string_view id, std::span<const std::string> domains) override;
  [[nodiscard]] Result<ChangeResult> create_sale(const SaleDraft& draft) override;
  [[nodiscard]] Result<ChangeResult> change_sale(std::string_view tenant, std::string_view sale,
                                                 SaleAction action) override;
  [[nodiscard]] Result<ChangeResult> add_item(const ItemDraft& draft) override;
  [[nodiscard]] Result<ChangeResult> record_draw(ItemNo item, const Draw& draw) override;
  [[nodiscard]] Result<ChangeResult> change_stock(std::string_view tenant, std::string_view item, std::int64_t delta,
                                                  std::string_view key) override;
  [[nodiscard]] Result<void> recover(Deadline deadline) override;
  [[nodiscard]] Result<void> tidy_up() override;
  [[nodiscard]] Instant now() const override { return clock_.now(); }

  /// Raised and stored by every opening.
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  /// What the log holds that was not yet copied into the ledger's file.
  [[nodiscard]] std::int64_t log_bytes() const;

 private:
  struct Statements;
  struct Lock;
  struct ItemRow {
    SaleNo sale;
    Money price;
    std::int64_t room = 0;   // total - held - sold, lowered by what the batch has taken.
    std::int64_t taken = 0;  // By this batch.
    bool is_numbered = false;
    std::int64_t first_number = 0;
    std::int64_t last_number = 0;
  };
  struct SaleRow {
    TenantNo tenant;
    std::int32_t limit = 1;
    Micros pay_within{0};
  };
  /// A buyer's row while a batch or a command looks at it.
  struct BuyerRow {
    std::int64_t units = 0;
    std::optional<OrderId> last_order;
  };

  SqliteLedger(SqliteOptions options, const Clock& clock, Random& random);

  // sqlite_ledger.cc: opening, and the transaction that everything else runs in.
  void connect(sqlite::Access access);
  void migrate();
  void found();
  void raise_epoch();
  /// Runs `work` in one transaction; its failures become the port's.
  [[nodiscard]] Result<void> transact(Deadline deadline, const std::function<void()>& work);
  [[nodiscard]] Error undo(const sqlite::SqliteFailure& failure, sqlite::Stage stage);
  /// The same for what must go on when the disk is full: again in the room of what the log need not hold any more, and
  /// again after giving up the reserve.
  [[nodiscard]] Result<void> transact_on_reserve(Deadline deadline, const std::function<void()>& work);
  [[nodiscard]] Result<ChangeResult> change(const std::function<ChangeResult()>& work);

  // sqlite_upkeep.cc: the log, the free space, recovery.
  [[nodiscard]] std::int64_t free_bytes() const;
  [[nodiscard]] Result<void> check_room() const;
  void make_reserve();
  void drop_reserve();
  void shorten_log();
  void reuse_log();
  [[nodiscard]] bool is_tight() const;
  void copy_log(int mode, Micros wait);
  [[nodiscard]] bool start_anew(Micros wait);

  // sqlite_record.cc
  void record_batch(std::span<const Claim> claims, std::span<Outcome> outcomes);
  [[nodiscard]] Outcome record_one(const Claim& claim, Instant at);
  [[nodiscard]] std::optional<Recording> try_claim(const Claim& claim, const SaleRow& sale, ItemRow& item,
                                                   Outcome& outcome, Instant at);
  [[nodiscard]] std::optional<Recording> put_claim(const Claim& claim, const SaleRow& sale, const ItemRow& item,
                                                   Outcome& outcome, Instant at);
  [[nodiscard]] Recording limit_or(Recording refusal, const Claim& claim, const SaleRow& sale);
  [[nodiscard]] static bool fits(const Claim& claim, const ItemRow& item);
  [[nodiscard]] bool put_order(const Claim& claim, const ItemRow& item, const Outcome& outcome, Instant at,
                               std::optional<OrderId> previous);
  [[nodiscard]] bool meet_earlier(const Claim& claim, Outcome& outcome);
  [[nodiscard]] const SaleRow& sale_row(SaleNo sale);
  [[nodiscard]] ItemRow* item_row(ItemNo item);
  [[nodiscard]] BuyerRow buyer_row(TenantNo tenant, SaleNo sale, std::string_view buyer);
  void forget_rows();

  // sqlite_numbers.cc
  [[nodiscard]] bool take_numbers(ItemNo item, OrderId order, const NumberList& numbers);
  void free_numbers(ItemNo item, OrderId order, std::span<const std::uint32_t> numbers);

  // sqlite_draw.cc
  void make_seed(ItemNo item);
  [[nodiscard]] bool is_drawn(ItemNo item);

  // sqlite_payments.cc
  [[nodiscard]] Settlement settle_one(const StartPayment& command);
  [[nodiscard]] Settlement start_payment(const StartPayment& command, Order order);
  void apply_early_events(const Payment& payment, Settlement& settlement);
  [[nodiscard]] Settlement settle_one(const PaymentEvent& event);
  [[nodiscard]] Settlement apply_event(const PaymentEvent& event, Payment payment);
  [[nodiscard]] Settlement decline(Payment payment, Order order);
  [[nodiscard]] Settlement capture(const PaymentEvent& event, Payment payment, Order order);
  [[nodiscard]] Settlement capture_after_end(Payment payment, Order order);
  [[nodiscard]] Settlement settle_one(const DecideLate& command);
  [[nodiscard]] bool may_retake(const Order& order);
  [[nodiscard]] bool retake(const Order& order);

  // sqlite_refunds.cc
  [[nodiscard]] Settlement settle_one(const RefundOrder& command);
  [[nodiscard]] Settlement refund_due_event(const PaymentEvent& event, Payment payment, Order order);
  [[nodiscard]] Settlement owe_refund(Payment payment, const Order& order, Money amount, std::string_view reason);
  [[nodiscard]] GateEffect finish_refund(RefundId refund, const Payment& payment, const Order& order);
  [[nodiscard]] std::int64_t kept_units(OrderId order);

  // sqlite_settle.cc: cancelling, and what all commands share.
  [[nodiscard]] Settlement settle_one(const CancelOrder& command);
  [[nodiscard]] bool is_key_reused(const std::optional<RequestKey>& key);
  void keep_key(const std::optional<RequestKey>& key);
  [[nodiscard]] std::optional<Order> find_order(OrderId id);
  [[nodiscard]] std::optional<Order> find_own_order(TenantNo tenant, std::string_view buyer, OrderId id);
  [[nodiscard]] std::optional<Payment> find_payment(PaymentId id);
  void set_payment_state(PaymentId id, PaymentState state);
  void move_units(ItemNo item, std::int64_t held, std::int64_t sold);
  void move_buyer(const Order& order, std::int64_t units);
  void add_event(OrderId order, std::string_view event, std::string_view detail);

  const SqliteOptions options_;
  const Clock& clock_;
  Random& random_;
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<Statements> statements_;
  std::unordered_map<std::uint32_t, SaleRow> sales_;  // Of the batch.
  std::unordered_map<std::uint32_t, ItemRow> items_;
  std::int64_t epoch_ = 0;
  std::int64_t floor_bytes_ = 0;     // Under this much free space claims are refused.
  std::int64_t log_frames_ = 0;      // Written since the log was last copied whole.
  std::int64_t copy_at_frames_ = 0;  // The next commit that copies the log itself.
  bool is_unknown_ = false;
  bool is_full_ = false;  // The last failure was a full disk.
  bool has_reserve_ = false;
};

}  // namespace weir
