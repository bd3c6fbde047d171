#include "app/api_client.h"
#include "app/command.h"
#include "app/wiring.h"
#include "base/time_text.h"
#include "http/answers.h"

#include <cstdio>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

struct ProofFlags {
  std::string url;
  std::string token_file;
  std::string order;
  bool dry_run = false;
};

void add_where(CLI::App& command, CommandContext& context, ProofFlags& flags) {
  command.add_option("--url", flags.url, "Ask the running server at this address instead of the ledger in --data");
  command.add_option("--token-file", flags.token_file, "File with an organiser's token, for --url");
  command.add_flag("--json", context.is_json, "Print the answer as JSON");
  add_setting_flags(command, context);
}

/// The JSON of a proof, from a running server or from the ledger beside it.
Result<std::string> fetch(CommandContext& context, const Settings& settings, const ProofFlags& flags,
                          std::string_view path, const std::string* body,
                          const std::function<Result<std::string>(LedgerReader&)>& read) {
  if (!flags.url.empty()) {
    const auto client = ApiClient::make(flags.url, flags.token_file);
    if (!client) return std::unexpected(client.error());
    const auto answer = body == nullptr ? client->get(path) : client->post(path, *body);
    if (!answer) return std::unexpected(answer.error());
    if (answer->status == 200) return answer->body;
    return fail(answer->status == 401 || answer->status == 403 ? Failure::unfit : Failure::unavailable,
                fmt::format("the server answered {}: {}", answer->status, answer->body));
  }
  const auto reader = open_reader(settings, context.clock);
  if (!reader) return std::unexpected(reader.error());
  return read(**reader);
}

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
  const auto json =
      fetch(context, *settings, flags, "/api/admin/audit", nullptr, [](LedgerReader& ledger) -> Result<std::string> {
        const auto report = ledger.audit();
        if (!report) return std::unexpected(report.error());
        return http::audit_json(*report);
      });
  if (!json) return give_up(context, exit_of(json.error()), json.error().message);
  if (context.is_json)
    std::printf("%s\n", json->c_str());
  else
    print_audit(*json);
  context.exit = boost::json::parse(*json).at("ok").as_bool() ? Exit::done : Exit::failed;
}

void explain(CommandContext& context, const ProofFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto id = OrderId::parse(flags.order);
  if (!id) return give_up(context, Exit::usage, fmt::format("'{}' is no order id: 32 hexadecimal digits", flags.order));
  const auto json = fetch(context, *settings, flags, fmt::format("/api/admin/orders/{}/explain", flags.order), nullptr,
                          [&](LedgerReader& ledger) -> Result<std::string> {
                            const auto life = ledger.life_of(*id);
                            if (!life) return std::unexpected(life.error());
                            if (life->empty()) return fail(Failure::unavailable, "there is no order " + flags.order);
                            return http::life_json(*life);
                          });
  if (!json) return give_up(context, exit_of(json.error()), json.error().message);
  if (context.is_json) {
    std::printf("%s\n", json->c_str());
    return;
  }
  const boost::json::value life = boost::json::parse(*json);
  for (const auto& line : life.at("lines").as_array()) {
    std::printf("%s  %-18s %s\n", line.at("at").as_string().c_str(), line.at("what").as_string().c_str(),
                line.at("detail").as_string().c_str());
  }
}

void reconcile(CommandContext& context, const ProofFlags& flags) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const std::string body = flags.dry_run ? "{\"dryRun\":true}" : "{}";
  const auto json =
      fetch(context, *settings, flags, "/api/admin/reconcile", &body, [](LedgerReader&) -> Result<std::string> {
        // With one process the gate lives in the server and is built from the ledger at its start: alone there is
        // nothing to compare.
        return http::findings_json(Findings{}, true);
      });
  if (!json) return give_up(context, exit_of(json.error()), json.error().message);
  const boost::json::value findings = boost::json::parse(*json);
  if (context.is_json) {
    std::printf("%s\n", json->c_str());
  } else {
    for (const char* kind : {"gateOnly", "ledgerOnly", "unsold"}) {
      std::printf("%-11s %zu\n", kind, findings.at(kind).as_array().size());
    }
    std::printf("%s\n", findings.at("ok").as_bool()
                            ? "gate and ledger agree"
                            : (flags.dry_run ? "they disagree; nothing was changed" : "repaired, order by order"));
  }
  context.exit = findings.at("ok").as_bool() || !flags.dry_run ? Exit::done : Exit::failed;
}

}  // namespace

void add_proof_commands(CLI::App& program, CommandContext& context) {
  auto flags = std::make_shared<ProofFlags>();
  CLI::App* audit_command =
      program.add_subcommand("audit", "Recompute every invariant from the ledger; exit 1 names what is broken");
  add_where(*audit_command, context, *flags);
  audit_command->callback([&context, flags] { audit(context, *flags); });
  CLI::App* explain_command = program.add_subcommand("explain", "The whole life of one order, line by line");
  explain_command->add_option("order", flags->order, "The order's id")->required();
  add_where(*explain_command, context, *flags);
  explain_command->callback([&context, flags] { explain(context, *flags); });
  CLI::App* reconcile_command = program.add_subcommand("reconcile", "Compare gate and ledger; repair order by order");
  reconcile_command->add_flag("--dry-run", flags->dry_run, "Only say what would be repaired");
  add_where(*reconcile_command, context, *flags);
  reconcile_command->callback([&context, flags] { reconcile(context, *flags); });
}

}  // namespace weir
