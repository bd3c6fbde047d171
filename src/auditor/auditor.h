#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::auditor {

/// The auditor has words of its own and shares no code with gate, queue or ledger: a mistake of theirs must not be its
/// own mistake too.
struct OrderName {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const OrderName&) const = default;
  [[nodiscard]] bool is_none() const { return high == 0 && low == 0; }
};

enum class Kind : std::uint8_t {
  claim,
  release,  // A cancel by the buyer, or an end that the observer knows of (expiry, refund with restock).
  pay,
  lookup,  // Asking for an order.
  shelf,   // Asking for the counts of the item.
};

/// What the one who asked was told.
enum class Answer : std::uint8_t {
  accepted,  // Of a claim: 202. Of others: it was done, or the order or the counts were shown.
  sold_out,
  already_purchased,
  limit_reached,
  not_open,
  sale_ended,
  refused,    // Any other refusal that certainly took nothing; of a lookup: 404.
  uncertain,  // No answer, or 503: it may have happened.
};

enum class Status : std::uint8_t { pending, paid, expired, cancelled, rejected, refunded };

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// One question and its answer. What happened, happened at one instant from `sent_us` to `answered_us`, ends included.
struct Event {
  Kind kind = Kind::claim;
  Answer answer = Answer::uncertain;
  std::uint64_t request = 0;  // Its own number; 0: not numbered.
  std::uint64_t buyer = 0;
  std::uint64_t key = 0;  // Of idempotency; 0: none.
  std::int64_t planned_us = 0;
  std::int64_t sent_us = 0;
  std::int64_t answered_us = 0;
  OrderName order;                                       // Named by the answer of a claim, or asked about.
  std::int32_t units = 1;                                // Asked for by a claim.
  std::vector<std::uint32_t> numbers;                    // Given by a 202 on numbered stock.
  bool may_return = false;                               // Of sold_out.
  Status status = Status::pending;                       // Of an accepted lookup.
  std::int64_t total = 0, free = 0, held = 0, sold = 0;  // Of a shelf.
  std::uint64_t version = 0;
};

/// The promises of the sale that was watched.
struct Terms {
  std::int64_t total_units = 0;
  std::int32_t limit_per_buyer = 1;
  std::int64_t opens_us = std::numeric_limits<std::int64_t>::min();
  std::int64_t closes_us = kNever;
  bool may_pause = false;                     // Then NOT_OPEN is believed inside the window.
  std::int64_t pay_within_us = kNever;        // An unpaid order may end this long after its claim, not sooner.
  std::int64_t return_within_us = 1'000'000;  // Units of an ended order can be bought again after at most this.
  std::int64_t snapshot_age_us = 0;           // A refusal may show the stock as it was this long before the question.
  std::int64_t shelf_age_us = 1'200'000;      // The same for public counts, which are cached.
};

enum class Rule : std::uint8_t {
  oversold,              // More units were certainly held at one instant than there are.
  over_limit,            // A buyer certainly held more than the limit at one instant.
  number_twice,          // A number certainly had two owners at one instant.
  numbers_unlike_units,  // A 202 gives more or fewer numbers than were asked for, or one twice.
  order_unnamed,         // A 202 or ALREADY_PURCHASED without an order.
  order_shared,          // Two buyers were given one order.
  order_changed,         // A repeated 202 differs from the first one.
  key_split,             // One key of one buyer made two orders.
  key_mixed,             // One order answers two keys.
  answered_twice,        // One request has two answers.
  time_reversed,         // Answered before sent, or sent before planned.
  sold_too_early,        // 202 before the opening.
  sold_too_late,         // An order made after the end.
  false_not_open,
  false_sale_ended,
  false_sold_out,         // At every instant that the refusal may speak of, enough units were certainly free.
  false_final,            // SOLD_OUT for good, while certainly an unpaid order held a unit.
  false_hope,             // SOLD_OUT that may return, while certainly every order was paid.
  false_limit,            // Refused for a limit that was certainly not reached.
  wrong_code,             // ALREADY_PURCHASED at a limit above 1, LIMIT_REACHED for one unit at a limit of 1.
  foreign_order_named,    // ALREADY_PURCHASED names another buyer's order.
  unknown_order_named,    // … or one that nobody can have been given.
  order_named_too_early,  // … or one whose claim was sent after this answer.
  ended_order_named,      // … or one that certainly had ended.
  order_lost,             // A 202's order is not found later.
  foreign_order_shown,    // A stranger was shown an order.
  unlawful_move,          // An order went from one state to one that cannot follow.
  ended_too_early,        // EXPIRED before the promised time was over.
  shelf_wrong_sum,        // Counts do not add up to the total, or are negative.
  shelf_backwards,        // A later glance shows an earlier version.
  shelf_impossible,       // The free units shown cannot have been free at any instant of the glance.
};
inline constexpr std::size_t kRuleCount = 31;
[[nodiscard]] std::string_view name(Rule rule);

struct Finding {
  Rule rule = Rule::oversold;
  std::size_t event = 0;  // Where in the history it shows.
  std::string text;       // One sentence with the figures.
};

struct Report {
  std::vector<Finding> findings;  // At most kFindingsPerRuleMax of each rule.
  std::array<std::uint64_t, kRuleCount> counts{};
  [[nodiscard]] bool is_clean() const { return findings.empty(); }
  [[nodiscard]] std::uint64_t count(Rule rule) const { return counts[static_cast<std::size_t>(rule)]; }
};
inline constexpr std::size_t kFindingsPerRuleMax = 20;

/// Checks a history of one item against its terms. Only what cannot be explained by any order of instants within the
/// recorded intervals is a finding, so a finding is a fault and never bad luck; what nobody could observe goes unseen.
///
/// Pure; time n log n, memory a small multiple of the history.
[[nodiscard]] Report audit(std::span<const Event> history, const Terms& terms);

}  // namespace weir::auditor
