#include "flow/upkeep.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <optional>

namespace weir {
namespace {

/// The gates that may be asked now, by sale.
std::vector<GateState> open_gates(const Lease& lease, Ticks now) {
  std::vector<GateState> open;
  const auto states = lease.states();
  if (states == nullptr) return open;
  for (const auto& [sale, state] : states->of_sale) {
    if (lease.open_at(sale, now)) open.push_back(state);
  }
  std::ranges::sort(open, {}, &GateState::sale);
  return open;
}

Error error_of(const GateError& error) { return {failure_of(error.trouble), error.message}; }

Hold plain_hold(OrderId hold, SaleNo sale) {
  Hold out;
  out.order = hold;
  out.sale = sale;
  return out;
}

/// Runs `step` for one gate after the other, each round beginning with another one, until one had something to do.
template <typename Step>
Result<std::size_t> in_turn(const UpkeepParts& parts, std::size_t& next, Ticks now, const Step& step) {
  const auto gates = open_gates(parts.lease, now);
  const auto catalog = parts.catalog.get();
  std::optional<Error> first_error;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const GateState& state = gates[(next + i) % gates.size()];
    if (catalog == nullptr || !attach_at(parts.gate, state, *catalog)) continue;
    const Result<std::size_t> done = step(state);
    if (!done && done.error().failure != Failure::unavailable) return done;
    if (!done && !first_error) first_error = done.error();  // One sale in trouble stops no other.
    if (!done || *done == 0) continue;
    next = (next + i + 1) % gates.size();
    return done;
  }
  if (first_error) return std::unexpected(*first_error);
  return 0;
}

}  // namespace

Result<std::size_t> GiveBack::step(Ticks now) {
  return in_turn(parts_, next_, now, [&](const GateState& state) { return give_back(state, now); });
}

Result<std::size_t> GiveBack::give_back(const GateState& state, Ticks now) {
  const Deadline deadline = now + Micros{kSharedWaitUs};
  const auto due = parts_.ledger.releases(state.sale, kGateBatchMax, deadline);
  if (!due) return std::unexpected(due.error());
  if (due->empty()) return 0;
  std::vector<Hold> holds;
  std::vector<std::uint64_t> ids;
  for (const Release& release : *due) {
    holds.push_back(plain_hold(release.hold, state.sale));
    ids.push_back(release.id);
  }
  const auto released = parts_.gate.release(holds, deadline);
  if (!released) return std::unexpected(released.error());
  FAULT("released_on_gate");
  released_units_ += static_cast<std::uint64_t>(*released);
  return parts_.ledger.drop_releases(state.sale, state.epoch, ids, deadline);
}

Result<std::size_t> Redrive::step(Ticks now) {
  hear(now);
  oldest_ = Micros{0};
  return in_turn(parts_, next_, now, [&](const GateState& state) { return drive(state, now); });
}

/// What became of a publish is not asked here: who is still in flight after a while is driven once more.
void Redrive::hear(Ticks now) {
  outcomes_.resize(kGateBatchMax);
  while (log_.outcomes(outcomes_) > 0) {
  }
  while (!driven_in_turn_.empty() && now - driven_in_turn_.front().first >= Micros{kRedriveAgeUs}) {
    const auto found = driven_.find(driven_in_turn_.front().second);
    if (found != driven_.end() && found->second == driven_in_turn_.front().first) driven_.erase(found);
    driven_in_turn_.pop_front();
  }
}

bool Redrive::was_driven(OrderId hold, Ticks now) {
  if (driven_.contains(hold) || driven_in_turn_.size() >= kDrivenMax) return true;
  driven_[hold] = now;
  driven_in_turn_.emplace_back(now, hold);
  return false;
}

Result<std::size_t> Redrive::drive(const GateState& state, Ticks now) {
  const Deadline deadline = now + Micros{kSharedWaitUs};
  const auto hanging = parts_.gate.in_flight(state.sale, Micros{kRedriveAgeUs}, kGateBatchMax, deadline);
  if (!hanging) return std::unexpected(error_of(hanging.error()));
  if (hanging->empty()) return 0;
  oldest_ = std::max(oldest_, hanging->front().age);
  std::vector<OrderId> ids;
  for (const InFlight& one : *hanging) ids.push_back(one.hold.claim.order);
  std::vector<HoldStanding> standings(ids.size(), HoldStanding::unknown);
  if (const auto looked = parts_.ledger.look_up_holds(ids, standings, deadline); !looked) {
    return std::unexpected(looked.error());
  }
  std::vector<Claim> to_publish;
  std::vector<Hold> to_confirm;
  std::vector<Hold> to_release;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_claim = (*hanging)[i].hold.kind == HoldKind::claim;
    if (standings[i] == HoldStanding::live) to_confirm.push_back(plain_hold(ids[i], state.sale));
    // An ended hold never comes back (P1), so this is right at any later time, and also if its release runs as well.
    if (standings[i] == HoldStanding::ended) to_release.push_back(plain_hold(ids[i], state.sale));
    // Late money and withdrawals have owners of their own.
    if (standings[i] == HoldStanding::unknown && is_claim) to_publish.push_back((*hanging)[i].hold.claim);
  }
  std::size_t done = publish(state, to_publish, now);
  if (!to_confirm.empty()) {
    if (const auto confirmed = parts_.gate.confirm(to_confirm, deadline); !confirmed) {
      return std::unexpected(confirmed.error());
    }
    done += to_confirm.size();
  }
  if (!to_release.empty()) {
    if (const auto released = parts_.gate.release(to_release, deadline); !released) {
      return std::unexpected(released.error());
    }
    done += to_release.size();
  }
  return done;
}

