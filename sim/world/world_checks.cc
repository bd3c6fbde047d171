#include "sim/world/world.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace weir::sim {
namespace {

constexpr Micros kReturnWithin{1'000'000};
constexpr Micros kCalm{3'000'000};
constexpr Micros kLongestAnswer{20'000'000};  // Counts of the shelf are kept for so long.

}  // namespace

/// After every commit: I1 in the ledger, and what the rule on false refusals needs to remember.
void World::note_shelves() {
  if (!is_up()) return;
  engine_->desk().post([this](Admit& admit, Gate&) {
    const std::uint64_t erred = admit.counts().gate_erred;
    if (erred > 0) violate("gate", fmt::format("{} claims were admitted that the ledger refused", erred));
  });
  const auto shelves = spy_->shelves();
  if (!shelves) return;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto found = std::ranges::find_if(*shelves, [&](const auto& entry) { return entry.first == items_[i]; });
    if (found == shelves->end()) return violate("I1", fmt::format("item {} is not in the ledger", i));
    const Shelf& shelf = found->second;
    if (shelf.held < 0 || shelf.sold < 0 || shelf.free < 0) {
      violate("I1", fmt::format("item {}: held {} and sold {} of {}", i, shelf.held, shelf.sold, shelf.total));
    }
    auto& seen = free_seen_[i];
    seen.emplace_back(clock_.ticks(), shelf.free);
    while (seen.size() > 1 && seen[1].first < clock_.ticks() + -kLongestAnswer) {
      seen.pop_front();
    }
  }
}

/// After every event: what the public sees adds up.
void World::check_board() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Shelf shelf = engine_->shelves().read(items_[i]);
    const bool adds_up =
        shelf.free >= 0 && shelf.held >= 0 && shelf.sold >= 0 && shelf.free + shelf.held + shelf.sold == shelf.total;
    if (!adds_up) {
      violate("I1", fmt::format("the shelf of item {} shows {} free, {} held, {} sold of {}", i, shelf.free, shelf.held,
                                shelf.sold, shelf.total));
    }
  }
  if (!network_.complaint().empty()) violate("I7", network_.complaint());
}

