#pragma once

#include "base/result.h"
#include "domain/ids.h"
#include "domain/money.h"
#include "domain/order.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace weir {

/// The money of one payment as the pretend network sees it.
struct SandboxStatus {
  Money amount;
  std::int64_t captured = 0;
  std::int64_t refunded = 0;
  std::vector<Refund> refunds;  // In the order in which they were asked for.
};

/// An event that was made and has not been delivered yet.
struct StoredEvent {
  std::string id;
  std::string body;
};

/// What the pretend card network remembers, in an SQLite file of its own: what it has captured and refunded, and the
/// notices of it that nobody has taken yet.
///
/// WAL with `synchronous=NORMAL`: what was committed survives a crash of the process, and after a loss of power the
/// file is as it was at some earlier commit. Money and its notice are written in one transaction. Threads: one at a
/// time; the owner locks. Blocking: short writes without a sync. Failures: `unavailable`; nothing happened, and an open
/// transaction is rolled back by the caller.
class SandboxStore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SandboxStore>> open(const std::string& path);
  ~SandboxStore();
  SandboxStore(const SandboxStore&) = delete;
  SandboxStore& operator=(const SandboxStore&) = delete;

  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> commit();
  void roll_back();

  [[nodiscard]] Result<void> add_payment(PaymentId payment, Money amount);
  /// Null when there is no such payment.
  [[nodiscard]] Result<std::optional<SandboxStatus>> status(PaymentId payment);
  /// Captures the whole amount; again changes nothing.
  [[nodiscard]] Result<void> capture(PaymentId payment);
  /// Requires: the payment is there, the refund is not, and the sum stays within what was captured.
  [[nodiscard]] Result<void> add_refund(RefundId refund, PaymentId payment, std::int64_t value);
  /// Whose refund this is, whatever the payment; null when there is none.
  [[nodiscard]] Result<std::optional<PaymentId>> payment_of(RefundId refund);

  [[nodiscard]] Result<void> add_event(const StoredEvent& event);
  [[nodiscard]] Result<void> drop_event(std::string_view id);
  /// The oldest ones.
  [[nodiscard]] Result<std::vector<StoredEvent>> events(std::size_t count);

 private:
  class Statement;
  explicit SandboxStore(sqlite3* database) : database_(database) {}
  [[nodiscard]] Result<void> prepare_file();
  [[nodiscard]] Result<void> execute(const char* sql);
  [[nodiscard]] std::unexpected<Error> broken() const;

  sqlite3* const database_;
};

}  // namespace weir
