#include "app/command.h"
#include "app/node_wiring.h"
#include "app/shop_run.h"
#include "config/settings_text.h"

#include <csignal>
#include <cstdio>
#include <memory>

#include <sys/prctl.h>

namespace weir {

void add_api_command(CLI::App& program, CommandContext& context) {
  CLI::App* command = program.add_subcommand(
      "api",
      "Serve buyers from a gate, a log and a ledger that other processes share; run as many as you like\n\n"
      "Needs gate = redis, queue = kafka and ledger = postgres, whose schema `weir migrate` has made, and workers.");
  auto is_print = std::make_shared<bool>(false);
  auto is_guest = std::make_shared<bool>(false);
  command->add_flag("--print-config", *is_print, "Print every setting with its unit, bounds and source, then exit");
  command->add_flag("--end-with-parent", *is_guest, "End when the program that started this one ends")->group("");
  add_setting_flags(*command, context);
  command->callback([&context, is_print, is_guest] {
    if (*is_guest) static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGTERM));
    const auto settings = read_settings(context);
    if (!settings) return give_up(context, Exit::usage, settings.error());
    if (!*is_print) return run_shop(context, *settings, node_seller());
    std::printf("%s", print_config(*settings).c_str());
  });
}

}  // namespace weir
