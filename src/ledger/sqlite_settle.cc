#include "base/fault.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_statements.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

Settlement answer(Settled settled, std::optional<Order> order = std::nullopt, std::optional<Payment> payment = std::nullopt) {
  return {.settled = settled, .effect = GateEffect::none, .order = std::move(order), .payment = std::move(payment)};
}

}  // namespace

Order read_order(const sqlite::Statement& row) {
  Order order;
  order.id = row.id<OrderId>(0);
  order.tenant = {static_cast<std::uint32_t>(row.whole(1))};
  order.sale = {static_cast<std::uint32_t>(row.whole(2))};
  order.item = {static_cast<std::uint32_t>(row.whole(3))};
  order.buyer = row.text(4);
  order.units = static_cast<std::int32_t>(row.whole(5));
  order.amount = row.money(6, 7);
  order.status = static_cast<OrderStatus>(row.whole(8));
  order.reason = row.text(9);
  order.digest = {static_cast<std::uint64_t>(row.whole(10))};
  order.created_at = row.moment(11);
  order.pay_by = row.moment(12);
  order.paid_at = row.maybe_moment(13);
  order.ended_at = row.maybe_moment(14);
  return order;
}

Payment read_payment(const sqlite::Statement& row) {
  Payment payment;
  payment.id = row.id<PaymentId>(0);
  payment.order = row.id<OrderId>(1);
  payment.tenant = {static_cast<std::uint32_t>(row.whole(2))};
  payment.gateway = row.text(3);
  payment.amount = row.money(4, 5);
  payment.state = static_cast<PaymentState>(row.whole(6));
  payment.created_at = row.moment(7);
  payment.expires_at = row.moment(8);
  return payment;
}

Result<void> SqliteLedger::settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements, Deadline deadline) {
  const auto run = [&] {
    return transact(deadline, [&] {
      for (std::size_t i = 0; i < commands.size(); ++i) {
        settlements[i] = std::visit([this](const auto& command) { return settle_one(command); }, commands[i]);
        FAULT("settled_one");
      }
    });
  };
  const auto done = run();
  if (done || done.error().failure != Failure::unavailable || !has_reserve_) return done;
  drop_reserve();  // The disk is full: payments go on with what was kept for them.
  return run();
}

std::optional<Order> SqliteLedger::find_order(OrderId id) {
  std::optional<Order> order;
  {
    auto& row = statements_->find_order.bind(1, id);
    const sqlite::ResetLater later{row};
    if (!row.step()) return std::nullopt;
    order = read_order(row);
  }
  auto& refund = statements_->refund_of_order.bind(1, id);
  const sqlite::ResetLater later{refund};
  if (refund.step()) {
    order->refund = Refund{.id = refund.id<RefundId>(0), .state = static_cast<RefundState>(refund.whole(1)), .amount = refund.money(2, 3)};
  }
  return order;
}

std::optional<Payment> SqliteLedger::find_payment(PaymentId id) {
  auto& row = statements_->find_payment.bind(1, id);
  const sqlite::ResetLater later{row};
  if (!row.step()) return std::nullopt;
  return read_payment(row);
}

void SqliteLedger::set_payment_state(PaymentId id, PaymentState state) {
  statements_->set_payment_state.bind(1, id).bind(2, static_cast<std::int64_t>(state)).run();
}

void SqliteLedger::move_units(ItemNo item, std::int64_t held, std::int64_t sold) {
  statements_->move_units.bind(1, item).bind(2, held).bind(3, sold).run();
}

void SqliteLedger::move_buyer(const Order& order, std::int64_t units) {
  statements_->move_buyer.bind(1, order.tenant).bind(2, std::string_view{order.buyer}).bind(3, order.sale).bind(4, units).run();
}

void SqliteLedger::add_event(OrderId order, std::string_view event, std::string_view detail) {
  statements_->add_event.bind(1, order).bind(2, event).bind(3, clock_.now()).bind(4, detail).run();
}

std::optional<Settled> SqliteLedger::check_key(const std::optional<RequestKey>& key) {
  if (!key) return std::nullopt;
  {
    auto& known = statements_->find_request_key.bind(1, key->id);
    const sqlite::ResetLater later{known};
    if (known.step()) {
      const bool is_same = static_cast<std::uint64_t>(known.whole(0)) == key->digest.value;
      return is_same ? std::nullopt : std::optional{Settled::key_reused};
    }
  }
  auto& order = statements_->find_order.bind(1, key->id);
  const sqlite::ResetLater later{order};
  return order.step() ? std::optional{Settled::key_reused} : std::nullopt;
}

