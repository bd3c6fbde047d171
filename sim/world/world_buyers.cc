#include "config/limits.h"
#include "sim/world/world.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace weir::sim {
namespace {

constexpr Micros kAnswerWait{kAnswerDeadlineUs};
constexpr TenantNo kTenant{1};
constexpr std::int64_t kSmallRing = 8;

}  // namespace

void World::plan_buyers() {
  for (std::int64_t i = 0; i < swarm_.buyers; ++i) {
    const auto buyer = static_cast<std::size_t>(i);
    buyers_.push_back({*BuyerName::from(fmt::format("buyer{}", i)), 0, {}});
    const std::int64_t visits = chance_.between(1, swarm_.visits_most);
    for (std::int64_t k = 0; k < visits; ++k) {
      at(chance_.span(0, swarm_.arrivals.count()) + Micros{k * chance_.between(0, 6'000'000)},
         [this, buyer] { visit(buyer); });
    }
  }
}

void World::visit(std::size_t buyer) {
  if (is_closing_) return;
  Visit wish;
  wish.buyer = buyer;
  wish.item = static_cast<std::size_t>(chance_.between(0, static_cast<std::int64_t>(items_.size()) - 1));
  wish.units = static_cast<std::int32_t>(chance_.one_in(2) ? 1 : chance_.between(1, swarm_.limit));
  if (first_numbers_[wish.item]) wish_for_numbers(wish);
  wish.retries_left = chance_.between(0, swarm_.retries_most);
  if (chance_.hits(swarm_.keyed)) wish.key = fmt::format("key{}", ++keys_);
  const std::int64_t clicks = chance_.between(1, swarm_.clicks_most);
  for (std::int64_t i = 0; i < clicks; ++i) send(wish);
}

/// Random ones, or named ones near each other, so that buyers meet.
void World::wish_for_numbers(Visit& visit) {
  const std::int64_t total = totals_[visit.item];
  visit.wish = chance_.pick<Wish>(std::array{Wish::random, Wish::named, Wish::partial});
  if (visit.wish == Wish::random) return;
  std::set<std::uint32_t> numbers;
  for (std::int32_t i = 0; i < visit.units; ++i) {
    numbers.insert(*first_numbers_[visit.item] + static_cast<std::uint32_t>(chance_.between(0, total - 1)));
  }
  visit.numbers = *NumberList::from(std::vector<std::uint32_t>{numbers.begin(), numbers.end()});
  visit.units = static_cast<std::int32_t>(numbers.size());
}

/// As the front door reads the public bits.
bool World::is_refused_by_the_bits(const Visit& visit) const {
  const auto is_free = [&](std::uint32_t number) { return engine_->numbers().is_free(items_[visit.item], number); };
  if (visit.wish == Wish::named) return !std::ranges::all_of(visit.numbers.view(), is_free);
  return visit.wish == Wish::partial && std::ranges::none_of(visit.numbers.view(), is_free);
}

/// Numbers are refused by name, and none is named that was not asked for.
void World::check_taken(const Visit& visit, const NumberList& taken) {
  const bool is_lawful = !taken.is_empty() && numbers_without(taken, visit.numbers).is_empty() &&
                         (visit.wish == Wish::named || taken == visit.numbers);
  if (!is_lawful)
    violate("I2", fmt::format("{} is refused other numbers than were asked for", buyers_[visit.buyer].name.view()));
}

void World::send(const Visit& visit) {
  const auto wire = [this] { return chance_.span(0, swarm_.wire_most.count()); };
  if (!is_healed_ && chance_.hits(swarm_.requests_lost)) {
    count(Trouble::request_lost);
    return at(wire() + kAnswerWait, [this, visit] { hear(visit, Reply::lost, {}); });
  }
  at(wire(), [this, visit] { arrive(visit); });
  if (!is_healed_ && !visit.key.empty() && chance_.hits(swarm_.requests_doubled)) {
    count(Trouble::request_doubled);
    at(wire() + wire(), [this, visit] { arrive(visit); });
  }
}

