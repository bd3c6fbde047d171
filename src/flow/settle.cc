#include "flow/settle.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"

#include <span>
#include <utility>

namespace weir {

Hold hold_of(const Order& order, const SipKey& buyer_hash) {
  return {.order = order.id,
          .sale = order.sale,
          .item = order.item,
          .units = order.units,
          .numbers = order.numbers,
          .buyer_key = buyer_key(buyer_hash, order.tenant, order.buyer),
          .sold = order.status == OrderStatus::paid,
          .recorded = true};
}

Settle::Settle(Ledger& ledger, SettlePort& port, const SipKey& buyer_hash)
    : ledger_(ledger),
      port_(port),
      buyer_hash_(buyer_hash),
      requests_(kSettleBatchMax),
      commands_(kSettleBatchMax),
      settlements_(kSettleBatchMax) {}

Result<std::size_t> Settle::step(Ticks now) {
  const bool is_again = kept_ > 0;
  const std::size_t count = is_again ? kept_ : port_.take_commands(requests_);
  if (count == 0) return 0;
  for (std::size_t i = 0; i < count; ++i) commands_[i] = requests_[i].command;
  const std::span settlements = std::span{settlements_}.first(count);
  for (Settlement& settlement : settlements) settlement = {};
  FAULT("before_settle");
  const auto settled = ledger_.settle(std::span{commands_}.first(count), settlements, now + Micros{kLedgerWaitUs});
  FAULT("after_settle");
  if (!settled && settled.error().failure == Failure::timed_out) {
    kept_ = count;  // It may have happened: the same batch again, after the ledger has recovered.
    return std::unexpected(settled.error());
  }
  kept_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (settled) conclude(settlements[i], is_again);
    if (requests_[i].done) {
      requests_[i].done(settled ? Result<Settlement>{settlements[i]} : std::unexpected(settled.error()));
    }
    requests_[i] = {};
  }
  counts_.commands += count;
  if (!settled) {
    counts_.failed += count;
    return std::unexpected(settled.error());
  }
  return count;
}

void Settle::conclude(const Settlement& settlement, bool is_again) {
  if (!settlement.order) return;
  count(settlement);
  GateRequest request{
      .kind = GateRequest::Kind::release, .hold = hold_of(*settlement.order, buyer_hash_), .payment = {}};
  GateEffect effect = settlement.effect;
  if (is_again && settlement.settled == Settled::repeated) {
    const OrderStatus status = settlement.order->status;
    if (status == OrderStatus::paid) effect = GateEffect::sell;
    if (status == OrderStatus::expired || status == OrderStatus::cancelled) effect = GateEffect::release;
  }
  // Late money of a batch that is settled again comes back as repeated, and the gate has not been asked yet.
  const bool was_late = is_again && settlement.settled == Settled::repeated && settlement.payment &&
                        settlement.payment->state == PaymentState::late;
  if ((settlement.settled == Settled::late && settlement.payment) || was_late) {
    request.kind = GateRequest::Kind::retake;
    request.payment = settlement.payment->id;
    port_.to_gate(request);
    return;
  }
  if (effect == GateEffect::none) return;
  request.kind = effect == GateEffect::sell ? GateRequest::Kind::sell : GateRequest::Kind::release;
  port_.to_gate(request);
}

void Settle::count(const Settlement& settlement) {
  if (settlement.settled == Settled::late) ++counts_.late;
  if (settlement.settled == Settled::refund_due) ++counts_.refunds_due;
  if (settlement.settled != Settled::done) return;
  if (settlement.effect == GateEffect::sell) ++counts_.paid;
  if (settlement.order->status == OrderStatus::cancelled) ++counts_.cancelled;
}

}  // namespace weir
