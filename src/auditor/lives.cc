#include "auditor/lives.h"

#include <algorithm>

namespace weir::auditor {

namespace {

void read_look(Life& life, const Event& event) {
  const bool is_paid = event.status == Status::paid || event.status == Status::refunded;
  if (is_paid) {
    life.seen_paid_us = std::min(life.seen_paid_us, event.answered_us);
    life.is_paid_us = std::min(life.is_paid_us, event.answered_us);
  }
  if (event.status == Status::pending || event.status == Status::paid) return;
  life.seen_ended_us = std::min(life.seen_ended_us, event.answered_us);
}

/// A claim of unknown fate may have begun an order that a later 202 confirmed: the one it named, or the one of its key.
bool may_have_begun(const Doubt& doubt, const Life& life) {
  if (!doubt.order.is_none()) return doubt.order == life.order;
  return doubt.key != 0 && doubt.key == life.key;
}

/// Draws the bounds that follow from the terms and from what was seen without its cause.
void settle(Life& life, const Terms& terms) {
  const std::int64_t may_expire_us = later(life.may_begin_us, terms.pay_within_us);
  // Paid in time, it does not expire.
  if (life.is_paid_us > may_expire_us) life.may_end_us = std::min(life.may_end_us, may_expire_us);
  // It ended, or was paid, by something that the history does not show: that may have been at any time.
  if (life.may_end_us > life.seen_ended_us) life.may_end_us = life.has_begun_us;
  if (life.may_be_paid_us > life.seen_paid_us) life.may_be_paid_us = life.may_begin_us;
}

}  // namespace

Lives::Lives(std::span<const Event> history, const Terms& terms) {
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (history[i].kind == Kind::claim) read_claim(history[i], i);
  }
  for (const Event& event : history) {
    if (event.kind != Kind::claim) read_ending(event);
  }
  for (Life& life : lives_) {
    for (const std::size_t index : doubts_of(life.buyer)) {
      const Doubt& doubt = doubts_[index];
      if (may_have_begun(doubt, life)) life.may_begin_us = std::min(life.may_begin_us, doubt.sent_us);
    }
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
    doubts_.push_back({event.buyer, event.key, event.order, event.units, event.sent_us});
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
      if (has_happened) read_look(life, event);
      return;
    case Kind::claim:
    case Kind::shelf: return;
  }
}

}  // namespace weir::auditor
