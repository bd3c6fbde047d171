#include "app/command.h"
#include "app/distributed_wiring.h"
#include "base/json_text.h"
#include "config/stores.h"
#include "http/answers.h"
#include "ledger/ledger_move.h"

#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace weir {
namespace {

void print_moved(const CommandContext& context, std::int64_t version, const LedgerMove& move) {
  if (context.is_json) {
    std::string json = fmt::format("{{\"schema\":{},\"moved\":{{", version);
    for (std::size_t i = 0; i < move.tables.size(); ++i) {
      if (i > 0) json += ',';
      append_json_string(json, move.tables[i].table);
      json += fmt::format(":{}", move.tables[i].rows);
    }
    std::printf("%s},\"audit\":%s}\n", json.c_str(), http::audit_json(move.audit).c_str());
    return;
  }
  for (const MovedTable& table : move.tables) {
    std::printf("%-24s %10lld rows\n", table.table.c_str(), static_cast<long long>(table.rows));
  }
  std::printf("the ledger has moved: every invariant holds, and both say the same\n");
}

void migrate(CommandContext& context, const std::string& folder) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  if (const auto fit = check_stores(*settings, ProcessRole::tool); !fit) {
    return give_up(context, exit_of(fit.error()), fit.error().message);
  }
  if (settings->ledger != LedgerKind::postgres) {
    return give_up(context, Exit::unfit,
                   "ledger sqlite makes its own schema when it is opened: there is nothing to do");
  }
  const auto version = migrate_ledger(*settings, context.clock, context.random);
  if (!version) return give_up(context, exit_of(version.error()), version.error().message);
  if (folder.empty()) {
    const std::string text = context.is_json ? fmt::format("{{\"schema\":{}}}", *version)
                                             : fmt::format("the ledger's schema is version {}", *version);
    std::printf("%s\n", text.c_str());
    return;
  }
  const auto target = postgres_options(*settings);
  if (!target) return give_up(context, exit_of(target.error()), target.error().message);
  SqliteOptions source;
  source.data = folder;
  source.reserve_bytes = 0;
  const auto moved = move_ledger(source, *target, context.clock, context.random);
  if (!moved) return give_up(context, exit_of(moved.error()), moved.error().message);
  print_moved(context, *version, *moved);
}

}  // namespace

void add_migrate_command(CLI::App& program, CommandContext& context) {
  CLI::App* command = program.add_subcommand(
      "migrate",
      "Bring the schema of the ledger in PostgreSQL up to date; repeatable\n\n"
      "With --from-sqlite, move a stopped shop's ledger into it: all or nothing, proved by an audit of both. Keep the "
      "keys of the folder, and never serve the folder again.");
  auto folder = std::make_shared<std::string>();
  command->add_option("--from-sqlite", *folder, "The data folder of the shop that moves; the target must be empty");
  command->add_flag("--json", context.is_json, "Print the answer as JSON");
  add_setting_flags(*command, context);
  command->callback([&context, folder] { migrate(context, *folder); });
}

}  // namespace weir
