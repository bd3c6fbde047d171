#include "app/command.h"
#include "app/memory_end.h"
#include "base/log.h"

#include <csignal>
#include <cstdio>

/// Reads the command line and hands on to the command; nothing else.
int main(int count, char** arguments) {
  using namespace weir;
  std::signal(SIGPIPE, SIG_IGN);
  end_when_memory_ends();
  CommandContext context;
  context.program = arguments[0];
  CLI::App program{
      "weir sells 10,000 items in one second and never sells one twice.\n"
      "See a whole sale with `weir demo`; make your own with `weir sale create`, `weir item add` and `weir serve`."};
  program.require_subcommand(1);
  program.set_version_flag("--version", "weir " WEIR_VERSION);
  program.footer(
      "Exit codes: 0 done, 1 the check failed or the thing was refused, 2 wrong use, 3 the environment is not fit.");
  add_demo_command(program, context);
  add_serve_command(program, context);
  add_api_command(program, context);
  add_worker_command(program, context);
  add_migrate_command(program, context);
  add_shop_commands(program, context);
  add_token_command(program, context);
  add_rehearse_command(program, context);
  add_proof_commands(program, context);
  add_doctor_command(program, context);
  add_copy_commands(program, context);
  add_draw_command(program, context);
  add_plan_command(program, context);
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    const int code = program.exit(error);
    return code == 0 ? 0 : static_cast<int>(Exit::usage);
  }
  return static_cast<int>(context.exit);
}
