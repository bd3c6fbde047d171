#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::crowd {

/// How one request ended, as its buyer saw it. Stored in history files by these numbers; never renumber.
enum class Outcome : std::uint8_t {
  accepted = 0,  // 202 with an order that this buyer was not told of before.
  repeated = 1,  // 202 with the order that this buyer has already.
  sold_out = 2,
  already_purchased = 3,
  limit_reached = 4,
  number_taken = 5,
  sale_ended = 6,
  not_open = 7,
  pass_required = 8,
  unauthenticated = 9,
  unknown_item = 10,
  invalid_request = 11,
  key_reused = 12,
  too_many_requests = 13,
  unavailable = 14,   // 503, and every other 5xx.
  other_status = 15,  // An answer that the contract does not know.
  timed_out = 16,     // From here on there was no answer, so it may have happened.
  connection_lost = 17,
  malformed = 18,
  not_sent = 19,  // The run ended before its turn.
};
inline constexpr std::size_t kOutcomeCount = 20;

/// The spelling in reports: `202`, and otherwise the code in capitals.
[[nodiscard]] std::string_view name(Outcome outcome);
/// The outcome that an `error` code of the contract means; `other_status` for any other text.
[[nodiscard]] Outcome outcome_of_code(std::string_view code);

/// No complete answer came.
[[nodiscard]] constexpr bool is_failure(Outcome outcome) { return outcome >= Outcome::timed_out; }
/// An impatient buyer presses again after these.
[[nodiscard]] constexpr bool is_worth_a_retry(Outcome outcome) {
  return outcome == Outcome::unavailable || outcome == Outcome::timed_out || outcome == Outcome::connection_lost ||
         outcome == Outcome::malformed;
}

using OutcomeCounts = std::array<std::uint64_t, kOutcomeCount>;
[[nodiscard]] constexpr std::size_t index_of(Outcome outcome) { return static_cast<std::size_t>(outcome); }

/// The few kinds that a chart can tell apart.
enum class Group : std::uint8_t { accepted, sold_out, other_refusal, unavailable, failed };
inline constexpr std::size_t kGroupCount = 5;
[[nodiscard]] Group group_of(Outcome outcome);

}  // namespace weir::crowd
