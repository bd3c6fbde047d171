#pragma once

#include "base/random.h"
#include "base/result.h"
#include "ledger/ledger.h"
#include "ledger/sqlite_connection.h"

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

namespace weir {

/// Where a ledger lies and how it is opened.
struct SqliteOptions {
  std::string data;          // The folder. It is made if it is missing.
  std::string vfs;           // Empty: the machine's. Tests hand in a simulated disk.
  bool uses_lock = true;     // Off only on a simulated disk.
  std::int64_t reserve_bytes = 16 * 1024 * 1024;  // Kept free for payments when the disk fills up.
  std::function<std::int64_t()> free_bytes;       // Of the disk; empty: asked of the file system.
};

/// The embedded ledger: one SQLite file in WAL mode, every commit synced.
///
/// One process at a time: a lock file in the folder refuses a second one. Its epoch, stored in the file, grows with every
/// opening. After a commit that may or may not have happened every call answers `timed_out` until `recover` has closed
/// and opened the file again. Claims are refused with `unavailable` while the disk has less free than the reserve;
/// settling and expiring go on, and give up the reserve file when they must.
///
/// Threads, blocking, failures: as the port says.
class SqliteLedger final : public Ledger {
 public:
  /// Opens or makes the ledger and brings its schema up to date. `unfit` when another process holds it, or a setting
  /// did not take.
  [[nodiscard]] static Result<std::unique_ptr<SqliteLedger>> open(SqliteOptions options, const Clock& clock, Random& random);
  ~SqliteLedger() override;

  [[nodiscard]] Result<void> record(std::span<const Claim> claims, std::span<Outcome> outcomes, Deadline deadline) override;
  [[nodiscard]] Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                                    Deadline deadline) override;
  [[nodiscard]] Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) override;
  [[nodiscard]] Result<std::optional<Instant>> next_expiry() override;
  [[nodiscard]] Result<ChangeResult> create_tenant(std::string_view id, std::span<const std::string> domains) override;
  [[nodiscard]] Result<ChangeResult> create_sale(const SaleDraft& draft) override;
  [[nodiscard]] Result<ChangeResult> change_sale(std::string_view tenant, std::string_view sale, SaleAction action) override;
  [[nodiscard]] Result<ChangeResult> add_item(const ItemDraft& draft) override;
  [[nodiscard]] Result<ChangeResult> change_stock(std::string_view tenant, std::string_view item, std::int64_t delta,
                                                  std::string_view key) override;
  [[nodiscard]] Result<void> recover(Deadline deadline) override;
  [[nodiscard]] Result<void> tidy_up() override;
  [[nodiscard]] Instant now() const override { return clock_.now(); }

  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] std::int64_t wal_bytes() const { return wal_frames_ * 4096; }

 private:
  struct Statements;
  struct Lock;
  struct ItemRow {
    SaleNo sale;
    Money price;
    std::int64_t room = 0;   // total - held - sold, lowered by what the batch has taken.
    std::int64_t taken = 0;  // By this batch.
  };
  struct SaleRow {
    TenantNo tenant;
    std::int32_t limit = 1;
    Micros pay_within{0};
  };

  SqliteLedger(SqliteOptions options, const Clock& clock, Random& random);
  void connect();
  void migrate();
  [[nodiscard]] std::int64_t free_bytes() const;
  [[nodiscard]] Result<void> check_room() const;
  void make_reserve();
  void drop_reserve();

  /// Runs `work` in one transaction; its failures become the port's.
  [[nodiscard]] Result<void> transact(Deadline deadline, const std::function<void()>& work);

  // sqlite_record.cc
  void record_batch(std::span<const Claim> claims, std::span<Outcome> outcomes);
  [[nodiscard]] bool meet_earlier(const Claim& claim, Outcome& outcome);
  [[nodiscard]] const SaleRow& sale_row(SaleNo sale);
  [[nodiscard]] ItemRow* item_row(ItemNo item);
  void forget_rows();

  // sqlite_settle.cc
  [[nodiscard]] Settlement settle_one(const StartPayment& command);
  [[nodiscard]] Settlement settle_one(const PaymentEvent& command);
  [[nodiscard]] Settlement settle_one(const CancelOrder& command);
  [[nodiscard]] Settlement settle_one(const DecideLate& command);
  [[nodiscard]] Settlement settle_one(const RefundOrder& command);
  [[nodiscard]] Settlement apply_event(const PaymentEvent& event, Payment payment);
  [[nodiscard]] Settlement capture(const PaymentEvent& event, Payment payment, Order order);
  [[nodiscard]] Settlement finish_refund(const PaymentEvent& event, Payment payment, Order order);
  [[nodiscard]] Settlement owe_refund(Payment payment, const Order& order, Money amount, std::string_view reason);
  [[nodiscard]] std::optional<Settled> check_key(const std::optional<RequestKey>& key);
  void keep_key(const std::optional<RequestKey>& key);
  [[nodiscard]] std::optional<Order> find_order(OrderId id);
  [[nodiscard]] std::optional<Payment> find_payment(PaymentId id);
  void set_payment_state(PaymentId id, PaymentState state);
  void move_units(ItemNo item, std::int64_t held, std::int64_t sold);
  void move_buyer(const Order& order, std::int64_t units);
  void add_event(OrderId order, std::string_view event, std::string_view detail);
  [[nodiscard]] bool end_order(Order& order, OrderStatus status, std::string_view reason);

  const SqliteOptions options_;
  const Clock& clock_;
  Random& random_;
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<Statements> statements_;
  std::unordered_map<std::uint32_t, SaleRow> sales_;  // Of the batch.
  std::unordered_map<std::uint32_t, ItemRow> items_;
  std::int64_t epoch_ = 0;
  std::int64_t floor_bytes_ = 0;
  std::int64_t wal_frames_ = 0;
  bool is_unknown_ = false;
  bool has_reserve_ = false;
};

