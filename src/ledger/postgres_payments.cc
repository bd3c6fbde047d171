#include "base/check.h"
#include "base/log.h"
#include "config/limits.h"
#include "ledger/order_events.h"
#include "ledger/postgres_settle_book.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir::postgres {
namespace {

/// The id of the hold that a payment's late money takes: always the same, and nobody can choose it.
OrderId retake_hold(const SipKey& key_0, const SipKey& key_1, OrderId order, PaymentId payment) {
  const auto first = order.bytes();
  const auto second = payment.bytes();
  std::string text{"retake"};
  text.append(first.data(), first.size()).append(second.data(), second.size());
  return {siphash(key_0, text), siphash(key_1, text)};
}

}  // namespace

Settlement SettleBook::settle(const SettleCommand& command) {
  return std::visit([this](const auto& one) { return settle_one(one); }, command);
}

Settlement SettleBook::settle_one(const StartPayment& command) {
  if (is_key_reused(command.key)) return answer(Settled::key_reused);
  OrderRow* order = find_own_order(command.tenant, command.buyer.view(), command.order);
  if (order == nullptr) return answer(Settled::unknown_order);
  PaymentRow* own = find_payment(command.payment);
  // The same command again, whatever has become of the order since.
  if (own != nullptr && own->payment.order == command.order) {
    keep_key(command.key);
    return answer(Settled::repeated, order, own);
  }
  if (order->order.status != OrderStatus::pending || order->order.pay_by <= now_) {
    return answer(Settled::refused, order);
  }
  if (const PaymentRow* live = live_payment(command.order)) {
    keep_key(command.key);
    return answer(Settled::repeated, order, live);
  }
  const bool is_lawful = own == nullptr && is_storable(command.gateway);  // Else the id is another order's.
  return is_lawful ? start_payment(command, *order) : answer(Settled::refused, order);
}

Settlement SettleBook::start_payment(const StartPayment& command, OrderRow& order) {
  const Instant extended = now_ + command.grace;
  if (extended > order.order.pay_by && !order.is_extended) {
    order.order.pay_by = extended;
    order.is_extended = true;
    order.is_changed = true;
    add_event(order.order.id, order_event::kExtended, "a payment was started");
  }
  PaymentRow row;
  row.payment = {.id = command.payment,
                 .order = order.order.id,
                 .tenant = order.order.tenant,
                 .gateway = command.gateway,
                 .amount = order.order.amount,
                 .state = PaymentState::started,
                 .created_at = now_,
                 .expires_at = order.order.pay_by};
  row.is_new = true;
  const PaymentRow& payment = payments_.emplace(command.payment, std::move(row)).first->second;
  add_event(order.order.id, order_event::kPaymentStarted,
            fmt::format("{} by {}", command.payment.text(), command.gateway));
  keep_key(command.key);
  Settlement settlement = answer(Settled::done, &order, &payment);
  apply_early_events(command.payment, settlement);
  return settlement;
}

/// Events that came before their payment was known here.
void SettleBook::apply_early_events(PaymentId id, Settlement& settlement) {
  std::vector<InboxRow*> early;
  for (auto& [key, row] : inbox_) {
    const bool is_ours = row.event.payment == id && row.event.gateway == settlement.payment->gateway;
    if (is_ours && !row.is_applied) early.push_back(&row);
  }
  std::ranges::stable_sort(early, {}, &InboxRow::received_at);  // Of one moment: by event id, as they lie.
  for (InboxRow* row : early) {
    row->is_applied = true;
    row->is_changed = true;
    Settlement applied = apply_event(row->event, *find_payment(id));
    if (applied.effect != GateEffect::none) settlement.effect = applied.effect;
    settlement.order = std::move(applied.order);
    settlement.payment = std::move(applied.payment);
  }
}

