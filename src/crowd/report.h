#pragma once

#include "base/result.h"
#include "base/time.h"
#include "crowd/audit_summary.h"
#include "crowd/cpu.h"
#include "crowd/crowd.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crowd {

/// Everything a report is made of. The run itself says what happened; the rest is handed in by who ordered it.
struct ReportInput {
  const RunResult* run = nullptr;  // Never null when used.
  std::string title;               // Of the sale.
  std::string item;
  std::string url;
  std::string version;
  std::string machine;
  Instant made_at;
  PlanOptions plan;
  std::size_t connections = 0;
  std::int32_t units_per_claim = 1;
  std::optional<std::int64_t> units_at_start;  // Free at the opening; default: the first glance at the stock.
  std::optional<Usage> server;                 // CPU used during the run, memory at its end; null: not known.
  std::string audit_json;                      // The answer of the audit; empty: it was not taken.
  std::vector<std::string> findings;           // Answers that cannot be explained, a sentence each.
  std::uint64_t findings_total = 0;            // With those that have no sentence here.
};

/// What a rehearsal must reach to be a GO.
struct Bounds {
  double failed_share_max =
      0.001;  // Of all presses: no answer; also: 5xx; also: each refusal that the stock has no part in.
  std::uint64_t winners_p99_us_max = 2'000'000;
};

struct Verdict {
  bool is_go = false;
  std::vector<std::string> reasons;  // Empty for a GO.
  std::string sentence;
};

/// Compares what happened with what must hold. A check that did not run is a reason, never a pass.
[[nodiscard]] Verdict judge(const ReportInput& input, const Bounds& bounds = {});

/// How long it took from the first request to the last durable order; null unless every unit was sold.
[[nodiscard]] std::optional<std::uint64_t> sell_out_us(const ReportInput& input);
/// Units that were free at the opening; null if nobody looked.
[[nodiscard]] std::optional<std::int64_t> units_at_start(const ReportInput& input);

/// The JSON of `rehearse` and `demo`, on one line.
[[nodiscard]] std::string report_json(const ReportInput& input, const Verdict& verdict);

/// One file without scripts or outside resources, made to be read on a screen and printed in black and white.
[[nodiscard]] std::string report_html(const ReportInput& input, const Verdict& verdict);

/// Writes the HTML to `path` and the JSON beside it, with `.json` for `.html` (or behind the name). Fails with `unfit`.
[[nodiscard]] Result<void> write_report(const std::string& path, const ReportInput& input, const Verdict& verdict);

}  // namespace weir::crowd
