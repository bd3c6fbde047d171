#include "sim/auditor/lives.h"

#include <algorithm>

namespace weir::auditor {

Lives::Lives(std::span<const Event> history, const Terms& terms) {
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (history[i].kind == Kind::claim) read_claim(history[i], i);
  }
  for (const Event& event : history) {
    if (event.kind != Kind::claim) read_ending(event);
  }
  // A claim of unknown fate that named an order which a 202 confirmed later may have begun it.
  for (const Doubt& doubt : doubts_) {
    const auto known = by_order_.find(doubt.order);
    if (known == by_order_.end()) continue;
    Life& life = lives_[known->second];
    life.may_begin_us = std::min(life.may_begin_us, doubt.sent_us);
  }
  for (Life& life : lives_) settle(life, terms);
}

const Life* Lives::find(const OrderName& order) const {
  const auto found = by_order_.find(order);
  return found == by_order_.end() ? nullptr : &lives_[found->second];
}

std::span<const std::size_t> Lives::of_buyer(std::uint64_t buyer) const {
  const auto found = by_buyer_.find(buyer);
  return found == by_buyer_.end() ? std::span<const std::size_t>{} : found->second;
}

std::span<const std::size_t> Lives::doubts_of(std::uint64_t buyer) const {
  const auto found = doubts_by_buyer_.find(buyer);
  return found == doubts_by_buyer_.end() ? std::span<const std::size_t>{} : found->second;
}

void Lives::read_claim(const Event& event, std::size_t index) {
  if (event.answer == Answer::uncertain) {
    doubts_by_buyer_[event.buyer].push_back(doubts_.size());
    doubts_.push_back({event.buyer, event.order, event.units, event.sent_us});
    return;
  }
  if (event.answer != Answer::accepted || event.order.is_none()) return;
  const auto [known, is_new] = by_order_.try_emplace(event.order, lives_.size());
  if (is_new) {
    by_buyer_[event.buyer].push_back(lives_.size());
    Life life;
    life.order = event.order;
    life.buyer = event.buyer;
    life.key = event.key;
    life.units = event.units;
    life.numbers = event.numbers;
    life.event = index;
    lives_.push_back(std::move(life));
  }
  Life& life = lives_[known->second];
  life.may_begin_us = std::min(life.may_begin_us, event.sent_us);
  life.has_begun_us = std::min(life.has_begun_us, event.answered_us);
}

void Lives::read_ending(const Event& event) {
  const auto known = by_order_.find(event.order);
  if (known == by_order_.end()) return;
  Life& life = lives_[known->second];
  const bool may_have_happened = event.answer == Answer::accepted || event.answer == Answer::uncertain;
  const bool has_happened = event.answer == Answer::accepted;
  switch (event.kind) {
    case Kind::release:
      if (may_have_happened) life.may_end_us = std::min(life.may_end_us, event.sent_us);
      if (has_happened) life.has_ended_us = std::min(life.has_ended_us, event.answered_us);
      return;
    case Kind::pay:
      if (may_have_happened) life.may_be_paid_us = std::min(life.may_be_paid_us, event.sent_us);
      if (has_happened) life.is_paid_us = std::min(life.is_paid_us, event.answered_us);
      return;
    case Kind::lookup:
      if (!has_happened || event.status == Status::pending) return;
      // Late money can bring an expired order back, so a look at its state is a hint about the past only.
      if (event.status == Status::paid) life.is_paid_us = std::min(life.is_paid_us, event.answered_us);
      life.may_be_paid_us = std::min(life.may_be_paid_us, life.may_begin_us);
      if (event.status != Status::paid) life.may_end_us = std::min(life.may_end_us, life.has_begun_us);
      return;
    case Kind::claim:
    case Kind::shelf: return;
  }
}

void Lives::settle(Life& life, const Terms& terms) {
  const std::int64_t may_expire_us = later(life.may_begin_us, terms.pay_within_us);
  // Paid in time, it does not expire.
  if (life.is_paid_us > may_expire_us) life.may_end_us = std::min(life.may_end_us, may_expire_us);
}

}  // namespace weir::auditor
