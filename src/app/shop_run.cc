#include "app/shop_run.h"

#include "app/machine.h"
#include "base/log.h"
#include "config/doctor.h"

#include <csignal>
#include <cstdio>
#include <ctime>

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

}  // namespace

void run_shop(CommandContext& context, const Settings& settings, const SellerKind& kind,
              const std::function<Result<void>()>& before) {
  log::start(settings.log_level);
  const sigset_t signals = watched_signals();
  static_cast<void>(::pthread_sigmask(SIG_BLOCK, &signals, nullptr));
  raise_open_files_limit();
  if (!is_fit(context, settings)) return;
  if (before) {
    if (const auto done = before(); !done) return give_up(context, exit_of(done.error()), done.error().message);
  }
  auto shop = Shop::open(settings, context.clock, kind);
  if (!shop) return give_up(context, exit_of(shop.error()), shop.error().message);
  if (const auto started = (*shop)->start(); !started)
    return give_up(context, exit_of(started.error()), started.error().message);
  std::printf("weir serves on port %d, operations on port %d\n", (*shop)->port(), (*shop)->ops_port());
  std::fflush(stdout);
  log::info("serving", {{"port", std::int64_t{(*shop)->port()}}, {"data", settings.data}});
  serve_until_told(**shop);
  log::info("stopping");
  (*shop)->stop();
  context.exit = (*shop)->is_corrupt() ? Exit::failed : Exit::done;
  log::info("stopped");
}

}  // namespace weir
