#include "auditor/rules.h"
#include "auditor/steps.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace weir::auditor {
namespace {

void check_limit(const Case& audited) {
  for (const Life& life : audited.lives.all()) {
    const auto orders = audited.lives.of_buyer(life.buyer);
    if (audited.lives.all()[orders.front()].order != life.order) continue;  // Once a buyer.
    Steps certain(Steps::Ties::fall_first);
    std::int64_t units = 0;
    for (const std::size_t index : orders) {
      const Life& held = audited.lives.all()[index];
      if (held.may_end_us <= held.has_begun_us) continue;
      units += held.units;
      certain.add(held.has_begun_us, held.units);
      if (held.may_end_us != kNever) certain.add(held.may_end_us, -held.units);
    }
    if (units <= audited.terms.limit_per_buyer) continue;  // The usual case, without a tree.
    certain.build();
    const std::int64_t most = certain.max(std::numeric_limits<std::int64_t>::min(), kNever);
    if (most <= audited.terms.limit_per_buyer) continue;
    audited.found(Rule::over_limit, audited.lives.all()[orders.back()].event, [&] {
      return fmt::format("buyer {} held {} units at once, the limit is {}", life.buyer, most,
                         audited.terms.limit_per_buyer);
    });
  }
}

/// The most that a buyer may have held at one instant of a stretch.
std::int64_t possible_units(const Case& audited, std::uint64_t buyer, std::int64_t from_us, std::int64_t to_us) {
  Steps possible(Steps::Ties::rise_first);
  for (const std::size_t index : audited.lives.of_buyer(buyer)) {
    const Life& life = audited.lives.all()[index];
    possible.add(life.may_begin_us, life.units);
    const std::int64_t back_us = later(life.has_ended_us, audited.terms.return_within_us);
    if (back_us != kNever) possible.add(back_us, -life.units);
  }
  for (const std::size_t index : audited.lives.doubts_of(buyer)) {
    const Doubt& doubt = audited.lives.doubts()[index];
    possible.add(doubt.sent_us, doubt.units);
  }
  possible.build();
  return possible.max(from_us, to_us);
}

void check_limit_reached(const Case& audited, std::size_t index) {
  const Event& event = audited.history[index];
  const std::int32_t limit = audited.terms.limit_per_buyer;
  if (limit == 1 && event.units == 1) {
    audited.found(Rule::wrong_code, index, [] { return std::string("LIMIT_REACHED for one unit at a limit of 1"); });
  }
  const std::int64_t held = possible_units(audited, event.buyer, event.sent_us, event.answered_us);
  if (held + event.units > limit) return;
  audited.found(Rule::false_limit, index, [&] {
    return fmt::format("buyer {} held at most {} and asked for {}, the limit is {}", event.buyer, held, event.units,
                       limit);
  });
}

/// An order that no 202 named may be that of a claim whose answer was lost.
bool may_come_of_a_doubt(const Case& audited, const Event& event) {
  const auto doubts = audited.lives.doubts_of(event.buyer);
  return std::any_of(doubts.begin(), doubts.end(), [&](std::size_t index) {
    const Doubt& doubt = audited.lives.doubts()[index];
    return doubt.sent_us <= event.answered_us && (doubt.order.is_none() || doubt.order == event.order);
  });
}

void check_already_purchased(const Case& audited, std::size_t index) {
  const Event& event = audited.history[index];
  const auto report = [&](Rule rule) {
    audited.found(rule, index, [&] {
      return fmt::format("buyer {} was told of order {:016x}{:016x} at {} us", event.buyer, event.order.high,
                         event.order.low, event.answered_us);
    });
  };
  if (audited.terms.limit_per_buyer != 1) report(Rule::wrong_code);
  if (event.order.is_none()) return;  // Found by its name.
  const Life* life = audited.lives.find(event.order);
  if (life == nullptr) {
    if (!may_come_of_a_doubt(audited, event)) report(Rule::unknown_order_named);
  } else if (life->buyer != event.buyer) {
    report(Rule::foreign_order_named);
  } else if (life->may_begin_us > event.answered_us) {
    report(Rule::order_named_too_early);
  } else if (later(life->has_ended_us, audited.terms.return_within_us) < event.sent_us) {
    report(Rule::ended_order_named);
  }
}

}  // namespace

void check_buyers(const Case& audited) {
  check_limit(audited);
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.kind != Kind::claim) continue;
    if (event.answer == Answer::limit_reached) check_limit_reached(audited, i);
    if (event.answer == Answer::already_purchased) check_already_purchased(audited, i);
  }
}

}  // namespace weir::auditor
