#include "app/command.h"
#include "app/machine.h"
#include "app/worker_wiring.h"
#include "base/log.h"
#include "config/settings_text.h"

#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>

#include <sys/prctl.h>
#include <unistd.h>

namespace weir {
namespace {

/// Every step has a deadline of its own; should several add up, the process ends all the same: it may be cut off
/// anywhere.
constexpr unsigned kStopWithinS = 10;

/// Signals are taken by `sigtimedwait` on this thread; every other thread inherits the mask and sees none.
sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  return signals;
}

void end_now(int) { ::_exit(static_cast<int>(Exit::failed)); }

void work(CommandContext& context) {
  const auto settings = read_settings(context);
  if (!settings) return give_up(context, Exit::usage, settings.error());
  log::start(settings->log_level);
  const sigset_t signals = watched_signals();
  static_cast<void>(::pthread_sigmask(SIG_BLOCK, &signals, nullptr));
  raise_open_files_limit();
  auto process = WorkerProcess::open(*settings, context.clock);
  if (!process) return give_up(context, exit_of(process.error()), process.error().message);
  (*process)->start();
  std::printf("weir works, operations on port %d\n", (*process)->ops_port());
  std::fflush(stdout);
  log::info("working", {{"ops_port", std::int64_t{(*process)->ops_port()}}});
  while (!(*process)->is_corrupt()) {
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    if (::sigtimedwait(&signals, nullptr, &second) > 0) break;
  }
  log::info("stopping");
  std::signal(SIGALRM, end_now);
  ::alarm(kStopWithinS);
  (*process)->stop();
  context.exit = (*process)->is_corrupt() ? Exit::failed : Exit::done;
  process->reset();
  log::info("stopped");
}

}  // namespace

void add_worker_command(CLI::App& program, CommandContext& context) {
  CLI::App* command = program.add_subcommand(
      "worker",
      "Record what `weir api` has admitted, and keep gate, log and ledger in step; run as many as you like\n\n"
      "Needs gate = redis, queue = kafka and ledger = postgres, whose schema `weir migrate` has made.");
  auto is_print = std::make_shared<bool>(false);
  auto is_guest = std::make_shared<bool>(false);
  command->add_flag("--print-config", *is_print, "Print every setting with its unit, bounds and source, then exit");
  command->add_flag("--end-with-parent", *is_guest, "End when the program that started this one ends")->group("");
  add_setting_flags(*command, context);
  command->callback([&context, is_print, is_guest] {
    if (*is_guest) static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGTERM));
    if (!*is_print) return work(context);
    const auto settings = read_settings(context);
    if (!settings) return give_up(context, Exit::usage, settings.error());
    std::printf("%s", print_config(*settings).c_str());
  });
}

}  // namespace weir
