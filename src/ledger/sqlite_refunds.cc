#include "base/log.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_rows.h"
#include "ledger/sqlite_settlement.h"
#include "ledger/sqlite_statements.h"

#include <utility>

#include <fmt/format.h>

namespace weir {

using sqlite::answer;
using sqlite::ResetLater;

Settlement SqliteLedger::settle_one(const RefundOrder& command) {
  if (is_key_reused(command.key)) return answer(Settled::key_reused);
  auto order = find_order(command.order);
  if (!order || order->tenant != command.tenant) return answer(Settled::unknown_order);
  bool is_asked = false;
  {
    auto& asked = statements_->asked_refund.bind(1, order->id);
    const ResetLater later{asked};
    is_asked = asked.step();
  }
  if (is_asked) {
    keep_key(command.key);
    return answer(Settled::repeated, std::move(order));
  }
  std::optional<Payment> payment;
  {
    auto& row = statements_->captured_payment.bind(1, order->id);
    const ResetLater later{row};
    if (row.step()) payment = sqlite::read_payment(row);
  }
  const Money amount{command.amount.value_or(order->amount.value), order->amount.currency};
  const bool is_all = amount == order->amount;
  const bool is_lawful = is_all || (amount.value >= 1 && amount.value < order->amount.value);
  if (order->status != OrderStatus::paid || !payment || !is_lawful) {
    return answer(Settled::refused, std::move(order));
  }
  auto& put = statements_->put_refund.bind(1, command.refund).bind(2, payment->id).bind(3, order->id);
  put.bind(4, amount.value).bind(5, amount.currency.view()).bind(6, std::int64_t{1});
  put.bind(7, std::int64_t{command.restock}).bind(8, std::string_view{command.reason}).bind(9, clock_.now());
  if (put.run_counted() != 1) return answer(Settled::refused, std::move(order));  // The id is another refund's.
  add_event(order->id, sqlite::event::kRefundDue,
            fmt::format("{} {} {}: {}", command.refund.text(), amount.value, amount.currency.view(), command.reason));
  keep_key(command.key);
  // An order that cost nothing has nothing that a gateway could send back.
  const GateEffect effect = amount.value == 0 ? finish_refund(command.refund, *payment, *order) : GateEffect::none;
  Settlement settled = answer(Settled::done, find_order(order->id), find_payment(payment->id));
  settled.effect = effect;
  return settled;
}

Settlement SqliteLedger::owe_refund(Payment payment, const Order& order, Money amount, std::string_view reason) {
  const RefundId id = RefundId::random(random_);
  auto& put = statements_->put_refund.bind(1, id).bind(2, payment.id).bind(3, order.id);
  put.bind(4, amount.value).bind(5, amount.currency.view()).bind(6, std::int64_t{0});
  put.bind(7, std::int64_t{0}).bind(8, reason).bind(9, clock_.now()).run();
  set_payment_state(payment.id, PaymentState::refund_due);
  payment.state = PaymentState::refund_due;
  add_event(order.id, sqlite::event::kRefundDue,
            fmt::format("{} {} {}: {}", id.text(), amount.value, amount.currency.view(), reason));
  if (amount.value == 0) static_cast<void>(finish_refund(id, payment, order));
  return answer(Settled::refund_due, find_order(order.id), find_payment(payment.id));
}

Settlement SqliteLedger::refund_due_event(const PaymentEvent& event, Payment payment, Order order) {
  std::optional<Refund> refund;
  {
    auto& row = statements_->refund_of_payment.bind(1, payment.id);
    const ResetLater later{row};
    if (row.step()) refund = sqlite::read_refund(row);
  }
  if (!refund || event.refund != refund->id || event.amount != refund->amount) {
    log::error("refund_not_asked_for", {{"order", order.id.text()}, {"event", event.event_id}});
    return answer(Settled::refused, std::move(order), std::move(payment));
  }
  if (refund->state == RefundState::done) return answer(Settled::repeated, std::move(order), std::move(payment));
  const GateEffect effect = finish_refund(refund->id, payment, order);
  Settlement settled = answer(Settled::done, find_order(order.id), find_payment(payment.id));
  settled.effect = effect;
  return settled;
}

/// The money has gone back. All the money of a PAID order ends it; restocked, its units are for sale again. Units that
/// are not restocked go on counting as sold and as the buyer's, so counts and limits need no exception.
GateEffect SqliteLedger::finish_refund(RefundId refund, const Payment& payment, const Order& order) {
  std::int64_t amount = 0;
  bool is_of_order = false;
  bool is_restocked = false;
  {
    auto& row = statements_->refund_of_payment.bind(1, payment.id);
    const ResetLater later{row};
    if (!row.step()) return GateEffect::none;
    amount = row.whole(2);
    is_of_order = row.whole(4) != 0;
    is_restocked = row.whole(5) != 0;
  }
  const Instant at = clock_.now();
  if (statements_->finish_refund.bind(1, refund).bind(2, at).run_counted() != 1) return GateEffect::none;
  add_event(order.id, sqlite::event::kRefundDone, refund.text());
  if (is_of_order && amount != order.amount.value) return GateEffect::none;  // A part: the order stays PAID.
  set_payment_state(payment.id, PaymentState::refunded);
  if (!is_of_order) return GateEffect::none;
  const std::int64_t kept = is_restocked ? 0 : order.units;
  if (statements_->refund_order.bind(1, order.id).bind(2, at).bind(3, kept).run_counted() != 1) return GateEffect::none;
  add_event(order.id, sqlite::event::kRefunded, "");
  if (!is_restocked) return GateEffect::none;
  move_units(order.item, 0, -order.units);
  move_buyer(order, -order.units);
  free_numbers(order.item, order.id, order.numbers.view());
  add_event(order.id, sqlite::event::kRestocked, "");
  return GateEffect::release;
}

std::int64_t SqliteLedger::kept_units(OrderId order) {
  auto& row = statements_->read_kept.bind(1, order);
  const ResetLater later{row};
  return row.step() ? row.whole(0) : 0;
}

}  // namespace weir
