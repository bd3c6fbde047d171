#include "app/proof_flags.h"
#include "app/proof_wiring.h"
#include "app/reconcile_run.h"
#include "config/stores.h"
#include "http/answers.h"

#include <cstdio>
#include <memory>
#include <thread>

#include <fmt/format.h>

namespace weir {
namespace {

ReconcileRun::Look at_server(const ProofFlags& flags) {
  return [&flags] {
    const std::string body = flags.dry_run ? "{\"dryRun\":true}" : "{}";
    return ask_server(flags, "/api/admin/reconcile", &body);
  };
}

ReconcileRun::Look on_shared_stores(CommandContext& context, const Settings& settings, bool dry_run) {
  const auto proofs = std::make_shared<Proofs>(proof_stores(settings, context.clock, context.random), context.clock);
  return [proofs, dry_run]() -> Result<std::string> {
    const auto findings = proofs->reconcile(dry_run);
    if (!findings) return std::unexpected(findings.error());
    return http::findings_json(*findings, dry_run);
  };
}

/// With one process the gate lives in the server and is built from the ledger at its start: alone there is nothing to
/// compare.
Result<std::string> nothing_to_compare() { return http::findings_json(Findings{}, true); }

void print(const boost::json::object& findings, bool dry_run) {
  for (const char* kind : {"gateOnly", "ledgerOnly", "unsold"}) {
    std::printf("%-11s %zu\n", kind, findings.at(kind).as_array().size());
  }
  for (const auto& one : findings.at("findings").as_array()) {
    const auto& finding = one.as_object();
    const auto* repair = finding.if_contains("repair");
    std::printf("%-11s %s%s%s\n", finding.at("what").as_string().c_str(), finding.at("detail").as_string().c_str(),
                repair == nullptr ? "" : "; ", repair == nullptr ? "" : repair->as_string().c_str());
  }
  for (const auto& one : findings.at("notCompared").as_array()) {
    std::printf("not compared: %s\n", one.as_string().c_str());
  }
  const std::int64_t waiting = findings.at("waiting").to_number<std::int64_t>();
  if (waiting > 0) std::printf("under way, not judged yet: %lld\n", static_cast<long long>(waiting));
  if (findings.at("ok").as_bool()) {
    std::printf("gate and ledger agree\n");
  } else {
    std::printf("%s\n", dry_run ? "they disagree; nothing was changed" : "repaired, order by order, where it says so");
  }
}

}  // namespace

void reconcile(CommandContext& context, const ProofFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  ReconcileRun::Look look = nothing_to_compare;
  if (!flags.url.empty()) {
    look = at_server(flags);
  } else if (settings->gate == GateKind::redis) {
    if (const auto fit = check_stores(*settings, ProcessRole::tool); !fit) {
      return give_up(context, exit_of(fit.error()), fit.error().message);
    }
    look = on_shared_stores(context, *settings, flags.dry_run);
  }
  ReconcileRun run{std::move(look), context.clock, [](Micros span) { std::this_thread::sleep_for(span); }};
  const auto findings = run.run();
  if (!findings) return give_up(context, exit_of(findings.error()), findings.error().message);
  if (context.is_json)
    std::printf("%s\n", boost::json::serialize(*findings).c_str());
  else
    print(*findings, flags.dry_run);
  const bool is_done = run.is_whole() && (findings->at("ok").as_bool() || !flags.dry_run);
  context.exit = is_done ? Exit::done : Exit::failed;
}

}  // namespace weir
