#include "base/fault.h"
#include "base/log.h"
#include "flow/lease.h"
#include "flow/reconcile_shared.h"
#include "flow/upkeep.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

// How `ReconcileShared` repairs what it is certain of.
namespace weir {
namespace {

constexpr std::string_view kMeanwhile = "it was put right meanwhile";

void done(Mismatch& finding, std::string_view how) {
  finding.is_repaired = true;
  finding.repair = how;
}

void not_done(Mismatch& finding, std::string_view why) { finding.repair = fmt::format("not repaired: {}", why); }

bool needs_build(const Mismatch* finding) {
  switch (finding->what) {
    case Disagreement::contents:
    case Disagreement::counts:
    case Disagreement::total: return true;
    case Disagreement::gate_only:
    case Disagreement::unreleased:
    case Disagreement::ledger_only:
    case Disagreement::unconfirmed:
    case Disagreement::undriven:
    case Disagreement::outbox:
    case Disagreement::dead_letter: break;
  }
  return false;
}

/// A build makes the gate what the ledger says, so these need no repair of their own before one.
bool is_built_away(const Mismatch* finding) {
  return needs_build(finding) || finding->what == Disagreement::gate_only ||
         finding->what == Disagreement::unreleased || finding->what == Disagreement::ledger_only;
}

/// A live hold that the gate would not adopt.
bool is_refused(const Mismatch* finding) {
  return finding->what == Disagreement::ledger_only && !finding->is_repaired && finding->repair.empty();
}

}  // namespace

void ReconcileShared::repair(Look& look) {
  is_log_silent_ = false;
  std::map<SaleNo, std::vector<Mismatch*>> of_sale;
  std::vector<Mismatch*> letters;
  std::vector<Mismatch*> all;
  for (Mismatch& finding : look.findings.shared) {
    if (all.size() == kReconcileRepairsMax) {
      not_done(finding, "enough for one step, the next one goes on");
      continue;
    }
    all.push_back(&finding);
    (finding.what == Disagreement::dead_letter ? letters : of_sale[finding.hold.sale]).push_back(&finding);
  }
  for (auto& [sale, found] : of_sale) {
    const GateState& state = look.states.at(sale);
    if (!attach_at(parts_.gate, state, *look.catalog)) {
      for (Mismatch* const finding : found) not_done(*finding, "its gate cannot be asked");
      continue;
    }
    repair_sale(state, found, look);
    parts_.gate.detach(sale);
  }
  if (!letters.empty()) show_dead_letters(letters);
  keep_account(all);
}

void ReconcileShared::repair_sale(const GateState& state, std::span<Mismatch*> found, const Look& look) {
  // Published and delivered before a build, which knows what the ledger has and nothing else.
  const bool is_to_be_built = std::ranges::any_of(found, needs_build);
  for (Mismatch* const finding : found) {
    if (is_to_be_built && is_built_away(finding)) continue;
    repair_one(state, *finding, look);
  }
  std::vector<Mismatch*> to_build;
  std::ranges::copy_if(found, std::back_inserter(to_build), [&](const Mismatch* finding) {
    return is_to_be_built ? is_built_away(finding) : is_refused(finding);
  });
  if (!to_build.empty()) ask_for_build(state, to_build);
}

void ReconcileShared::repair_one(const GateState& state, Mismatch& finding, const Look& look) {
  switch (finding.what) {
    case Disagreement::gate_only: return release(finding, HoldStanding::unknown);
    case Disagreement::unreleased: return release(finding, HoldStanding::ended);
    case Disagreement::ledger_only: return adopt(finding);
    case Disagreement::unconfirmed: return confirm(finding);
    case Disagreement::undriven: return drive(state, finding, *look.catalog);
    case Disagreement::outbox: return deliver(state, finding);
    case Disagreement::contents:
    case Disagreement::counts:
    case Disagreement::total:
    case Disagreement::dead_letter: break;  // Not repaired alone.
  }
}

/// Once more from the gate and then from the ledger, in this order: a hold that is not in flight is in the ledger, or
/// was never meant to be.
void ReconcileShared::release(Mismatch& finding, HoldStanding expected) {
  const Hold& hold = finding.hold;
  const auto held = parts_.gate.find_hold(hold.sale, hold.order, soon());
  if (!held) return not_done(finding, held.error().message);
  if (!*held) return done(finding, kMeanwhile);
  const bool is_in_flight = !(*held)->recorded && expected == HoldStanding::unknown;
  const auto standings = standings_of({&hold.order, 1});
  if (!standings) return not_done(finding, standings.error().message);
  if (is_in_flight || standings->front() != expected) return not_done(finding, "it is on its way");
  Hold keyed;
  keyed.order = hold.order;
  keyed.sale = hold.sale;
  FAULT("reconcile_before_release");
  const auto units = parts_.gate.release({&keyed, 1}, soon());
  if (!units) return not_done(finding, units.error().message);
  done(finding, *units == 0 ? std::string{kMeanwhile} : fmt::format("released {} units", *units));
}

/// Left without a word when the gate will not have it: then the gate is built anew.
void ReconcileShared::adopt(Mismatch& finding) {
  const Hold& hold = finding.hold;
  const auto before = parts_.gate.find_hold(hold.sale, hold.order, soon());
  if (!before) return not_done(finding, before.error().message);
  const auto standings = standings_of({&hold.order, 1});
  if (!standings) return not_done(finding, standings.error().message);
  if (*before || standings->front() != HoldStanding::live) return done(finding, kMeanwhile);
  // Has it ended since, its release runs after this, or has left the id among those that the gate never takes again.
  FAULT("reconcile_before_adopt");
  const auto adopted = parts_.gate.adopt({&hold, 1}, soon());
  if (!adopted && adopted.error().failure != Failure::corrupt) return not_done(finding, adopted.error().message);
  if (!adopted) return;
  const auto after = parts_.gate.find_hold(hold.sale, hold.order, soon());
  if (!after) return not_done(finding, after.error().message);
  if (*after) return done(finding, fmt::format("adopted {} units", hold.units));
  const auto now = standings_of({&hold.order, 1});
  if (!now) return not_done(finding, now.error().message);
  if (now->front() != HoldStanding::live) return done(finding, kMeanwhile);
}

void ReconcileShared::confirm(Mismatch& finding) {
  Hold keyed;
  keyed.order = finding.hold.order;
  keyed.sale = finding.hold.sale;
  const auto confirmed = parts_.gate.confirm({&keyed, 1}, soon());
  if (!confirmed) return not_done(finding, confirmed.error().message);
  done(finding, "confirmed");
}

void ReconcileShared::drive(const GateState& state, Mismatch& finding, const Catalog& catalog) {
  const auto held = parts_.gate.find_hold(finding.hold.sale, finding.hold.order, soon());
  if (!held) return not_done(finding, held.error().message);
  if (!*held || (*held)->recorded) return done(finding, kMeanwhile);
  const auto message = message_of((*held)->claim, state.epoch, clock_.now(), catalog);
  if (!message) return not_done(finding, "the ledger has no such item");
  // One wait a step for a log that does not answer.
  if (is_log_silent_ || parts_.log.room() == 0) return not_done(finding, "the log takes nothing now");
  parts_.log.append({&*message, 1});
  static_cast<void>(parts_.log.drain(clock_.ticks() + Micros{kPublishDeadlineUs}));
  std::array<Outcome, 1> outcome;
  while (parts_.log.outcomes(outcome) > 0) {
    if (outcome.front().order == finding.hold.order && outcome.front().fate == Fate::durable) {
      return done(finding, "published again under its own id");
    }
  }
  is_log_silent_ = true;
  not_done(finding, "the log did not say that it has it");
}

void ReconcileShared::deliver(const GateState& state, Mismatch& finding) {
  Hold keyed;
  keyed.order = finding.hold.order;
  keyed.sale = finding.hold.sale;
  const auto units = parts_.gate.release({&keyed, 1}, soon());
  if (!units) return not_done(finding, units.error().message);
  FAULT("reconcile_released");
  const auto dropped = parts_.ledger.drop_releases(state.sale, state.epoch, {&finding.number, 1}, soon());
  if (!dropped) return not_done(finding, dropped.error().message);
  done(finding, *dropped == 0 ? std::string{kMeanwhile} : fmt::format("delivered, {} units came back", *units));
}

/// A gate that is closed at the epoch that the ledger calls OPEN is one that workers build anew. One that a worker has
/// built meanwhile stands at a later epoch and is left alone.
void ReconcileShared::ask_for_build(const GateState& state, std::span<Mismatch*> found) {
  const auto closed = parts_.gate.close(state.sale, soon());
  const bool is_newer = !closed && closed.error().trouble == GateTrouble::wrong_epoch;
  for (Mismatch* const finding : found) {
    if (is_newer) {
      done(*finding, kMeanwhile);
    } else if (closed) {
      done(*finding, fmt::format("the gate is closed at epoch {}: a worker builds the next one", state.epoch));
    } else {
      not_done(*finding, closed.error().message);
    }
  }
}

void ReconcileShared::show_dead_letters(std::span<Mismatch*> found) {
  ShowParked verb{parts_.ledger, parts_.letters};
  const auto shown = verb.step(clock_.ticks());
  for (Mismatch* const finding : found) {
    if (!shown) {
      not_done(*finding, shown.error().message);
    } else {
      done(*finding, *shown == 0 ? kMeanwhile : "shown where dead letters are looked for");
    }
  }
}

/// One entry for each repair that this process has made.
void ReconcileShared::keep_account(std::span<Mismatch*> found) {
  std::vector<Repair> repairs;
  for (const Mismatch* const finding : found) {
    log::warn("reconciled", {{"finding", name(finding->what)},
                             {"sale", std::int64_t{finding->hold.sale.value}},
                             {"order", finding->hold.order.text()},
                             {"detail", finding->detail},
                             {"repair", finding->repair}});
    if (!finding->is_repaired || finding->repair == kMeanwhile) continue;
    const bool is_of_order = finding->what != Disagreement::dead_letter;
    repairs.push_back({.sale = finding->hold.sale,
                       .order = is_of_order ? finding->hold.order : OrderId{},
                       .finding = std::string{name(finding->what)},
                       .detail = fmt::format("{}; {}", finding->detail, finding->repair)});
  }
  if (repairs.empty()) return;
  const auto noted = parts_.ledger.note_repairs(repairs, soon());
  if (!noted) log::error("repairs_not_noted", {{"message", noted.error().message}});
}

}  // namespace weir
