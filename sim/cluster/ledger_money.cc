#include "sim/cluster/ledger_rows.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace weir::cluster {
namespace {

/// The second hold of an order, always the same for one payment.
OrderId hold_of(PaymentId payment) { return {payment.high ^ 0x6c61'7465, payment.low}; }

}  // namespace

std::size_t LedgerRows::expire(std::span<Ended> ended, Instant now) {
  std::size_t count = 0;
  for (auto& [id, row] : orders) {
    if (count == ended.size()) break;
    if (row.order.status != OrderStatus::pending || row.order.pay_by > now) continue;
    const Order& order = row.order;
    ended[count++] = {.order = id,
                      .tenant = order.tenant,
                      .sale = order.sale,
                      .item = order.item,
                      .units = order.units,
                      .buyer = order.buyer};
    give_back(row, OrderStatus::expired, !faults.forgets_releases_of_expired);
  }
  return count;
}

Settlement LedgerRows::settle(const SettleCommand& command, Instant now) {
  return std::visit([this, now](const auto& one) { return settle_one(one, now); }, command);
}

Settlement LedgerRows::settle_one(const StartPayment& command, Instant) {
  const auto found = orders.find(command.order);
  if (found == orders.end()) return {.settled = Settled::unknown_order, .effect = {}, .order = {}, .payment = {}};
  const bool is_new = !payments.contains(command.payment);
  const bool may_start = found->second.order.status == OrderStatus::pending;
  if (is_new && may_start) payments[command.payment] = {.order = command.order, .state = PaymentState::started};
  Settlement settlement{
      .settled = is_new ? Settled::done : Settled::repeated, .effect = {}, .order = found->second.order, .payment = {}};
  if (is_new && !may_start) settlement.settled = Settled::refused;
  return settlement;
}

Settlement LedgerRows::settle_one(const PaymentEvent& event, Instant) {
  const auto found = payments.find(event.payment);
  if (found == payments.end()) return {.settled = Settled::unknown_order, .effect = {}, .order = {}, .payment = {}};
  PaymentRow& payment = found->second;
  OrderRow& row = orders.at(payment.order);
  Settlement settlement{.settled = Settled::repeated, .effect = {}, .order = {}, .payment = {}};
  if (payment.state == PaymentState::started) {
    if (row.order.status == OrderStatus::pending) {
      ItemRow& item = items[row.order.item];
      item.held -= row.order.units;
      item.sold += row.order.units;
      row.order.status = OrderStatus::paid;
      payment.state = PaymentState::captured;
      settlement.settled = Settled::done;
    } else if (row.order.status == OrderStatus::expired) {
      payment.state = PaymentState::late;
      retakes[hold_of(event.payment)] = {.decision = {}, .payment = event.payment, .order = payment.order};
      settlement.settled = Settled::late;
    } else {
      payment.state = PaymentState::refund_due;
      settlement.settled = Settled::refund_due;
    }
  }
  settlement.order = row.order;
  return settlement;
}

Settlement LedgerRows::settle_one(const CancelOrder& command, Instant) {
  const auto found = orders.find(command.order);
  if (found == orders.end()) return {.settled = Settled::unknown_order, .effect = {}, .order = {}, .payment = {}};
  OrderRow& row = found->second;
  Settlement settlement{.settled = Settled::refused, .effect = {}, .order = {}, .payment = {}};
  if (row.order.status == OrderStatus::cancelled) settlement.settled = Settled::repeated;
  if (row.order.status == OrderStatus::pending) {
    give_back(row, OrderStatus::cancelled, true);
    settlement.settled = Settled::done;
  }
  settlement.order = row.order;
  return settlement;
}

Settlement LedgerRows::settle_one(const DecideLate&, Instant) {
  // Late money of a sale with a gate is decided by `decide_retakes`.
  return {.settled = Settled::refused, .effect = {}, .order = {}, .payment = {}};
}

Settlement LedgerRows::settle_one(const RefundOrder& command, Instant) {
  const auto found = orders.find(command.order);
  if (found == orders.end()) return {.settled = Settled::unknown_order, .effect = {}, .order = {}, .payment = {}};
  OrderRow& row = found->second;
  if (row.order.status != OrderStatus::paid) {
    return {.settled = Settled::refused, .effect = {}, .order = row.order, .payment = {}};
  }
  give_back(row, OrderStatus::refunded, true);
  for (auto& [id, payment] : payments) {
    const bool is_kept = payment.state == PaymentState::captured;
    if (payment.order == command.order && is_kept) payment.state = PaymentState::refund_due;
  }
  return {.settled = Settled::done, .effect = {}, .order = row.order, .payment = {}};
}

std::vector<Retake> LedgerRows::undecided_retakes(std::size_t count) const {
  std::vector<Retake> found;
  for (const auto& [hold, retake] : retakes) {
    if (found.size() == count) break;
    if (retake.decision != RetakeRow::Decision::none) continue;
    found.push_back({.hold = hold, .payment = retake.payment, .order = orders.at(retake.order).order});
  }
  return found;
}

RetakeEnd LedgerRows::decide_retake(const RetakeDecision& decision) {
  const OrderId hold = hold_of(decision.payment);
  const auto found = retakes.find(hold);
  if (found == retakes.end()) return RetakeEnd::unknown;
  RetakeRow& retake = found->second;
  if (retake.decision == RetakeRow::Decision::kept) return RetakeEnd::kept;
  if (retake.decision == RetakeRow::Decision::refunded) return RetakeEnd::refunded;
  OrderRow& row = orders.at(retake.order);
  const GateState& gate = gates[row.order.sale];
  const bool is_current = gate.epoch == decision.epoch && gate.phase == GatePhase::open;
  if (!is_current) return RetakeEnd::moved;
  const ItemRow& item = items[row.order.item];
  const std::int32_t limit = catalog.sale(row.order.sale)->limit_per_buyer;
  const bool has_room = item.held + item.sold + row.order.units <= item.total &&
                        live_units_of(row.order.sale, row.order.buyer) + row.order.units <= limit;
  const bool is_kept = decision.taken && has_room && row.order.status == OrderStatus::expired;
  if (decision.taken && !has_room) {
    breaches.push_back(
        fmt::format("exact: the ledger refuses late money of {} that the gate has granted", retake.order.text()));
  }
  retake.decision = is_kept ? RetakeRow::Decision::kept : RetakeRow::Decision::refunded;
  PaymentRow& payment = payments[decision.payment];
  payment.state = is_kept && !faults.keeps_and_refunds ? PaymentState::captured : PaymentState::refund_due;
  if (is_kept) {
    row.order.status = OrderStatus::paid;
    row.hold = hold;
    take(row.order, true);
    return RetakeEnd::kept;
  }
  releases[next_release_++] = {.sale = row.order.sale, .hold = hold};
  return RetakeEnd::refunded;
}

std::vector<Release> LedgerRows::releases_of(SaleNo sale, std::size_t count) const {
  std::vector<Release> found;
  for (const auto& [id, row] : releases) {
    if (found.size() == count) break;
    if (row.sale == sale) found.push_back({.id = id, .hold = row.hold});
  }
  return found;
}

std::size_t LedgerRows::drop_releases(SaleNo sale, std::int64_t epoch, std::span<const std::uint64_t> ids) {
  const GateState& gate = gates[sale];
  const bool is_current = gate.epoch == epoch && gate.phase == GatePhase::open;
  if (!is_current) return 0;
  std::size_t count = 0;
  for (const std::uint64_t id : ids) count += releases.erase(id);
  return count;
}

HoldStanding LedgerRows::standing(OrderId hold) const {
  if (const auto found = orders.find(hold); found != orders.end()) {
    const OrderRow& row = found->second;
    return is_live(row.order.status) && row.hold == hold ? HoldStanding::live : HoldStanding::ended;
  }
  const auto found = retakes.find(hold);
  if (found == retakes.end()) return HoldStanding::unknown;
  if (found->second.decision == RetakeRow::Decision::none) return HoldStanding::undecided;
  const OrderRow& row = orders.at(found->second.order);
  const bool is_kept = found->second.decision == RetakeRow::Decision::kept;
  return is_kept && row.hold == hold && is_live(row.order.status) ? HoldStanding::live : HoldStanding::ended;
}

}  // namespace weir::cluster