void SqliteLedger::keep_key(const std::optional<RequestKey>& key) {
  if (!key) return;
  statements_->put_request_key.bind(1, key->id).bind(2, static_cast<std::int64_t>(key->digest.value)).bind(3, clock_.now()).run();
}

bool SqliteLedger::end_order(Order& order, OrderStatus status, std::string_view reason) {
  const Instant at = clock_.now();
  statements_->end_order.bind(1, order.id).bind(2, static_cast<std::int64_t>(status)).bind(3, reason).bind(4, at).run();
  if (sqlite3_changes(connection_->get()) != 1) return false;
  move_units(order.item, -order.units, 0);
  move_buyer(order, -order.units);
  order.status = status;
  order.reason = reason;
  order.ended_at = at;
  return true;
}

Settlement SqliteLedger::settle_one(const StartPayment& command) {
  if (const auto refused = check_key(command.key)) return answer(*refused);
  auto order = find_order(command.order);
  if (!order || order->tenant != command.tenant || order->buyer != command.buyer.view()) return answer(Settled::unknown_order);
  const Instant at = clock_.now();
  std::optional<Payment> live;
  {
    auto& row = statements_->live_payment.bind(1, command.order);
    const sqlite::ResetLater later{row};
    if (row.step()) live = read_payment(row);
  }
  if (order->status != OrderStatus::pending || order->pay_by <= at) return answer(Settled::refused, std::move(order));
  keep_key(command.key);
  if (live) return answer(Settled::repeated, std::move(order), std::move(live));
  const Instant extended = at + command.grace;
  if (extended > order->pay_by) {
    statements_->extend_order.bind(1, order->id).bind(2, extended).run();
    if (sqlite3_changes(connection_->get()) == 1) {
      order->pay_by = extended;
      add_event(order->id, "extended", "a payment was started");
    }
  }
  Payment payment{.id = command.payment, .order = order->id, .tenant = order->tenant, .gateway = command.gateway,
                  .amount = order->amount, .state = PaymentState::started, .created_at = at, .expires_at = order->pay_by};
  auto& put = statements_->put_payment;
  put.bind(1, payment.id).bind(2, payment.order).bind(3, payment.tenant).bind(4, std::string_view{payment.gateway});
  put.bind(5, payment.amount.value).bind(6, payment.amount.currency.view()).bind(7, at).bind(8, payment.expires_at).run();
  add_event(order->id, "payment_started", fmt::format("{} by {}", payment.id.text(), payment.gateway));
  // Events that came before their payment was known here are applied now.
  std::vector<PaymentEvent> early;
  {
    auto& row = statements_->open_inbox.bind(1, payment.id);
    const sqlite::ResetLater later{row};
    while (row.step()) {
      early.push_back({.gateway = std::string{row.text(0)}, .event_id = std::string{row.text(1)},
                       .kind = static_cast<PaymentEventKind>(row.whole(2)), .payment = payment.id,
                       .refund = row.id<RefundId>(3), .amount = row.money(4, 5), .body = {}});
    }
  }
  Settlement settled = answer(Settled::done, std::move(order), payment);
  for (const PaymentEvent& event : early) {
    statements_->close_inbox.bind(1, std::string_view{event.gateway}).bind(2, std::string_view{event.event_id}).run();
    const Settlement applied = apply_event(event, payment);
    if (applied.effect != GateEffect::none) settled.effect = applied.effect;
    if (applied.order) settled.order = applied.order;
  }
  return settled;
}

Settlement SqliteLedger::settle_one(const PaymentEvent& event) {
  auto payment = find_payment(event.payment);
  const bool is_known = payment && payment->gateway == event.gateway;
  auto& put = statements_->put_inbox;
  put.bind(1, std::string_view{event.gateway}).bind(2, std::string_view{event.event_id}).bind(3, event.payment);
  put.bind(4, static_cast<std::int64_t>(event.kind)).bind(5, event.refund).bind(6, event.amount.value);
  put.bind(7, event.amount.currency.view()).bind(8, std::string_view{event.body}).bind(9, clock_.now()).bind(10, std::int64_t{is_known}).run();
  const bool is_new = sqlite3_changes(connection_->get()) == 1;
  if (!is_known) return answer(is_new ? Settled::unknown_order : Settled::repeated);
  if (!is_new) return answer(Settled::repeated, find_order(payment->order), std::move(payment));
  return apply_event(event, std::move(*payment));
}