/// What the front door decides without the desk, from the same public snapshots.
void World::arrive(const Visit& visit) {
  const auto refuse_at_the_door = [&](Reply reply) {
    at(chance_.span(0, swarm_.wire_most.count()), [this, visit, reply] { hear(visit, reply, {}); });
  };
  if (!is_up()) return refuse_at_the_door(Reply::lost);
  const auto catalog = engine_->catalog();
  const Item* item = catalog->item(items_[visit.item]);
  const Sale* sale = item == nullptr ? nullptr : catalog->sale(item->sale);
  if (sale == nullptr) return violate("catalog", "an item of the sale is unknown");
  if (phase(*sale, clock_.now()) != SalePhase::open) return refuse_at_the_door(Reply::not_open);
  const BuyerName& name = buyers_[visit.buyer].name;
  const BuyerKey key = buyer_key(engine_->buyer_hash(), kTenant, name.view());
  const bool may_own = engine_->known_buyers().may_hold(sale->no, key);
  const bool is_named = visit.wish == Wish::named || visit.wish == Wish::partial;
  const bool is_sold_out = !engine_->shelves().has_free(item->no, is_named ? 1 : visit.units);
  if (!may_own && visit.units <= sale->limit_per_buyer && (is_sold_out || is_refused_by_the_bits(visit))) {
    const Tenant& tenant = catalog->tenants().front();
    const bool may_be_repeat =
        !visit.key.empty() && engine_->known_buyers().may_have_ended(derived_order_id(tenant, name.view(), visit.key));
    if (!may_be_repeat) {
      trace_.note(clock_.ticks(), "{} is refused at the door", name.view());
      if (!is_sold_out) return refuse_at_the_door(Reply::number_taken);
      check_sold_out(visit, clock_.ticks());
      return refuse_at_the_door(Reply::sold_out);
    }
  }
  offer(visit, static_cast<std::uint16_t>(chance_.between(0, swarm_.reactors - 1)));
}

void World::offer(const Visit& visit, std::uint16_t reactor) {
  const auto catalog = engine_->catalog();
  const Item* item = catalog->item(items_[visit.item]);
  const Sale* sale = catalog->sale(item->sale);
  Buyer& buyer = buyers_[visit.buyer];
  ClaimRequest request;
  Claim& claim = request.claim;
  claim.keyed = !visit.key.empty();
  claim.order = claim.keyed ? derived_order_id(catalog->tenants().front(), buyer.name.view(), visit.key)
                            : OrderId::random(chance_.source());
  claim.tenant = kTenant;
  claim.sale = sale->no;
  claim.item = item->no;
  claim.units = visit.units;
  claim.wish = visit.wish;
  claim.numbers = visit.numbers;
  claim.buyer = buyer.name;
  claim.buyer_key = buyer_key(engine_->buyer_hash(), kTenant, buyer.name.view());
  claim.digest = purchase_digest(claim);
  claim.promised_pay_by = clock_.now() + sale->pay_within;
  const std::size_t index = requests_.size();
  requests_.push_back({visit, claim.order, generation_, clock_.ticks(), false});
  request.ticket = {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(generation_), reactor};
  book_.ask(claim, visit.buyer, visit.item, generation_);
  buyer.orders.insert(claim.order);
  if (!engine_->offer_claim(reactor, request)) {
    count(Trouble::claim_ring_full);
    return answer(index, Reply::unavailable, nullptr);
  }
  in_process(kAnswerWait, [this, index] {
    if (requests_[index].is_answered) return;
    // An answer that found its ring full was dropped; the deadline speaks in its place.
    const bool is_decided = engine_->in_flight() == 0;
    if (is_decided && swarm_.answer_ring < kSmallRing) count(Trouble::answer_ring_overfull);
    answer(index, Reply::lost, nullptr);
  });
  wake_all();
}

void World::conclude(const ClaimAnswer& given) {
  const std::size_t index = given.ticket.slot;
  if (given.ticket.generation != generation_) return violate("answers", "an answer of an earlier process");
  const Request& request = requests_[index];
  switch (given.kind) {
    case ClaimAnswerKind::accepted: return answer(index, Reply::accepted, &given);
    case ClaimAnswerKind::look_up: return look_up(index, given.order, given.digest);
    case ClaimAnswerKind::over_limit:
      refuse(request.order);
      if (given.units_held + request.visit.units <= swarm_.limit) {
        violate("limit", fmt::format("{} holds {}, asked for {}, was refused at a limit of {}",
                                     buyers_[request.visit.buyer].name.view(), given.units_held, request.visit.units,
                                     swarm_.limit));
      }
      if (!given.order.is_none() && !buyers_[request.visit.buyer].orders.contains(given.order)) {
        violate("limit", fmt::format("another buyer's order {} is named", given.order.text()));
      }
      return answer(index, Reply::over_limit, nullptr);
    case ClaimAnswerKind::sold_out:
      refuse(request.order);
      check_sold_out(request.visit, request.arrived);
      return answer(index, Reply::sold_out, nullptr);
    case ClaimAnswerKind::number_taken:
      refuse(request.order);
      check_taken(request.visit, given.numbers);
      return answer(index, Reply::number_taken, nullptr);
    case ClaimAnswerKind::not_on_sale: refuse(request.order); return answer(index, Reply::not_open, nullptr);
    case ClaimAnswerKind::key_reused: return answer(index, Reply::key_reused, nullptr);
    case ClaimAnswerKind::unavailable: count(Trouble::claim_shed); return answer(index, Reply::unavailable, nullptr);
    case ClaimAnswerKind::unknown: count(Trouble::claim_given_up); return answer(index, Reply::lost, nullptr);
  }
}

