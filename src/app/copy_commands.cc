#include "app/command.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "ledger/sqlite_copy.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

namespace weir {
namespace {

/// The settings, if their ledger is one that lies in the data folder; null after saying why not.
std::optional<Settings> embedded_settings(CommandContext& context) {
  const auto settings = read_settings(context);
  if (!settings) {
    give_up(context, Exit::usage, settings.error());
    return std::nullopt;
  }
  if (settings->ledger != LedgerKind::sqlite) {
    give_up(context, Exit::unfit,
            "this ledger is not in the data folder: copy it with its database's own tools (ledger)");
    return std::nullopt;
  }
  return *settings;
}

std::string member(std::string_view name, std::string_view text) {
  std::string out = fmt::format("\"{}\":", name);
  append_json_string(out, text);
  return out;
}

void back_up(CommandContext& context, const std::string& file) {
  const auto settings = embedded_settings(context);
  if (!settings) return;
  const auto copied = back_up_ledger(settings->data, file, context.clock);
  if (!copied) return give_up(context, exit_of(copied.error()), copied.error().message);
  if (context.is_json)
    std::printf("{%s}\n", member("file", file).c_str());
  else
    std::printf("%s has the ledger as it is now; keep the keys in '%s' too\n", file.c_str(), settings->data.c_str());
}

void restore(CommandContext& context, const std::string& file) {
  const auto settings = embedded_settings(context);
  if (!settings) return;
  const auto restored = restore_ledger(settings->data, file);
  if (!restored) return give_up(context, exit_of(restored.error()), restored.error().message);
  const std::string made_at = iso_text(restored->made_at);
  if (context.is_json) {
    std::printf("{%s,\"orders\":%lld,%s}\n", member("madeAt", made_at).c_str(),
                static_cast<long long>(restored->orders), member("replaced", restored->replaced).c_str());
    return;
  }
  std::printf("the ledger in '%s' is the copy of %s, with %lld orders\n", settings->data.c_str(), made_at.c_str(),
              static_cast<long long>(restored->orders));
  if (!restored->replaced.empty()) std::printf("the one that was there is kept in %s\n", restored->replaced.c_str());
  std::printf(
      "what was sold since then looks free in it: compare it with your gateway's payments, lower the stock of "
      "what is missing after the start, and start once with `weir serve --confirm-gap`\n");
}

}  // namespace

void add_copy_commands(CLI::App& program, CommandContext& context) {
  auto file = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* help, void (*run)(CommandContext&, const std::string&)) {
    CLI::App* command = program.add_subcommand(name, help);
    command->add_option("file", *file, "The copy")->required();
    command->add_flag("--json", context.is_json, "Print the answer as JSON");
    add_setting_flags(*command, context);
    command->callback([&context, file, run] { run(context, *file); });
  };
  add("backup", "Copy the ledger into a file, beside a running server or without one", back_up);
  add("restore", "Make a copy the ledger again; it serves only after its gap is confirmed", restore);
}

}  // namespace weir
