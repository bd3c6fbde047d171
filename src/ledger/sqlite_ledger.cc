#include "ledger/sqlite_ledger.h"

#include "base/fault.h"
#include "base/log.h"
#include "ledger/schema.h"
#include "ledger/sqlite_statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace weir {
namespace {

constexpr std::int64_t kWalFramesTidy = 4096;         // 16 MiB: from here on the log is copied into the file.
constexpr std::int64_t kWalFramesMax = 128 * 1024;    // 512 MiB: from here on no claims, until a reader lets go.
constexpr std::int64_t kFloorLeast = 256 * 1024;
constexpr Micros kBusyMost{2'000'000};

int count_frames(void* out, sqlite3*, const char*, int frames) {
  *static_cast<std::int64_t*>(out) = frames;
  return SQLITE_OK;
}

std::string file_in(const std::string& folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Failure::unfit, fmt::format("cannot make the folder '{}': {} (data)", folder, error.message()));
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return {};
}

}  // namespace

/// Holds the folder for this process. The kernel lets go of it when the process ends, however it ends.
struct SqliteLedger::Lock {
  explicit Lock(int descriptor_in) : descriptor(descriptor_in) {}
  ~Lock() { ::close(descriptor); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  static Result<std::unique_ptr<Lock>> take(const std::string& folder) {
    const std::string path = file_in(folder, "ledger.lock");
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return fail(Failure::unfit, fmt::format("cannot open '{}': {} (data)", path, std::strerror(errno)));
    auto lock = std::make_unique<Lock>(descriptor);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      return fail(Failure::unfit, fmt::format("another process serves the ledger in '{}' (data)", folder));
    }
    const std::string pid = fmt::format("{}\n", ::getpid());
    const bool is_written = ::ftruncate(descriptor, 0) == 0 &&
                            ::pwrite(descriptor, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
    if (!is_written) log::warn("lock_file_without_pid", {{"path", path}});  // For people only; the lock holds.
    return lock;
  }

  int descriptor;
};

SqliteLedger::Statements::Statements(const sqlite::Connection& db)
    : begin(db.prepare("BEGIN IMMEDIATE")),
      commit(db.prepare("COMMIT")),
      rollback(db.prepare("ROLLBACK")),
      find_order(db.prepare(fmt::format("SELECT {} FROM flash_sale_order WHERE order_id = ?1", kOrderColumns))),
      find_request_key(db.prepare("SELECT digest FROM flash_sale_request_key WHERE id = ?1")),
      read_sale(db.prepare("SELECT tenant_no, limit_per_buyer, pay_within_us FROM flash_sale WHERE sale_no = ?1")),
      read_item(db.prepare("SELECT sale_no, price, currency, total - held - sold FROM flash_sale_item WHERE item_no = ?1")),
      read_buyer(db.prepare("SELECT units, last_order FROM flash_sale_buyer WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
      put_buyer(db.prepare("INSERT INTO flash_sale_buyer (tenant_no, buyer, sale_no, units, max_units, last_order) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET units = units + excluded.units, "
                           "max_units = max(units + excluded.units, excluded.max_units), last_order = excluded.last_order")),
      put_order(db.prepare("INSERT INTO flash_sale_order (order_id, tenant_no, sale_no, item_no, buyer, quantity, amount, "
                           "currency, status, digest, created_at, pay_by, previous_order) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11, ?12)")),
      take_held(db.prepare("UPDATE flash_sale_item SET held = held + ?2 WHERE item_no = ?1")),
      find_payment(db.prepare(fmt::format("SELECT {} FROM flash_sale_payment WHERE payment_id = ?1", kPaymentColumns))),
      live_payment(db.prepare(fmt::format("SELECT {} FROM flash_sale_payment WHERE order_id = ?1 AND state IN (0, 1, 2)", kPaymentColumns))),
      put_payment(db.prepare("INSERT INTO flash_sale_payment (payment_id, order_id, tenant_no, gateway, amount, currency, "
                             "state, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8)")),
      set_payment_state(db.prepare("UPDATE flash_sale_payment SET state = ?2 WHERE payment_id = ?1")),
      set_captured(db.prepare("UPDATE flash_sale_payment SET captured = ?2 WHERE payment_id = ?1")),
      extend_order(db.prepare("UPDATE flash_sale_order SET pay_by = ?2, extended = 1 WHERE order_id = ?1 AND status = 0 AND extended = 0 AND pay_by < ?2")),
      put_inbox(db.prepare("INSERT INTO flash_sale_inbox (gateway, event_id, payment_id, kind, refund_id, amount, currency, body, "
                           "received_at, applied) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING")),
      open_inbox(db.prepare("SELECT gateway, event_id, kind, refund_id, amount, currency FROM flash_sale_inbox WHERE payment_id = ?1 AND applied = 0")),
      close_inbox(db.prepare("UPDATE flash_sale_inbox SET applied = 1 WHERE gateway = ?1 AND event_id = ?2")),
      put_request_key(db.prepare("INSERT INTO flash_sale_request_key (id, digest, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")),
      pay_order(db.prepare("UPDATE flash_sale_order SET status = 1, paid_at = ?2 WHERE order_id = ?1 AND status = 0")),
      end_order(db.prepare("UPDATE flash_sale_order SET status = ?2, reason = ?3, ended_at = ?4 WHERE order_id = ?1 AND status = 0")),
      retake_order(db.prepare("UPDATE flash_sale_order SET status = 1, paid_at = ?2, ended_at = NULL, reason = '' WHERE order_id = ?1 AND status = 2")),
      move_units(db.prepare("UPDATE flash_sale_item SET held = held + ?2, sold = sold + ?3 WHERE item_no = ?1")),
      move_buyer(db.prepare("UPDATE flash_sale_buyer SET units = units + ?4, max_units = max(max_units, units + ?4) "
                            "WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
      add_event(db.prepare("INSERT INTO flash_sale_event (order_id, event, at, detail) VALUES (?1, ?2, ?3, ?4)")),
      refund_of_order(db.prepare("SELECT refund_id, state, amount, currency FROM flash_sale_refund WHERE order_id = ?1 ORDER BY created_at DESC, refund_id LIMIT 1")),
      refund_of_payment(db.prepare("SELECT refund_id, state, amount, currency, restock FROM flash_sale_refund WHERE payment_id = ?1")),
      put_refund(db.prepare("INSERT INTO flash_sale_refund (refund_id, payment_id, order_id, amount, currency, state, restock, reason, created_at) "
                            "VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8)")),
      finish_refund(db.prepare("UPDATE flash_sale_refund SET state = 1, done_at = ?2 WHERE refund_id = ?1 AND state = 0")),
      refund_order(db.prepare("UPDATE flash_sale_order SET status = 5, ended_at = ?2, kept_units = ?3 WHERE order_id = ?1 AND status = 1")),
      buyer_units(db.prepare("SELECT units FROM flash_sale_buyer WHERE tenant_no = ?1 AND buyer = ?2 AND sale_no = ?3")),
      item_counts(db.prepare("SELECT total - held - sold FROM flash_sale_item WHERE item_no = ?1")),
      payment_of_order(db.prepare(fmt::format("SELECT {} FROM flash_sale_payment WHERE order_id = ?1 AND state = 2", kPaymentColumns))),
      due_orders(db.prepare("SELECT order_id, tenant_no, sale_no, item_no, quantity, buyer FROM flash_sale_order "
                            "WHERE status = 0 AND pay_by <= ?1 ORDER BY pay_by LIMIT ?2")),
      first_due(db.prepare("SELECT pay_by FROM flash_sale_order WHERE status = 0 ORDER BY pay_by LIMIT 1")) {}

SqliteLedger::SqliteLedger(SqliteOptions options, const Clock& clock, Random& random)
    : options_(std::move(options)), clock_(clock), random_(random) {}

SqliteLedger::~SqliteLedger() = default;

Result<std::unique_ptr<SqliteLedger>> SqliteLedger::open(SqliteOptions options, const Clock& clock, Random& random) {
  std::unique_ptr<SqliteLedger> ledger{new SqliteLedger{std::move(options), clock, random}};
  if (ledger->options_.uses_lock) {
    if (const auto made = make_folder(ledger->options_.data); !made) return std::unexpected(made.error());
    auto lock = Lock::take(ledger->options_.data);
    if (!lock) return std::unexpected(lock.error());
    ledger->lock_ = std::move(*lock);
  }
  try {
    ledger->connect();
    ledger->migrate();
    ledger->statements_ = std::make_unique<Statements>(*ledger->connection_);
    ledger->connection_->execute("UPDATE flash_sale_meta SET value = value + 1 WHERE name = 'epoch'");
    sqlite::Statement epoch = ledger->connection_->prepare("SELECT value FROM flash_sale_meta WHERE name = 'epoch'");
    if (epoch.step()) ledger->epoch_ = epoch.whole(0);
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(sqlite::error_of(failure, false));
  }
  ledger->make_reserve();
  return ledger;
}

void SqliteLedger::connect() {
  statements_.reset();
  connection_.reset();
  connection_ = std::make_unique<sqlite::Connection>(file_in(options_.data, "ledger.db"), options_.vfs, sqlite::Access::write);
  sqlite3_wal_hook(connection_->get(), &count_frames, &wal_frames_);
  wal_frames_ = 0;
}

void SqliteLedger::migrate() {
  sqlite::Statement read = connection_->prepare("PRAGMA user_version");
  const std::int64_t version = read.step() ? read.whole(0) : 0;
  read.reset();
  if (version > static_cast<std::int64_t>(kSchemaSteps.size())) {
    throw sqlite::SqliteFailure{SQLITE_MISUSE, fmt::format("its schema {} is newer than this program knows, {}", version, kSchemaSteps.size())};
  }
  for (std::size_t step = static_cast<std::size_t>(version); step < kSchemaSteps.size(); ++step) {
    connection_->execute("BEGIN IMMEDIATE");
    connection_->execute(std::string{kSchemaSteps[step]});
    if (step == 0) {
      connection_->execute("INSERT INTO flash_sale_meta (name, value) VALUES ('epoch', 0)");
      std::array<std::byte, 16> first{};
      std::array<std::byte, 16> second{};
      random_.fill(first);
      random_.fill(second);
      const auto text = [](const auto& key) { return std::string_view{reinterpret_cast<const char*>(key.data()), key.size()}; };
      sqlite::Statement put = connection_->prepare("INSERT INTO flash_sale_tenant (id, domains, order_key_0, order_key_1) VALUES ('default', '', ?1, ?2)");
      put.bind_blob(1, text(first)).bind_blob(2, text(second)).run();
    }
    connection_->execute(fmt::format("PRAGMA user_version = {}", step + 1));
    connection_->execute("COMMIT");
  }
}

std::int64_t SqliteLedger::free_bytes() const {
  if (options_.free_bytes) return options_.free_bytes();
  struct statvfs space {};
  if (::statvfs(options_.data.c_str(), &space) != 0) return INT64_MAX;
  return static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
}

void SqliteLedger::make_reserve() {
  if (has_reserve_ || options_.reserve_bytes == 0) return;
  const std::int64_t free = free_bytes();
  if (floor_bytes_ == 0) floor_bytes_ = std::clamp(free / 8, kFloorLeast, std::max(kFloorLeast, options_.reserve_bytes));
  if (!options_.vfs.empty() || free < 3 * floor_bytes_) return;
  const std::string path = file_in(options_.data, "ledger.reserve");
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  has_reserve_ = ::posix_fallocate(descriptor, 0, floor_bytes_) == 0;
  ::close(descriptor);
  if (!has_reserve_) ::unlink(path.c_str());
}

void SqliteLedger::drop_reserve() {
  if (!has_reserve_) return;
  ::unlink(file_in(options_.data, "ledger.reserve").c_str());
  has_reserve_ = false;
  log::warn("ledger_reserve_given_up", {{"bytes", floor_bytes_}});
}

Result<void> SqliteLedger::check_room() const {
  if (wal_frames_ > kWalFramesMax) {
    return fail(Failure::unavailable, "the ledger's log is at its bound: another program reads the ledger for too long (data)");
  }
  if (options_.reserve_bytes == 0) return {};
  const std::int64_t free = free_bytes();
  if (free >= floor_bytes_) return {};
  return fail(Failure::unavailable,
              fmt::format("the ledger's disk has {} bytes free, {} are kept for payments (ledger.reserve_bytes)", free, floor_bytes_));
}

Result<void> SqliteLedger::transact(Deadline deadline, const std::function<void()>& work) {
  if (is_unknown_) return fail(Failure::timed_out, "the ledger has to recover first");
  bool in_commit = false;
  try {
    connection_->wait_when_busy(std::clamp(deadline - clock_.ticks(), Micros{1000}, kBusyMost));
    statements_->begin.run();
    work();
    FAULT("before_commit");
    in_commit = true;
    statements_->commit.run();
    FAULT("after_commit");
    return {};
  } catch (const sqlite::SqliteFailure& failure) {
    const Error error = sqlite::error_of(failure, in_commit);
    if (in_commit || error.failure == Failure::timed_out) {
      is_unknown_ = true;  // Nothing is retried on this connection, not even the rollback.
      return std::unexpected(error);
    }
    if (sqlite3_get_autocommit(connection_->get()) == 0) {
      try {
        statements_->rollback.run();
      } catch (const sqlite::SqliteFailure&) {
        is_unknown_ = true;
      }
    }
    return std::unexpected(error);
  }
}

Result<void> SqliteLedger::recover(Deadline) {
  if (!is_unknown_ && connection_ != nullptr) return {};
  try {
    connect();
    statements_ = std::make_unique<Statements>(*connection_);
    // The first write after the opening proves that storage takes commits again.
    connection_->execute("UPDATE flash_sale_meta SET value = value + 1 WHERE name = 'epoch'");
    sqlite::Statement epoch = connection_->prepare("SELECT value FROM flash_sale_meta WHERE name = 'epoch'");
    if (epoch.step()) epoch_ = epoch.whole(0);
    is_unknown_ = false;
    return {};
  } catch (const sqlite::SqliteFailure& failure) {
    is_unknown_ = true;
    if ((failure.code & 0xff) == SQLITE_FULL) drop_reserve();
    return std::unexpected(sqlite::error_of(failure, false));
  }
}

Result<void> SqliteLedger::tidy_up() {
  if (is_unknown_) return {};
  make_reserve();
  if (wal_frames_ < kWalFramesTidy) return {};
  int frames = 0;
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection_->get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied);
  if (code == SQLITE_OK && frames == copied) wal_frames_ = 0;
  if ((code & 0xff) == SQLITE_IOERR) {
    is_unknown_ = true;
    return fail(Failure::timed_out, fmt::format("copying the ledger's log failed: {} (data)", sqlite3_errmsg(connection_->get())));
  }
  return {};  // Busy or full: another time.
}

Result<std::size_t> SqliteLedger::expire(std::span<Ended> ended, Deadline deadline) {
  std::size_t count = 0;
  const auto done = transact(deadline, [&] {
    Statements& sql = *statements_;
    const Instant at = clock_.now();
    sql.due_orders.bind(1, at).bind(2, static_cast<std::int64_t>(ended.size()));
    while (sql.due_orders.step()) {
      ended[count++] = {.order = sql.due_orders.id<OrderId>(0),
                        .tenant = {static_cast<std::uint32_t>(sql.due_orders.whole(1))},
                        .sale = {static_cast<std::uint32_t>(sql.due_orders.whole(2))},
                        .item = {static_cast<std::uint32_t>(sql.due_orders.whole(3))},
                        .units = static_cast<std::int32_t>(sql.due_orders.whole(4)),
                        .buyer = std::string{sql.due_orders.text(5)}};
    }
    std::unordered_map<std::uint32_t, std::int64_t> back;
    for (const Ended& one : ended.first(count)) {
      sql.end_order.bind(1, one.order).bind(2, std::int64_t{2}).bind(3, std::string_view{}).bind(4, at).run();
      back[one.item.value] += one.units;
      sql.move_buyer.bind(1, one.tenant).bind(2, std::string_view{one.buyer}).bind(3, one.sale).bind(4, std::int64_t{-one.units}).run();
      add_event(one.order, "expired", "");
    }
    for (const auto& [item, units] : back) move_units({item}, -units, 0);
  });
  if (done) return count;
  if (done.error().failure == Failure::unavailable) drop_reserve();
  return std::unexpected(done.error());
}

Result<std::optional<Instant>> SqliteLedger::next_expiry() {
  if (is_unknown_) return fail(Failure::timed_out, "the ledger has to recover first");
  try {
    std::optional<Instant> first;
    const sqlite::ResetLater later{statements_->first_due};
    if (statements_->first_due.step()) first = statements_->first_due.moment(0);
    return first;
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(sqlite::error_of(failure, false));
  }
}

}  // namespace weir
