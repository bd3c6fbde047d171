#include "auditor/rules.h"
#include "auditor/steps.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace weir::auditor {
namespace {

/// Units that were certainly held: as few as the history allows.
Steps certain_units(const Case& audited) {
  Steps certain(Steps::Ties::fall_first);
  for (const Life& life : audited.lives.all()) {
    if (life.may_end_us <= life.has_begun_us) continue;
    certain.add(life.has_begun_us, life.units);
    if (life.may_end_us != kNever) certain.add(life.may_end_us, -life.units);
  }
  certain.build();
  return certain;
}

/// Units that may have been held: as many as the history allows.
Steps possible_units(const Case& audited) {
  Steps possible(Steps::Ties::rise_first);
  for (const Life& life : audited.lives.all()) {
    possible.add(life.may_begin_us, life.units);
    const std::int64_t back_us = later(life.has_ended_us, audited.terms.return_within_us);
    if (back_us != kNever) possible.add(back_us, -life.units);
  }
  for (const Doubt& doubt : audited.lives.doubts()) possible.add(doubt.sent_us, doubt.units);
  possible.build();
  return possible;
}

/// Unpaid units that were certainly held.
Steps certain_unpaid(const Case& audited) {
  Steps certain(Steps::Ties::fall_first);
  for (const Life& life : audited.lives.all()) {
    const std::int64_t until_us = std::min(life.may_end_us, life.may_be_paid_us);
    if (until_us <= life.has_begun_us) continue;
    certain.add(life.has_begun_us, life.units);
    if (until_us != kNever) certain.add(until_us, -life.units);
  }
  certain.build();
  return certain;
}

/// Unpaid units that may have been held.
Steps possible_unpaid(const Case& audited) {
  Steps possible(Steps::Ties::rise_first);
  for (const Life& life : audited.lives.all()) {
    possible.add(life.may_begin_us, life.units);
    const std::int64_t until_us = later(std::min(life.is_paid_us, life.has_ended_us), audited.terms.return_within_us);
    if (until_us != kNever) possible.add(until_us, -life.units);
  }
  for (const Doubt& doubt : audited.lives.doubts()) possible.add(doubt.sent_us, doubt.units);
  possible.build();
  return possible;
}

void check_total(const Case& audited, const Steps& certain) {
  // The first order at whose 202 too many units were held is where to look.
  for (const Life& life : audited.lives.all()) {
    const std::int64_t units = certain.max(life.has_begun_us, life.has_begun_us);
    if (units <= audited.terms.total_units) continue;
    audited.found(Rule::oversold, life.event, [&] {
      return fmt::format("at {} us {} units were held, there are {}", life.has_begun_us, units,
                         audited.terms.total_units);
    });
  }
}

void check_refusals(const Case& audited, const Steps& possible) {
  const Steps unpaid = certain_unpaid(audited);
  const Steps hope = possible_unpaid(audited);
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.kind != Kind::claim || event.answer != Answer::sold_out) continue;
    const std::int64_t from_us = event.sent_us - audited.terms.snapshot_age_us;
    const std::int64_t taken = possible.max(from_us, event.answered_us);
    if (audited.terms.total_units - taken >= event.units) {
      audited.found(Rule::false_sold_out, i, [&] {
        return fmt::format("from {} to {} us at most {} of {} units were taken, {} were asked for", from_us,
                           event.answered_us, taken, audited.terms.total_units, event.units);
      });
    }
    if (!event.may_return && unpaid.min(from_us, event.answered_us) > 0) {
      audited.found(Rule::false_final, i, [&] {
        return fmt::format("from {} to {} us unpaid orders held units, yet none may return", from_us,
                           event.answered_us);
      });
    }
    if (event.may_return && hope.max(from_us, event.answered_us) == 0) {
      audited.found(Rule::false_hope, i, [&] {
        return fmt::format("from {} to {} us no order was unpaid, yet units may return", from_us, event.answered_us);
      });
    }
  }
}

void check_numbers(const Case& audited) {
  struct Holding {
    std::uint32_t number = 0;
    const Life* life = nullptr;
  };
  std::vector<Holding> holdings;
  for (const Life& life : audited.lives.all()) {
    std::vector<std::uint32_t> numbers = life.numbers;
    std::sort(numbers.begin(), numbers.end());
    const bool is_twice = std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end();
    if (!numbers.empty() && (is_twice || numbers.size() != static_cast<std::size_t>(life.units))) {
      audited.found(Rule::numbers_unlike_units, life.event,
                    [&] { return fmt::format("{} numbers were given for {} units", numbers.size(), life.units); });
    }
    if (life.may_end_us <= life.has_begun_us) continue;
    for (const std::uint32_t number : numbers) holdings.push_back({number, &life});
  }
  std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) {
    return a.number != b.number ? a.number < b.number : a.life->has_begun_us < b.life->has_begun_us;
  });
  for (std::size_t i = 1; i < holdings.size(); ++i) {
    const Holding& first = holdings[i - 1];
    const Holding& second = holdings[i];
    if (first.number != second.number || first.life == second.life) continue;
    if (first.life->may_end_us <= second.life->has_begun_us) continue;
    audited.found(Rule::number_twice, second.life->event, [&] {
      return fmt::format("number {} belonged to buyers {} and {} at {} us", second.number, first.life->buyer,
                         second.life->buyer, second.life->has_begun_us);
    });
  }
}

/// Counts that are shown must have been true at some instant of the glance.
void check_shelves(const Case& audited, const Steps& certain, const Steps& possible) {
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.kind != Kind::shelf || event.answer != Answer::accepted) continue;
    const std::int64_t from_us = event.sent_us - audited.terms.shelf_age_us;
    const std::int64_t free_max = audited.terms.total_units - certain.min(from_us, event.answered_us);
    const std::int64_t free_min = audited.terms.total_units - possible.max(from_us, event.answered_us);
    if (event.free >= free_min && event.free <= free_max) continue;
    audited.found(Rule::shelf_impossible, i, [&] {
      return fmt::format("{} free units were shown; from {} to {} us it was {} to {}", event.free, from_us,
                         event.answered_us, free_min, free_max);
    });
  }
}

}  // namespace

void check_stock(const Case& audited) {
  const Steps certain = certain_units(audited);
  const Steps possible = possible_units(audited);
  check_total(audited, certain);
  check_refusals(audited, possible);
  check_numbers(audited);
  check_shelves(audited, certain, possible);
}

}  // namespace weir::auditor
