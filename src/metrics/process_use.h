#pragma once

#include <cstdint>

namespace weir {

/// What this process has used of the machine.
struct ProcessUse {
  double cpu_seconds = 0;  // User and system, all threads, since the start.
  std::int64_t resident_bytes = 0;
};

/// Asks the kernel. Threads: any. Blocking: two system calls. What cannot be had is 0.
[[nodiscard]] ProcessUse read_process_use();

}  // namespace weir
