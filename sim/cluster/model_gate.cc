#include "sim/cluster/model_gate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace weir::cluster {
namespace {

std::unexpected<GateError> no(GateTrouble trouble) {
  return std::unexpected(GateError{trouble, std::string{name(trouble)}});
}

std::vector<OrderId> ids_of(std::span<const Hold> holds) {
  std::vector<OrderId> ids;
  ids.reserve(holds.size());
  for (const Hold& hold : holds) ids.push_back(hold.order);
  return ids;
}

template <typename R>
Result<R> plain(GateAnswer<R> answer) {
  if (answer) {
    if constexpr (std::is_void_v<R>)
      return {};
    else
      return *std::move(answer);
  }
  return fail(failure_of(answer.error().trouble), answer.error().message);
}

}  // namespace

void GateStore::add(Sales sales) {
  // Nothing here is a real name: a pin is whatever differs from every other one.
  processes_.push_back({.pin = fmt::format("run{}", processes_.size() + 1), .is_up = true, .sales = std::move(sales)});
}

void GateStore::replace(Sales sales, bool old_one_lives) {
  processes_.back().is_up = old_one_lives;
  add(std::move(sales));
}

void GateStore::fail_over_to_the_copy(bool old_one_lives) { replace(copy_, old_one_lives); }

void GateStore::lose_a_key() {
  for (auto& [name, keys] : processes_.back().sales) keys.lose_a_key();
}

void GateStore::end_splits() {
  for (std::size_t i = 0; i < master(); ++i) processes_[i].is_up = false;
}

const SaleKeys* GateStore::sale_at(std::string_view pin, std::string_view name) const {
  for (const Process& process : processes_) {
    if (process.pin != pin || !process.is_up) continue;
    const auto found = process.sales.find(name);
    return found == process.sales.end() ? nullptr : &found->second;
  }
  return nullptr;
}

GateAnswer<void> ModelGate::attach(const GatePlace& place) {
  places_[place.sale] = place;
  return {};
}

const GatePlace* ModelGate::place(SaleNo sale) const {
  const auto found = places_.find(sale);
  return found == places_.end() ? nullptr : &found->second;
}

GateTrouble ModelGate::trouble(SaleNo sale) const {
  const auto found = troubles_.find(sale);
  return found == troubles_.end() ? GateTrouble::none : found->second;
}

void ModelGate::note(SaleNo sale, GateTrouble trouble) {
  troubles_[sale] = trouble;
  if (trouble == GateTrouble::wrong_pin) wire_.met(Trouble::wrong_pin_met);
  if (trouble == GateTrouble::missing) wire_.met(Trouble::missing_met);
  if (trouble == GateTrouble::wrong_epoch) wire_.met(Trouble::wrong_epoch_met);
  if (trouble == GateTrouble::closed) wire_.met(Trouble::closed_met);
}

template <typename R>
GateAnswer<R> ModelGate::run(GateStore& store, std::size_t process, const GatePlace& place, bool asks_for_pin,
                             const Script<R>& script) {
  GateStore::Process& at = store.process(process);
  if (store.is_away || !at.is_up) return no(GateTrouble::unavailable);
  if (asks_for_pin && at.pin != place.pin && !store.faults.has_no_pin) return no(GateTrouble::wrong_pin);
  return script(at.sales[place.name], place, store);
}

template <typename R>
GateAnswer<R> ModelGate::ask(SaleNo sale, Question question, Script<R> script) {
  const auto found = places_.find(sale);
  if (found == places_.end()) return no(GateTrouble::unattached);
  const GatePlace place = found->second;  // As it is now: an answer belongs to what was asked.
  const Passage passage = wire_.send(Peer::gate, question.verb);
  GateAnswer<R> answer = no(GateTrouble::timed_out);
  switch (passage) {
    case Passage::refused: answer = no(GateTrouble::unavailable); break;
    case Passage::request_lost: break;
    case Passage::late:
      wire_.run_late([&store = store_, at = process_, place, question, script = std::move(script)] {
        static_cast<void>(run<R>(store, at, place, question.asks_for_pin, script));
      });
      break;
    case Passage::fine:
    case Passage::reply_lost:
      answer = run<R>(store_, process_, place, question.asks_for_pin, script);
      wire_.receive(Peer::gate);
      if (passage == Passage::reply_lost) answer = no(GateTrouble::timed_out);
      break;
  }
  // A connection that broke is made anew to whoever is the master now.
  if (!answer && (!store_.process(process_).is_up || answer.error().trouble == GateTrouble::unavailable)) {
    if (!store_.process(process_).is_up) process_ = store_.master();
  }
  note(sale, answer ? GateTrouble::none : answer.error().trouble);
  return answer;
}

