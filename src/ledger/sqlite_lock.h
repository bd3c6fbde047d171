#pragma once

#include "base/log.h"
#include "ledger/sqlite_ledger.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {

/// Holds the folder for this process. The kernel lets go of it when the process ends, however it ends, so a lock file
/// that was left behind refuses nobody.
struct SqliteLedger::Lock {
  explicit Lock(int descriptor_in) : descriptor(descriptor_in) {}
  ~Lock() { ::close(descriptor); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  static Result<std::unique_ptr<Lock>> take(const std::string& folder) {
    const std::string path = fmt::format("{}/ledger.lock", folder);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) {
      return fail(Failure::unfit, fmt::format("cannot open '{}': {} (data)", path, std::strerror(errno)));
    }
    auto lock = std::make_unique<Lock>(descriptor);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      return fail(Failure::unfit, fmt::format("process {} serves the ledger in '{}' already: stop it, or use another "
                                              "folder (data)",
                                              lock->holder(), folder));
    }
    const std::string pid = fmt::format("{}\n", ::getpid());
    const bool is_written = ::ftruncate(descriptor, 0) == 0 &&
                            ::pwrite(descriptor, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
    if (!is_written) log::warn("lock_file_without_pid", {{"path", path}});  // For people only; the lock holds.
    return lock;
  }

  [[nodiscard]] std::string holder() const {
    std::array<char, 16> text{};
    const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
    const std::string_view seen{text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
    const std::size_t digits = std::min(seen.find_first_not_of("0123456789"), seen.size());
    return digits == 0 ? "unknown" : std::string{seen.substr(0, digits)};
  }

  int descriptor;
};

}  // namespace weir
