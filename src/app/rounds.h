#pragma once

#include "base/time.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace weir {

/// A thread that does one bounded thing again and again, with a rest in between.
///
/// Threads: `start` and `stop` from the owner. Without `start` there is no thread.
class Rounds {
 public:
  /// `round` says how long to rest after it.
  explicit Rounds(std::function<Micros()> round) : round_(std::move(round)) {}
  ~Rounds() { stop(); }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  void start();
  /// Lets the round under way end, then joins. Repeatable.
  void stop();

 private:
  void run();

  const std::function<Micros()> round_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;  // Under `mutex_`.
  std::thread thread_;
};

}  // namespace weir
