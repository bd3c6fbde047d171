#include "base/time_text.h"
#include "crowd/charts.h"
#include "crowd/figures.h"
#include "crowd/report.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

constexpr std::size_t kTableRowsMax = 40;

constexpr std::string_view kStyle = R"css(
:root{--ink:#14181f;--soft:#4a5361;--line:#d5dbe3;--paper:#fff;--panel:#f4f6f8;--accent:#0b57d0}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:400 16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:960px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:28px;line-height:34px;margin:0 0 4px;font-weight:600}
h2{font-size:20px;line-height:28px;margin:48px 0 12px;font-weight:600}
p{margin:0 0 12px;max-width:66ch}
.soft{color:var(--soft);font-size:14px;line-height:20px}
.verdict{border:1.5px solid var(--ink);border-left-width:12px;border-radius:8px;padding:20px 24px;
margin:24px 0}
.verdict.go{border-color:var(--accent)}
.verdict p{font-size:18px;line-height:26px;margin:0}
.verdict ol{margin:12px 0 0;padding-left:24px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:1px;background:var(--line);
border:1px solid var(--line);border-radius:8px;overflow:hidden;margin:24px 0 0}
.figures div{background:var(--paper);padding:14px 16px}
.figures dt{color:var(--soft);font-size:14px;line-height:20px}
.figures dd{margin:0;font-size:22px;line-height:30px;font-weight:600}
.figures dd small{display:block;font-size:14px;line-height:20px;font-weight:400;color:var(--soft)}
dl{margin:0}
figure{margin:0}
svg{display:block;width:100%;height:auto}
svg .grid{stroke:var(--line);stroke-width:1;fill:none}
svg .axis{stroke:var(--ink);stroke-width:1;fill:none}
svg text{font-size:12px;fill:var(--soft)}
svg .name{fill:var(--ink)}
.won{fill:var(--accent)}.gone{fill:#c3ccd7}.refused{fill:url(#hatch)}.busy{fill:#6b7684}.failed{fill:#14181f}
svg .offered{fill:none;stroke:var(--ink);stroke-width:1.25;stroke-dasharray:4 3}
.free{fill:#e6eaf0}.held{fill:#8fb4f2}.sold{fill:var(--accent)}
svg .edge{fill:none;stroke:var(--accent);stroke-width:1.25}
svg .line{fill:none;stroke:var(--ink);stroke-width:1.75}
svg .winners{stroke:var(--accent);stroke-width:2.25;stroke-dasharray:7 4}
.key{display:flex;flex-wrap:wrap;gap:6px 20px;padding:0;margin:0 0 8px;list-style:none;font-size:14px;
line-height:20px}
.key svg{display:inline-block;width:22px;height:12px;margin-right:7px;vertical-align:-1px}
table{border-collapse:collapse;width:100%;margin:8px 0 12px;font-size:14px;line-height:20px}
th,td{text-align:right;padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
th:first-child,td:first-child,td.text,th.text{text-align:left}
th{font-weight:600;color:var(--soft)}
details{margin-top:8px}summary{cursor:pointer;color:var(--soft);font-size:14px;padding:6px 0}
.pass{color:var(--accent);font-weight:600}.fail{font-weight:700;text-decoration:underline}
@media print{main{max-width:none;padding:0}section{break-inside:avoid}summary{display:none}body{
font-size:12px}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

class Page {
 public:
  template <typename... Args>
  Page& put(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
    return *this;
  }
  Page& raw(std::string_view text) {
    out_ += text;
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string swatch(std::string_view style) {
  if (style == "offered" || style.starts_with("line")) {
    return fmt::format(R"(<svg viewBox="0 0 22 12" aria-hidden="true"><path class="{}" d="M0 6H22"/></svg>)", style);
  }
  return fmt::format(R"(<svg viewBox="0 0 22 12" aria-hidden="true"><path class="{}" d="M0 0H22V12H0z"/></svg>)",
                     style);
}

using Key = std::pair<std::string_view, std::string>;

void put_key(Page& page, std::initializer_list<Key> keys) {
  page.raw("<ul class=\"key\">");
  for (const auto& [style, text] : keys) page.put("<li>{}{}</li>", swatch(style), html_text(text));
  page.raw("</ul>");
}

std::uint64_t group_count(const RunResult& run, Group group) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    if (group_of(static_cast<Outcome>(i)) == group) sum += run.outcomes[i];
  }
  return sum;
}

void put_verdict(Page& page, const Verdict& verdict) {
  page.put("<section class=\"verdict {}\"><p>{}</p>", verdict.is_go ? "go" : "no-go", html_text(verdict.sentence));
  if (verdict.reasons.size() > 1) {
    page.raw("<ol>");
    for (const std::string& reason : verdict.reasons) page.put("<li>{}</li>", html_text(reason));
    page.raw("</ol>");
  }
  page.raw("</section>");
}

void put_figure(Page& page, std::string_view name, std::string_view value, std::string_view note) {
  page.put("<div><dt>{}</dt><dd>{} <small>{}</small></dd></div>", html_text(name), html_text(value), html_text(note));
}

std::string cpu_per_request(double cpu_s, const RunResult& run) {
  if (run.offered == 0) return "not known";
  return fmt::format("{:.2f} µs", cpu_s * 1e6 / static_cast<double>(run.offered));
}

void put_figures(Page& page, const ReportInput& input) {
  const RunResult& run = *input.run;
  const auto ordered = static_cast<std::int64_t>(run.outcomes[index_of(Outcome::accepted)]) * input.units_per_claim;
  const auto units = units_at_start(input);
  const auto took_us = sell_out_us(input);
  page.raw("<dl class=\"figures\">");
  put_figure(page, "Units ordered", with_commas(static_cast<std::uint64_t>(ordered)),
             units ? "of " + with_commas(static_cast<std::uint64_t>(*units)) : "stock not known");
  const std::int64_t over = units ? std::max<std::int64_t>(ordered - *units, 0) : 0;
  put_figure(page, "Oversold", units ? with_commas(static_cast<std::uint64_t>(over)) : "not known", "must be 0");
  put_figure(page, "Second orders of one buyer", with_commas(run.duplicate_winners), "must be 0");
  put_figure(page, "Sold out after", took_us ? span_text(*took_us) : "not sold out", "first press to last order");
  put_figure(page, "Presses", with_commas(run.offered), fmt::format("{} retries among them", with_commas(run.retries)));
  put_figure(page, "Without an answer", with_commas(run.failed), share_text(run.failed, run.offered));
  put_figure(page, "Winners, 99th percentile", span_text(run.winners_latency.quantile_us(0.99)), "order on disk");
  put_figure(page, "All answers, 99th percentile", span_text(run.latency.quantile_us(0.99)), "from the planned press");
  put_figure(page, "Server CPU per press", input.server ? cpu_per_request(input.server->cpu_s, run) : "not known",
             input.server
                 ? fmt::format("{:.2f} s, {} resident", input.server->cpu_s, bytes_text(input.server->rss_bytes))
                 : std::string{});
  put_figure(page, "Crowd CPU per press", cpu_per_request(run.cpu_s, run), fmt::format("{:.2f} s", run.cpu_s));
  page.raw("</dl>");
}

void put_timeline_table(Page& page, const RunResult& run) {
  const Timeline timeline = condensed(run.timeline, kTableRowsMax);
  page.put(
      "<details><summary>The same as a table, per {} ms</summary><table><thead><tr><th>from</th><th>presses</th>"
      "<th>orders</th><th>sold out</th><th>other refusals</th><th>5xx</th><th>failed</th></tr></thead><tbody>",
      timeline.bin_us() / 1'000);
  for (std::size_t i = 0; i < timeline.bins().size(); ++i) {
    const auto& bin = timeline.bins()[i];
    page.put("<tr><td>{} ms</td><td>{}</td>", timeline.bin_us() * i / 1'000, with_commas(bin.offered));
    for (const std::uint32_t count : bin.answers) page.put("<td>{}</td>", with_commas(count));
    page.raw("</tr>");
  }
  page.raw("</tbody></table></details>");
}

void put_answers(Page& page, const RunResult& run) {
  page.raw("<section><h2>Answers by outcome</h2>");
  const auto with_count = [&](std::string_view text, Group group) {
    return fmt::format("{} ({})", text, with_commas(group_count(run, group)));
  };
  put_key(page, {{"won", with_count("orders", Group::accepted)},
                 {"gone", with_count("sold out", Group::sold_out)},
                 {"refused", with_count("other refusals", Group::other_refusal)},
                 {"busy", with_count("5xx", Group::unavailable)},
                 {"failed", with_count("failed", Group::failed)},
                 {"offered", "presses"}});
  page.put("<figure>{}</figure>", answers_chart(run));
  put_timeline_table(page, run);
  page.raw(
      "<table><thead><tr><th>outcome</th><th>presses</th><th>share</th></tr>"
      "</thead><tbody>");
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    if (run.outcomes[i] == 0) continue;
    page.put("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", name(static_cast<Outcome>(i)), with_commas(run.outcomes[i]),
             share_text(run.outcomes[i], run.offered));
  }
  page.raw("</tbody></table></section>");
}

void put_stock(Page& page, const RunResult& run) {
  page.raw("<section><h2>Stock over time</h2>");
  if (run.samples.empty()) {
    page.raw("<p>The stock was not watched.</p></section>");
    return;
  }
  const StockSample& last = run.samples.back();
  const auto count = [](std::int32_t units) { return with_commas(static_cast<std::uint64_t>(std::max(units, 0))); };
  put_key(page, {{"free", fmt::format("free (at the end {})", count(last.free))},
                 {"held", fmt::format("held, not yet paid ({})", count(last.held))},
                 {"sold", fmt::format("sold ({})", count(last.sold))}});
  page.put("<figure>{}</figure>", stock_chart(run));
  page.raw("<p class=\"soft\">As any visitor could see it; public counts may be cached for a second.</p></section>");
}

void put_latency(Page& page, const RunResult& run) {
  page.raw("<section><h2>Latency</h2>");
  put_key(page, {{"line", "all answers"}, {"line winners", "winners: the order was on disk before the answer"}});
  page.put("<figure>{}</figure>", latency_chart(run));
  page.raw(
      "<table><thead><tr><th>measured from the planned press</th><th>50 %</th><th>90 %</th><th>99 %</th><th>99.9 %</th>"
      "<th>largest</th></tr></thead><tbody>");
  const auto row = [&](std::string_view text, const Histogram& latency) {
    page.put("<tr><td>{}</td>", text);
    for (const double share : {0.5, 0.9, 0.99, 0.999}) page.put("<td>{}</td>", span_text(latency.quantile_us(share)));
    page.put("<td>{}</td></tr>", span_text(latency.max_us()));
  };
  row("all answers", run.latency);
  row("winners", run.winners_latency);
  row("delay of the crowd itself", run.send_lag);
  page.raw(
      "</tbody></table><p class=\"soft\">Every press had its moment before the run began. A press that left late "
      "because "
      "all connections were waiting is counted from its moment, so a stall shows in full.</p></section>");
}

void put_audit(Page& page, const ReportInput& input) {
  const AuditSummary audit = read_audit(input.audit_json);
  page.raw("<section><h2>Audit</h2>");
  if (!audit.is_read)
    page.raw("<p class=\"fail\">The audit was not taken or could not be read. This is not a pass.</p>");
  if (!audit.invariants.empty()) {
    page.raw(
        "<table><thead><tr><th>invariant</th><th>rows checked</th><th>violations</th><th "
        "class=\"text\">result</th></tr>"
        "</thead><tbody>");
    for (const auto& invariant : audit.invariants) {
      const bool holds = invariant.violations == 0;
      page.put("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"text\"><span class=\"{}\">{}</span> {}</td></tr>",
               html_text(invariant.id),
               with_commas(static_cast<std::uint64_t>(std::max<std::int64_t>(invariant.checked, 0))),
               with_commas(invariant.violations), holds ? "pass" : "fail", holds ? "holds" : "violated",
               html_text(invariant.first_violation));
    }
    page.raw("</tbody></table>");
  }
  page.put("<p>{}</p>", input.findings_total == 0 && input.findings.empty()
                            ? "No recorded answer contradicts another one."
                            : "Answers that cannot be explained by any order of events:");
  if (!input.findings.empty()) {
    page.raw("<ol>");
    for (const std::string& finding : input.findings) page.put("<li>{}</li>", html_text(finding));
    page.raw("</ol>");
  }
  page.raw("</section>");
}

void put_settings(Page& page, const ReportInput& input) {
  const PlanOptions& plan = input.plan;
  page.raw("<section><h2>The run</h2><table><tbody>");
  const auto row = [&](std::string_view text, std::string_view value) {
    page.put("<tr><td>{}</td><td class=\"text\">{}</td></tr>", text, html_text(value));
  };
  row("buyers", fmt::format("{}, each with a token and an address of his own", with_commas(plan.buyers)));
  row("arrival", plan.shape == Shape::burst
                     ? fmt::format("a burst within {}, half of it in the first quarter",
                                   span_text(static_cast<std::uint64_t>(plan.burst_over.count())))
                     : fmt::format("{:.0f} a second, at random moments", plan.rate_per_s));
  row("press again", fmt::format("{:.1f} % of the buyers", 100 * plan.repeat_share));
  row("try again without a useful answer", fmt::format("{:.1f} % of the buyers", 100 * plan.impatient_share));
  row("connections", with_commas(input.connections));
  row("seed", std::to_string(plan.seed));
  row("server", input.url);
  row("machine", input.machine);
  row("version", input.version);
  page.raw("</tbody></table></section>");
}

}  // namespace

std::string report_html(const ReportInput& input, const Verdict& verdict) {
  const RunResult& run = *input.run;
  const std::string title = html_text(input.title.empty() ? input.item : input.title);
  Page page;
  page.put(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{}: rehearsal of {}</title><style>{}</style></head><body>",
      verdict.is_go ? "GO" : "NO-GO", title, kStyle);
  page.raw(
      "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" "
      "width=\"5\" "
      "height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path fill=\"#fff\" "
      "d=\"M0 0H5V5H0z\"/><path fill=\"#4a5361\" d=\"M0 0H2V5H0z\"/></pattern></defs></svg><main>");
  page.put("<header><h1>Rehearsal of {}</h1><p class=\"soft\">item {} · {} · {} buyers</p></header>", title,
           html_text(input.item), iso_text(input.made_at), with_commas(input.plan.buyers));
  put_verdict(page, verdict);
  put_figures(page, input);
  put_answers(page, run);
  put_stock(page, run);
  put_latency(page, run);
  put_audit(page, input);
  put_settings(page, input);
  page.raw("</main></body></html>\n");
  return page.take();
}

}  // namespace weir::crowd
