#pragma once

#include "base/random.h"
#include "domain/catalog.h"
#include "ledger/postgres_session.h"
#include "ledger/shared_ledger.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::postgres {

/// A batch of commands under its locks: everything that they can touch, as the rows said when they were locked. The
/// commands are settled here, in memory and in order, and what has changed is written set-wise at the end. So a batch
/// costs three round trips, whatever is in it.
class SettleBook {
 public:
  explicit SettleBook(Random& random) : random_(random) {}

  void add(const SettleCommand& command);
  void add_payment(PaymentId id) { payments_wanted_.insert(id); }

  /// First round: whose orders these are. Payments and request keys are locked by their buckets, so that an event and
  /// the start of its payment, or two requests under one key, never pass each other unseen.
  void queue_search(Session& session) const;
  void read_search(const Rows& found);

  /// Second round: locks and looks.
  void queue_locks(Session& session) const;
  void read_locks(std::span<const Rows> answers);
  [[nodiscard]] Instant now() const { return now_; }

  [[nodiscard]] Settlement settle(const SettleCommand& command);
  [[nodiscard]] RetakeEnd decide(const RetakeDecision& decision);

  /// Third round, with the COMMIT.
  void queue_writes(Session& session) const;

 private:
  struct OrderRow {
    Order order;
    OrderStatus was = OrderStatus::pending;  // In the ledger: the row is changed only if it still says so.
    bool is_extended = false;
    std::int64_t kept_units = 0;
    std::optional<OrderId> hold;
    bool is_changed = false;

    [[nodiscard]] OrderId hold_id() const { return hold.value_or(order.id); }
  };
  struct PaymentRow {
    Payment payment;
    std::optional<std::int64_t> captured;
    bool is_new = false;
    bool is_changed = false;
  };
  struct RefundRow {
    Refund refund;
    PaymentId payment;
    OrderId order;
    bool is_of_order = false;
    bool is_restocked = false;
    std::string reason;
    Instant created_at;
    std::optional<Instant> done_at;
    bool is_new = false;
    bool is_changed = false;
  };
  struct InboxRow {
    PaymentEvent event;
    Instant received_at;
    bool is_applied = false;
    bool is_new = false;
    bool is_changed = false;
  };
  struct RetakeRow {
    OrderId hold;
    OrderId order;
    SaleNo sale;
    std::optional<bool> is_kept;
    Instant created_at;
    bool is_new = false;
    bool is_changed = false;
  };
  struct ItemRow {
    std::int64_t room = 0;
  };
  struct SaleRow {
    std::int32_t limit = 1;
    SipKey key_0;
    SipKey key_1;
  };
  struct Found {
    SaleNo sale;
    ItemNo item;
    std::string buyer;
  };

  // postgres_settle_book.cc: finding, locking, writing.
  void want_key(const std::optional<RequestKey>& key);
  void read_orders(const Rows& rows);
  void read_payments(const Rows& rows);
  void read_refunds(const Rows& rows);
  void read_inbox(const Rows& rows);
  void read_retakes(const Rows& rows);
  void queue_orders(Session& session) const;
  void queue_payments(Session& session) const;
  void queue_refunds(Session& session) const;
  void queue_inbox(Session& session) const;
  void queue_keys(Session& session) const;
  void queue_retakes(Session& session) const;

  // postgres_payments.cc
  [[nodiscard]] Settlement settle_one(const StartPayment& command);
  [[nodiscard]] Settlement start_payment(const StartPayment& command, OrderRow& order);
  void apply_early_events(PaymentId payment, Settlement& settlement);
  [[nodiscard]] Settlement settle_one(const PaymentEvent& event);
  [[nodiscard]] Settlement apply_event(const PaymentEvent& event, PaymentRow& payment);
  [[nodiscard]] Settlement decline(PaymentRow& payment, OrderRow& order);
  [[nodiscard]] Settlement capture(const PaymentEvent& event, PaymentRow& payment, OrderRow& order);
  [[nodiscard]] Settlement capture_after_end(PaymentRow& payment, OrderRow& order);
  [[nodiscard]] Settlement settle_one(const CancelOrder& command);
  [[nodiscard]] Settlement settle_one(const DecideLate& command);
  [[nodiscard]] bool try_retake(PaymentRow& payment, OrderRow& order);
  void put_retake(const PaymentRow& payment, const OrderRow& order);

  // postgres_refunds.cc
  [[nodiscard]] Settlement settle_one(const RefundOrder& command);
  [[nodiscard]] Settlement refund_done_event(const PaymentEvent& event, PaymentRow& payment, OrderRow& order);
  [[nodiscard]] Settlement owe_refund(PaymentRow& payment, OrderRow& order, Money amount, std::string_view reason);
  [[nodiscard]] GateEffect finish_refund(RefundRow& refund, PaymentRow& payment, OrderRow& order);
  [[nodiscard]] RefundRow* refund_of(PaymentId payment);
  [[nodiscard]] const RefundRow* shown_refund(OrderId order) const;

  // What all commands share.
  [[nodiscard]] OrderRow* find_order(OrderId id);
  [[nodiscard]] OrderRow* find_own_order(TenantNo tenant, std::string_view buyer, OrderId id);
  [[nodiscard]] PaymentRow* find_payment(PaymentId id);
  /// The payment that is, or may become, the order's money.
  [[nodiscard]] PaymentRow* live_payment(OrderId order);
  [[nodiscard]] Settlement answer(Settled settled, const OrderRow* order = nullptr, const PaymentRow* payment = nullptr,
                                  GateEffect effect = GateEffect::none) const;
  [[nodiscard]] bool is_key_reused(const std::optional<RequestKey>& key) const;
  void keep_key(const std::optional<RequestKey>& key);
  void set_state(PaymentRow& payment, PaymentState state);
  void move(OrderRow& order, OrderEvent event);
  void move_units(const OrderRow& order, std::int64_t held, std::int64_t sold);
  void move_buyer(const OrderRow& order, std::int64_t units);
  void add_event(OrderId order, std::string_view event, std::string detail);
  [[nodiscard]] const GateState* gate_of(SaleNo sale) const;

  Random& random_;
  std::set<OrderId> orders_wanted_;
  std::set<PaymentId> payments_wanted_;
  std::set<RefundId> refunds_wanted_;
  std::set<OrderId> keys_wanted_;
  std::set<std::pair<std::string, std::string>> events_wanted_;
  std::map<OrderId, Found> found_;

  Instant now_;
  std::vector<GateState> gates_;
  std::map<std::uint32_t, ItemRow> items_;
  std::map<std::uint32_t, SaleRow> sales_;
  std::map<BuyerOfSale, std::int64_t> units_;
  std::map<OrderId, OrderRow> orders_;
  std::map<PaymentId, PaymentRow> payments_;
  std::map<RefundId, RefundRow> refunds_;
  std::map<std::pair<std::string, std::string>, InboxRow> inbox_;
  std::map<OrderId, std::uint64_t> keys_;
  std::set<OrderId> keys_of_orders_;
  std::vector<RequestKey> new_keys_;
  std::map<PaymentId, RetakeRow> retakes_;
  Effects effects_;
};

}  // namespace weir::postgres
