#include "auditor/auditor.h"

#include "auditor/lives.h"
#include "auditor/rules.h"

namespace weir::auditor {
namespace {

constexpr std::array<std::string_view, kRuleCount> kNames{"oversold",
                                                          "over_limit",
                                                          "number_twice",
                                                          "numbers_unlike_units",
                                                          "order_unnamed",
                                                          "order_shared",
                                                          "order_changed",
                                                          "key_split",
                                                          "key_mixed",
                                                          "answered_twice",
                                                          "time_reversed",
                                                          "sold_too_early",
                                                          "sold_too_late",
                                                          "false_not_open",
                                                          "false_sale_ended",
                                                          "false_sold_out",
                                                          "false_final",
                                                          "false_hope",
                                                          "false_limit",
                                                          "wrong_code",
                                                          "foreign_order_named",
                                                          "unknown_order_named",
                                                          "order_named_too_early",
                                                          "ended_order_named",
                                                          "order_lost",
                                                          "foreign_order_shown",
                                                          "unlawful_move",
                                                          "ended_too_early",
                                                          "shelf_wrong_sum",
                                                          "shelf_backwards",
                                                          "shelf_impossible"};
static_assert(static_cast<std::size_t>(Rule::shelf_impossible) + 1 == kRuleCount);

}  // namespace

std::string_view name(Rule rule) { return kNames[static_cast<std::size_t>(rule)]; }

Report audit(std::span<const Event> history, const Terms& terms) {
  Report report;
  const Lives lives(history, terms);
  const Case audited{history, terms, lives,
                     [&report](Rule rule, std::size_t event, const std::function<std::string()>& text) {
                       std::uint64_t& count = report.counts[static_cast<std::size_t>(rule)];
                       if (count++ < kFindingsPerRuleMax) report.findings.push_back({rule, event, text()});
                     }};
  check_events(audited);
  check_stock(audited);
  check_buyers(audited);
  check_observations(audited);
  return report;
}

}  // namespace weir::auditor
