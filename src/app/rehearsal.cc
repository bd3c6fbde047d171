#include "app/rehearsal.h"

#include "app/api_client.h"
#include "app/machine.h"
#include "app/progress.h"
#include "auditor/auditor.h"
#include "auditor/crowd_history.h"
#include "base/time_text.h"
#include "crowd/cpu.h"
#include "crowd/figures.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include <sys/utsname.h>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kOpeningWaitMax{600'000'000};
/// The crowd's own clock and the server's may differ by half a round trip; the first press is this much later.
constexpr Micros kOpeningMargin{20'000};
constexpr std::size_t kFindingsShownMax = 20;

/// The sale as the public API shows it, and the moment of the server's clock at which it was asked.
struct Market {
  std::string sale_title;
  std::string purchase_url;
  std::int32_t limit_per_buyer = 1;
  std::int64_t pay_within_us = 0;
  Instant opens_at;
  Instant closes_at;
  Instant server_now;
  Ticks asked_at;
  std::int64_t free = 0;
};

Result<boost::json::value> fetch(const ApiClient& client, std::string_view path) {
  const auto answer = client.get(path);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status != 200) {
    return fail(Failure::unfit, fmt::format("{} answered {}: {}", path, answer->status, answer->body));
  }
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(answer->body, error);
  if (error || !value.is_object()) return fail(Failure::unfit, fmt::format("{} did not answer with JSON", path));
  return value;
}

std::string text_of(const boost::json::object& object, std::string_view member) {
  const auto* value = object.if_contains(member);
  return value != nullptr && value->is_string() ? std::string{value->as_string()} : std::string{};
}

std::int64_t whole_of(const boost::json::object& object, std::string_view member) {
  const auto* value = object.if_contains(member);
  return value != nullptr && value->is_int64() ? value->as_int64() : 0;
}

const boost::json::array& list_of(const boost::json::object& object, std::string_view member) {
  static const boost::json::array nothing;
  const auto* value = object.if_contains(member);
  return value != nullptr && value->is_array() ? value->as_array() : nothing;
}

Instant moment_of(const boost::json::object& object, std::string_view member) {
  return parse_iso(text_of(object, member)).value_or(Instant{});
}

/// Fills in the sale if it has the item.
bool read_sale(const boost::json::object& sale, std::string_view item, Market& market) {
  for (const auto& entry : list_of(sale, "items")) {
    const auto* found = entry.if_object();
    if (found == nullptr || text_of(*found, "itemId") != item) continue;
    market.sale_title = text_of(sale, "title");
    market.limit_per_buyer = static_cast<std::int32_t>(whole_of(sale, "limitPerBuyer"));
    market.pay_within_us = whole_of(sale, "payWithinSeconds") * 1'000'000;
    market.opens_at = moment_of(sale, "opensAt");
    market.closes_at = moment_of(sale, "closesAt");
    market.purchase_url = text_of(*found, "purchaseUrl");
    market.free = whole_of(*found, "free");
    return true;
  }
  return false;
}

/// Looks through the sales for the one that has the item. At most kSalesMax calls; a shop has a handful.
Result<Market> find_market(const ApiClient& client, const std::string& item, const Clock& clock) {
  const auto list = fetch(client, "/api/flash-sales");
  if (!list) return std::unexpected(list.error());
  Market market;
  bool is_found = false;
  for (const auto& entry : list_of(list->as_object(), "sales")) {
    if (!entry.is_object()) continue;
    const auto sale = fetch(client, "/api/flash-sales/" + text_of(entry.as_object(), "saleId"));
    if (!sale) return std::unexpected(sale.error());
    is_found = read_sale(sale->as_object(), item, market);
    if (is_found) break;
  }
  if (!is_found) return fail(Failure::unfit, fmt::format("no sale of this shop has an item '{}' (--item)", item));
  const auto time = fetch(client, "/api/time");
  if (!time) return std::unexpected(time.error());
  market.asked_at = clock.ticks();
  market.server_now = moment_of(time->as_object(), "now");
  return market;
}

/// When the crowd begins, or why it cannot.
Result<std::optional<Ticks>> opening_of(const Market& market) {
  if (market.closes_at <= market.server_now) return fail(Failure::unfit, "the sale is over: rehearse on an open one");
  if (market.opens_at <= market.server_now) return std::optional<Ticks>{};
  const Micros wait = market.opens_at - market.server_now;
  if (wait > kOpeningWaitMax) {
    return fail(Failure::unfit, fmt::format("the sale opens at {}, which is too far away to wait for: open it with "
                                            "`weir sale open`",
                                            iso_text(market.opens_at)));
  }
  return std::optional{market.asked_at + wait + kOpeningMargin};
}