/// A read-only connection beside the writer's.
class SqliteReader final : public LedgerReader {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SqliteReader>> open(const SqliteOptions& options, const Clock& clock);
  ~SqliteReader() override;

  [[nodiscard]] Result<Catalog> catalog() override;
  [[nodiscard]] Result<std::optional<Order>> order(OrderId id) override;
  [[nodiscard]] Result<std::vector<Order>> orders_of(TenantNo tenant, std::string_view buyer, std::size_t count,
                                                     std::string& cursor) override;
  [[nodiscard]] Result<BuyerStanding> standing(TenantNo tenant, SaleNo sale, std::string_view buyer) override;
  [[nodiscard]] Result<std::optional<Payment>> payment(PaymentId id) override;
  [[nodiscard]] Result<std::vector<RefundDue>> refunds_due(std::size_t count) override;
  [[nodiscard]] Result<std::vector<Payment>> undecided_late(std::size_t count) override;
  [[nodiscard]] Result<void> live_orders(const std::function<void(const Ended&, bool sold)>& each) override;
  [[nodiscard]] Result<void> ended_orders(const std::function<void(OrderId, SaleNo)>& each) override;
  [[nodiscard]] Result<std::vector<std::pair<ItemNo, Shelf>>> shelves() override;
  [[nodiscard]] Result<std::vector<LifeLine>> life_of(OrderId id) override;
  [[nodiscard]] Result<AuditReport> audit() override;

 private:
  struct Statements;
  SqliteReader(const SqliteOptions& options, const Clock& clock);
  /// Runs `work` inside one read transaction, so that it sees one state.
  template <typename T>
  [[nodiscard]] Result<T> look(const std::function<T()>& work);
  void run_audit(AuditReport& report);

  const Clock& clock_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<Statements> statements_;
};

/// Columns of an order in the one order that `read_order` reads.
inline constexpr std::string_view kOrderColumns =
    "order_id, tenant_no, sale_no, item_no, buyer, quantity, amount, currency, status, reason, digest, created_at, "
    "pay_by, paid_at, ended_at";
[[nodiscard]] Order read_order(const sqlite::Statement& row);
inline constexpr std::string_view kPaymentColumns =
    "payment_id, order_id, tenant_no, gateway, amount, currency, state, created_at, expires_at";
[[nodiscard]] Payment read_payment(const sqlite::Statement& row);

}  // namespace weir