std::size_t Redrive::publish(const GateState& state, const std::vector<Claim>& claims, Ticks now) {
  const auto catalog = parts_.catalog.get();
  const std::size_t room = log_.room();
  std::vector<ClaimMessage> messages;
  for (const Claim& claim : claims) {
    if (messages.size() >= room) break;
    if (was_driven(claim.order, now)) continue;
    if (auto message = message_of(claim, state.epoch, clock_.now(), *catalog)) messages.push_back(*std::move(message));
  }
  if (messages.empty()) return 0;
  log::warn("claims_driven_again",
            {{"sale", std::int64_t{state.sale.value}}, {"count", static_cast<std::int64_t>(messages.size())}});
  log_.append(messages);
  driven_count_ += messages.size();
  return messages.size();
}

Result<std::size_t> DecideLateMoney::step(Ticks now) {
  const Deadline deadline = now + Micros{kSharedWaitUs};
  const auto waiting = parts_.ledger.undecided_retakes(kGateBatchMax, deadline);
  if (!waiting) return std::unexpected(waiting.error());
  const auto catalog = parts_.catalog.get();
  std::vector<RetakeDecision> decisions;
  std::vector<Hold> holds;
  for (const Retake& retake : *waiting) {
    const auto state = parts_.lease.open_at(retake.order.sale, now);
    if (!state || catalog == nullptr || !attach_at(parts_.gate, *state, *catalog)) continue;
    Claim claim;
    claim.order = retake.hold;
    claim.tenant = retake.order.tenant;
    claim.sale = retake.order.sale;
    claim.item = retake.order.item;
    claim.units = retake.order.units;
    claim.digest = retake.order.digest;
    claim.promised_pay_by = retake.order.pay_by;
    claim.buyer = BuyerName::from(retake.order.buyer).value_or(BuyerName{});
    Adopted adopted;
    const auto answered =
        parts_.gate.adopt_stragglers(claim.sale, HoldKind::retake, {&claim, 1}, {&adopted, 1}, deadline);
    if (!answered) continue;  // Its gate will be there again, or be built anew: the payment waits in the ledger.
    const bool is_taken = adopted.adoption == Adoption::adopted;
    decisions.push_back({.payment = retake.payment, .epoch = state->epoch, .taken = is_taken});
    holds.push_back(plain_hold(retake.hold, claim.sale));
  }
  if (decisions.empty()) return 0;
  FAULT("late_money_asked");
  std::vector<RetakeEnd> ends(decisions.size(), RetakeEnd::unknown);
  if (const auto decided = parts_.ledger.decide_retakes(decisions, ends, deadline); !decided) {
    return std::unexpected(decided.error());
  }
  std::size_t done = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] != RetakeEnd::moved) ++done;
    // Lost: the hold stays in the gate's list, where `Redrive` finds it live.
    if (ends[i] == RetakeEnd::kept) static_cast<void>(parts_.gate.confirm({&holds[i], 1}, deadline));
  }
  return done;
}

Result<std::size_t> ShowParked::step(Ticks now) {
  const Deadline deadline = now + Micros{kPublishDeadlineUs};
  const auto parked = ledger_.parked(kDeadLettersMax, deadline);
  if (!parked) return std::unexpected(parked.error());
  if (parked->empty()) return 0;
  std::vector<DeadLetter> letters;
  std::vector<LogMark> places;
  for (const ParkedMessage& message : *parked) {
    letters.push_back({.topic_id = message.topic_id,
                       .partition = message.partition,
                       .offset = message.offset,
                       .key = message.key,
                       .bytes = message.bytes,
                       .reason = message.problem});
    places.push_back({.topic_id = message.topic_id, .partition = message.partition, .offset = message.offset});
  }
  if (const auto shown = letters_.publish(letters, deadline); !shown) return std::unexpected(shown.error());
  if (const auto marked = ledger_.mark_replayed(places, deadline); !marked) return std::unexpected(marked.error());
  return places.size();
}

}  // namespace weir
