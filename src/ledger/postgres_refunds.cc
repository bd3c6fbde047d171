#include "base/log.h"
#include "ledger/order_events.h"
#include "ledger/postgres_settle_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace weir::postgres {

Settlement SettleBook::settle_one(const RefundOrder& command) {
  if (is_key_reused(command.key)) return answer(Settled::key_reused);
  OrderRow* order = find_order(command.order);
  if (order == nullptr || order->order.tenant != command.tenant) return answer(Settled::unknown_order);
  const bool is_asked = std::ranges::any_of(
      refunds_, [&](const auto& one) { return one.second.order == command.order && one.second.is_of_order; });
  if (is_asked) {
    keep_key(command.key);
    return answer(Settled::repeated, order);
  }
  PaymentRow* payment = live_payment(command.order);
  const bool is_captured = payment != nullptr && payment->payment.state == PaymentState::captured;
  const Money amount{command.amount.value_or(order->order.amount.value), order->order.amount.currency};
  const bool is_all = amount == order->order.amount;
  const bool is_lawful = is_all || (amount.value >= 1 && amount.value < order->order.amount.value);
  const bool is_new_id = !refunds_.contains(command.refund);
  if (order->order.status != OrderStatus::paid || !is_captured || !is_lawful || !is_new_id) {
    return answer(Settled::refused, order);
  }
  RefundRow row;
  row.refund = {.id = command.refund, .state = RefundState::due, .amount = amount};
  row.payment = payment->payment.id;
  row.order = command.order;
  row.is_of_order = true;
  row.is_restocked = command.restock;
  row.reason = command.reason;
  row.created_at = now_;
  row.is_new = true;
  RefundRow& refund = refunds_.emplace(command.refund, std::move(row)).first->second;
  add_event(command.order, order_event::kRefundDue,
            fmt::format("{} {} {}: {}", command.refund.text(), amount.value, amount.currency.view(), command.reason));
  keep_key(command.key);
  // An order that cost nothing has nothing that a gateway could send back.
  const GateEffect effect = amount.value == 0 ? finish_refund(refund, *payment, *order) : GateEffect::none;
  return answer(Settled::done, order, payment, effect);
}

Settlement SettleBook::owe_refund(PaymentRow& payment, OrderRow& order, Money amount, std::string_view reason) {
  RefundRow row;
  row.refund = {.id = RefundId::random(random_), .state = RefundState::due, .amount = amount};
  row.payment = payment.payment.id;
  row.order = order.order.id;
  row.reason = reason;
  row.created_at = now_;
  row.is_new = true;
  RefundRow& refund = refunds_.emplace(row.refund.id, std::move(row)).first->second;
  set_state(payment, PaymentState::refund_due);
  add_event(order.order.id, order_event::kRefundDue,
            fmt::format("{} {} {}: {}", refund.refund.id.text(), amount.value, amount.currency.view(), reason));
  if (amount.value == 0) static_cast<void>(finish_refund(refund, payment, order));
  return answer(Settled::refund_due, &order, &payment);
}

Settlement SettleBook::refund_done_event(const PaymentEvent& event, PaymentRow& payment, OrderRow& order) {
  RefundRow* refund = refund_of(payment.payment.id);
  if (refund == nullptr || event.refund != refund->refund.id || event.amount != refund->refund.amount) {
    log::error("refund_not_asked_for", {{"order", order.order.id.text()}, {"event", event.event_id}});
    return answer(Settled::refused, &order, &payment);
  }
  if (refund->refund.state == RefundState::done) return answer(Settled::repeated, &order, &payment);
  const GateEffect effect = finish_refund(*refund, payment, order);
  return answer(Settled::done, &order, &payment, effect);
}

/// The money has gone back. All the money of a PAID order ends it; restocked, its units are for sale again. Units that
/// are not restocked go on counting as sold and as the buyer's, so counts and limits need no exception.
GateEffect SettleBook::finish_refund(RefundRow& refund, PaymentRow& payment, OrderRow& order) {
  refund.refund.state = RefundState::done;
  refund.done_at = now_;
  refund.is_changed = true;
  add_event(order.order.id, order_event::kRefundDone, refund.refund.id.text());
  const bool is_part = refund.is_of_order && refund.refund.amount.value != order.order.amount.value;
  if (is_part) return GateEffect::none;  // The order stays PAID.
  set_state(payment, PaymentState::refunded);
  if (!refund.is_of_order || order.order.status != OrderStatus::paid) return GateEffect::none;
  move(order, OrderEvent::refund);
  order.kept_units = refund.is_restocked ? 0 : order.order.units;
  add_event(order.order.id, order_event::kRefunded, "");
  if (!refund.is_restocked) return GateEffect::none;
  move_units(order, 0, -order.order.units);
  move_buyer(order, -order.order.units);
  add_event(order.order.id, order_event::kRestocked, "");
  effects_.release(order.order.sale, order.hold_id());
  return GateEffect::release;
}

SettleBook::RefundRow* SettleBook::refund_of(PaymentId payment) {
  const auto found = std::ranges::find_if(refunds_, [&](const auto& one) { return one.second.payment == payment; });
  return found == refunds_.end() ? nullptr : &found->second;
}

/// The one that is shown with an order: what was asked for before what was owed, then the newest.
const SettleBook::RefundRow* SettleBook::shown_refund(OrderId order) const {
  const RefundRow* shown = nullptr;
  const auto rank = [](const RefundRow& row) { return std::tuple{row.is_of_order, row.created_at}; };
  for (const auto& [id, row] : refunds_) {
    if (row.order == order && (shown == nullptr || rank(row) > rank(*shown))) shown = &row;
  }
  return shown;
}

}  // namespace weir::postgres
