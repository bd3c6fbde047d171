#pragma once

#include "base/result.h"
#include "base/time.h"
#include "queue/log_queue.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weir {

/// Carries the question where the log ends from the threads that want to know to the one that owns the consumer.
///
/// An answer is always younger than the question: what was acknowledged before `ask` lies below the marks it gives.
/// Threads: `ask` from any, `answer` from the consumer's owner. Blocking: `ask` until the deadline, `answer` as the
/// log.
class WorkerMarks {
 public:
  explicit WorkerMarks(const Clock& clock) : clock_(clock) {}

  /// Failures: those of the log; `unavailable` when the owner did not come to it in time.
  [[nodiscard]] Result<LogRanges> ask(Deadline deadline);
  /// Answers everything that has been asked; how many questions. Called once a turn.
  [[nodiscard]] Result<std::size_t> answer(LogConsumer& log, Ticks now);
  /// Nobody will answer any more.
  void close();

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::uint64_t asked_count_ = 0;
  std::uint64_t answered_count_ = 0;  // The newest question that `last_` is younger than.
  bool is_closed_ = false;
  Result<LogRanges> last_{LogRanges{}};
};

}  // namespace weir
