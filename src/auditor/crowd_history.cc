#include "auditor/crowd_history.h"

namespace weir::auditor {
namespace {

Answer answer_of(crowd::Outcome outcome) {
  using crowd::Outcome;
  switch (outcome) {
    case Outcome::accepted:
    case Outcome::repeated: return Answer::accepted;
    case Outcome::sold_out: return Answer::sold_out;
    case Outcome::already_purchased: return Answer::already_purchased;
    case Outcome::limit_reached: return Answer::limit_reached;
    case Outcome::sale_ended: return Answer::sale_ended;
    case Outcome::not_open: return Answer::not_open;
    case Outcome::number_taken:
    case Outcome::pass_required:
    case Outcome::unauthenticated:
    case Outcome::unknown_item:
    case Outcome::invalid_request:
    case Outcome::key_reused:
    case Outcome::too_many_requests: return Answer::refused;
    case Outcome::unavailable:
    case Outcome::other_status:
    case Outcome::timed_out:
    case Outcome::connection_lost:
    case Outcome::malformed:
    case Outcome::not_sent: return Answer::uncertain;
  }
  return Answer::uncertain;
}

}  // namespace

std::vector<Event> events_of(const crowd::History& history, std::span<const crowd::StockSample> samples) {
  std::vector<Event> events;
  events.reserve(history.records.size() + samples.size());
  for (const crowd::Record& record : history.records) {
    if (record.outcome == crowd::Outcome::not_sent) continue;
    Event event;
    event.answer = answer_of(record.outcome);
    event.request = std::uint64_t{record.buyer} << 16 | std::uint64_t{record.click} << 8 | record.retry;
    event.buyer = record.buyer;
    event.key = history.is_keyed ? 1 : 0;
    event.planned_us = record.planned_us;
    event.sent_us = record.sent_us;
    event.answered_us = record.answered_us;
    event.order = {record.order.high, record.order.low};
    event.units = static_cast<std::int32_t>(history.units_per_claim);
    event.may_return = record.may_return;
    events.push_back(std::move(event));
  }
  for (const crowd::StockSample& sample : samples) {
    Event event;
    event.kind = Kind::shelf;
    event.answer = Answer::accepted;
    event.planned_us = sample.sent_us;
    event.sent_us = sample.sent_us;
    event.answered_us = sample.answered_us;
    event.total = sample.total;
    event.free = sample.free;
    event.held = sample.held;
    event.sold = sample.sold;
    event.version = sample.version;
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace weir::auditor
