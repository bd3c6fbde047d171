#include "base/check.h"
#include "base/fault.h"
#include "config/limits.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_rows.h"
#include "ledger/sqlite_settlement.h"
#include "ledger/sqlite_statements.h"

namespace weir {

using sqlite::answer;
using sqlite::ResetLater;

Result<void> SqliteLedger::settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                                  Deadline deadline) {
  CHECK(commands.size() == settlements.size() && commands.size() <= kLedgerBatchMax, "commands={}", commands.size());
  return transact_on_reserve(deadline, [&] {
    forget_rows();
    for (std::size_t i = 0; i < commands.size(); ++i) {
      settlements[i] = std::visit([this](const auto& command) { return settle_one(command); }, commands[i]);
      FAULT("settled_one");
    }
  });
}

Settlement SqliteLedger::settle_one(const CancelOrder& command) {
  if (is_key_reused(command.key)) return answer(Settled::key_reused);
  auto order = find_own_order(command.tenant, command.buyer.view(), command.order);
  if (!order) return answer(Settled::unknown_order);
  if (order->status == OrderStatus::cancelled) {
    keep_key(command.key);
    return answer(Settled::repeated, std::move(order));
  }
  auto& end = statements_->end_order.bind(1, order->id);
  end.bind(2, static_cast<std::int64_t>(OrderStatus::cancelled)).bind(3, clock_.now());
  if (end.run_counted() != 1) return answer(Settled::refused, std::move(order));
  move_units(order->item, -order->units, 0);
  move_buyer(*order, -order->units);
  free_numbers(order->item, order->id, order->numbers.view());
  add_event(order->id, sqlite::event::kCancelled, "by the buyer");
  keep_key(command.key);
  Settlement settled = answer(Settled::done, find_order(order->id));
  settled.effect = GateEffect::release;
  return settled;
}

std::optional<Order> SqliteLedger::find_order(OrderId id) {
  std::optional<Order> order;
  {
    auto& row = statements_->find_order.bind(1, id);
    const ResetLater later{row};
    if (!row.step()) return std::nullopt;
    order = sqlite::read_order(row);
  }
  auto& refund = statements_->refund_of_order.bind(1, id);
  const ResetLater later{refund};
  if (refund.step()) order->refund = sqlite::read_refund(refund);
  return order;
}

/// A stranger's order and an order that does not exist are the same to who asks.
std::optional<Order> SqliteLedger::find_own_order(TenantNo tenant, std::string_view buyer, OrderId id) {
  auto order = find_order(id);
  if (order && (order->tenant != tenant || order->buyer != buyer)) return std::nullopt;
  return order;
}

std::optional<Payment> SqliteLedger::find_payment(PaymentId id) {
  auto& row = statements_->find_payment.bind(1, id);
  const ResetLater later{row};
  if (!row.step()) return std::nullopt;
  return sqlite::read_payment(row);
}

void SqliteLedger::set_payment_state(PaymentId id, PaymentState state) {
  statements_->set_payment_state.bind(1, id).bind(2, static_cast<std::int64_t>(state)).run();
}

void SqliteLedger::move_units(ItemNo item, std::int64_t held, std::int64_t sold) {
  statements_->move_units.bind(1, item).bind(2, held).bind(3, sold).run();
}

void SqliteLedger::move_buyer(const Order& order, std::int64_t units) {
  auto& move = statements_->move_buyer.bind(1, order.tenant).bind(2, std::string_view{order.buyer});
  move.bind(3, order.sale).bind(4, units).run();
}

void SqliteLedger::add_event(OrderId order, std::string_view event, std::string_view detail) {
  statements_->add_event.bind(1, order).bind(2, event).bind(3, clock_.now()).bind(4, detail).run();
}

bool SqliteLedger::is_key_reused(const std::optional<RequestKey>& key) {
  if (!key) return false;
  auto& known = statements_->find_request_key.bind(1, key->id);
  const ResetLater later{known};
  if (known.step()) return static_cast<std::uint64_t>(known.whole(0)) != key->digest.value;
  // Purchases share the space of ids: an order under this id was another request.
  return find_order(key->id).has_value();
}

/// Only what succeeded is bound to its key.
void SqliteLedger::keep_key(const std::optional<RequestKey>& key) {
  if (!key) return;
  auto& put = statements_->put_request_key.bind(1, key->id);
  put.bind(2, static_cast<std::int64_t>(key->digest.value)).bind(3, clock_.now()).run();
}

}  // namespace weir
