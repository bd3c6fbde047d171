#pragma once

#include "ledger/shared_ledger.h"
#include "queue/log_queue.h"

#include <cstdint>
#include <span>

namespace weir {

/// How many records below the ends are not recorded yet. A partition that the ledger does not know has none recorded.
[[nodiscard]] std::int64_t unread_below(const LogRanges& ends, std::span<const LogMark> recorded);

/// Whether everything below the ends has been recorded.
[[nodiscard]] inline bool is_read_up_to(const LogRanges& ends, std::span<const LogMark> recorded) {
  return unread_below(ends, recorded) == 0;
}

}  // namespace weir
