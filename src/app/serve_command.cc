#include "app/command.h"
#include "app/machine.h"
#include "app/wiring.h"
#include "base/log.h"
#include "config/doctor.h"
#include "config/settings_text.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>

#include <sys/prctl.h>

#include <fmt/format.h>

namespace weir {
namespace {

/// Signals are taken by `sigtimedwait` on this thread; every other thread inherits the mask and sees none.
sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

bool is_fit(CommandContext& context, const Settings& settings) {
  const auto findings = examine(settings, look_at_machine(settings));
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::advice) continue;
    log::warn("unfit",
              {{"severity", name(finding.severity)}, {"setting", finding.setting}, {"message", finding.message}});
  }
  if (!refuses_start(settings, findings)) return true;
  give_up(context, Exit::unfit, "refused in production mode: run `weir doctor` and mend what is fatal");
  return false;
}

void serve_until_told(Shop& shop) {
  const sigset_t signals = watched_signals();
  while (!shop.is_corrupt()) {
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    const int signal = ::sigtimedwait(&signals, nullptr, &second);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP) shop.reload_keys();
    shop.look_around();
  }
}

void serve(CommandContext& context) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  log::start(settings->log_level);
  const sigset_t signals = watched_signals();
  static_cast<void>(::pthread_sigmask(SIG_BLOCK, &signals, nullptr));
  raise_open_files_limit();
  if (!is_fit(context, *settings)) return;
  auto shop = Shop::open(*settings, context.clock);
  if (!shop) return give_up(context, exit_of(shop.error()), shop.error().message);
  if (const auto started = (*shop)->start(); !started)
    return give_up(context, exit_of(started.error()), started.error().message);
  std::printf("weir serves on port %d, operations on port %d\n", (*shop)->port(), (*shop)->ops_port());
  std::fflush(stdout);
  log::info("serving", {{"port", std::int64_t{(*shop)->port()}}, {"data", settings->data}});
  serve_until_told(**shop);
  log::info("stopping");
  (*shop)->stop();
  context.exit = (*shop)->is_corrupt() ? Exit::failed : Exit::done;
  log::info("stopped");
}

}  // namespace

void add_serve_command(CLI::App& program, CommandContext& context) {
  CLI::App* command =
      program.add_subcommand("serve", "Serve everything in one process: front door, gate, ledger, page");
  auto is_print = std::make_shared<bool>(false);
  auto is_guest = std::make_shared<bool>(false);
  command->add_flag("--print-config", *is_print, "Print every setting with its unit, bounds and source, then exit");
  command->add_flag("--end-with-parent", *is_guest, "End when the program that started this one ends")->group("");
  add_setting_flags(*command, context);
  command->callback([&context, is_print, is_guest] {
    if (*is_guest) static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGTERM));
    if (!*is_print) return serve(context);
    const auto settings = read_settings(context);
    if (!settings) return give_up(context, Exit::usage, settings.error());
    std::printf("%s", print_config(*settings).c_str());
  });
}

}  // namespace weir