void World::look_up(std::size_t index, OrderId order, RequestDigest digest) {
  const bool is_taken = engine_->read([this, index, order, digest](LedgerReader& ledger) {
    const auto found = ledger.order(order);
    if (!found || !*found) return answer(index, Reply::lost, nullptr);
    if ((*found)->digest != digest) return answer(index, Reply::key_reused, nullptr);
    ClaimAnswer given;
    given.order = order;
    given.pay_by = (*found)->pay_by;
    given.units = (*found)->units;
    given.numbers = (*found)->numbers;
    answer(index, Reply::accepted, &given);
  });
  if (!is_taken) answer(index, Reply::lost, nullptr);
  wake_all();
}

void World::answer(std::size_t index, Reply reply, const ClaimAnswer* from) {
  Request& request = requests_[index];
  if (request.is_answered) return;
  request.is_answered = true;
  ++(reply == Reply::accepted ? report_.accepted : report_.refused);
  trace_.note(clock_.ticks(), "request {} of {} for {}: {}", index, buyers_[request.visit.buyer].name.view(),
              request.order.text().substr(0, 8), static_cast<int>(reply));
  if (reply == Reply::accepted) acknowledge(request, *from);
  const bool is_lost = !is_healed_ && chance_.hits(swarm_.answers_lost);
  if (is_lost) count(Trouble::answer_lost);
  const Micros wire = chance_.span(0, swarm_.wire_most.count()) + (is_lost ? kAnswerWait : Micros{0});
  at(wire, [this, visit = request.visit, order = request.order, reply = is_lost ? Reply::lost : reply] {
    hear(visit, reply, order);
  });
}

/// 202 goes out: from now on this order is to be found, for ever.
void World::acknowledge(const Request& request, const ClaimAnswer& given) {
  const OrderId order = given.order;
  Paper* paper = book_.find(order);
  if (paper == nullptr || paper->buyer != request.visit.buyer) {
    return violate("I4", fmt::format("202 names order {}, which this buyer never asked for", order.text()));
  }
  if (order != request.order) return violate("I4", "202 names another order than was asked for");
  paper->is_open = false;
  paper->is_acknowledged = true;
  paper->promised_pay_by = std::max(paper->promised_pay_by, given.pay_by);
  if (!paper->numbers.is_empty() && paper->numbers != given.numbers) {
    return violate("I4", fmt::format("order {} was answered with other numbers before", order.text()));
  }
  paper->numbers = given.numbers;
  const NumberList& asked = request.visit.numbers;
  const bool is_what_was_asked = request.visit.wish == Wish::units
                                     ? given.numbers.is_empty()
                                     : !given.numbers.is_empty() &&
                                           (asked.is_empty() || numbers_without(given.numbers, asked).is_empty()) &&
                                           (request.visit.wish == Wish::partial ||
                                            given.numbers.size() == static_cast<std::size_t>(request.visit.units));
  if (!is_what_was_asked) violate("I2", fmt::format("order {} got other numbers than it asked for", order.text()));
  const auto found = spy_->order(order);
  if (found && !*found) violate("R10", fmt::format("202 for order {}, which is not in the ledger", order.text()));
}

/// The claim certainly took nothing, unless an earlier one under the same id did.
void World::refuse(OrderId order) {
  Paper* paper = book_.find(order);
  const bool is_asked_elsewhere = std::ranges::any_of(
      requests_, [&](const Request& one) { return one.order == order && one.generation == generation_; });
  if (paper != nullptr && !is_asked_elsewhere) paper->is_open = false;
}

