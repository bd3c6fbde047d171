#include "flow/admit.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>

namespace weir {
namespace {

Hold hold_of(const Claim& claim, bool recorded) {
  return {.order = claim.order,
          .sale = claim.sale,
          .item = claim.item,
          .units = claim.units,
          .numbers = claim.numbers,
          .buyer_key = claim.buyer_key,
          .sold = false,
          .recorded = recorded};
}

ClaimAnswer answer_to(const Claim& claim, ClaimAnswerKind kind) {
  return {.ticket = {},
          .kind = kind,
          .may_return = false,
          .item = claim.item,
          .units = claim.units,
          .units_held = 0,
          .numbers = {},
          .asked = claim.wish == Wish::partial ? claim.numbers : NumberList{},
          .order = claim.order,
          .digest = claim.digest,
          .pay_by = claim.promised_pay_by,
          .status = OrderStatus::pending};
}

/// How long a round may wait for a remote gate.
constexpr Micros kGateWait{1'000'000};

}  // namespace

Admit::Admit(Gate& gate, QueueProducer& queue, AdmitPort& port, const std::atomic<bool>& storage_ready)
    : gate_(gate),
      queue_(queue),
      port_(port),
      storage_ready_(storage_ready),
      requests_(kGateBatchMax),
      claims_(kGateBatchMax),
      verdicts_(kGateBatchMax),
      outcomes_(kGateBatchMax),
      gate_requests_(kGateBatchMax) {
  pending_.reserve(kInFlightMax);
  admitted_.reserve(kGateBatchMax);
  to_release_.reserve(kGateBatchMax);
  to_confirm_.reserve(kGateBatchMax);
}

Result<std::size_t> Admit::step(Ticks now) {
  std::size_t done = take_outcomes(now);
  const auto returned = take_requests(now);
  if (!returned) return std::unexpected(returned.error());
  done += *returned;
  const auto claimed = take_claims(now);
  if (!claimed) return std::unexpected(claimed.error());
  done += *claimed;
  done += give_up_late(now);
  in_flight_count_.store(pending_.size(), std::memory_order_relaxed);
  return done;
}

std::optional<Claim> Admit::waiting(OrderId order) const {
  const auto found = pending_.find(order);
  if (found == pending_.end()) return std::nullopt;
  return found->second.claim;
}

std::size_t Admit::take_outcomes(Ticks now) {
  const std::size_t count = queue_.outcomes(outcomes_);
  to_release_.clear();
  to_confirm_.clear();
  for (const Outcome& outcome : std::span{outcomes_}.first(count)) conclude(outcome);
  // A gate that does not answer keeps the units: the reconciler finds holds without a live order.
  if (!to_release_.empty()) {
    const auto released = gate_.release(to_release_, now + kGateWait);
    if (released)
      counts_.released_units += static_cast<std::uint64_t>(*released);
    else
      log::error("gate_release_failed", {{"message", released.error().message}});
  }
  if (!to_confirm_.empty()) {
    const auto confirmed = gate_.confirm(to_confirm_, now + kGateWait);
    if (!confirmed) log::warn("gate_confirm_failed", {{"message", confirmed.error().message}});
  }
  return count;
}

void Admit::conclude(const Outcome& outcome) {
  const auto found = pending_.find(outcome.order);
  if (found == pending_.end()) return;  // A second outcome of one claim: the first has answered.
  Pending& pending = found->second;
  const Claim& claim = pending.claim;
  switch (outcome.fate) {
    case Fate::unknown: return;  // Driven again under the same id; it stays in flight.
    case Fate::handed_over: answer_waiters(pending, answer_to(claim, ClaimAnswerKind::unknown)); break;
    case Fate::durable: {
      ClaimAnswer answer = answer_to(claim, ClaimAnswerKind::accepted);
      if (outcome.pay_by != Instant{}) answer.pay_by = outcome.pay_by;  // A log knows of no more than the promise.
      answer.status = outcome.status;
      answer.numbers = claim.numbers;
      to_confirm_.push_back(hold_of(claim, true));
      answer_waiters(pending, answer);
      break;
    }
    case Fate::not_persisted:
      to_release_.push_back(hold_of(claim, false));
      answer_waiters(pending, answer_to(claim, ClaimAnswerKind::unavailable));
      break;
    case Fate::decided: {
      const bool is_ended = outcome.recording == Recording::ended;
      const bool is_reused = outcome.recording == Recording::key_reused;
      if (!is_ended && !is_reused) {
        ++counts_.gate_erred;
        log::error("gate_erred", {{"order", claim.order.text()}, {"ledger", name(outcome.recording)}});
      }
      to_release_.push_back(hold_of(claim, is_ended));
      ClaimAnswerKind kind = ClaimAnswerKind::unavailable;
      if (is_ended) kind = ClaimAnswerKind::look_up;
      if (is_reused) kind = ClaimAnswerKind::key_reused;
      answer_waiters(pending, answer_to(claim, kind));
      break;
    }
  }
  pending_.erase(found);
}

void Admit::answer_waiters(const Pending& pending, ClaimAnswer answer) {
  if (!pending.asked.is_empty()) answer.asked = pending.asked;
  for (const Ticket& ticket : std::span{pending.waiters}.first(pending.waiter_count)) {
    answer.ticket = ticket;
    port_.answer(answer);
  }
}

Result<std::size_t> Admit::take_requests(Ticks now) {
  const std::size_t count = port_.take_requests(gate_requests_);
  // Runs of one kind go to the gate together; the order between kinds is kept.
  std::size_t at = 0;
  while (at < count) {
    const GateRequest::Kind kind = gate_requests_[at].kind;
    if (kind == GateRequest::Kind::retake) {
      if (const auto taken = retake(gate_requests_[at], now); !taken) return std::unexpected(taken.error());
      ++at;
      continue;
    }
    to_release_.clear();
    for (; at < count && gate_requests_[at].kind == kind; ++at) to_release_.push_back(gate_requests_[at].hold);
    for (const Hold& hold : to_release_) retaken_.erase(hold.order);
    if (kind == GateRequest::Kind::sell) {
      if (const auto sold = gate_.sell(to_release_, now + kGateWait); !sold) return std::unexpected(sold.error());
    } else {
      const auto released = gate_.release(to_release_, now + kGateWait);
      if (!released) return std::unexpected(released.error());
      counts_.released_units += static_cast<std::uint64_t>(*released);
    }
  }
  return count;
}

Result<void> Admit::retake(const GateRequest& request, Ticks now) {
  Claim claim;
  claim.order = request.hold.order;
  claim.sale = request.hold.sale;
  claim.item = request.hold.item;
  claim.units = request.hold.units;
  claim.numbers = request.hold.numbers;
  claim.wish = claim.numbers.is_empty() ? Wish::units : Wish::named;
  claim.buyer_key = request.hold.buyer_key;
  claim.digest = purchase_digest(claim);
  claim.retake = true;
  Verdict verdict;
  const auto reserved = gate_.reserve({&claim, 1}, {&verdict, 1}, now + kGateWait);
  if (!reserved) return reserved;
  const bool taken = verdict.admission == Admission::admitted || verdict.admission == Admission::repeated;
  if (taken) retaken_.insert(claim.order);
  port_.answer_retake(request.payment, taken);
  return {};
}

Result<std::size_t> Admit::take_claims(Ticks now) {
  const std::size_t count = port_.take_claims(requests_);
  if (count == 0) return 0;
  const std::size_t room = std::min(queue_.room(), kInFlightMax - std::min(kInFlightMax, pending_.size()));
  // What cannot be recorded is not taken from the gate: full, or storage in trouble, means an answer now.
  const std::size_t served = storage_ready_.load(std::memory_order_relaxed) ? std::min(count, room) : 0;
  shed(std::span{requests_}.first(count).subspan(served));
  if (served == 0) return count;
  for (std::size_t i = 0; i < served; ++i) claims_[i] = requests_[i].claim;
  const auto reserved =
      gate_.reserve(std::span{claims_}.first(served), std::span{verdicts_}.first(served), now + kGateWait);
  if (!reserved) {
    // Whether units were taken is unknown: the buyer learns the id, the holds stay until reconciled.
    for (std::size_t i = 0; i < served; ++i) {
      ClaimAnswer answer = answer_to(requests_[i].claim, ClaimAnswerKind::unknown);
      answer.ticket = requests_[i].ticket;
      port_.answer(answer);
    }
    return std::unexpected(reserved.error());
  }
  FAULT("gate_taken");
  admitted_.clear();
  for (std::size_t i = 0; i < served; ++i) judge(requests_[i], verdicts_[i], now);
  if (!admitted_.empty()) queue_.append(admitted_);
  FAULT("queue_appended");
  return count;
}

void Admit::judge(const ClaimRequest& request, const Verdict& verdict, Ticks now) {
  ClaimAnswer answer = answer_to(request.claim, ClaimAnswerKind::unavailable);
  answer.ticket = request.ticket;
  switch (verdict.admission) {
    case Admission::admitted: ++counts_.admitted; return pass_on(request, verdict, now);
    case Admission::repeated:
      ++counts_.repeated;
      join_waiting(request);
      return;
    case Admission::in_flight:
      ++counts_.repeated;
      if (pending_.contains(request.claim.order)) return join_waiting(request);
      return pass_on(request, verdict, now);
    case Admission::closed: ++counts_.shed; break;
    case Admission::unknown:
      ++counts_.given_up;
      answer.kind = ClaimAnswerKind::unknown;
      break;
    case Admission::ended:
      ++counts_.ended;
      answer.kind = ClaimAnswerKind::look_up;
      break;
    case Admission::key_reused:
      ++counts_.key_reused;
      answer.kind = ClaimAnswerKind::key_reused;
      break;
    case Admission::sold_out:
      ++counts_.sold_out;
      answer.kind = ClaimAnswerKind::sold_out;
      answer.may_return = verdict.may_return;
      break;
    case Admission::over_limit:
      ++counts_.over_limit;
      answer.kind = ClaimAnswerKind::over_limit;
      answer.order = verdict.standing;
      answer.units_held = verdict.units_held;
      break;
    case Admission::number_taken:
      ++counts_.number_taken;
      answer.kind = ClaimAnswerKind::number_taken;
      answer.numbers = verdict.numbers;
      break;
    case Admission::not_on_sale:
      ++counts_.not_on_sale;
      answer.kind = ClaimAnswerKind::not_on_sale;
      break;
  }
  port_.answer(answer);
}

void Admit::pass_on(const ClaimRequest& request, const Verdict& verdict, Ticks now) {
  Claim& claim = admitted_.emplace_back(request.claim);
  if (claim.wish != Wish::units) {
    claim.numbers = verdict.numbers;
    claim.units = static_cast<std::int32_t>(claim.numbers.size());
  }
  Pending& pending = pending_[claim.order];
  pending.claim = claim;
  if (claim.wish == Wish::partial) pending.asked = request.claim.numbers;
  pending.waiters[0] = request.ticket;
  pending.waiter_count = 1;
  deadlines_.emplace_back(now + Micros{kClaimDeadlineUs}, request.claim.order);
}

void Admit::join_waiting(const ClaimRequest& request) {
  const auto found = pending_.find(request.claim.order);
  ClaimAnswer answer = answer_to(request.claim, ClaimAnswerKind::look_up);
  if (found != pending_.end()) {
    Pending& pending = found->second;
    if (pending.waiter_count < kWaitersMax) {
      pending.waiters[pending.waiter_count++] = request.ticket;
      return;
    }
    answer.kind = ClaimAnswerKind::unknown;
  }
  answer.ticket = request.ticket;
  port_.answer(answer);
}

std::size_t Admit::give_up_late(Ticks now) {
  std::size_t count = 0;
  while (!deadlines_.empty() && (deadlines_.front().first <= now || !pending_.contains(deadlines_.front().second))) {
    const auto found = pending_.find(deadlines_.front().second);
    if (found != pending_.end()) {
      Pending& pending = found->second;
      counts_.given_up += pending.waiter_count;
      answer_waiters(pending, answer_to(pending.claim, ClaimAnswerKind::unknown));
      pending.waiter_count = 0;  // It stays in flight: its outcome is still to come.
      ++count;
    }
    deadlines_.pop_front();
  }
  return count;
}

void Admit::shed(std::span<const ClaimRequest> requests) {
  counts_.shed += requests.size();
  for (const ClaimRequest& request : requests) {
    ClaimAnswer answer = answer_to(request.claim, ClaimAnswerKind::unavailable);
    answer.ticket = request.ticket;
    port_.answer(answer);
  }
}

}  // namespace weir
