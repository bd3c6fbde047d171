#include "app/command.h"
#include "app/distributed_wiring.h"
#include "app/machine.h"
#include "base/json_text.h"
#include "config/doctor.h"
#include "config/stores.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kLogAskWait{5'000'000};

/// What the stores are, beyond what the settings say of them.
void add_stores(std::vector<Finding>& findings, const Settings& settings, const Clock& clock) {
  if (const auto fit = check_stores(settings, ProcessRole::tool); !fit) {
    findings.insert(findings.begin(), Finding{Severity::fatal, "ledger", fit.error().message});
    return;
  }
  if (settings.queue != QueueKind::kafka) return;
  const auto of_log = examine_log(settings, clock, clock.ticks() + kLogAskWait);
  if (of_log)
    findings.insert(findings.begin(), of_log->begin(), of_log->end());
  else
    findings.insert(findings.begin(), Finding{Severity::fatal, "kafka.brokers", of_log.error().message});
}

void run_doctor(CommandContext& context) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  auto findings = examine(*settings, look_at_machine(*settings));
  add_stores(findings, *settings, context.clock);
  const bool is_fatal = std::ranges::any_of(findings, [](const Finding& f) { return f.severity == Severity::fatal; });
  if (context.is_json) {
    std::string json = fmt::format("{{\"ok\":{},\"findings\":[", !is_fatal);
    for (std::size_t i = 0; i < findings.size(); ++i) {
      json += fmt::format("{}{{\"severity\":\"{}\",\"setting\":", i == 0 ? "" : ",", name(findings[i].severity));
      append_json_string(json, findings[i].setting);
      json += ",\"message\":";
      append_json_string(json, findings[i].message);
      json += '}';
    }
    std::printf("%s]}\n", json.c_str());
  } else {
    for (const Finding& finding : findings) {
      std::printf("%-8s %-28s %s\n", std::string{name(finding.severity)}.c_str(), finding.setting.c_str(),
                  finding.message.c_str());
    }
    std::printf("%s\n", findings.empty() ? "nothing to say: fit for a sale"
                                         : (is_fatal ? "not fit for production" : "fit, with the remarks above"));
  }
  context.exit = is_fatal ? Exit::failed : Exit::done;
}

}  // namespace

void add_doctor_command(CLI::App& program, CommandContext& context) {
  CLI::App* doctor =
      program.add_subcommand("doctor", "List settings and facts of this machine that are unfit for a real sale");
  doctor->add_flag("--json", context.is_json, "Print the answer as JSON");
  add_setting_flags(*doctor, context);
  doctor->callback([&context] { run_doctor(context); });
}

}  // namespace weir
