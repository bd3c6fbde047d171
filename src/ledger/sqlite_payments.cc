#include "base/log.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_rows.h"
#include "ledger/sqlite_settlement.h"
#include "ledger/sqlite_statements.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weir {

using sqlite::answer;
using sqlite::ResetLater;

Settlement SqliteLedger::settle_one(const StartPayment& command) {
  if (is_key_reused(command.key)) return answer(Settled::key_reused);
  auto order = find_own_order(command.tenant, command.buyer.view(), command.order);
  if (!order) return answer(Settled::unknown_order);
  // The same command again, whatever has become of the order since.
  if (auto own = find_payment(command.payment); own && own->order == order->id) {
    keep_key(command.key);
    return answer(Settled::repeated, std::move(order), std::move(own));
  }
  if (order->status != OrderStatus::pending || order->pay_by <= clock_.now()) {
    return answer(Settled::refused, std::move(order));
  }
  std::optional<Payment> live;
  {
    auto& row = statements_->live_payment.bind(1, command.order);
    const ResetLater later{row};
    if (row.step()) live = sqlite::read_payment(row);
  }
  if (live) {
    keep_key(command.key);
    return answer(Settled::repeated, std::move(order), std::move(live));
  }
  return start_payment(command, *std::move(order));
}

Settlement SqliteLedger::start_payment(const StartPayment& command, Order order) {
  const Instant at = clock_.now();
  const Instant extended = at + command.grace;
  const bool is_extended =
      extended > order.pay_by && statements_->extend_order.bind(1, order.id).bind(2, extended).run_counted() == 1;
  if (is_extended) order.pay_by = extended;
  Payment payment{.id = command.payment,
                  .order = order.id,
                  .tenant = order.tenant,
                  .gateway = command.gateway,
                  .amount = order.amount,
                  .state = PaymentState::started,
                  .created_at = at,
                  .expires_at = order.pay_by};
  auto& put = statements_->put_payment.bind(1, payment.id).bind(2, payment.order).bind(3, payment.tenant);
  put.bind(4, std::string_view{payment.gateway}).bind(5, payment.amount.value);
  put.bind(6, payment.amount.currency.view()).bind(7, at).bind(8, payment.expires_at);
  if (put.run_counted() != 1) return answer(Settled::refused, std::move(order));  // The id is another order's.
  if (is_extended) add_event(order.id, sqlite::event::kExtended, "a payment was started");
  add_event(order.id, sqlite::event::kPaymentStarted, fmt::format("{} by {}", payment.id.text(), payment.gateway));
  keep_key(command.key);
  Settlement settlement = answer(Settled::done, std::move(order), payment);
  apply_early_events(payment, settlement);
  return settlement;
}

/// Events that came before their payment was known here.
void SqliteLedger::apply_early_events(const Payment& payment, Settlement& settlement) {
  std::vector<PaymentEvent> early;
  {
    auto& row = statements_->early_events.bind(1, payment.id).bind(2, std::string_view{payment.gateway});
    const ResetLater later{row};
    while (row.step()) {
      early.push_back({.gateway = payment.gateway,
                       .event_id = std::string{row.text(0)},
                       .kind = static_cast<PaymentEventKind>(row.whole(1)),
                       .payment = payment.id,
                       .refund = row.id<RefundId>(2),
                       .amount = row.money(3, 4),
                       .body = {}});
    }
  }
  for (const PaymentEvent& event : early) {
    auto& close = statements_->close_inbox.bind(1, std::string_view{event.gateway});
    close.bind(2, std::string_view{event.event_id}).run();
    const auto now = find_payment(payment.id);
    if (!now) return;
    Settlement applied = apply_event(event, *now);
    if (applied.effect != GateEffect::none) settlement.effect = applied.effect;
    settlement.order = std::move(applied.order);
    settlement.payment = std::move(applied.payment);
  }
}

Settlement SqliteLedger::settle_one(const PaymentEvent& event) {
  auto payment = find_payment(event.payment);
  const bool is_known = payment && payment->gateway == event.gateway;
  auto& put = statements_->put_inbox.bind(1, std::string_view{event.gateway});
  put.bind(2, std::string_view{event.event_id}).bind(3, event.payment).bind(4, static_cast<std::int64_t>(event.kind));
  put.bind(5, event.refund).bind(6, event.amount.value).bind(7, event.amount.currency.view());
  put.bind(8, std::string_view{event.body}).bind(9, clock_.now()).bind(10, std::int64_t{is_known});
  const bool is_new = put.run_counted() == 1;
  if (!is_known) return answer(Settled::unknown_order);  // Kept until its payment appears.
  if (!is_new) return answer(Settled::repeated, find_order(payment->order), std::move(payment));
  return apply_event(event, *std::move(payment));
}

Settlement SqliteLedger::apply_event(const PaymentEvent& event, Payment payment) {
  auto order = find_order(payment.order);
  if (!order) return answer(Settled::unknown_order);
  switch (event.kind) {
    case PaymentEventKind::captured: return capture(event, std::move(payment), *std::move(order));
    case PaymentEventKind::declined: return decline(std::move(payment), *std::move(order));
    case PaymentEventKind::refund_done: return refund_due_event(event, std::move(payment), *std::move(order));
    case PaymentEventKind::other: break;
  }
  return answer(Settled::repeated, std::move(order), std::move(payment));
}

