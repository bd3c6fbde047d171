#include "flow/log_end.h"

#include <algorithm>

namespace weir {

std::int64_t unread_below(const LogRanges& ends, std::span<const LogMark> recorded) {
  std::int64_t unread = 0;
  for (const LogRange& range : ends.partitions) {
    const auto mark = std::ranges::find(recorded, range.partition, &LogMark::partition);
    const std::int64_t next = mark == recorded.end() ? 0 : mark->offset;
    unread += std::max<std::int64_t>(0, range.end - next);
  }
  return unread;
}

}  // namespace weir