Settlement SqliteLedger::apply_event(const PaymentEvent& event, Payment payment) {
  auto order = find_order(payment.order);
  if (!order) return answer(Settled::unknown_order);
  switch (event.kind) {
    case PaymentEventKind::captured: return capture(event, std::move(payment), std::move(*order));
    case PaymentEventKind::refund_done: return finish_refund(event, std::move(payment), std::move(*order));
    case PaymentEventKind::declined:
      // A late "declined" never takes back what was captured.
      if (payment.state != PaymentState::started && payment.state != PaymentState::declined) {
        return answer(Settled::repeated, std::move(order), std::move(payment));
      }
      set_payment_state(payment.id, PaymentState::declined);
      payment.state = PaymentState::declined;
      add_event(order->id, "payment_declined", payment.id.text());
      return answer(Settled::done, std::move(order), std::move(payment));
    case PaymentEventKind::other: return answer(Settled::repeated, std::move(order), std::move(payment));
  }
  return answer(Settled::refused);
}

Settlement SqliteLedger::owe_refund(Payment payment, const Order& order, Money amount, std::string_view reason) {
  const RefundId id = RefundId::random(random_);
  auto& put = statements_->put_refund;
  put.bind(1, id).bind(2, payment.id).bind(3, order.id).bind(4, amount.value).bind(5, amount.currency.view());
  put.bind(6, std::int64_t{0}).bind(7, reason).bind(8, clock_.now()).run();
  set_payment_state(payment.id, PaymentState::refund_due);
  payment.state = PaymentState::refund_due;
  add_event(order.id, "refund_due", fmt::format("{} {} {}: {}", id.text(), amount.value, amount.currency.view(), reason));
  return answer(Settled::refund_due, find_order(order.id), std::move(payment));
}

Settlement SqliteLedger::capture(const PaymentEvent& event, Payment payment, Order order) {
  const bool is_open = payment.state == PaymentState::started || payment.state == PaymentState::declined;
  if (!is_open) return answer(Settled::repeated, std::move(order), std::move(payment));
  statements_->set_captured.bind(1, payment.id).bind(2, event.amount.value).run();
  if (event.amount != payment.amount) return owe_refund(std::move(payment), order, event.amount, "amount_mismatch");
  const Instant at = clock_.now();
  statements_->pay_order.bind(1, order.id).bind(2, at).run();
  if (sqlite3_changes(connection_->get()) == 1) {
    set_payment_state(payment.id, PaymentState::captured);
    payment.state = PaymentState::captured;
    move_units(order.item, -order.units, order.units);
    add_event(order.id, "paid", payment.id.text());
    order.status = OrderStatus::paid;
    order.paid_at = at;
    Settlement settled = answer(Settled::done, std::move(order), std::move(payment));
    settled.effect = GateEffect::sell;
    return settled;
  }
  switch (order.status) {
    case OrderStatus::expired:
      set_payment_state(payment.id, PaymentState::late);
      payment.state = PaymentState::late;
      add_event(order.id, "paid_late", payment.id.text());
      return answer(Settled::late, std::move(order), std::move(payment));
    case OrderStatus::paid: return owe_refund(std::move(payment), order, event.amount, "second_payment");
    case OrderStatus::pending:
    case OrderStatus::cancelled:
    case OrderStatus::rejected:
    case OrderStatus::refunded: break;
  }
  return owe_refund(std::move(payment), order, event.amount, "paid_after_end");
}

Settlement SqliteLedger::settle_one(const DecideLate& command) {
  auto payment = find_payment(command.payment);
  auto order = payment ? find_order(payment->order) : std::nullopt;
  if (!order) return answer(Settled::unknown_order);
  if (payment->state != PaymentState::late) return answer(Settled::repeated, std::move(order), std::move(payment));
  std::int64_t room = 0;
  std::int64_t held = 0;
  {
    auto& row = statements_->item_counts.bind(1, order->item);
    const sqlite::ResetLater later{row};
    if (row.step()) room = row.whole(0);
  }
  {
    auto& row = statements_->buyer_units.bind(1, order->tenant).bind(2, std::string_view{order->buyer}).bind(3, order->sale);
    const sqlite::ResetLater later{row};
    if (row.step()) held = row.whole(0);
  }
  forget_rows();
  const bool fits = room >= order->units && held + order->units <= sale_row(order->sale).limit;
  if (command.units_taken && fits) {
    const Instant at = clock_.now();
    statements_->retake_order.bind(1, order->id).bind(2, at).run();
    if (sqlite3_changes(connection_->get()) == 1) {
      set_payment_state(payment->id, PaymentState::captured);
      move_units(order->item, 0, order->units);
      move_buyer(*order, order->units);
      add_event(order->id, "retaken", payment->id.text());
      Settlement settled = answer(Settled::done, find_order(order->id), find_payment(payment->id));
      settled.effect = GateEffect::sell;
      return settled;
    }
  }
  const bool is_still_ended = order->status != OrderStatus::paid;
  Settlement settled = owe_refund(std::move(*payment), *order, payment->amount, "paid_late");
  if (command.units_taken && is_still_ended) settled.effect = GateEffect::release;
  return settled;
}