Settlement SettleBook::settle_one(const PaymentEvent& event) {
  if (!is_storable(event.gateway) || !is_storable(event.event_id)) return answer(Settled::refused);
  PaymentRow* payment = find_payment(event.payment);
  const bool is_known = payment != nullptr && payment->payment.gateway == event.gateway;
  const auto [place, is_new] = inbox_.try_emplace(std::pair{event.gateway, event.event_id});
  if (is_new) {
    place->second.event = event;
    place->second.received_at = now_;
    place->second.is_applied = is_known;
    place->second.is_new = true;
  }
  if (!is_known) return answer(Settled::unknown_order);  // Kept until its payment appears.
  if (!is_new) return answer(Settled::repeated, find_order(payment->payment.order), payment);
  return apply_event(event, *payment);
}

Settlement SettleBook::apply_event(const PaymentEvent& event, PaymentRow& payment) {
  OrderRow* order = find_order(payment.payment.order);
  if (order == nullptr) return answer(Settled::unknown_order);
  switch (event.kind) {
    case PaymentEventKind::captured: return capture(event, payment, *order);
    case PaymentEventKind::declined: return decline(payment, *order);
    case PaymentEventKind::refund_done: return refund_done_event(event, payment, *order);
    case PaymentEventKind::other: break;
  }
  return answer(Settled::repeated, order, &payment);
}

/// A late "declined" never takes back what was captured.
Settlement SettleBook::decline(PaymentRow& payment, OrderRow& order) {
  if (payment.payment.state != PaymentState::started) return answer(Settled::repeated, &order, &payment);
  set_state(payment, PaymentState::declined);
  add_event(order.order.id, order_event::kPaymentDeclined, payment.payment.id.text());
  return answer(Settled::done, &order, &payment);
}

Settlement SettleBook::capture(const PaymentEvent& event, PaymentRow& payment, OrderRow& order) {
  const PaymentState state = payment.payment.state;
  const bool is_open = state == PaymentState::started || state == PaymentState::declined;
  if (!is_open) return answer(Settled::repeated, &order, &payment);
  if (event.amount != payment.payment.amount) {
    const Money wanted = payment.payment.amount;
    add_event(order.order.id, order_event::kAmountMismatch,
              fmt::format("{} captured {} {}, not {} {}", payment.payment.id.text(), event.amount.value,
                          event.amount.currency.view(), wanted.value, wanted.currency.view()));
    log::error("amount_mismatch", {{"order", order.order.id.text()}, {"event", event.event_id}});
    // Nothing was taken, so nothing goes back.
    if (event.amount.value <= 0) return answer(Settled::refused, &order, &payment);
    payment.captured = event.amount.value;
    return owe_refund(payment, order, event.amount, order_event::kAmountMismatch);
  }
  payment.captured = event.amount.value;
  if (order.order.status != OrderStatus::pending) return capture_after_end(payment, order);
  move(order, OrderEvent::pay);
  set_state(payment, PaymentState::captured);
  move_units(order, -order.order.units, order.order.units);
  add_event(order.order.id, order_event::kPaid, payment.payment.id.text());
  return answer(Settled::done, &order, &payment, GateEffect::sell);
}

Settlement SettleBook::capture_after_end(PaymentRow& payment, OrderRow& order) {
  const Money amount = payment.payment.amount;
  switch (order.order.status) {
    case OrderStatus::expired:
      set_state(payment, PaymentState::late);
      add_event(order.order.id, order_event::kPaidLate, payment.payment.id.text());
      put_retake(payment, order);
      return answer(Settled::late, &order, &payment);
    case OrderStatus::paid: return owe_refund(payment, order, amount, "second_payment");
    case OrderStatus::pending:
    case OrderStatus::cancelled:
    case OrderStatus::rejected:
    case OrderStatus::refunded: break;
  }
  return owe_refund(payment, order, amount, "paid_after_end");
}

