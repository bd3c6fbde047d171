#include "auditor/rules.h"

#include <map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace weir::auditor {
namespace {

std::string order_text(const OrderName& order) { return fmt::format("{:016x}{:016x}", order.high, order.low); }

void check_instants(const Case& audited) {
  std::unordered_set<std::uint64_t> answered;
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.answered_us < event.sent_us || event.sent_us < event.planned_us) {
      audited.found(Rule::time_reversed, i, [&] {
        return fmt::format("planned at {} us, sent at {}, answered at {}", event.planned_us, event.sent_us,
                           event.answered_us);
      });
    }
    if (event.request != 0 && !answered.insert(event.request).second) {
      audited.found(Rule::answered_twice, i, [&] { return fmt::format("request {} again", event.request); });
    }
  }
}

void check_window(const Case& audited) {
  const Terms& terms = audited.terms;
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.kind != Kind::claim) continue;
    const auto report = [&](Rule rule) {
      audited.found(rule, i, [&] {
        return fmt::format("asked at {} us and told at {}; open from {} to {}", event.sent_us, event.answered_us,
                           terms.opens_us, terms.closes_us);
      });
    };
    if (event.answer == Answer::accepted && event.answered_us < terms.opens_us) report(Rule::sold_too_early);
    if (event.answer == Answer::sale_ended && event.answered_us < terms.closes_us) report(Rule::false_sale_ended);
    const bool is_certainly_open = event.sent_us >= terms.opens_us && event.answered_us < terms.closes_us;
    if (event.answer == Answer::not_open && is_certainly_open && !terms.may_pause) report(Rule::false_not_open);
  }
  // A repeat may be answered after the end; a claim that nobody sent before it may not.
  for (const Life& life : audited.lives.all()) {
    if (life.may_begin_us < terms.closes_us) continue;
    audited.found(Rule::sold_too_late, life.event, [&] {
      return fmt::format("order {} was first asked for at {} us; the sale ended at {}", order_text(life.order),
                         life.may_begin_us, terms.closes_us);
    });
  }
}

void check_names(const Case& audited) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, OrderName> by_key;
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.kind != Kind::claim) continue;
    const bool names_one = event.answer == Answer::accepted || event.answer == Answer::already_purchased;
    if (names_one && event.order.is_none()) {
      audited.found(Rule::order_unnamed, i, [&] { return fmt::format("buyer {} was told of no order", event.buyer); });
      continue;
    }
    if (event.answer != Answer::accepted) continue;
    const Life& life = *audited.lives.find(event.order);
    const auto report = [&](Rule rule) {
      audited.found(rule, i, [&] {
        return fmt::format("order {}: first buyer {} key {} units {}, now buyer {} key {} units {}",
                           order_text(event.order), life.buyer, life.key, life.units, event.buyer, event.key,
                           event.units);
      });
    };
    if (life.buyer != event.buyer)
      report(Rule::order_shared);
    else if (life.units != event.units || life.numbers != event.numbers)
      report(Rule::order_changed);
    else if (life.key != event.key)
      report(Rule::key_mixed);
    if (event.key == 0) continue;
    const auto [known, is_new] = by_key.try_emplace({event.buyer, event.key}, event.order);
    if (is_new || known->second == event.order) continue;
    audited.found(Rule::key_split, i, [&] {
      return fmt::format("key {} of buyer {} made {} and {}", event.key, event.buyer, order_text(known->second),
                         order_text(event.order));
    });
  }
}

}  // namespace

void check_events(const Case& audited) {
  check_instants(audited);
  check_window(audited);
  check_names(audited);
}

}  // namespace weir::auditor