void World::hear(const Visit& visit, Reply reply, OrderId order) {
  if (visit.is_last_test) {
    const bool is_to_be_repeated = reply == Reply::unavailable || reply == Reply::lost;
    if (is_to_be_repeated && visit.retries_left > 0) {
      Visit again = visit;
      --again.retries_left;
      return at(Micros{500'000}, [this, again] { send(again); });
    }
    --last_tests_open_;
    if (reply != Reply::accepted) {
      violate("I9", fmt::format("at rest a new buyer was refused {} of item {}: {}", visit.units, visit.item,
                                static_cast<int>(reply)));
    }
    return;
  }
  if (is_closing_) return;
  switch (reply) {
    case Reply::accepted: return use_order(visit.buyer, order);
    case Reply::lost:
    case Reply::unavailable:
      if (!order.is_none() && chance_.one_in(4)) ask_for_order(visit.buyer, order);
      break;
    case Reply::number_taken:
    case Reply::sold_out:
      if (chance_.one_in(2)) return;
      break;
    case Reply::over_limit:
    case Reply::not_open:
    case Reply::key_reused: return;
  }
  if (visit.retries_left <= 0) return;
  Visit again = visit;
  --again.retries_left;
  if (!again.key.empty() && chance_.hits(swarm_.retries_with_new_key)) again.key = fmt::format("key{}", ++keys_);
  at(chance_.span(50'000, 3'000'000), [this, again] { send(again); });
}

void World::use_order(std::size_t buyer, OrderId order) {
  const Micros pause = chance_.span(0, swarm_.pay_within.count());
  if (chance_.hits(swarm_.pays)) return at(pause, [this, buyer, order] { pay(buyer, order, 3); });
  if (chance_.hits(swarm_.cancels)) at(pause, [this, buyer, order] { cancel(buyer, order); });
}

void World::pay(std::size_t buyer, OrderId order, std::int64_t tries) {
  if (tries == 0 || is_closing_) return;
  const auto again = [this, buyer, order, tries] {
    at(chance_.span(100'000, 1'500'000), [this, buyer, order, tries] { pay(buyer, order, tries - 1); });
  };
  if (!is_up()) return again();
  const StartPayment command{.tenant = kTenant,
                             .buyer = buyers_[buyer].name,
                             .order = order,
                             .gateway = "sandbox",
                             .payment = PaymentId::random(chance_.source()),
                             .grace = swarm_.grace,
                             .key = std::nullopt};
  const bool is_taken =
      engine_->settle({command, [this, again](const Result<Settlement>& settled) {
                         if (!settled) return again();
                         if (settled->settled != Settled::done && settled->settled != Settled::repeated) return;
                         if (!settled->payment) return;
                         const bool is_read = engine_->read([this, again, payment = *settled->payment](LedgerReader&) {
                           if (!network_.start({payment.id, payment.amount}, clock_.ticks())) return again();
                           const bool is_late = chance_.hits(swarm_.pays_late);
                           const Micros pause = is_late ? swarm_.pay_within + swarm_.grace + chance_.span(0, 3'000'000)
                                                        : chance_.span(0, swarm_.pay_within.count() / 2);
                           if (chance_.hits(swarm_.declines)) {
                             at(pause / 2, [this, id = payment.id] {
                               network_.decide(id, false, false);
                               send_notices();
                             });
                             if (chance_.one_in(2)) return;
                           }
                           const int times = chance_.hits(swarm_.pays_twice) ? 2 : 1;
                           for (int i = 0; i < times; ++i) {
                             at(pause + Micros{i * 1'000}, [this, id = payment.id] {
                               network_.decide(id, true, chance_.hits(swarm_.wrong_amounts));
                               send_notices();
                             });
                           }
                         });
                         if (!is_read) again();
                       }});
  if (!is_taken) again();
  wake_all();
}

void World::cancel(std::size_t buyer, OrderId order) {
  if (!is_up() || is_closing_) return;
  static_cast<void>(engine_->settle(
      {CancelOrder{.tenant = kTenant, .buyer = buyers_[buyer].name, .order = order, .key = std::nullopt},
       [this, order](const Result<Settlement>& settled) {
         if (!settled || (settled->settled != Settled::done && settled->settled != Settled::repeated)) return;
         trace_.note(clock_.ticks(), "order {} is cancelled", order.text().substr(0, 8));
         if (Paper* paper = book_.find(order)) paper->is_cancelled = true;
       }}));
  wake_all();
}

void World::ask_for_order(std::size_t buyer, OrderId order) {
  if (!is_up()) return;
  static_cast<void>(engine_->read([this, buyer, order](LedgerReader& ledger) {
    const auto found = ledger.order(order);
    if (!found) return;
    if (*found) {
      if ((*found)->status == OrderStatus::pending) use_order(buyer, order);
      return;
    }
    const Paper* paper = book_.find(order);
    if (paper != nullptr && paper->is_acknowledged) {
      violate("I4", fmt::format("order {} was answered with 202 and is not found", order.text()));
    }
  }));
  wake_all();
}

}  // namespace weir::sim
