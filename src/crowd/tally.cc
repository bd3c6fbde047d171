#include "crowd/tally.h"

#include <algorithm>

namespace weir::crowd {
namespace {

constexpr std::size_t kExamplesMax = 10;

}  // namespace

Tally::Tally(const Options& options) : keeps_history_(options.keeps_history) {
  result_.timeline = Timeline(options.end_us);
  result_.history.units_per_claim = options.units_per_claim;
  result_.history.is_keyed = options.is_keyed;
  if (keeps_history_) result_.history.records.reserve(options.requests_expected);
}

void Tally::offer(std::uint32_t planned_us) {
  ++result_.offered;
  result_.timeline.offer(planned_us);
}

void Tally::send(std::uint32_t planned_us, std::uint32_t at_us) {
  result_.send_lag.record(at_us - planned_us);
  if (result_.last_sent_us == 0) result_.first_sent_us = at_us;
  result_.last_sent_us = at_us;
}

Outcome Tally::answer(const InFlight& request, const Answer& answer, std::uint32_t at_us) {
  Reading reading = read_purchase(answer);
  if (reading.outcome == Outcome::accepted) reading.outcome = judge_accepted(request.buyer, reading.order);
  ++result_.answered;
  const std::uint32_t latency_us = at_us - request.planned_us;
  result_.latency.record(latency_us);
  result_.last_answer_us = at_us;
  if (reading.outcome == Outcome::accepted) {
    result_.winners_latency.record(latency_us);
    result_.last_accepted_us = at_us;
  }
  keep(request, reading, answer.status, at_us);
  return reading.outcome;
}

void Tally::give_up(const InFlight& request, Outcome outcome, std::uint32_t at_us) {
  ++result_.failed;
  keep(request, Reading{outcome, {}, false}, 0, at_us);
}

Outcome Tally::judge_accepted(std::uint32_t buyer, const OrderId& order) {
  const auto [known, is_new] = orders_.try_emplace(buyer, order);
  if (is_new) {
    ++result_.winners;
    return Outcome::accepted;
  }
  if (known->second == order) return Outcome::repeated;
  ++result_.duplicate_winners;
  auto& examples = result_.duplicate_winner_examples;
  if (examples.size() < kExamplesMax) examples.push_back(buyer);
  return Outcome::accepted;
}

void Tally::keep(const InFlight& request, const Reading& reading, int status, std::uint32_t at_us) {
  ++result_.outcomes[index_of(reading.outcome)];
  result_.timeline.answer(at_us, reading.outcome);
  if (!keeps_history_) return;
  Record record;
  record.buyer = request.buyer;
  record.planned_us = request.planned_us;
  record.sent_us = request.sent_us;
  record.answered_us = at_us;
  record.order = reading.order;
  record.status = static_cast<std::uint16_t>(status);
  record.outcome = reading.outcome;
  record.click = request.click;
  record.retry = request.retry;
  record.may_return = reading.may_return;
  result_.history.records.push_back(record);
}

}  // namespace weir::crowd