auditor::Terms terms_of(const Market& market, Ticks begun_at) {
  auditor::Terms terms;
  terms.total_units = market.free;
  terms.limit_per_buyer = market.limit_per_buyer;
  // The sale's window on the crowd's clock, a little wider than it is.
  const auto on_run = [&](Instant at) { return (market.asked_at + (at - market.server_now)).us - begun_at.us; };
  terms.opens_us = on_run(market.opens_at) - kOpeningMargin.count();
  terms.closes_us = on_run(market.closes_at) + kOpeningMargin.count();
  if (market.pay_within_us > 0) terms.pay_within_us = market.pay_within_us;
  return terms;
}

/// Every answer against the promises; what cannot be explained becomes a sentence of the report.
void judge_history(const Market& market, Ticks begun_at, Rehearsal& rehearsal) {
  const auto events = auditor::events_of(rehearsal.run.history, rehearsal.run.samples);
  const auditor::Report report = auditor::audit(events, terms_of(market, begun_at));
  for (const std::uint64_t count : report.counts) rehearsal.input.findings_total += count;
  for (const auditor::Finding& finding : report.findings) {
    if (rehearsal.input.findings.size() == kFindingsShownMax) break;
    rehearsal.input.findings.push_back(fmt::format("{}: {}", auditor::name(finding.rule), finding.text));
  }
}

std::string audit_of(ApiClient& client, const std::string& admin_token) {
  if (admin_token.empty()) return {};
  client.set_token(admin_token);
  const auto answer = client.get("/api/admin/audit");
  return answer && answer->status == 200 ? answer->body : std::string{};
}

/// How many units of the item are held or sold, as the audit has them.
std::int64_t taken_units(const std::string& audit, std::string_view item) try {
  const boost::json::value report = boost::json::parse(audit);  // It outlives the loop over a part of it.
  std::int64_t taken = 0;
  for (const auto& row : report.at("items").as_array()) {
    if (row.at("itemId").as_string() != item) continue;
    taken += row.at("held").to_number<std::int64_t>() + row.at("sold").to_number<std::int64_t>();
  }
  return taken;
} catch (const std::exception&) {
  return -1;
}

/// Where several processes record what was promised, the last of it arrives a moment later: waits for it, then says
/// what is missing.
void wait_for_ledger(const RehearsalOrder& order, ApiClient& client, const Clock& clock, Rehearsal& out) {
  const auto promised = static_cast<std::int64_t>(out.run.winners) * order.units_per_claim;
  const Ticks deadline = clock.ticks() + order.record_wait;
  std::int64_t taken = taken_units(out.input.audit_json, order.item);
  while (taken < promised && clock.ticks() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    out.input.audit_json = audit_of(client, order.admin_token);
    taken = taken_units(out.input.audit_json, order.item);
  }
  if (taken >= promised) return;
  ++out.input.findings_total;
  out.input.findings.push_back(fmt::format("promised: {} units were promised and the ledger has {}", promised, taken));
}

crowd::Options options_of(const RehearsalOrder& order, const Market& market, crowd::Target target,
                          std::optional<Ticks> opening, Progress& progress) {
  crowd::Options options;
  options.target = std::move(target);
  options.item = order.item;
  options.purchase_path = market.purchase_url;
  options.units_per_claim = order.units_per_claim;
  options.keyed = order.is_keyed;
  options.connections = order.connections;
  options.depth = order.depth;
  options.keeps_history = true;
  options.seed = order.crowd.seed;
  options.opening = opening;
  options.stop = order.stop;
  if (order.shows_progress) {
    options.on_progress = [&progress](const crowd::Progress& at) { progress.show(at); };
  }
  return options;
}

/// What the processes have used together; null when there is none, or one of them is gone.
std::optional<crowd::Usage> usage_of_all(const std::vector<pid_t>& processes) {
  crowd::Usage sum;
  for (const pid_t process : processes) {
    const auto usage = crowd::usage_of(process);
    if (!usage) return std::nullopt;
    sum.cpu_s += usage->cpu_s;
    sum.rss_bytes += usage->rss_bytes;
  }
  return processes.empty() ? std::nullopt : std::optional{sum};
}

void append_line(std::string& out, std::string_view label, std::string_view text) {
  fmt::format_to(std::back_inserter(out), "  {:<18} {}\n", label, text);
}

std::string latency_text(const crowd::Histogram& latency) {
  return fmt::format("p50 {}, p99 {}, p99.9 {}, max {}", crowd::span_text(latency.quantile_us(0.5)),
                     crowd::span_text(latency.quantile_us(0.99)), crowd::span_text(latency.quantile_us(0.999)),
                     crowd::span_text(latency.max_us()));
}

}  // namespace

