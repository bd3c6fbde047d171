#include "metrics/process_use.h"

#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace weir {
namespace {

double seconds(const timeval& span) {
  return static_cast<double>(span.tv_sec) + static_cast<double>(span.tv_usec) / 1e6;
}

}  // namespace

ProcessUse read_process_use() {
  ProcessUse use;
  rusage spent{};
  if (::getrusage(RUSAGE_SELF, &spent) == 0) use.cpu_seconds = seconds(spent.ru_utime) + seconds(spent.ru_stime);
  std::ifstream pages("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  if (pages >> all >> resident) use.resident_bytes = resident * ::sysconf(_SC_PAGESIZE);
  return use;
}

}  // namespace weir