GateAnswer<GateLook> ModelGate::look(SaleNo sale, Deadline) {
  const std::size_t at = process_;
  return ask<GateLook>(sale, {.verb = "look", .asks_for_pin = false},
                       [at](SaleKeys& keys, const GatePlace& place, GateStore& store) -> GateAnswer<GateLook> {
                         GateLook look = keys.look(place.epoch);
                         look.pin = store.process(at).pin;
                         return look;
                       });
}

Result<void> ModelGate::reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline) {
  if (claims.empty()) return {};
  auto said = std::make_shared<std::vector<Verdict>>(claims.size());
  const std::vector<Claim> kept{claims.begin(), claims.end()};
  const auto answer = ask<void>(claims.front().sale, {.verb = "reserve"},
                                [kept, said](SaleKeys& keys, const GatePlace& place, GateStore& store) {
                                  return keys.reserve(place.epoch, kept, *said, store.now(), store.faults);
                                });
  if (answer) std::ranges::copy(*said, verdicts.begin());
  const bool is_taken = std::ranges::find(*said, Admission::admitted, &Verdict::admission) != said->end();
  if (answer && is_taken && process_ != store_.master()) wire_.met(Trouble::split_gate_went_on_selling);
  return plain(answer);
}

void ModelGate::reserve_batches(std::span<ReserveBatch> batches, Deadline deadline) {
  for (ReserveBatch& batch : batches) {
    static_cast<void>(reserve(batch.claims, batch.verdicts, deadline));
    batch.trouble = trouble(batch.sale);
  }
}

GateAnswer<void> ModelGate::set_terms(SaleNo sale, const GateTerms& terms, Deadline) {
  return ask<void>(sale, {.verb = "set_terms"}, [terms](SaleKeys& keys, const GatePlace& place, GateStore&) {
    return keys.set_terms(place.epoch, terms);
  });
}

GateAnswer<void> ModelGate::adopt_stragglers(SaleNo sale, HoldKind kind, std::span<const Claim> claims,
                                             std::span<Adopted> adopted, Deadline) {
  auto said = std::make_shared<std::vector<Adopted>>(claims.size());
  const std::vector<Claim> kept{claims.begin(), claims.end()};
  const auto answer = ask<void>(sale, {.verb = kind == HoldKind::claim ? "adopt" : "retake"},
                                [kind, kept, said](SaleKeys& keys, const GatePlace& place, GateStore& store) {
                                  return keys.adopt(place.epoch, kind, kept, *said, store.now(), store.faults);
                                });
  if (!answer) return answer;
  for (std::size_t i = 0; i < said->size(); ++i) {
    adopted[i] = (*said)[i];
    if (kind != HoldKind::claim) continue;
    switch (adopted[i].adoption) {
      case Adoption::adopted: wire_.met(Trouble::straggler_adopted); break;
      case Adoption::other: wire_.met(Trouble::straggler_of_other_contents); break;
      case Adoption::refused: wire_.met(Trouble::straggler_refused); break;
      case Adoption::ended: wire_.met(Trouble::straggler_had_ended); break;
    }
  }
  return answer;
}

GateAnswer<std::vector<InFlight>> ModelGate::in_flight(SaleNo sale, Micros age, std::size_t count, Deadline) {
  return ask<std::vector<InFlight>>(sale, {.verb = "in_flight"},
                                    [age, count](SaleKeys& keys, const GatePlace& place, GateStore& store) {
                                      return keys.in_flight(place.epoch, age, count, store.now());
                                    });
}