/// I9: from a second before the question until now, the answer, the ledger always had more units free than every claim
/// under way together could have taken.
void World::check_sold_out(const Visit& visit, Ticks arrived) {
  if (arrived - disturbed_at_ < kCalm || swarm_.writer_lag > Micros{200'000}) return;
  const bool is_named = visit.wish == Wish::named || visit.wish == Wish::partial;
  const std::int64_t wanted = is_named ? 1 : visit.units;  // Named ones that are gone are another refusal.
  const auto& seen = free_seen_[visit.item];
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const bool is_in_window = i + 1 == seen.size() || seen[i + 1].first >= arrived + -kReturnWithin;
    if (is_in_window) least = std::min(least, seen[i].second);
  }
  if (seen.empty() || least - book_.units_open(visit.item, generation_) < wanted) return;
  violate("I9", fmt::format("{} is refused {} of item {} as sold out, and {} were free for a second",
                            buyers_[visit.buyer].name.view(), visit.units, visit.item, least));
}

/// I3, I4, I5 from the outside: every order that was promised is there, as it was promised, and nobody has too many.
void World::check_orders() {
  for (auto& [id, paper] : book_.papers()) {
    if (!paper.is_acknowledged) continue;
    const auto found = spy_->order(id);
    if (!found) continue;  // Storage fails just now; the next look finds it.
    if (!*found) return violate("I4", fmt::format("order {} was answered with 202 and is lost", id.text()));
    const Order& order = **found;
    if (order.buyer != buyers_[paper.buyer].name.view() || order.item != items_[paper.item]) {
      return violate("I4", fmt::format("order {} belongs to another buyer or item", id.text()));
    }
    if (order.numbers != paper.numbers) {
      return violate("I4", fmt::format("order {} has other numbers than were promised", id.text()));
    }
    if (!can_become(paper.seen, order.status)) {
      return violate("I5", fmt::format("order {} went from {} to {}", id.text(), weir::name(paper.seen),
                                       weir::name(order.status)));
    }
    const bool is_early = order.status == OrderStatus::expired && clock_.now() < paper.promised_pay_by;
    if (is_early) return violate("I5", fmt::format("order {} expired before its time was over", id.text()));
    if (paper.is_cancelled && order.status != OrderStatus::cancelled) {
      return violate("I5", fmt::format("order {} was cancelled and is {}", id.text(), weir::name(order.status)));
    }
    paper.seen = order.status;
  }
  std::map<std::string, std::int64_t> of_buyer;
  std::map<ItemNo, std::int64_t> of_item;
  const auto read = spy_->live_orders([&](const Ended& live, bool) {
    of_buyer[live.buyer] += live.units;
    of_item[live.item] += live.units;
  });
  const auto shelves = spy_->shelves();
  if (!read || !shelves) return;
  for (const auto& [buyer, units] : of_buyer) {
    if (units > swarm_.limit) violate("I3", fmt::format("{} holds {}, the limit is {}", buyer, units, swarm_.limit));
  }
  for (const auto& [item, shelf] : *shelves) {
    if (of_item[item] > shelf.total) {
      violate("I1", fmt::format("{} units of item {} are live, there are {}", of_item[item], item.value, shelf.total));
    }
  }
}

void World::check_audit(std::string_view when) {
  const auto report = spy_->audit();
  if (!report || report->ok) return;
  for (const AuditInvariant& invariant : report->invariants) {
    for (const std::string& text : invariant.violations) violate(invariant.id, fmt::format("{}: {}", when, text));
  }
}

/// Everything is well and everything had its time: nothing may be left over.
void World::check_end() {
  trace_.note(clock_.ticks(), "the end");
  if (!is_up()) return violate("liveness", "the process is not up");
  if (!engine_->is_ready()) return violate("liveness", "the process does not sell");
  if (engine_->in_flight() != 0) violate("liveness", fmt::format("{} claims are in flight", engine_->in_flight()));
  const bool is_waiting = std::ranges::any_of(requests_, [](const Request& one) { return !one.is_answered; });
  if (is_waiting) violate("liveness", "a request has no answer");
  check_orders();
  check_audit("at the end");
  const auto next = ledger_->next_expiry();
  if (!next) return violate("liveness", next.error().message);
  if (*next && **next <= clock_.now() - Micros{1'000'000}) violate("liveness", "an order is PENDING beyond its time");
  check_money();
  check_gate();
  check_numbers("at the end");
  check_reconciled();
  if (!is_violated_) check_buying_goes_on();
}

/// I7: what the network captured is one paid order, or went back once.
void World::check_money() {
  const auto late = spy_->undecided_late(10);
  if (late && !late->empty()) violate("I7", fmt::format("payment {} is undecided", late->front().id.text()));
  const auto due = spy_->refunds_due(10);
  if (due && !due->empty()) violate("I7", fmt::format("refund {} is still due", due->front().refund.id.text()));
  for (const auto& [id, card] : network_.cards()) {
    if (card.captured == 0) continue;
    const auto payment = spy_->payment(id);
    if (!payment || !*payment) {
      violate("I7", fmt::format("captured payment {} is not in the ledger", id.text()));
      continue;
    }
    const auto order = spy_->order((*payment)->order);
    if (!order || !*order) {
      violate("I7", fmt::format("captured payment {} has no order", id.text()));
      continue;
    }
    const std::int64_t kept = card.captured - card.refunded();
    const bool is_kept = (*payment)->state == PaymentState::captured && (*order)->status == OrderStatus::paid;
    const bool is_part = refunds_asked_.contains((*order)->id) && is_kept && kept < (*order)->amount.value && kept > 0;
    const bool is_lawful = is_kept
                               ? kept == (*order)->amount.value || is_part
                               : (*payment)->state == PaymentState::refunded && kept == 0 && card.refunds.size() == 1;
    if (!is_lawful) {
      violate("I7", fmt::format("payment {}: captured {}, given back {}, {}, order {}", id.text(), card.captured,
                                card.refunded(), weir::name((*payment)->state), weir::name((*order)->status)));
    }
  }
}

/// The gate says what the ledger says, and the organiser's totals hold.
void World::check_gate() {
  const auto shelves = spy_->shelves();
  if (!shelves) return violate("liveness", shelves.error().message);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto found = std::ranges::find_if(*shelves, [&](const auto& entry) { return entry.first == items_[i]; });
    if (found == shelves->end()) continue;
    const Shelf& ledger = found->second;
    const Shelf gate = engine_->shelves().read(items_[i]);
    const bool is_same =
        gate.total == ledger.total && gate.free == ledger.free && gate.held == ledger.held && gate.sold == ledger.sold;
    if (!is_same) {
      violate("I6", fmt::format("item {}: the gate has {}/{}/{} of {}, the ledger {}/{}/{} of {}", i, gate.free,
                                gate.held, gate.sold, gate.total, ledger.free, ledger.held, ledger.sold, ledger.total));
    }
    if (ledger.total != totals_[i]) {
      violate("I1",
              fmt::format("item {}: the organiser was told of {} units, there are {}", i, totals_[i], ledger.total));
    }
  }
}

