#include "app/command.h"
#include "app/shop_run.h"
#include "app/wiring.h"
#include "config/settings_text.h"

#include <csignal>
#include <cstdio>
#include <memory>

#include <sys/prctl.h>

namespace weir {

void add_serve_command(CLI::App& program, CommandContext& context) {
  CLI::App* command =
      program.add_subcommand("serve", "Serve everything in one process: front door, gate, ledger, page");
  auto is_print = std::make_shared<bool>(false);
  auto confirms_gap = std::make_shared<bool>(false);
  auto is_guest = std::make_shared<bool>(false);
  command->add_flag("--print-config", *is_print, "Print every setting with its unit, bounds and source, then exit");
  command->add_flag("--confirm-gap", *confirms_gap,
                    "Serve a ledger that was restored from a copy: you know what was sold since and is not in it");
  command->add_flag("--end-with-parent", *is_guest, "End when the program that started this one ends")->group("");
  add_setting_flags(*command, context);
  command->callback([&context, is_print, confirms_gap, is_guest] {
    if (*is_guest) static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGTERM));
    const auto settings = read_settings(context);
    if (!settings) return give_up(context, Exit::usage, settings.error());
    if (*is_print) {
      std::printf("%s", print_config(*settings).c_str());
      return;
    }
    run_shop(context, *settings, embedded_seller(), [&settings, confirms_gap]() -> Result<void> {
      if (*confirms_gap) return confirm_ledger_gap(*settings);
      return {};
    });
  });
}

}  // namespace weir
