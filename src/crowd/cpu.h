#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace weir::crowd {

/// What a process has used so far: CPU of user and kernel together, and the memory that is resident now.
struct Usage {
  double cpu_s = 0;
  std::uint64_t rss_bytes = 0;
};

/// Of any process that this one may look at; CPU in steps of 10 ms. Null when it is gone.
/// Blocking: reads two small files of the kernel.
[[nodiscard]] std::optional<Usage> usage_of(pid_t process);

/// CPU of the calling thread, which is the whole crowd even when the server is in the same process.
[[nodiscard]] double thread_cpu_s();

/// The parts of `usage_of` that read text, for tests. `stat` is /proc/PID/stat, `status` is /proc/PID/status.
[[nodiscard]] std::optional<double> cpu_from_stat(std::string_view stat, long ticks_per_s);
[[nodiscard]] std::optional<std::uint64_t> rss_from_status(std::string_view status);

}  // namespace weir::crowd
