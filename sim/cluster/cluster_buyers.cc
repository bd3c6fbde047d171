#include "base/siphash.h"
#include "config/limits.h"
#include "sim/cluster/cluster.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir::cluster {
namespace {

constexpr int kTriesMax = 8;

/// The same key is the same id, whatever else is asked for.
OrderId keyed_id(std::string_view buyer) { return {siphash({11, 12}, buyer), siphash({13, 14}, buyer)}; }

}  // namespace

void Cluster::open_shop() {
  buyers_.resize(static_cast<std::size_t>(swarm_.buyers));
  for (std::size_t i = 0; i < buyers_.size(); ++i) {
    Buyer& buyer = buyers_[i];
    // Some come twice under one name: the limit holds for both together.
    buyer.name = fmt::format("buyer{}", chance_.one_in(4) && i > 0 ? i - 1 : i);
    buyer.item = {static_cast<std::uint32_t>(chance_.between(1, swarm_.items))};
    buyer.units = static_cast<std::int32_t>(chance_.between(1, std::min(2, swarm_.limit)));
    buyer.presses_left = chance_.between(1, swarm_.presses_most);
    at(chance_.span(1'500'000, 1'500'000 + swarm_.arrivals.count()), [this, i] { press(i, false); });
  }
}

void Cluster::press(std::size_t number, bool with_same_key) {
  Buyer& buyer = buyers_[number];
  if (buyer.is_done || is_calm_ || buyer.presses_left-- <= 0) return;
  Claim claim;
  claim.tenant = {1};
  claim.sale = kSale;
  claim.item = buyer.item;
  claim.units = buyer.units;
  claim.buyer = *BuyerName::from(buyer.name);
  claim.promised_pay_by = clock_.now() + swarm_.pay_within;
  if (with_same_key && !buyer.last_id.is_none()) {
    met(Trouble::pressed_again_with_the_key);
    claim.order = buyer.last_id;
    const bool differs = swarm_.limit > 1 && chance_.hits(swarm_.other_contents);
    if (differs) {
      met(Trouble::key_used_for_another_request);
      claim.units = buyer.units == 1 ? 2 : 1;
    }
  } else {
    if (!buyer.last_id.is_none()) met(Trouble::pressed_again_without_it);
    claim.order = keyed_id(fmt::format("{}#{}#{}", buyer.name, number, buyer.presses_left));
  }
  claim.digest = purchase_digest(claim.item, claim.units);
  buyer.last_id = claim.order;
  claimed_.emplace(claim.order, claim);
  const auto node = static_cast<std::size_t>(chance_.between(0, kNodes - 1));
  const int copies = chance_.hits(swarm_.on_two_nodes) ? 2 : 1;
  if (copies == 2) met(Trouble::pressed_on_two_nodes);
  for (int i = 0; i < copies; ++i) {
    presses_.push_back({.buyer = number, .claim = claim, .is_answered = false});
    const std::size_t press = presses_.size() - 1;
    at(chance_.span(100, 30'000),
       [this, press, to = (node + static_cast<std::size_t>(i)) % kNodes] { deliver(press, to); });
  }
}

void Cluster::deliver(std::size_t number, std::size_t node) {
  Process& process = *processes_[node];
  const Claim& claim = presses_[number].claim;
  trace_.note(clock_.ticks(), "{} asks {} for {} of item {} as {}", buyers_[presses_[number].buyer].name, process.name,
              claim.units, claim.item.value, claim.order.text().substr(0, 8));
  at(Micros{6'000'000}, [this, number] {
    if (!presses_[number].is_answered) try_again(presses_[number].buyer, true);  // He gives this one up.
  });
  if (process.node == nullptr) return;
  process.node->port.claims.push_back({claim, {static_cast<std::uint32_t>(number), 0, 0}});
  Agent& desk = *process.agents.front();
  if (desk.is_idle && clock_.ticks() >= process.frozen_until) wake_in(desk, chance_.span(10, 500));
}

void Cluster::hear(std::size_t number, const ClaimAnswer& answer) {
  if (!is_calm_ && chance_.hits(swarm_.answers_lost)) {
    met(Trouble::answer_lost);
    // It was given all the same: what was said has to be true.
    if (answer.kind == ClaimAnswerKind::accepted) accept(presses_[number].buyer, presses_[number].claim);
    return;
  }
  presses_[number].is_answered = true;
  answer_press(number, answer);
}

void Cluster::answer_press(std::size_t number, const ClaimAnswer& answer) {
  const Press& press = presses_[number];
  const std::string id = press.claim.order.text().substr(0, 8);
  trace_.note(clock_.ticks(), "{} hears {} for {}", buyers_[press.buyer].name, static_cast<int>(answer.kind), id);
  switch (answer.kind) {
    case ClaimAnswerKind::accepted: return accept(press.buyer, press.claim);
    case ClaimAnswerKind::look_up: {
      const auto row = rows_.orders.find(press.claim.order);
      if (row == rows_.orders.end()) return violate("a node says that the ledger has " + id + ", and it has not");
      if (!is_live(row->second.order.status)) return met(Trouble::looked_up_an_ended_order);
      return accept(press.buyer, press.claim);
    }
    case ClaimAnswerKind::over_limit: return met(Trouble::heard_over_limit);
    case ClaimAnswerKind::sold_out: met(Trouble::heard_sold_out); return try_again(press.buyer, chance_.one_in(2));
    case ClaimAnswerKind::not_on_sale: met(Trouble::heard_not_on_sale); return try_again(press.buyer, true);
    case ClaimAnswerKind::key_reused: return;
    case ClaimAnswerKind::unavailable:
      met(Trouble::heard_unavailable);
      at(chance_.span(300'000, 5'000'000),
         [this, buyer = press.buyer, is_keyed = chance_.hits(swarm_.keyed)] { this->press(buyer, is_keyed); });
      return;
    case ClaimAnswerKind::unknown:
      met(Trouble::heard_unknown);
      return try_again(press.buyer, chance_.hits(swarm_.keyed));
  }
}

void Cluster::try_again(std::size_t buyer, bool with_same_key) {
  at(chance_.span(1'000, 3'000'000), [this, buyer, with_same_key] { press(buyer, with_same_key); });
}

/// He was told 202: from here on the order is his.
void Cluster::accept(std::size_t buyer, const Claim& claim) {
  ++report_.accepted;
  if (chance_.one_in(3)) buyers_[buyer].is_done = true;  // The others press on, as people do.
  const bool is_first = told_.emplace(claim.order, Told{buyer, claim.item, claim.units}).second;
  trace_.note(clock_.ticks(), "202 for {}", claim.order.text().substr(0, 8));
  if (!is_first) return try_again(buyer, true);
  if (chance_.hits(swarm_.asks_after_the_end)) {
    at(swarm_.pay_within + chance_.span(0, 4'000'000), [this, buyer] { press(buyer, true); });
  }
  plan_money(claim.order);
}

void Cluster::plan_money(OrderId order) {
  const PaymentId payment{order.high ^ 7, order.low};
  if (chance_.hits(swarm_.cancels)) {
    at(chance_.span(0, swarm_.pay_within.count()), [this, order] { cancel(order, kTriesMax); });
    return;
  }
  if (!chance_.hits(swarm_.pays)) return;
  const bool is_late = chance_.hits(swarm_.pays_late);
  const Micros capture_in =
      is_late ? swarm_.pay_within + chance_.span(0, 8'000'000) : chance_.span(0, swarm_.pay_within.count() / 2);
  at(chance_.span(0, swarm_.pay_within.count() / 3),
     [this, order, payment, capture_in] { pay(order, payment, capture_in, kTriesMax); });
}

void Cluster::pay(OrderId order, PaymentId payment, Micros capture_in, int tries) {
  const auto started = rows_.settle(
      StartPayment{
          .tenant = {1}, .buyer = {}, .order = order, .gateway = "sandbox", .payment = payment, .grace = {}, .key = {}},
      clock_.now());
  if (started.settled == Settled::unknown_order && tries > 0) {
    // 202 is said before the row is there.
    at(Micros{500'000}, [=, this] { pay(order, payment, capture_in, tries - 1); });
    return;
  }
  if (started.settled != Settled::done) return;
  at(capture_in, [this, payment] { capture(payment, chance_.one_in(5) ? 2 : 1); });
}

void Cluster::capture(PaymentId payment, int times) {
  const auto settled = rows_.settle(PaymentEvent{.gateway = "sandbox",
                                                 .event_id = {},
                                                 .kind = PaymentEventKind::captured,
                                                 .payment = payment,
                                                 .refund = {},
                                                 .amount = {},
                                                 .body = {}},
                                    clock_.now());
  if (settled.settled == Settled::late) met(Trouble::paid_late);
  trace_.note(clock_.ticks(), "money for {}: {}", settled.order->id.text().substr(0, 8), name(settled.settled));
  check_stores();
  const bool is_paid = settled.settled == Settled::done;
  if (is_paid && chance_.hits(swarm_.refunds)) {
    at(chance_.span(1'000, 4'000'000), [this, order = settled.order->id] { refund(order); });
  }
  if (times > 1) at(chance_.span(0, 2'000'000), [this, payment, times] { capture(payment, times - 1); });
}

void Cluster::cancel(OrderId order, int tries) {
  const auto settled = rows_.settle(CancelOrder{.tenant = {1}, .buyer = {}, .order = order, .key = {}}, clock_.now());
  check_stores();
  if (settled.settled == Settled::done) met(Trouble::cancelled);
  if (settled.settled == Settled::unknown_order && tries > 0) {
    at(Micros{500'000}, [this, order, tries] { cancel(order, tries - 1); });
  }
}

void Cluster::refund(OrderId order) {
  RefundOrder command;
  command.order = order;
  const auto settled = rows_.settle(command, clock_.now());
  check_stores();
  if (settled.settled == Settled::done) met(Trouble::order_refunded);
}

}  // namespace weir::cluster