/// Of a sale with a shared gate, the question to the gate is a row: whoever finds it goes on with it.
void SettleBook::put_retake(const PaymentRow& payment, const OrderRow& order) {
  if (gate_of(order.order.sale) == nullptr) return;
  const SaleRow& sale = sales_.at(order.order.sale.value);
  RetakeRow row;
  row.hold = retake_hold(sale.key_0, sale.key_1, order.order.id, payment.payment.id);
  row.order = order.order.id;
  row.sale = order.order.sale;
  row.created_at = now_;
  row.is_new = true;
  retakes_.emplace(payment.payment.id, row);
}

Settlement SettleBook::settle_one(const CancelOrder& command) {
  if (is_key_reused(command.key)) return answer(Settled::key_reused);
  OrderRow* order = find_own_order(command.tenant, command.buyer.view(), command.order);
  if (order == nullptr) return answer(Settled::unknown_order);
  if (order->order.status == OrderStatus::cancelled) {
    keep_key(command.key);
    return answer(Settled::repeated, order);
  }
  if (order->order.status != OrderStatus::pending) return answer(Settled::refused, order);
  move(*order, OrderEvent::cancel);
  move_units(*order, -order->order.units, 0);
  move_buyer(*order, -order->order.units);
  add_event(order->order.id, order_event::kCancelled, "by the buyer");
  effects_.release(order->order.sale, order->hold_id());
  keep_key(command.key);
  return answer(Settled::done, order, nullptr, GateEffect::release);
}

/// Takes the units of an order that expired once more, if stock and limit allow it now.
bool SettleBook::try_retake(PaymentRow& payment, OrderRow& order) {
  const std::int32_t units = order.order.units;
  ItemRow& item = items_.at(order.order.item.value);
  const std::int64_t has = units_.at({order.order.sale.value, order.order.buyer});
  const bool fits = units <= item.room && has + units <= sales_.at(order.order.sale.value).limit;
  if (!fits || order.order.status != OrderStatus::expired) return false;
  move(order, OrderEvent::retake);
  set_state(payment, PaymentState::captured);
  move_units(order, 0, units);
  move_buyer(order, units);
  add_event(order.order.id, order_event::kRetaken, payment.payment.id.text());
  return true;
}

Settlement SettleBook::settle_one(const DecideLate& command) {
  PaymentRow* payment = find_payment(command.payment);
  OrderRow* order = payment == nullptr ? nullptr : find_order(payment->payment.order);
  if (order == nullptr) return answer(Settled::unknown_order);
  const auto effect_if_taken = [&](bool is_release_due) {
    if (!command.units_taken) return GateEffect::none;
    if (order->order.status == OrderStatus::paid) return GateEffect::sell;
    return is_release_due ? GateEffect::release : GateEffect::none;
  };
  if (payment->payment.state != PaymentState::late) {
    // Decided before. What the gate took for this question goes where the order is.
    return answer(Settled::repeated, order, payment, effect_if_taken(order->kept_units == 0));
  }
  // A shared gate is asked for another hold, at an epoch: see `decide_retakes`.
  if (retakes_.contains(command.payment)) return answer(Settled::late, order, payment);
  if (command.units_taken && try_retake(*payment, *order)) {
    return answer(Settled::done, order, payment, GateEffect::sell);
  }
  Settlement settled = owe_refund(*payment, *order, payment->payment.amount, "paid_late");
  settled.effect = effect_if_taken(true) == GateEffect::release ? GateEffect::release : GateEffect::none;
  return settled;
}

RetakeEnd SettleBook::decide(const RetakeDecision& decision) {
  const auto found = retakes_.find(decision.payment);
  if (found == retakes_.end()) return RetakeEnd::unknown;
  RetakeRow& retake = found->second;
  if (retake.is_kept) return *retake.is_kept ? RetakeEnd::kept : RetakeEnd::refunded;
  const GateState* gate = gate_of(retake.sale);
  const bool is_current = gate != nullptr && gate->phase == GatePhase::open && gate->epoch == decision.epoch;
  if (!is_current) return RetakeEnd::moved;
  PaymentRow* payment = find_payment(decision.payment);
  OrderRow* order = find_order(retake.order);
  CHECK(payment != nullptr && order != nullptr, "retake {} has no order", retake.hold.text());
  retake.is_changed = true;
  retake.is_kept = decision.taken && try_retake(*payment, *order);
  if (*retake.is_kept) {
    order->hold = retake.hold;
    return RetakeEnd::kept;
  }
  static_cast<void>(owe_refund(*payment, *order, payment->payment.amount, "paid_late"));
  effects_.release(retake.sale, retake.hold);
  return RetakeEnd::refunded;
}

