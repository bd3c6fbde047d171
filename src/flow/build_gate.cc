#include "flow/build_gate.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

GateTerms terms_of(const Sale& sale, std::uint64_t version) {
  return {.limit_per_buyer = sale.limit_per_buyer, .selling = !sale.paused && !sale.closed, .version = version};
}

SharedHold shared_hold(const LiveHold& live, const Sale& sale) {
  SharedHold hold;
  hold.claim.order = live.hold;
  hold.claim.tenant = sale.tenant;
  hold.claim.sale = sale.no;
  hold.claim.item = live.item;
  hold.claim.units = live.units;
  hold.claim.digest = live.digest;
  hold.claim.promised_pay_by = live.pay_by;
  hold.claim.buyer = BuyerName::from(live.buyer).value_or(BuyerName{});
  hold.kind = live.hold == live.order ? HoldKind::claim : HoldKind::retake;
  hold.sold = live.sold;
  hold.recorded = true;
  return hold;
}

}  // namespace

Result<std::size_t> BuildGate::step(Ticks now) {
  std::size_t done = 0;
  if (!has_looked_ || now - looked_at_ >= Micros{kGateLookUs}) {
    looked_at_ = now;
    has_looked_ = true;
    done += look_at_gates(now);
  }
  for (auto at = builds_.begin(); at != builds_.end();) {
    const Stage before = at->second.stage;
    const std::size_t done_before = at->second.done;
    const bool goes_on = advance(at->second, now);
    if (!goes_on || at->second.stage != before || at->second.done != done_before) ++done;
    at = goes_on ? std::next(at) : builds_.erase(at);
  }
  if (std::exchange(is_ledger_unknown_, false)) return fail(Failure::timed_out, "the ledger did not answer a build");
  return done;
}

std::size_t BuildGate::look_at_gates(Ticks now) {
  const auto catalog = parts_.catalog.get();
  const auto states = parts_.lease.states();
  // What is not known now is not judged: a state that is too old may hide a build that has ended well.
  if (catalog == nullptr || states == nullptr || now - states->asked_at >= Micros{kLeaseUs}) return 0;
  const std::size_t before = builds_.size();
  for (const Sale& sale : catalog->sales()) {
    if (builds_.contains(sale.no)) continue;
    const auto found = states->of_sale.find(sale.no);
    look_at(sale, found == states->of_sale.end() ? nullptr : &found->second, now);
  }
  return builds_.size() - std::min(before, builds_.size());
}

void BuildGate::look_at(const Sale& sale, const GateState* state, Ticks now) {
  const auto catalog = parts_.catalog.get();
  if (state == nullptr) {
    if (!sale.closed) begin(sale, nullptr, 0, "first", now);
    return;
  }
  if (state->phase == GatePhase::building) {
    const Micros silent = parts_.ledger.now() - state->builder_seen_at;
    if (silent >= Micros{kBuilderSilentUs}) begin(sale, state, 0, "builder_silent", now);
    return;
  }
  if (!attach_at(parts_.gate, *state, *catalog)) return;
  const auto look = parts_.gate.look(sale.no, now + Micros{kSharedWaitUs});
  if (!look) {
    // Not reached: nobody can tell whether it is lost. It is asked again; a store that is moved answers from elsewhere.
    log::warn("gate_not_reached", {{"sale", sale.id}, {"trouble", name(look.error().trouble)}});
    return;
  }
  if (is_build_needed(sale, *state, *look, now)) {
    begin(sale, state, look->epoch, "gate_lost", now);
    return;
  }
  if (doubted_.contains(sale.no)) {
    begin(sale, state, look->epoch, "doubted", now);
    return;
  }
  keep_terms(sale, *look, now);
}

bool BuildGate::is_build_needed(const Sale& sale, const GateState& state, const GateLook& look, Ticks now) {
  Watch& watch = watches_[sale.no];
  const bool went_back = watch.epoch == look.epoch && look.writes < watch.writes;
  watch.epoch = look.epoch;
  watch.writes = look.writes;
  if (look.pin != state.pin || look.missing || went_back || look.epoch > state.epoch) return true;
  if (seen_in_log_ > state.epoch) return true;
  if (look.open && look.epoch == state.epoch) {
    watch.is_not_open = false;
    return false;
  }
  // Between the ledger's OPEN and the gate's a builder is at work, or has died.
  if (!std::exchange(watch.is_not_open, true)) watch.not_open_since = now;
  return now - watch.not_open_since >= Micros{kGateNotOpenUs};
}