Result<void> rehearse(const RehearsalOrder& order, const crowd::TokenSource& tokens, const Clock& clock,
                      Rehearsal& out) {
  raise_open_files_limit();
  auto target = crowd::parse_target(order.url);
  if (!target) return fail(Failure::unfit, target.error() + " (--url)");
  auto client = ApiClient::make(order.url, {});
  if (!client) return std::unexpected(client.error());
  const auto plan = crowd::Plan::make(order.crowd);
  if (!plan) return fail(Failure::unfit, plan.error());
  if (tokens.count() < order.crowd.buyers) {
    return fail(Failure::unfit,
                fmt::format("{} tokens are too few for {} buyers (--tokens)", tokens.count(), order.crowd.buyers));
  }
  const auto market = find_market(*client, order.item, clock);
  if (!market) return std::unexpected(market.error());
  const auto opening = opening_of(*market);
  if (!opening) return std::unexpected(opening.error());

  Progress progress;
  const auto before = usage_of_all(order.servers);
  crowd::Options options = options_of(order, *market, std::move(*target), *opening, progress);
  for (const std::string& url : order.more_urls) {
    auto more = crowd::parse_target(url);
    if (!more) return fail(Failure::unfit, more.error() + " (--url)");
    options.more_targets.push_back(std::move(*more));
  }
  // An open sale has no moment to wait for; a little time to open the connections is enough.
  if (!options.opening) options.opening = clock.ticks() + Micros{500'000};
  auto run = crowd::run_crowd(options, *plan, tokens, clock);
  progress.end();
  if (!run) return std::unexpected(run.error());
  const auto after = usage_of_all(order.servers);

  out.run = std::move(*run);
  crowd::ReportInput& input = out.input;
  input.run = &out.run;
  input.title = market->sale_title;
  input.item = order.item;
  input.url = order.url;
  input.version = WEIR_VERSION;
  input.machine = machine_text();
  input.made_at = clock.now();
  input.plan = order.crowd;
  input.connections = order.connections;
  input.units_per_claim = order.units_per_claim;
  input.units_at_start = market->free;
  if (before && after) input.server = crowd::Usage{after->cpu_s - before->cpu_s, after->rss_bytes};
  input.audit_json = audit_of(*client, order.admin_token);
  if (order.are_buyers_new && order.record_wait > Micros{0}) wait_for_ledger(order, *client, clock, out);
  if (order.are_buyers_new) judge_history(*market, *options.opening, out);
  out.verdict = crowd::judge(input);
  return {};
}

std::string rehearsal_text(const Rehearsal& rehearsal) {
  const crowd::RunResult& run = rehearsal.run;
  std::string out = rehearsal.verdict.sentence + "\n\n";
  append_line(out, "presses",
              fmt::format("{} offered ({} retries among them), {} answered, {} without an answer",
                          crowd::with_commas(run.offered), crowd::with_commas(run.retries),
                          crowd::with_commas(run.answered), crowd::with_commas(run.failed)));
  for (std::size_t i = 0; i < crowd::kOutcomeCount; ++i) {
    if (run.outcomes[i] == 0) continue;
    append_line(out, fmt::format("  {}", crowd::name(static_cast<crowd::Outcome>(i))),
                crowd::with_commas(run.outcomes[i]));
  }
  append_line(out, "all answers", latency_text(run.latency));
  append_line(out, "winners", latency_text(run.winners_latency));
  if (const auto took = crowd::sell_out_us(rehearsal.input)) {
    append_line(out, "sold out after", crowd::span_text(*took));
  }
  if (rehearsal.input.server) {
    append_line(out, "server",
                fmt::format("{:.2f} s of CPU, {} resident", rehearsal.input.server->cpu_s,
                            crowd::bytes_text(rehearsal.input.server->rss_bytes)));
  }
  append_line(out, "crowd",
              fmt::format("{:.2f} s of CPU, sent its presses up to {} late", run.cpu_s,
                          crowd::span_text(run.send_lag.quantile_us(0.99))));
  const crowd::AuditSummary audit = crowd::read_audit(rehearsal.input.audit_json);
  std::string invariants;
  for (const auto& invariant : audit.invariants) {
    fmt::format_to(std::back_inserter(invariants), "{}{} {}", invariants.empty() ? "" : ", ", invariant.id,
                   invariant.violations == 0 ? "holds" : "BROKEN");
  }
  append_line(out, "audit", audit.is_read ? invariants : "not taken");
  for (std::size_t i = 0; i < rehearsal.verdict.reasons.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}  {}. {}\n", i == 0 ? "\n" : "", i + 1, rehearsal.verdict.reasons[i]);
  }
  return out;
}

std::string machine_text() {
  std::string model = "processor not known";
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    model = line.substr(std::min(line.find(':') + 2, line.size()));
    break;
  }
  utsname name{};
  static_cast<void>(::uname(&name));
  return fmt::format("{} × {}, {} {}", std::max(1U, std::thread::hardware_concurrency()), model, name.sysname,
                     name.release);
}

}  // namespace weir
