#include "app/command.h"
#include "app/proof_flags.h"
#include "app/proof_wiring.h"
#include "app/wiring.h"
#include "config/stores.h"
#include "http/answers.h"

#include <cstdio>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

void print_audit(const std::string& json) {
  const boost::json::value report = boost::json::parse(json);
  const bool is_ok = report.at("ok").as_bool();
  for (const auto& invariant : report.at("invariants").as_array()) {
    const auto& violations = invariant.at("violations").as_array();
    std::printf("%-3s %10lld checked  %s\n", invariant.at("id").as_string().c_str(),
                static_cast<long long>(invariant.at("checked").to_number<std::int64_t>()),
                violations.empty() ? "holds" : "BROKEN");
    for (const auto& violation : violations) std::printf("      %s\n", violation.as_string().c_str());
  }
  for (const auto& item : report.at("items").as_array()) {
    std::printf("item %s: total %lld, free %lld, held %lld, sold %lld\n", item.at("itemId").as_string().c_str(),
                static_cast<long long>(item.at("total").to_number<std::int64_t>()),
                static_cast<long long>(item.at("free").to_number<std::int64_t>()),
                static_cast<long long>(item.at("held").to_number<std::int64_t>()),
                static_cast<long long>(item.at("sold").to_number<std::int64_t>()));
  }
  for (const auto& status : report.at("orders").as_object()) {
    std::printf("orders %s: %lld\n", std::string{status.key()}.c_str(),
                static_cast<long long>(status.value().to_number<std::int64_t>()));
  }
  std::printf("%s\n", is_ok ? "audit: every invariant holds" : "audit: BROKEN, see above");
}

void audit(CommandContext& context, const ProofFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto read_here = [&]() -> Result<std::string> {
    const auto reader = open_reader(*settings, context.clock);
    if (!reader) return std::unexpected(reader.error());
    const auto report = (*reader)->audit();
    if (!report) return std::unexpected(report.error());
    return http::audit_json(*report);
  };
  const auto json = flags.url.empty() ? read_here() : ask_server(flags, "/api/admin/audit", nullptr);
  if (!json) return give_up(context, exit_of(json.error()), json.error().message);
  if (context.is_json)
    std::printf("%s\n", json->c_str());
  else
    print_audit(*json);
  context.exit = boost::json::parse(*json).at("ok").as_bool() ? Exit::done : Exit::failed;
}

/// Proofs on the stores that the settings name, beside whatever runs on them.
Proofs proofs_of(CommandContext& context, const Settings& settings) {
  return Proofs{proof_stores(settings, context.clock, context.random), context.clock};
}

Result<Explained> explain_here(CommandContext& context, const Settings& settings, OrderId id) {
  if (settings.gate == GateKind::redis) {
    if (const auto fit = check_stores(settings, ProcessRole::tool); !fit) return std::unexpected(fit.error());
    return proofs_of(context, settings).explain(id);
  }
  const auto reader = open_reader(settings, context.clock);
  if (!reader) return std::unexpected(reader.error());
  return explain_from_ledger(id, **reader);
}

void print_life(const std::string& json) {
  const boost::json::value life = boost::json::parse(json);
  for (const auto& line : life.at("lines").as_array()) {
    std::printf("%s  %-6s  %-19s %s\n", line.at("at").as_string().c_str(), line.at("source").as_string().c_str(),
                line.at("what").as_string().c_str(), line.at("detail").as_string().c_str());
  }
}

void explain(CommandContext& context, const ProofFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto id = OrderId::parse(flags.order);
  if (!id) return give_up(context, Exit::usage, fmt::format("'{}' is no order id: 32 hexadecimal digits", flags.order));
  std::string json;
  bool is_known = true;
  bool is_complete = true;
  if (flags.url.empty()) {
    const auto explained = explain_here(context, *settings, *id);
    if (!explained) return give_up(context, exit_of(explained.error()), explained.error().message);
    is_known = explained->tenant.has_value();
    is_complete = explained->is_complete;
    json = http::life_json(explained->lines);
  } else {
    const auto answer = ask_server(flags, fmt::format("/api/admin/orders/{}/explain", flags.order), nullptr);
    if (!answer) return give_up(context, exit_of(answer.error()), answer.error().message);
    json = *answer;
  }
  if (context.is_json)
    std::printf("%s\n", json.c_str());
  else
    print_life(json);
  if (is_known) return;
  give_up(context, Exit::failed,
          is_complete ? "there is no order " + flags.order
                      : "it cannot be known now whether there is an order " + flags.order);
}

}  // namespace

void add_proof_commands(CLI::App& program, CommandContext& context) {
  auto flags = std::make_shared<ProofFlags>();
  CLI::App* audit_command =
      program.add_subcommand("audit", "Recompute every invariant from the ledger; exit 1 names what is broken");
  add_proof_flags(*audit_command, context, *flags);
  audit_command->callback([&context, flags] { audit(context, *flags); });
  CLI::App* explain_command = program.add_subcommand("explain", "The whole life of one order, line by line");
  explain_command->add_option("order", flags->order, "The order's id")->required();
  add_proof_flags(*explain_command, context, *flags);
  explain_command->callback([&context, flags] { explain(context, *flags); });
  CLI::App* reconcile_command = program.add_subcommand("reconcile", "Compare gate and ledger; repair order by order");
  reconcile_command->add_flag("--dry-run", flags->dry_run, "Only say what would be repaired");
  add_proof_flags(*reconcile_command, context, *flags);
  reconcile_command->callback([&context, flags] { reconcile(context, *flags); });
}

}  // namespace weir