void BuildGate::keep_terms(const Sale& sale, const GateLook& look, Ticks now) {
  const GateTerms terms = terms_of(sale, static_cast<std::uint64_t>(parts_.ledger.now().us));
  if (look.limit_per_buyer == terms.limit_per_buyer && look.selling == terms.selling) return;
  const auto set = parts_.gate.set_terms(sale.no, terms, now + Micros{kSharedWaitUs});
  if (!set) log::warn("terms_wait", {{"sale", sale.id}, {"message", set.error().message}});
}

void BuildGate::begin(const Sale& sale, const GateState* state, std::int64_t seen_in_gate, std::string_view why,
                      Ticks now) {
  const BuildStart start{.sale = sale.no,
                         .believed = state == nullptr ? 0 : state->epoch,
                         .seen_in_gate = seen_in_gate,
                         .seen_in_log = seen_in_log_,
                         .builder = builder_};
  const auto epoch = parts_.ledger.begin_build(start, now + Micros{kSharedWaitUs});
  if (!is_heard(epoch)) {
    log::warn("build_not_begun", {{"sale", sale.id}, {"message", epoch.error().message}});
    return;
  }
  if (!*epoch) return;  // Another one builds.
  FAULT("build_begun");
  ++counts_.started;
  log::warn("gate_build", {{"sale", sale.id}, {"epoch", **epoch}, {"why", why}});
  Build build;
  build.state.sale = sale.no;
  build.state.epoch = **epoch;
  build.state.phase = GatePhase::building;
  build.begun_at = clock_.ticks();
  build.beat_at = build.begun_at;
  build.is_first = state == nullptr;
  builds_[sale.no] = std::move(build);
  watches_.erase(sale.no);
  doubted_.erase(sale.no);
}

bool BuildGate::keep(Build& build, Ticks now) {
  if (now - build.beat_at < Micros{kBuilderBeatUs}) return true;
  build.beat_at = now;
  const auto kept =
      parts_.ledger.keep_building(build.state.sale, build.state.epoch, builder_, now + Micros{kSharedWaitUs});
  return !is_heard(kept) || *kept;  // Not heard is not lost.
}

/// Whether a step on the gate is done. What is not is tried again at the next step, as long as that can help.
bool BuildGate::is_met(const GateAnswer<void>& answer, Build& build) {
  if (answer) return true;
  switch (answer.error().trouble) {
    case GateTrouble::missing:
    case GateTrouble::wrong_epoch:
    case GateTrouble::wrong_pin:
    case GateTrouble::already_open:
    case GateTrouble::went_back:
    case GateTrouble::corrupt: build.is_lost = true; break;
    case GateTrouble::none:
    case GateTrouble::closed:
    case GateTrouble::foreign:
    case GateTrouble::unattached:
    case GateTrouble::unavailable:
    case GateTrouble::timed_out:
    case GateTrouble::unfit: break;
  }
  log::warn("build_step_waits", {{"sale", std::int64_t{build.state.sale.value}},
                                 {"epoch", build.state.epoch},
                                 {"trouble", name(answer.error().trouble)},
                                 {"message", answer.error().message}});
  return false;
}

bool BuildGate::advance(Build& build, Ticks now) {
  const SaleNo sale = build.state.sale;
  const Deadline deadline = now + Micros{kSharedWaitUs};
  const auto catalog = parts_.catalog.get();
  const bool is_open_already = build.stage > Stage::finish;  // In the ledger: nobody waits for our heartbeat.
  if (!is_open_already && !keep(build, now)) {
    ++counts_.given_up;
    return false;
  }
  switch (build.stage) {
    case Stage::close: {
      // Not reaching the old process is allowed: it is fenced by its pin and by the lease.
      if (attach_at(parts_.gate, build.state, *catalog)) {
        const auto closed = parts_.gate.close(sale, deadline);
        if (!closed && closed.error().trouble == GateTrouble::wrong_epoch) {
          ++counts_.given_up;
          return false;
        }
      }
      build.stage = Stage::wait;
      return true;
    }
    case Stage::wait:
      if (build.is_first || now - build.begun_at >= Micros{kLeaseUs + kPublishDeadlineUs}) {
        build.stage = Stage::ask_marks;
      }
      return true;
    case Stage::ask_marks: {
      const auto ranges = ask_marks_(deadline);
      if (!ranges) {
        log::warn("build_waits_for_log", {{"message", ranges.error().message}});
        return true;
      }
      build.marks.clear();
      for (const LogRange& range : ranges->partitions) {
        build.marks.push_back({.topic_id = ranges->topic_id, .partition = range.partition, .offset = range.end});
      }
      build.stage = Stage::finish;
      return true;
    }
    case Stage::finish: return finish(build, now);
    case Stage::start:
    case Stage::holds:
    case Stage::ended:
    case Stage::open: {
      const bool goes_on = fill(build, now);
      // What was lost under the build comes back by no repeat: the next look finds it, and the next epoch is built.
      if (build.is_lost) ++counts_.given_up;
      return goes_on && !build.is_lost;
    }
  }
  return false;
}

