#include "sim/world/card_network.h"

#include <fmt/format.h>

namespace weir::sim {

std::int64_t CardNetwork::Card::refunded() const {
  std::int64_t sum = 0;
  for (const auto& [id, back] : refunds) sum += back;
  return sum;
}

Result<GatewayStarted> CardNetwork::start(const GatewayStart& payment, Deadline /*deadline*/) {
  if (!is_healed_ && chance_.hits(swarm_.gateway_fails)) {
    ++counts_[static_cast<std::size_t>(Trouble::gateway_start_failed)];
    return fail(Failure::unavailable, "the network is busy");
  }
  const auto [card, is_new] = cards_.try_emplace(payment.payment);
  if (is_new) card->second.amount = payment.amount;
  if (card->second.amount != payment.amount) {
    complaint_ = fmt::format("payment {} was started with two amounts", payment.payment.text());
  }
  return GatewayStarted{.client_secret = "secret", .redirect_url = {}};
}

Result<void> CardNetwork::refund(PaymentId payment, RefundId refund, Money amount, Deadline /*deadline*/) {
  if (!is_healed_ && chance_.hits(swarm_.gateway_fails)) {
    ++counts_[static_cast<std::size_t>(Trouble::refund_call_failed)];
    return fail(Failure::unavailable, "the network is busy");
  }
  Card& card = cards_[payment];
  const auto [known, is_new] = card.refunds.try_emplace(refund, amount.value);
  if (known->second != amount.value) complaint_ = fmt::format("refund {} was asked with two amounts", refund.text());
  if (card.refunded() > card.captured) {
    complaint_ =
        fmt::format("payment {}: {} captured, {} to be refunded", payment.text(), card.captured, card.refunded());
  }
  Micros delay{0};
  if (!is_healed_ && chance_.hits(swarm_.refund_notices_late)) {
    ++counts_[static_cast<std::size_t>(Trouble::refund_notice_late)];
    delay = chance_.span(1'000'000, 15'000'000);
  }
  tell(PaymentEventKind::refund_done, payment, refund, amount, delay);
  if (!is_healed_ && chance_.hits(swarm_.refund_answers_lost)) {
    ++counts_[static_cast<std::size_t>(Trouble::refund_answer_lost)];
    return fail(Failure::timed_out, "the answer was lost");
  }
  return {};
}

Parsed<GatewayEvent> CardNetwork::verify(const Webhook& /*webhook*/, Instant /*now*/) {
  return std::unexpected(std::string{"the world hands events over as they are"});
}

void CardNetwork::decide(PaymentId payment, bool approves, bool is_wrong_amount) {
  const auto found = cards_.find(payment);
  if (found == cards_.end()) return;
  Card& card = found->second;
  if (!approves) return tell(PaymentEventKind::declined, payment, {}, card.amount, {});
  ++card.captures;
  if (card.captures > 1) ++counts_[static_cast<std::size_t>(Trouble::second_capture)];
  if (card.captured == 0) {
    const std::int64_t wrong =
        card.amount.value > 1 && chance_.one_in(2) ? card.amount.value - 1 : card.amount.value + 7;
    if (is_wrong_amount) ++counts_[static_cast<std::size_t>(Trouble::amount_wrong)];
    card.captured = is_wrong_amount ? wrong : card.amount.value;
  }
  tell(PaymentEventKind::captured, payment, {}, {card.captured, card.amount.currency}, {});
}

void CardNetwork::tell(PaymentEventKind kind, PaymentId payment, RefundId refund, Money amount, Micros delay) {
  notices_.push_back({.event = {.gateway = "sandbox",
                                .event_id = fmt::format("event-{}", ++events_),
                                .kind = kind,
                                .payment = payment,
                                .refund = refund,
                                .amount = amount,
                                .body = "{}"},
                      .delay = delay});
}

std::optional<CardNetwork::Notice> CardNetwork::take_notice() {
  if (notices_.empty()) return std::nullopt;
  Notice next = std::move(notices_.front());
  notices_.pop_front();
  return next;
}

}  // namespace weir::sim