/// A late "declined" never takes back what was captured.
Settlement SqliteLedger::decline(Payment payment, Order order) {
  if (payment.state != PaymentState::started) return answer(Settled::repeated, std::move(order), std::move(payment));
  set_payment_state(payment.id, PaymentState::declined);
  payment.state = PaymentState::declined;
  add_event(order.id, sqlite::event::kPaymentDeclined, payment.id.text());
  return answer(Settled::done, std::move(order), std::move(payment));
}

Settlement SqliteLedger::capture(const PaymentEvent& event, Payment payment, Order order) {
  const bool is_open = payment.state == PaymentState::started || payment.state == PaymentState::declined;
  if (!is_open) return answer(Settled::repeated, std::move(order), std::move(payment));
  if (event.amount != payment.amount) {
    add_event(order.id, sqlite::event::kAmountMismatch,
              fmt::format("{} captured {} {}, not {} {}", payment.id.text(), event.amount.value,
                          event.amount.currency.view(), payment.amount.value, payment.amount.currency.view()));
    log::error("amount_mismatch", {{"order", order.id.text()}, {"event", event.event_id}});
    // Nothing was taken, so nothing goes back.
    if (event.amount.value <= 0) return answer(Settled::refused, std::move(order), std::move(payment));
    statements_->set_captured.bind(1, payment.id).bind(2, event.amount.value).run();
    return owe_refund(std::move(payment), order, event.amount, sqlite::event::kAmountMismatch);
  }
  statements_->set_captured.bind(1, payment.id).bind(2, event.amount.value).run();
  if (statements_->pay_order.bind(1, order.id).bind(2, clock_.now()).run_counted() != 1) {
    return capture_after_end(std::move(payment), std::move(order));
  }
  set_payment_state(payment.id, PaymentState::captured);
  move_units(order.item, -order.units, order.units);
  add_event(order.id, sqlite::event::kPaid, payment.id.text());
  Settlement settled = answer(Settled::done, find_order(order.id), find_payment(payment.id));
  settled.effect = GateEffect::sell;
  return settled;
}

Settlement SqliteLedger::capture_after_end(Payment payment, Order order) {
  const Money amount = payment.amount;
  switch (order.status) {
    case OrderStatus::expired:
      set_payment_state(payment.id, PaymentState::late);
      payment.state = PaymentState::late;
      add_event(order.id, sqlite::event::kPaidLate, payment.id.text());
      return answer(Settled::late, std::move(order), std::move(payment));
    case OrderStatus::paid: return owe_refund(std::move(payment), order, amount, "second_payment");
    case OrderStatus::pending:
    case OrderStatus::cancelled:
    case OrderStatus::rejected:
    case OrderStatus::refunded: break;
  }
  return owe_refund(std::move(payment), order, amount, "paid_after_end");
}

bool SqliteLedger::may_retake(const Order& order) {
  if (!order.numbers.is_empty() && is_drawn(order.item)) return false;
  const ItemRow* item = item_row(order.item);
  const std::int64_t held = buyer_row(order.tenant, order.sale, order.buyer).units;
  return item != nullptr && order.units <= item->room && held + order.units <= sale_row(order.sale).limit;
}

/// False, and nothing has changed: the order is not EXPIRED, or one of its numbers has another owner by now.
bool SqliteLedger::retake(const Order& order) {
  if (!take_numbers(order.item, order.id, order.numbers)) return false;
  if (statements_->retake_order.bind(1, order.id).bind(2, clock_.now()).run_counted() == 1) return true;
  free_numbers(order.item, order.id, order.numbers.view());
  return false;
}

Settlement SqliteLedger::settle_one(const DecideLate& command) {
  auto payment = find_payment(command.payment);
  auto order = payment ? find_order(payment->order) : std::nullopt;
  if (!order) return answer(Settled::unknown_order);
  if (payment->state != PaymentState::late) {
    // Decided before. What the gate took for this question goes where the order is.
    Settlement settled = answer(Settled::repeated, std::move(order), std::move(payment));
    if (command.units_taken && settled.order->status == OrderStatus::paid)
      settled.effect = GateEffect::sell;
    else if (command.units_taken && kept_units(settled.order->id) == 0)
      settled.effect = GateEffect::release;
    return settled;
  }
  forget_rows();  // Commands before this one may have moved the counts.
  if (command.units_taken && may_retake(*order) && retake(*order)) {
    set_payment_state(payment->id, PaymentState::captured);
    move_units(order->item, 0, order->units);
    move_buyer(*order, order->units);
    add_event(order->id, sqlite::event::kRetaken, payment->id.text());
    Settlement settled = answer(Settled::done, find_order(order->id), find_payment(payment->id));
    settled.effect = GateEffect::sell;
    return settled;
  }
  const Money amount = payment->amount;
  Settlement settled = owe_refund(*std::move(payment), *order, amount, "paid_late");
  if (command.units_taken && order->status != OrderStatus::paid) settled.effect = GateEffect::release;
  return settled;
}

}  // namespace weir
