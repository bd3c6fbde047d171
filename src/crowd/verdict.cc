#include "crowd/figures.h"
#include "crowd/report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir::crowd {
namespace {

/// Refusals that say the rehearsal did not get as far as the stock.
constexpr Outcome kUnfitOutcomes[] = {Outcome::not_open,          Outcome::pass_required,   Outcome::unauthenticated,
                                      Outcome::unknown_item,      Outcome::invalid_request, Outcome::key_reused,
                                      Outcome::too_many_requests, Outcome::other_status};

bool is_above(std::uint64_t part, std::uint64_t whole, double share) {
  return static_cast<double>(part) > share * static_cast<double>(whole);
}

std::uint64_t count(const RunResult& run, Outcome outcome) { return run.outcomes[index_of(outcome)]; }

std::int64_t units_ordered(const ReportInput& input) {
  return static_cast<std::int64_t>(count(*input.run, Outcome::accepted)) * input.units_per_claim;
}

void judge_orders(const ReportInput& input, std::vector<std::string>& reasons) {
  const RunResult& run = *input.run;
  if (run.duplicate_winners > 0) {
    reasons.push_back(fmt::format("{} orders went to buyers who had one already, for example to buyers {}",
                                  with_commas(run.duplicate_winners), fmt::join(run.duplicate_winner_examples, ", ")));
  }
  const auto units = units_at_start(input);
  if (!units) {
    reasons.emplace_back("nobody could read the stock, so it is not known whether everything was sold");
    return;
  }
  const std::int64_t ordered = units_ordered(input);
  if (ordered > *units) {
    reasons.push_back(fmt::format("oversold: {} units were ordered and {} were free",
                                  with_commas(static_cast<std::uint64_t>(ordered)),
                                  with_commas(static_cast<std::uint64_t>(*units))));
  }
  if (run.samples.empty()) return;
  const std::int64_t left = run.samples.back().free;
  const std::int64_t wanted = std::int64_t{input.plan.buyers} * input.units_per_claim;
  if (left >= input.units_per_claim && wanted >= *units) {
    reasons.push_back(fmt::format("{} of {} units were left unsold although {} buyers asked",
                                  with_commas(static_cast<std::uint64_t>(left)),
                                  with_commas(static_cast<std::uint64_t>(*units)), with_commas(input.plan.buyers)));
  }
}

void judge_answers(const ReportInput& input, const Bounds& bounds, std::vector<std::string>& reasons) {
  const RunResult& run = *input.run;
  const auto report = [&](std::uint64_t part, std::string_view what) {
    if (!is_above(part, run.offered, bounds.failed_share_max)) return;
    reasons.push_back(fmt::format("{} of {} presses ({}) {}", with_commas(part), with_commas(run.offered),
                                  share_text(part, run.offered), what));
  };
  report(run.failed, "got no answer");
  report(count(run, Outcome::unavailable), "were told to come back later (5xx)");
  for (const Outcome outcome : kUnfitOutcomes) {
    report(count(run, outcome), fmt::format("ended as {} and never reached the stock", name(outcome)));
  }
  const std::uint64_t p99 = run.winners_latency.quantile_us(0.99);
  if (p99 > bounds.winners_p99_us_max) {
    reasons.push_back(fmt::format("one winner in a hundred waited longer than {}, allowed are {}", span_text(p99),
                                  span_text(bounds.winners_p99_us_max)));
  }
  if (run.was_stopped) reasons.emplace_back("the rehearsal was stopped before its end");
  if (run.ran_out_of_time) reasons.emplace_back("the rehearsal ended by its deadline, not because all were answered");
}

void judge_checks(const ReportInput& input, std::vector<std::string>& reasons) {
  const std::uint64_t unexplained = std::max<std::uint64_t>(input.findings_total, input.findings.size());
  if (unexplained > 0) {
    reasons.push_back(fmt::format("{} answers cannot be explained: {}", with_commas(unexplained),
                                  input.findings.empty() ? "see the history" : input.findings.front()));
  }
  const AuditSummary audit = read_audit(input.audit_json);
  if (!audit.is_read) {
    reasons.emplace_back("the audit of the server was not taken or could not be read");
    return;
  }
  const std::size_t before = reasons.size();
  for (const auto& invariant : audit.invariants) {
    if (invariant.violations == 0) continue;
    reasons.push_back(fmt::format("the audit finds {} violations of {}: {}", invariant.violations, invariant.id,
                                  invariant.first_violation));
  }
  if (!audit.is_ok && reasons.size() == before) reasons.emplace_back("the audit says that not all is well");
}

std::string go_sentence(const ReportInput& input) {
  const RunResult& run = *input.run;
  const auto sold = static_cast<std::uint64_t>(units_ordered(input));
  const auto took_us = sell_out_us(input);
  const std::string pace = took_us ? fmt::format(" within {}", span_text(*took_us)) : std::string{};
  return fmt::format(
      "GO. {} of {} units went to {} buyers{}; {} buyers asked, {} presses were answered, the last one "
      "after {}; nothing was sold twice and every check holds.",
      with_commas(sold), with_commas(static_cast<std::uint64_t>(units_at_start(input).value_or(0))),
      with_commas(run.winners), pace, with_commas(input.plan.buyers), with_commas(run.answered),
      span_text(run.latency.max_us()));
}

}  // namespace

std::optional<std::int64_t> units_at_start(const ReportInput& input) {
  if (input.units_at_start) return input.units_at_start;
  if (input.run->samples.empty()) return std::nullopt;
  return input.run->samples.front().free;
}

std::optional<std::uint64_t> sell_out_us(const ReportInput& input) {
  const auto units = units_at_start(input);
  if (!units || *units <= 0 || units_ordered(input) < *units) return std::nullopt;
  return input.run->last_accepted_us - input.run->first_sent_us;
}

Verdict judge(const ReportInput& input, const Bounds& bounds) {
  Verdict verdict;
  judge_orders(input, verdict.reasons);
  judge_checks(input, verdict.reasons);
  judge_answers(input, bounds, verdict.reasons);
  verdict.is_go = verdict.reasons.empty();
  if (verdict.is_go) {
    verdict.sentence = go_sentence(input);
  } else if (verdict.reasons.size() == 1) {
    verdict.sentence = fmt::format("NO-GO: {}.", verdict.reasons.front());
  } else {
    verdict.sentence =
        fmt::format("NO-GO for {} reasons; the first: {}.", verdict.reasons.size(), verdict.reasons.front());
  }
  return verdict;
}

}  // namespace weir::crowd
