#include "app/worker_marks.h"

#include "config/limits.h"

#include <algorithm>
#include <utility>

namespace weir {

Result<LogRanges> WorkerMarks::ask(Deadline deadline) {
  std::unique_lock lock{mutex_};
  const std::uint64_t mine = ++asked_count_;
  const Micros wait = std::max(Micros{0}, deadline - clock_.ticks());
  answered_.wait_for(lock, wait, [&] { return is_closed_ || answered_count_ >= mine; });
  if (answered_count_ >= mine) return last_;
  return fail(Failure::unavailable, "the recorder has not asked the log where it ends yet");
}

Result<std::size_t> WorkerMarks::answer(LogConsumer& log, Ticks now) {
  std::uint64_t asked = 0;
  std::size_t count = 0;
  {
    const std::lock_guard lock{mutex_};
    asked = asked_count_;
    count = static_cast<std::size_t>(asked - answered_count_);
  }
  if (count == 0) return 0;
  auto ranges = log.ranges(now + Micros{kSharedWaitUs});
  {
    const std::lock_guard lock{mutex_};
    last_ = std::move(ranges);
    answered_count_ = asked;
  }
  answered_.notify_all();
  return count;
}

void WorkerMarks::close() {
  {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
  }
  answered_.notify_all();
}

}  // namespace weir
