#include "base/json_text.h"
#include "base/time_text.h"
#include "crowd/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

constexpr std::size_t kStockPointsMax = 1'000;

/// Writes JSON members one after the other. Names are ours and need no escaping.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  void end() { out_ += '}'; }

  void raw(std::string_view name, std::string_view value) {
    if (has_any_) out_ += ',';
    has_any_ = true;
    fmt::format_to(std::back_inserter(out_), "\"{}\":{}", name, value);
  }
  void text(std::string_view name, std::string_view value) {
    std::string quoted;
    append_json_string(quoted, value);
    raw(name, quoted);
  }
  void number(std::string_view name, std::uint64_t value) { raw(name, std::to_string(value)); }
  void number(std::string_view name, double value) { raw(name, fmt::format("{:.3f}", value)); }

 private:
  std::string& out_;
  bool has_any_ = false;
};

double ms(std::uint64_t us) { return static_cast<double>(us) / 1e3; }

std::string latency_json(const Histogram& latency) {
  std::string out;
  Members members(out);
  members.number("p50", ms(latency.quantile_us(0.5)));
  members.number("p90", ms(latency.quantile_us(0.9)));
  members.number("p99", ms(latency.quantile_us(0.99)));
  members.number("p999", ms(latency.quantile_us(0.999)));
  members.number("max", ms(latency.max_us()));
  members.end();
  return out;
}

std::string texts_json(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    append_json_string(out, text);
  }
  return out + "]";
}

std::string outcomes_json(const OutcomeCounts& outcomes) {
  std::string out;
  Members members(out);
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    if (outcomes[i] > 0) members.number(name(static_cast<Outcome>(i)), outcomes[i]);
  }
  members.end();
  return out;
}

template <typename Value>
std::string series_json(const std::vector<Timeline::Bin>& bins, Value&& value) {
  std::string out = "[";
  for (const Timeline::Bin& bin : bins) {
    if (out.size() > 1) out += ',';
    out += std::to_string(value(bin));
  }
  return out + "]";
}

std::string timeline_json(const Timeline& timeline) {
  constexpr std::string_view kNames[kGroupCount] = {"202", "SOLD_OUT", "otherRefusals", "UNAVAILABLE", "failed"};
  std::string out;
  Members members(out);
  members.number("binMs", timeline.bin_us() / 1'000);
  members.raw("offered", series_json(timeline.bins(), [](const auto& bin) { return bin.offered; }));
  for (std::size_t group = 0; group < kGroupCount; ++group) {
    members.raw(kNames[group], series_json(timeline.bins(), [&](const auto& bin) { return bin.answers[group]; }));
  }
  members.end();
  return out;
}

std::string stock_json(const std::vector<StockSample>& samples) {
  const std::size_t stride = samples.size() / kStockPointsMax + 1;
  std::string out = "[";
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i % stride != 0 && i + 1 != samples.size()) continue;
    if (out.size() > 1) out += ',';
    const StockSample& sample = samples[i];
    fmt::format_to(std::back_inserter(out), R"({{"atMs":{:.1f},"free":{},"held":{},"sold":{}}})",
                   ms(sample.answered_us), sample.free, sample.held, sample.sold);
  }
  return out + "]";
}

std::string rate_json(const RunResult& run) {
  const auto per_second = [](std::uint64_t count, std::uint64_t from_us, std::uint64_t to_us) {
    // A run within one slice still took its slice.
    const std::uint64_t span_us = std::max<std::uint64_t>(to_us > from_us ? to_us - from_us : 0, 1'000);
    return static_cast<double>(count) * 1e6 / static_cast<double>(span_us);
  };
  std::string out;
  Members members(out);
  members.number("offered", per_second(run.offered, run.first_sent_us, run.last_sent_us));
  members.number("answered", per_second(run.answered, run.first_sent_us, run.last_answer_us));
  members.end();
  return out;
}

std::string server_json(const std::optional<Usage>& server) {
  std::string out;
  Members members(out);
  if (server) {
    members.number("cpuSeconds", server->cpu_s);
    members.number("rssBytes", server->rss_bytes);
  } else {
    members.raw("cpuSeconds", "null");
    members.raw("rssBytes", "null");
  }
  members.end();
  return out;
}

std::string client_json(const RunResult& run) {
  std::string out;
  Members members(out);
  members.number("cpuSeconds", run.cpu_s);
  members.raw("sendLagMs", latency_json(run.send_lag));
  members.number("reconnects", run.reconnects);
  members.end();
  return out;
}

std::string plan_json(const ReportInput& input) {
  std::string out;
  Members members(out);
  members.number("buyers", std::uint64_t{input.plan.buyers});
  members.text("shape", input.plan.shape == Shape::burst ? "burst" : "steady");
  if (input.plan.shape == Shape::burst)
    members.number("burstMs", static_cast<double>(input.plan.burst_over.count()) / 1e3);
  else
    members.number("ratePerSecond", input.plan.rate_per_s);
  members.number("repeatShare", input.plan.repeat_share);
  members.number("impatientShare", input.plan.impatient_share);
  members.number("seed", input.plan.seed);
  members.number("connections", std::uint64_t{input.connections});
  members.end();
  return out;
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "wbe"), close);
  const bool is_written =
      file && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size() && std::fflush(file.get()) == 0;
  if (is_written) return {};
  return fail(Failure::unfit, fmt::format("report {} cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace

std::string report_json(const ReportInput& input, const Verdict& verdict) {
  const RunResult& run = *input.run;
  std::string out;
  Members members(out);
  members.text("verdict", verdict.is_go ? "GO" : "NO_GO");
  members.raw("reasons", texts_json(verdict.reasons));
  members.text("sentence", verdict.sentence);
  members.number("offered", run.offered);
  members.number("answered", run.answered);
  members.number("failed", run.failed);
  members.raw("outcomes", outcomes_json(run.outcomes));
  members.raw("latencyMs", latency_json(run.latency));
  members.raw("winnersLatencyMs", latency_json(run.winners_latency));
  const auto took_us = sell_out_us(input);
  members.raw("sellOutMs", took_us ? fmt::format("{:.3f}", ms(*took_us)) : "null");
  members.raw("rate", rate_json(run));
  members.raw("server", server_json(input.server));
  members.raw("client", client_json(run));
  members.raw("audit", read_audit(input.audit_json).is_read ? std::string_view(input.audit_json) : "null");
  members.number("winners", run.winners);
  members.number("duplicateWinners", run.duplicate_winners);
  members.number("retries", run.retries);
  const auto units = units_at_start(input);
  members.raw("unitsAtStart", units ? std::to_string(*units) : "null");
  members.number("findingsTotal", std::max<std::uint64_t>(input.findings_total, input.findings.size()));
  members.raw("findings", texts_json(input.findings));
  members.text("item", input.item);
  members.text("url", input.url);
  members.text("madeAt", iso_text(input.made_at));
  members.raw("plan", plan_json(input));
  members.raw("timeline", timeline_json(run.timeline));
  members.raw("stock", stock_json(run.samples));
  members.end();
  return out;
}

Result<void> write_report(const std::string& path, const ReportInput& input, const Verdict& verdict) {
  if (auto written = write_file(path, report_html(input, verdict)); !written) return written;
  constexpr std::string_view kHtml = ".html";
  const bool is_html = path.ends_with(kHtml);
  const std::string stem = is_html ? path.substr(0, path.size() - kHtml.size()) : path;
  return write_file(stem + ".json", report_json(input, verdict) + "\n");
}

}  // namespace weir::crowd
