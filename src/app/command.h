#pragma once

#include "app/exit.h"
#include "base/result.h"
#include "base/system_clock.h"
#include "base/system_random.h"
#include "config/settings.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace weir {

/// What every command is given: the real clock and random source, and where the settings come from.
struct CommandContext {
  SystemClock clock;
  SystemRandom random;
  std::string program;                       // How this binary was called.
  std::map<std::string, std::string> flags;  // Settings given as flags, by key.
  std::string config_file;                   // `--config`; empty: ./weir.toml if it exists.
  bool is_json = false;
  Exit exit = Exit::done;  // What the command ended with.
};

/// Adds `--config` and a flag for every setting that may stand on a command line.
void add_setting_flags(CLI::App& command, CommandContext& context);

/// Reads flags, environment and file. Prints what is wrong and sets `context.exit` when it cannot be used.
[[nodiscard]] Parsed<Settings> read_settings(const CommandContext& context);

/// Prints a sentence to standard error and sets the exit code.
void give_up(CommandContext& context, Exit exit, std::string_view message);

/// The exit code that a failure means: an unfit environment is 3, everything else 1.
[[nodiscard]] Exit exit_of(const Error& error);

// One file a family of commands; each adds its commands to the program.
void add_serve_command(CLI::App& program, CommandContext& context);
void add_api_command(CLI::App& program, CommandContext& context);
void add_shop_commands(CLI::App& program, CommandContext& context);
void add_token_command(CLI::App& program, CommandContext& context);
void add_proof_commands(CLI::App& program, CommandContext& context);
void add_rehearse_command(CLI::App& program, CommandContext& context);
void add_demo_command(CLI::App& program, CommandContext& context);
void add_doctor_command(CLI::App& program, CommandContext& context);
void add_copy_commands(CLI::App& program, CommandContext& context);
void add_draw_command(CLI::App& program, CommandContext& context);
void add_plan_command(CLI::App& program, CommandContext& context);
void add_worker_command(CLI::App& program, CommandContext& context);
void add_migrate_command(CLI::App& program, CommandContext& context);

}  // namespace weir
