#include "auditor/rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weir::auditor {
namespace {

constexpr std::size_t kStatusCount = 6;

/// Whether an order seen in one state may be seen in another one later, over any number of moves. Rows and columns in
/// the order of `Status`.
constexpr std::array<std::array<bool, kStatusCount>, kStatusCount> kMayFollow{{
    {true, true, true, true, true, true},       // Out of PENDING everywhere.
    {false, true, false, false, false, true},   // PAID: stays, or is refunded.
    {false, true, true, false, false, true},    // EXPIRED: late money may bring it back.
    {false, false, false, true, false, false},  // CANCELLED,
    {false, false, false, false, true, false},  // REJECTED
    {false, false, false, false, false, true},  // and REFUNDED are ends.
}};

/// Looks at one order, in the order in which they were sent: two that do not overlap show the order of its states.
void check_moves(const Case& audited, const std::vector<std::size_t>& looks) {
  for (std::size_t later_look = 1; later_look < looks.size(); ++later_look) {
    const Event& after = audited.history[looks[later_look]];
    // The latest state that was certainly seen before; ends never change, so one step back tells enough.
    for (std::size_t back = later_look; back > 0; --back) {
      const Event& before = audited.history[looks[back - 1]];
      if (before.answered_us >= after.sent_us) continue;
      if (!kMayFollow[static_cast<std::size_t>(before.status)][static_cast<std::size_t>(after.status)]) {
        audited.found(Rule::unlawful_move, looks[later_look], [&] {
          return fmt::format("state {} at {} us, state {} at {} us", static_cast<int>(before.status),
                             before.answered_us, static_cast<int>(after.status), after.sent_us);
        });
      }
      break;
    }
  }
}

void check_look(const Case& audited, std::size_t index) {
  const Event& event = audited.history[index];
  const Life* life = audited.lives.find(event.order);
  if (life == nullptr) return;
  const auto report = [&](Rule rule) {
    audited.found(rule, index, [&] {
      return fmt::format("order {:016x}{:016x} of buyer {}, asked for by buyer {} at {} us", event.order.high,
                         event.order.low, life->buyer, event.buyer, event.sent_us);
    });
  };
  const bool is_shown = event.answer == Answer::accepted;
  if (life->buyer != event.buyer && is_shown) report(Rule::foreign_order_shown);
  const bool is_known = life->has_begun_us <= event.sent_us;
  if (life->buyer == event.buyer && is_known && event.answer == Answer::refused) report(Rule::order_lost);
  const bool is_early = event.answered_us < later(life->may_begin_us, audited.terms.pay_within_us);
  if (is_shown && event.status == Status::expired && is_early) report(Rule::ended_too_early);
}

void check_shelf_counts(const Case& audited) {
  std::vector<std::size_t> shelves;
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.kind != Kind::shelf || event.answer != Answer::accepted) continue;
    shelves.push_back(i);
    const bool is_sum = event.free + event.held + event.sold == event.total && event.total == audited.terms.total_units;
    if (is_sum && std::min({event.free, event.held, event.sold}) >= 0) continue;
    audited.found(Rule::shelf_wrong_sum, i, [&] {
      return fmt::format("{} free + {} held + {} sold, total {} of {}", event.free, event.held, event.sold, event.total,
                         audited.terms.total_units);
    });
  }
  const auto is_sent_earlier = [&](std::size_t a, std::size_t b) {
    return std::pair(audited.history[a].sent_us, a) < std::pair(audited.history[b].sent_us, b);
  };
  std::sort(shelves.begin(), shelves.end(), is_sent_earlier);
  for (std::size_t i = 1; i < shelves.size(); ++i) {
    const Event& before = audited.history[shelves[i - 1]];
    const Event& after = audited.history[shelves[i]];
    if (before.answered_us >= after.sent_us || before.version <= after.version) continue;
    audited.found(Rule::shelf_backwards, shelves[i], [&] {
      return fmt::format("version {} at {} us, version {} at {} us", before.version, before.answered_us, after.version,
                         after.sent_us);
    });
  }
}

}  // namespace

void check_observations(const Case& audited) {
  std::map<OrderName, std::vector<std::size_t>> looks;
  for (std::size_t i = 0; i < audited.history.size(); ++i) {
    const Event& event = audited.history[i];
    if (event.kind != Kind::lookup) continue;
    check_look(audited, i);
    if (event.answer == Answer::accepted) looks[event.order].push_back(i);
  }
  const auto is_sent_earlier = [&](std::size_t a, std::size_t b) {
    return std::pair(audited.history[a].sent_us, a) < std::pair(audited.history[b].sent_us, b);
  };
  for (auto& [order, indices] : looks) {
    std::sort(indices.begin(), indices.end(), is_sent_earlier);
    check_moves(audited, indices);
  }
  check_shelf_counts(audited);
}

}  // namespace weir::auditor