GateAnswer<std::optional<SharedHold>> ModelGate::find_hold(SaleNo sale, OrderId hold, Deadline) {
  return ask<std::optional<SharedHold>>(
      sale, {.verb = "find_hold"},
      [hold](SaleKeys& keys, const GatePlace& place, GateStore&) { return keys.find(place.epoch, hold); });
}

GateAnswer<void> ModelGate::shelves(SaleNo sale, std::span<const ItemNo> items, std::span<Shelf> shelves, Deadline) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ItemNo item = items[i];
    const auto shelf = ask<Shelf>(sale, {.verb = "shelf"}, [item](SaleKeys& keys, const GatePlace& place, GateStore&) {
      return keys.shelf(place.epoch, item);
    });
    if (!shelf) return std::unexpected(shelf.error());
    shelves[i] = *shelf;
  }
  return {};
}

Result<Shelf> ModelGate::shelf(ItemNo item, Deadline deadline) {
  Shelf shelf;
  if (places_.empty()) return fail(Failure::unavailable, "no sale is attached");
  const auto answer = shelves(places_.begin()->first, {&item, 1}, {&shelf, 1}, deadline);
  if (!answer) return fail(failure_of(answer.error().trouble), answer.error().message);
  return shelf;
}

Result<void> ModelGate::confirm(std::span<const Hold> holds, Deadline) {
  if (holds.empty()) return {};
  return plain(ask<void>(holds.front().sale, {.verb = "confirm"},
                         [ids = ids_of(holds)](SaleKeys& keys, const GatePlace& place, GateStore&) {
                           return keys.confirm(place.epoch, ids);
                         }));
}

Result<std::int64_t> ModelGate::release(std::span<const Hold> holds, Deadline) {
  if (holds.empty()) return 0;
  return plain(ask<std::int64_t>(holds.front().sale, {.verb = "release"},
                                 [ids = ids_of(holds)](SaleKeys& keys, const GatePlace& place, GateStore& store) {
                                   return keys.release(place.epoch, ids, store.faults);
                                 }));
}

GateAnswer<void> ModelGate::close(SaleNo sale, Deadline) {
  return ask<void>(sale, {.verb = "close", .asks_for_pin = false},
                   [](SaleKeys& keys, const GatePlace& place, GateStore&) { return keys.close(place.epoch); });
}

GateAnswer<void> ModelGate::start_build(SaleNo sale, const GateTerms& terms, std::span<const GateItem> items,
                                        Deadline) {
  const std::vector<GateItem> kept{items.begin(), items.end()};
  return ask<void>(sale, {.verb = "start_build"}, [terms, kept](SaleKeys& keys, const GatePlace& place, GateStore&) {
    return keys.start(place.epoch, terms, kept);
  });
}

GateAnswer<void> ModelGate::build_holds(SaleNo sale, std::span<const SharedHold> holds, Deadline) {
  const std::vector<SharedHold> kept{holds.begin(), holds.end()};
  return ask<void>(sale, {.verb = "build_holds"}, [kept](SaleKeys& keys, const GatePlace& place, GateStore&) {
    return keys.put_holds(place.epoch, kept);
  });
}

GateAnswer<void> ModelGate::build_ended(SaleNo sale, std::span<const OrderId> holds, Deadline) {
  const std::vector<OrderId> kept{holds.begin(), holds.end()};
  return ask<void>(sale, {.verb = "build_ended"}, [kept](SaleKeys& keys, const GatePlace& place, GateStore& store) {
    return keys.put_ended(place.epoch, kept, store.faults);
  });
}

GateAnswer<void> ModelGate::open_epoch(SaleNo sale, Deadline) {
  return ask<void>(sale, {.verb = "open_epoch"},
                   [](SaleKeys& keys, const GatePlace& place, GateStore&) { return keys.open(place.epoch); });
}

GateAnswer<void> ModelGate::drop_older(SaleNo sale, Deadline) {
  return ask<void>(sale, {.verb = "drop_older"},
                   [](SaleKeys& keys, const GatePlace& place, GateStore&) { return keys.drop_older(place.epoch); });
}

}  // namespace weir::cluster