/// I2, and the public bits: every number has one owner at most, and shows as free exactly when it has none.
void World::check_numbers(std::string_view when) {
  std::map<ItemNo, std::set<std::uint32_t>> owned;
  const auto read = spy_->live_orders([&](const Ended& live, bool) {
    for (const std::uint32_t number : live.numbers.view()) {
      if (owned[live.item].insert(number).second) continue;
      violate("I2", fmt::format("{} number {} of item {} has two owners", when, number, live.item.value));
    }
  });
  if (!read) return;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!first_numbers_[i]) continue;
    for (std::int64_t place = 0; place < totals_[i]; ++place) {
      const std::uint32_t number = *first_numbers_[i] + static_cast<std::uint32_t>(place);
      if (engine_->numbers().is_free(items_[i], number) != owned[items_[i]].contains(number)) continue;
      violate("I6", fmt::format("{} number {} of item {} shows as free or taken, and is not", when, number, i));
    }
  }
}

/// Nothing is under way and nothing was wrong for a while: then the gate says what the ledger says, also during load.
void World::check_in_a_quiet_moment() {
  at(chance_.span(500'000, 1'500'000), [this] { check_in_a_quiet_moment(); });
  if (!is_up() || clock_.ticks() - disturbed_at_ < kCalm) return;
  for (int i = 0; i < 10 && engine_->desk().turn() > 0; ++i) {
  }
  if (engine_->in_flight() != 0 || engine_->queue().depth() != 0) return;
  const auto late = spy_->undecided_late(1);
  const auto shelves = spy_->shelves();
  if (!late || !late->empty() || !shelves) return;
  check_numbers("in a quiet moment");
  for (const auto& [item, ledger] : *shelves) {
    const Shelf gate = engine_->shelves().read(item);
    if (gate.free == ledger.free && gate.held == ledger.held && gate.sold == ledger.sold) continue;
    violate("I6", fmt::format("in a quiet moment item {} has {}/{}/{} at the gate and {}/{}/{} in the ledger",
                              item.value, gate.free, gate.held, gate.sold, ledger.free, ledger.held, ledger.sold));
  }
}

void World::check_reconciled() {
  std::optional<Result<Findings>> found;
  static_cast<void>(engine_->reconcile(true, [&found](const Result<Findings>& findings) { found = findings; }));
  static_cast<void>(engine_->desk().turn());
  for (int i = 0; i < 10 && !found; ++i) static_cast<void>(engine_->pool().turn());
  if (!found || !*found) return violate("liveness", "gate and ledger could not be compared");
  if (!(*found)->is_clean()) violate("I6", "gate and ledger differ in an order");
}

/// Units that are free can be bought by somebody new.
void World::check_buying_goes_on() {
  if (is_closed_) return;
  is_closing_ = true;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::int64_t free = engine_->shelves().read(items_[i]).free;
    if (free == 0) continue;
    const std::size_t buyer = buyers_.size();
    buyers_.push_back({*BuyerName::from(fmt::format("last{}", i)), 0, {}});
    Visit last;
    last.buyer = buyer;
    last.item = i;
    last.units = static_cast<std::int32_t>(std::min<std::int64_t>(free, swarm_.limit));
    if (first_numbers_[i]) last.wish = Wish::random;
    last.is_last_test = true;
    last.key = "last";
    last.retries_left = 3;  // A small ring may be full of the others for a moment.
    ++last_tests_open_;
    send(last);
  }
  go_on(clock_.ticks() + Micros{30'000'000} + 8 * swarm_.wire_most);
  if (last_tests_open_ != 0) violate("liveness", "the last buyers have no answer");
  if (!is_violated_) check_orders();
}

}  // namespace weir::sim
