#include "crowd/outcome.h"

namespace weir::crowd {
namespace {

constexpr std::array<std::string_view, kOutcomeCount> kNames{
    "202",          "REPEATED",        "SOLD_OUT",        "ALREADY_PURCHASED", "LIMIT_REACHED",
    "NUMBER_TAKEN", "SALE_ENDED",      "NOT_OPEN",        "PASS_REQUIRED",     "UNAUTHENTICATED",
    "UNKNOWN_ITEM", "INVALID_REQUEST", "KEY_REUSED",      "TOO_MANY_REQUESTS", "UNAVAILABLE",
    "OTHER_STATUS", "TIMED_OUT",       "CONNECTION_LOST", "MALFORMED",         "NOT_SENT"};

}  // namespace

std::string_view name(Outcome outcome) { return kNames[index_of(outcome)]; }

Outcome outcome_of_code(std::string_view code) {
  for (std::size_t i = index_of(Outcome::sold_out); i < index_of(Outcome::other_status); ++i) {
    if (kNames[i] == code) return static_cast<Outcome>(i);
  }
  return Outcome::other_status;
}

Group group_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::accepted:
    case Outcome::repeated: return Group::accepted;
    case Outcome::sold_out: return Group::sold_out;
    case Outcome::already_purchased:
    case Outcome::limit_reached:
    case Outcome::number_taken:
    case Outcome::sale_ended:
    case Outcome::not_open:
    case Outcome::pass_required:
    case Outcome::unauthenticated:
    case Outcome::unknown_item:
    case Outcome::invalid_request:
    case Outcome::key_reused:
    case Outcome::too_many_requests: return Group::other_refusal;
    case Outcome::unavailable: return Group::unavailable;
    case Outcome::other_status:
    case Outcome::timed_out:
    case Outcome::connection_lost:
    case Outcome::malformed:
    case Outcome::not_sent: return Group::failed;
  }
  return Group::failed;
}

}  // namespace weir::crowd
