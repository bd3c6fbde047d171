#include "app/stop_signal.h"

#include <csignal>

namespace weir {
namespace {

std::atomic<bool> is_told{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch what cannot block");

void tell(int signal) {
  is_told.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_on_signal() {
  static const bool is_installed = [] {
    std::signal(SIGINT, &tell);
    std::signal(SIGTERM, &tell);
    return true;
  }();
  static_cast<void>(is_installed);
  return is_told;
}

}  // namespace weir
