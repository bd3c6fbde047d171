#include "app/rounds.h"

namespace weir {

void Rounds::start() {
  thread_ = std::thread{[this] { run(); }};
}

void Rounds::stop() {
  {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Rounds::run() {
  while (true) {
    const Micros rest = round_();
    std::unique_lock lock{mutex_};
    if (stopped_.wait_for(lock, rest, [this] { return is_stopping_; })) return;
  }
}

}  // namespace weir
