#pragma once

#include "base/time.h"

#include <atomic>

namespace weir {

/// Puts a thread to sleep until somebody has work for it. A wake costs a system call only if the thread sleeps.
///
/// Use: `prepare()`, look for work once more, then `wait` or `cancel`. Work that is made visible before `wake` is then
/// either seen by the second look or ends the wait.
/// Threads: `wake` from any; the rest from the one that sleeps.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void prepare() { static_cast<void>(sleeping_.exchange(true, std::memory_order_seq_cst)); }
  void cancel() { sleeping_.store(false, std::memory_order_relaxed); }
  void wait(Micros most);
  void wake();

 private:
  int event_;
  std::atomic<bool> sleeping_{false};
};

}  // namespace weir
