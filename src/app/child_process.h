#pragma once

#include "base/result.h"
#include "base/time.h"

#include <string>
#include <vector>

#include <sys/types.h>

namespace weir {

/// A program that this process started and will stop: the server of a demonstration.
///
/// Threads: one owner thread. The destructor stops the child if it still runs.
class ChildProcess {
 public:
  /// Starts it with its standard output on a pipe; standard error stays where ours is.
  [[nodiscard]] static Result<ChildProcess> start(const std::vector<std::string>& arguments);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The next line that it prints. Fails when it ends first, or at the deadline.
  [[nodiscard]] Result<std::string> read_line(Deadline deadline, const Clock& clock);
  [[nodiscard]] bool is_running();
  /// Asks it to end (SIGTERM), waits up to ten seconds, then kills it.
  void stop();

 private:
  ChildProcess(pid_t pid, int output) : pid_(pid), output_(output) {}

  pid_t pid_ = -1;
  int output_ = -1;
  std::string text_;
};

}  // namespace weir
