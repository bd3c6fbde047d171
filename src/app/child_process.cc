#include "app/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it.

namespace weir {
namespace {

constexpr int kStopTenths = 100;

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return fail(Failure::unfit, fmt::format("pipe: {}", std::strerror(errno)));
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments.front().c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  if (error != 0) {
    ::close(pipe[0]);
    return fail(Failure::unfit, fmt::format("cannot start {}: {}", arguments.front(), std::strerror(error)));
  }
  return ChildProcess{pid, pipe[0]};
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)), text_(std::move(other.text_)) {}

ChildProcess::~ChildProcess() {
  stop();
  if (output_ >= 0) ::close(output_);
}

Result<std::string> ChildProcess::read_line(Deadline deadline, const Clock& clock) {
  while (true) {
    const std::size_t end = text_.find('\n');
    if (end != std::string::npos) {
      std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      return line;
    }
    const Micros left = deadline - clock.ticks();
    pollfd descriptor{.fd = output_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&descriptor, 1, static_cast<int>(left.count() / 1000 + 1)) == 0) {
      return fail(Failure::timed_out, "it has not said that it is ready");
    }
    std::array<char, 4096> room{};
    const ssize_t got = ::read(output_, room.data(), room.size());
    if (got <= 0) return fail(Failure::unavailable, "it ended before it was ready; its messages stand above");
    text_.append(room.data(), static_cast<std::size_t>(got));
  }
}

bool ChildProcess::is_running() {
  if (pid_ < 0) return false;
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

void ChildProcess::stop() {
  if (!is_running()) return;
  ::kill(pid_, SIGTERM);
  for (int tenth = 0; tenth < kStopTenths; ++tenth) {
    if (!is_running()) return;
    static_cast<void>(::poll(nullptr, 0, 100));
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace weir