bool BuildGate::finish(Build& build, Ticks now) {
  const auto look = parts_.gate.look(build.state.sale, now + Micros{kSharedWaitUs});
  if (!look) return true;
  auto finished = parts_.ledger.finish_build({.sale = build.state.sale,
                                              .epoch = build.state.epoch,
                                              .builder = builder_,
                                              .pin = look->pin,
                                              .marks = build.marks},
                                             now + Micros{kSharedWaitUs});
  // Unknown or not there: the same question again gives the same answer.
  if (!is_heard(finished)) return true;
  switch (finished->end) {
    case BuildEnd::behind: return true;
    case BuildEnd::superseded: ++counts_.given_up; return false;
    case BuildEnd::open: break;
  }
  FAULT("build_finished");
  build.snapshot = std::move(finished->snapshot);
  build.state.phase = GatePhase::open;
  build.state.pin = look->pin;
  build.stage = Stage::start;
  return true;
}

bool BuildGate::fill(Build& build, Ticks now) {
  const SaleNo no = build.state.sale;
  const Deadline deadline = now + Micros{kSharedWaitUs};
  const auto catalog = parts_.catalog.get();
  const Sale* const sale = catalog->sale(no);
  // The ledger says OPEN: from here on a build that cannot go on is dropped, and the gate that is not open is found.
  if (sale == nullptr || now - build.begun_at >= Micros{kLeaseUs + kPublishDeadlineUs + 60 * kSharedWaitUs} ||
      !attach_at(parts_.gate, build.state, *catalog)) {
    ++counts_.given_up;
    return false;
  }
  const auto& live = build.snapshot.live;
  const auto& ended = build.snapshot.ended;
  switch (build.stage) {
    case Stage::start: {
      std::vector<GateItem> items;
      for (const auto& [item, total] : build.snapshot.totals) items.push_back({.no = item, .total = total});
      GateTerms terms = terms_of(*sale, static_cast<std::uint64_t>(parts_.ledger.now().us));
      terms.limit_per_buyer = build.snapshot.limit_per_buyer;
      const auto begun = parts_.gate.start_build(no, terms, items, deadline);
      if (is_met(begun, build)) build.stage = Stage::holds;
      // A beginning that still travels would throw away what is filled in behind it: nobody fills this epoch any more.
      if (!begun && begun.error().trouble == GateTrouble::timed_out) build.is_lost = true;
      return true;
    }
    case Stage::holds: {
      std::vector<SharedHold> some;
      const std::size_t end = std::min(live.size(), build.done + kBuildBatchMax);
      for (std::size_t i = build.done; i < end; ++i) some.push_back(shared_hold(live[i], *sale));
      if (!some.empty() && !is_met(parts_.gate.build_holds(no, some, deadline), build)) return true;
      build.done = end;
      if (end < live.size()) return true;
      build.stage = Stage::ended;
      build.done = 0;
      return true;
    }
    case Stage::ended: {
      const std::size_t end = std::min(ended.size(), build.done + kBuildBatchMax);
      const auto some = std::span{ended}.subspan(build.done, end - build.done);
      if (!some.empty() && !is_met(parts_.gate.build_ended(no, some, deadline), build)) return true;
      build.done = end;
      if (end == ended.size()) build.stage = Stage::open;
      return true;
    }
    case Stage::open: {
      FAULT("build_before_open");
      const auto opened = parts_.gate.open_epoch(no, deadline);
      if (!opened && opened.error().trouble != GateTrouble::already_open) {
        static_cast<void>(is_met(opened, build));
        return true;
      }
      ++counts_.finished;
      log::info("gate_open", {{"sale", sale->id}, {"epoch", build.state.epoch}});
      if (const auto dropped = parts_.gate.drop_older(no, deadline); !dropped) {
        log::warn("old_epochs_stay", {{"sale", sale->id}, {"message", dropped.error().message}});
      }
      return false;
    }
    case Stage::close:
    case Stage::wait:
    case Stage::ask_marks:
    case Stage::finish: break;
  }
  return false;
}

}  // namespace weir
