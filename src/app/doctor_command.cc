#include "app/command.h"
#include "app/machine.h"
#include "base/json_text.h"
#include "config/doctor.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace weir {
namespace {

void run_doctor(CommandContext& context) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  const auto findings = examine(*settings, look_at_machine(*settings));
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
