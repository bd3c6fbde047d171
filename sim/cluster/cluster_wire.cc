#include "config/limits.h"
#include "sim/cluster/cluster.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::cluster {
namespace {

struct Point {
  std::string_view name;
  Trouble death;
};

constexpr std::array kPoints{Point{"gate_taken", Trouble::node_killed_at_gate_taken},
                             Point{"queue_appended", Trouble::node_killed_at_queue_appended},
                             Point{"stragglers_adopted", Trouble::worker_killed_at_stragglers_adopted},
                             Point{"slice_recorded", Trouble::worker_killed_at_slice_recorded},
                             Point{"released_on_gate", Trouble::worker_killed_at_released_on_gate},
                             Point{"late_money_asked", Trouble::worker_killed_at_late_money_asked},
                             Point{"build_begun", Trouble::worker_killed_at_build_begun},
                             Point{"build_finished", Trouble::worker_killed_at_build_finished},
                             Point{"build_before_open", Trouble::worker_killed_at_build_before_open},
                             Point{"before_expire", Trouble::worker_killed_at_before_expire},
                             Point{"after_expire", Trouble::worker_killed_at_after_expire}};

/// What the story tells.
constexpr std::array<std::string_view, 12> kToldVerbs{"begin_build", "finish_build", "close",         "start_build",
                                                      "open_epoch",  "record_log",   "adopt",         "retake",
                                                      "release",     "confirm",      "drop_releases", "decide_retakes"};

/// Before which calls a sleep hurts most.
std::optional<Trouble> chosen_sleep(std::string_view verb) {
  if (verb == "append") return Trouble::slept_before_publishing;
  if (verb == "record_log") return Trouble::slept_before_recording;
  if (verb == "drop_releases") return Trouble::slept_before_forgetting_releases;
  if (verb == "release") return Trouble::slept_before_releasing;
  if (verb == "confirm") return Trouble::slept_before_confirming;
  if (verb == "adopt") return Trouble::slept_before_adopting;
  if (verb == "take" || verb == "releases") return Trouble::slept_with_an_old_belief;
  if (verb == "decide_retakes") return Trouble::slept_before_deciding_late_money;
  if (verb == "start_build" || verb == "build_holds" || verb == "open_epoch" || verb == "finish_build") {
    return Trouble::slept_before_a_build_step;
  }
  return std::nullopt;
}

bool hits_call(sim::Chance& chance, std::int64_t share) { return share > 0 && chance.between(0, 9'999) < share; }

}  // namespace

Passage Cluster::send(Process& process, Peer peer, std::string_view verb) {
  if (current_ == nullptr) return Passage::fine;
  current_->verb = verb;
  if (is_stormy() && hits_call(chance_, swarm_.kills_at_calls)) {
    met(process.is_node ? Trouble::node_killed_inside_a_call : Trouble::worker_killed_inside_a_call);
    throw Death{};
  }
  const std::int64_t epoch = rows_.gates[kSale].epoch;
  const Micros span = travel(process, peer, verb);
  if (span > Micros{0}) pause(span);
  if (span > Micros{kLeaseUs} && rows_.gates[kSale].epoch > epoch) met(Trouble::slept_over_a_build);
  current_->verb = verb;
  return is_stormy() ? passage_of(process, peer, verb) : Passage::fine;
}

/// How long a question is under way; 0: nothing else happens meanwhile.
Micros Cluster::travel(Process& process, Peer peer, std::string_view verb) {
  if (is_stormy()) {
    const auto chosen = chosen_sleep(verb);
    // Questions that are asked many times a second are slept on less often.
    const bool is_frequent = verb == "take" || verb == "releases";
    const bool nods_off = is_frequent && std::exchange(process.nods_off, false);
    // Those that are asked a few times a run are slept on more often.
    const bool is_rare = verb == "adopt" || verb == "decide_retakes";
    const bool is_chosen = chance_.hits(swarm_.chosen_sleeps) && (!is_frequent || chance_.one_in(10));
    const bool sleeps = chosen && (is_chosen || (is_rare && swarm_.chosen_sleeps > 0 && chance_.one_in(3)));
    if (nods_off || sleeps) {
      met(*chosen);
      if (nods_off) {
        const Micros nap = chance_.span(kLeaseUs + kPublishDeadlineUs, 14'000'000);
        put_to_sleep(process, nap);
        return nap;
      }
      const Micros span = chance_.span(1'000'000, 14'000'000);
      put_to_sleep(process, span);
      return span;
    }
    if (hits_call(chance_, swarm_.long_sleeps)) {
      met(Trouble::slept_inside_a_call);
      const Micros span = chance_.span(500'000, 14'000'000);
      put_to_sleep(process, span);
      return span;
    }
    if (chance_.hits(swarm_.slow_calls)) {
      if (peer != Peer::log) met(peer == Peer::gate ? Trouble::gate_slow : Trouble::ledger_slow);
      return chance_.span(50'000, 900'000);
    }
  }
  return chance_.hits(swarm_.yields) ? chance_.span(20, 2'000) : Micros{0};
}

void Cluster::put_to_sleep(Process& process, Micros span) {
  met(process.is_node ? Trouble::node_slept : Trouble::worker_slept);
  if (span > Micros{kLeaseUs}) met(Trouble::slept_longer_than_a_lease);
  process.frozen_until = std::max(process.frozen_until, clock_.ticks() + span);
  trace_.note(clock_.ticks(), "{} sleeps for {} ms", process.name, span.count() / 1000);
}

Passage Cluster::passage_of(const Process& process, Peer peer, std::string_view verb) {
  if (peer == Peer::log) {
    if (!hits_call(chance_, swarm_.log_reads_failed)) return Passage::fine;
    met(Trouble::log_not_read);
    return Passage::refused;
  }
  if (peer == Peer::ledger) {
    const bool is_cut_off = clock_.ticks() < process.cut_off_until;
    if (is_ledger_away_ || is_cut_off || hits_call(chance_, swarm_.ledger_refused)) {
      met(chance_.one_in(2) ? Trouble::ledger_not_reached : Trouble::ledger_deadlock);
      return Passage::refused;
    }
    if (hits_call(chance_, swarm_.commits_lost)) {
      return chance_.one_in(2) ? Passage::reply_lost : Passage::request_lost;
    }
    return Passage::fine;
  }
  const bool is_of_build = verb == "start_build" || verb == "build_holds" || verb == "open_epoch" || verb == "close";
  if (is_of_build && chance_.hits(swarm_.late_build_calls)) {
    met(Trouble::build_call_late);
    trace_.note(clock_.ticks(), "{}: {} is late", process.name, verb);
    return Passage::late;
  }
  const auto meet = [this](Trouble trouble, Passage passage) {
    met(trouble);
    return passage;
  };
  if (hits_call(chance_, swarm_.gate_refused)) return meet(Trouble::gate_not_reached, Passage::refused);
  if (hits_call(chance_, swarm_.gate_requests_lost)) return meet(Trouble::gate_request_lost, Passage::request_lost);
  if (hits_call(chance_, swarm_.gate_replies_lost)) return meet(Trouble::gate_reply_lost, Passage::reply_lost);
  if (hits_call(chance_, swarm_.gate_late)) return meet(Trouble::gate_acted_late, Passage::late);
  return Passage::fine;
}

/// The effect has happened: now is the moment to look at the stores, and then the answer travels.
void Cluster::receive(Process& process, Peer peer) {
  if (current_ != nullptr && std::ranges::find(kToldVerbs, current_->verb) != kToldVerbs.end()) {
    const GateState& state = rows_.gates[kSale];
    trace_.note(clock_.ticks(), "{}: {} (ledger: {} {} on {})", process.name, current_->verb, name(state.phase),
                state.epoch, state.pin);
  }
  check_stores();
  if (current_ == nullptr) return;
  if (is_stormy() && hits_call(chance_, swarm_.kills_at_calls)) {
    met(process.is_node ? Trouble::node_killed_inside_a_call : Trouble::worker_killed_inside_a_call);
    throw Death{};
  }
  if (const Micros span = travel(process, peer, "answer"); span > Micros{0}) pause(span);
}

void Cluster::run_late(std::function<void()> effect) {
  const Micros span = chance_.one_in(3) ? chance_.span(1'000, 12'000'000) : chance_.span(1'000, 300'000);
  at(span, [this, effect = std::move(effect)] {
    effect();
    trace_.note(clock_.ticks(), "a late question arrives at the gate");
    check_stores();
  });
}

void Cluster::reach_point(std::string_view point) {
  if (current_ == nullptr || !is_stormy()) return;
  const auto known = std::ranges::find(kPoints, point, &Point::name);
  if (known == kPoints.end()) return;
  // Points that are passed many times a second are deadly less often.
  const bool is_frequent = point.ends_with("_expire") || point == "queue_appended" || point == "gate_taken";
  if (chance_.hits(swarm_.kills_at_points) && (!is_frequent || chance_.one_in(10))) {
    met(known->death);
    trace_.note(clock_.ticks(), "{} dies at {}", current_->process->name, point);
    throw Death{};
  }
  if (hits_call(chance_, swarm_.long_sleeps * 10)) {
    const Micros span = chance_.span(500'000, 14'000'000);
    put_to_sleep(*current_->process, span);
    pause(span);
  }
}

Landing Cluster::landing() {
  if (!is_stormy()) return Landing::fine;
  if (chance_.hits(swarm_.landings_unacknowledged)) return Landing::unacknowledged;
  if (chance_.hits(swarm_.landings_refused)) return Landing::not_persisted;
  if (chance_.hits(swarm_.landings_lost)) return Landing::lost;
  if (chance_.hits(swarm_.landings_late)) {
    hunt_late_one();
    return Landing::late;
  }
  if (chance_.hits(swarm_.landings_doubled)) return Landing::doubled;
  return Landing::fine;
}

/// A message that comes late is of interest if the gate was built anew meanwhile.
void Cluster::hunt_late_one() {
  const Ticks now = clock_.ticks();
  if (!chance_.hits(swarm_.hunts_late_ones) || now - hunted_at_ < Micros{9'000'000}) return;
  hunted_at_ = now;
  at(chance_.span(10'000, 3'000'000), [this] {
    if (is_stormy()) strike_gate(chance_.between(2, 6));
  });
}

Micros Cluster::flight() { return chance_.span(100, swarm_.flight_most.count()); }

Micros Cluster::lateness() { return chance_.span(1'000, swarm_.lateness_most.count()); }

}  // namespace weir::cluster