SettleBook::OrderRow* SettleBook::find_order(OrderId id) {
  const auto found = orders_.find(id);
  return found == orders_.end() ? nullptr : &found->second;
}

/// A stranger's order and an order that does not exist are the same to who asks.
SettleBook::OrderRow* SettleBook::find_own_order(TenantNo tenant, std::string_view buyer, OrderId id) {
  OrderRow* order = find_order(id);
  const bool is_own = order != nullptr && order->order.tenant == tenant && order->order.buyer == buyer;
  return is_own ? order : nullptr;
}

SettleBook::PaymentRow* SettleBook::find_payment(PaymentId id) {
  const auto found = payments_.find(id);
  return found == payments_.end() ? nullptr : &found->second;
}

SettleBook::PaymentRow* SettleBook::live_payment(OrderId order) {
  for (auto& [id, row] : payments_) {
    const PaymentState state = row.payment.state;
    const bool is_live =
        state == PaymentState::started || state == PaymentState::declined || state == PaymentState::captured;
    if (row.payment.order == order && is_live) return &row;
  }
  return nullptr;
}

Settlement SettleBook::answer(Settled settled, const OrderRow* order, const PaymentRow* payment,
                              GateEffect effect) const {
  Settlement settlement{.settled = settled, .effect = effect, .order = std::nullopt, .payment = std::nullopt};
  if (order != nullptr) {
    settlement.order = order->order;
    if (const RefundRow* refund = shown_refund(order->order.id)) settlement.order->refund = refund->refund;
  }
  if (payment != nullptr) settlement.payment = payment->payment;
  return settlement;
}

bool SettleBook::is_key_reused(const std::optional<RequestKey>& key) const {
  if (!key) return false;
  const auto known = keys_.find(key->id);
  if (known != keys_.end()) return known->second != key->digest.value;
  // Purchases share the space of ids: an order under this id was another request.
  return keys_of_orders_.contains(key->id);
}

/// Only what succeeded is bound to its key.
void SettleBook::keep_key(const std::optional<RequestKey>& key) {
  if (key && keys_.emplace(key->id, key->digest.value).second) new_keys_.push_back(*key);
}

void SettleBook::set_state(PaymentRow& payment, PaymentState state) {
  payment.payment.state = state;
  payment.is_changed = true;
}

void SettleBook::move(OrderRow& order, OrderEvent event) {
  const auto next = advance(order.order.status, event);
  CHECK(next, "order {} is {}", order.order.id.text(), name(order.order.status));
  order.order.status = *next;
  if (event == OrderEvent::pay || event == OrderEvent::retake) order.order.paid_at = now_;
  order.order.ended_at = is_live(*next) ? std::nullopt : std::optional{now_};
  order.is_changed = true;
}

void SettleBook::move_units(const OrderRow& order, std::int64_t held, std::int64_t sold) {
  items_.at(order.order.item.value).room -= held + sold;
  effects_.move_item(order.order.item, held, sold);
}

void SettleBook::move_buyer(const OrderRow& order, std::int64_t units) {
  units_.at({order.order.sale.value, order.order.buyer}) += units;
  effects_.move_buyer(order.order.sale, order.order.buyer, units);
}

void SettleBook::add_event(OrderId order, std::string_view event, std::string detail) {
  effects_.add_event(order, event, now_, std::move(detail));
}

const GateState* SettleBook::gate_of(SaleNo sale) const {
  const auto found = std::ranges::find(gates_, sale, &GateState::sale);
  return found == gates_.end() ? nullptr : &*found;
}

}  // namespace weir::postgres
