#pragma once

#include "domain/claim.h"
#include "domain/recording.h"
#include "ledger/postgres_session.h"
#include "ledger/shared_ledger.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weir::postgres {

/// One batch of claims under its locks: what the rows said when they were locked, lowered by what the batch has taken.
/// Every conflict is decided here, in memory and in order, so that a refused claim costs no statement and stops no
/// other.
class RecordBook {
 public:
  /// Looks at these claims; they must outlive the book.
  void add(const Claim& claim);
  /// Wants to know how this id stands, and nothing more.
  void look_for(OrderId id) { orders_wanted_.insert(id); }

  /// How buyers that the sale has not seen are kept from buying twice at once. `by_inserting`: their row is inserted
  /// with the order; two recorders that do so at once fail one of them, and it runs again. `by_locking`: an empty row
  /// is inserted first and locked, which cannot fail, and costs a second version of every new row.
  enum class NewBuyers : std::uint8_t { by_inserting, by_locking };

  /// Sends the locks and looks; `read_locks` takes the answers of these, which are the last of their run.
  void queue_locks(Session& session, NewBuyers new_buyers) const;
  void read_locks(std::span<const Rows> answers);
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::vector<std::uint32_t> sales() const { return {sales_wanted_.begin(), sales_wanted_.end()}; }

  /// What becomes of the claim. `recorded` takes its units at once; the row is written by `queue_writes`.
  [[nodiscard]] Outcome decide(const Claim& claim, std::int64_t epoch);

  /// How the id stands, in the ledger or earlier in this batch.
  [[nodiscard]] std::optional<OrderStatus> status_of(OrderId id) const;
  [[nodiscard]] bool knows_item(const Claim& claim) const;
  /// Keeps the claim as a REJECTED order, and tells the gate to give its hold up.
  void reject(const Claim& claim, std::int64_t epoch, Rejection why);
  /// Tells the gate to give up a hold of this id.
  void release(SaleNo sale, OrderId hold) { effects_.release(sale, hold); }

  void queue_writes(Session& session) const;

 private:
  struct ItemRow {
    SaleNo sale;
    Money price;
    std::int64_t room = 0;
  };
  struct SaleRow {
    TenantNo tenant;
    std::int32_t limit = 1;
    Micros pay_within{0};
  };
  struct KnownOrder {
    OrderStatus status = OrderStatus::pending;
    RequestDigest digest;
    TenantNo tenant;
    std::string buyer;
    Instant pay_by;
  };
  struct NewBuyer {
    std::int64_t units = 0;
    std::int64_t max_units = 0;
    OrderId last_order;
  };
  struct NewOrder {
    const Claim* claim = nullptr;
    std::int64_t epoch = 0;
    std::int64_t amount = 0;
    Currency currency;
    OrderStatus status = OrderStatus::pending;
    Instant pay_by;
  };

  [[nodiscard]] std::optional<Recording> meet_earlier(const Claim& claim, Outcome& outcome) const;
  [[nodiscard]] Recording judge(const Claim& claim) const;
  void admit(const Claim& claim, std::int64_t epoch, Outcome& outcome);
  void take_for_buyer(const Claim& claim, std::int32_t limit);
  void put(const NewOrder& order);
  [[nodiscard]] const ItemRow* item_of(const Claim& claim) const;
  void queue_orders(Session& session) const;
  void queue_new_buyers(Session& session) const;

  std::set<std::uint32_t> items_wanted_;
  std::set<std::uint32_t> sales_wanted_;
  std::set<OrderId> orders_wanted_;
  std::set<OrderId> keys_wanted_;
  std::set<std::pair<std::uint32_t, std::string_view>> buyers_wanted_;

  Instant now_;
  std::unordered_map<std::uint32_t, ItemRow> items_;
  std::unordered_map<std::uint32_t, SaleRow> sales_;
  std::map<BuyerOfSale, std::int64_t> units_;  // Of buyers whose row is locked.
  std::unordered_map<OrderId, KnownOrder> orders_;
  std::unordered_set<OrderId> keys_;

  std::vector<NewOrder> new_orders_;
  std::map<BuyerOfSale, NewBuyer> new_buyers_;
  Effects effects_;
};

}  // namespace weir::postgres