Settlement SqliteLedger::settle_one(const CancelOrder& command) {
  if (const auto refused = check_key(command.key)) return answer(*refused);
  auto order = find_order(command.order);
  if (!order || order->tenant != command.tenant || order->buyer != command.buyer.view()) return answer(Settled::unknown_order);
  if (order->status == OrderStatus::cancelled) {
    keep_key(command.key);
    return answer(Settled::repeated, std::move(order));
  }
  if (!end_order(*order, OrderStatus::cancelled, "")) return answer(Settled::refused, std::move(order));
  keep_key(command.key);
  add_event(order->id, "cancelled", "by the buyer");
  Settlement settled = answer(Settled::done, std::move(order));
  settled.effect = GateEffect::release;
  return settled;
}

Settlement SqliteLedger::settle_one(const RefundOrder& command) {
  if (const auto refused = check_key(command.key)) return answer(*refused);
  auto order = find_order(command.order);
  if (!order || order->tenant != command.tenant) return answer(Settled::unknown_order);
  if (order->refund) {
    keep_key(command.key);
    return answer(Settled::repeated, std::move(order));
  }
  if (order->status != OrderStatus::paid) return answer(Settled::refused, std::move(order));
  std::optional<Payment> payment;
  {
    auto& row = statements_->payment_of_order.bind(1, order->id);
    const sqlite::ResetLater later{row};
    if (row.step()) payment = read_payment(row);
  }
  const std::int64_t amount = command.amount.value_or(order->amount.value);
  if (!payment || amount < 1 || amount > order->amount.value) return answer(Settled::refused, std::move(order));
  auto& put = statements_->put_refund;
  put.bind(1, command.refund).bind(2, payment->id).bind(3, order->id).bind(4, amount).bind(5, order->amount.currency.view());
  put.bind(6, std::int64_t{command.restock}).bind(7, std::string_view{command.reason}).bind(8, clock_.now()).run();
  keep_key(command.key);
  add_event(order->id, "refund_due", fmt::format("{} {} {}", command.refund.text(), amount, order->amount.currency.view()));
  return answer(Settled::done, find_order(order->id), std::move(payment));
}

Settlement SqliteLedger::finish_refund(const PaymentEvent& event, Payment payment, Order order) {
  RefundId refund;
  Money amount;
  bool is_restocked = false;
  {
    auto& row = statements_->refund_of_payment.bind(1, payment.id);
    const sqlite::ResetLater later{row};
    if (!row.step()) return answer(Settled::repeated, std::move(order), std::move(payment));
    refund = row.id<RefundId>(0);
    amount = row.money(2, 3);
    is_restocked = row.whole(4) != 0;
  }
  if (event.refund != refund || event.amount != amount) return answer(Settled::refused, std::move(order), std::move(payment));
  statements_->finish_refund.bind(1, refund).bind(2, clock_.now()).run();
  if (sqlite3_changes(connection_->get()) != 1) return answer(Settled::repeated, std::move(order), std::move(payment));
  add_event(order.id, "refunded", refund.text());
  GateEffect effect = GateEffect::none;
  const bool is_whole = payment.state == PaymentState::captured && amount.value == order.amount.value;
  if (is_whole || payment.state == PaymentState::refund_due) set_payment_state(payment.id, PaymentState::refunded);
  if (is_whole) {
    statements_->refund_order.bind(1, order.id).bind(2, clock_.now()).bind(3, is_restocked ? std::int64_t{0} : std::int64_t{order.units}).run();
    // Units that are not put back on sale go on counting as sold, and as the buyer's.
    if (sqlite3_changes(connection_->get()) == 1 && is_restocked) {
      move_units(order.item, 0, -order.units);
      move_buyer(order, -order.units);
      effect = GateEffect::release;
    }
  }
  Settlement settled = answer(Settled::done, find_order(order.id), find_payment(payment.id));
  settled.effect = effect;
  return settled;
}

}  // namespace weir
