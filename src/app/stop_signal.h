#pragma once

#include <atomic>

namespace weir {

/// Becomes true at the first SIGINT or SIGTERM; the second one ends the process as it always did. For commands that
/// run for a while and then have something to say, or to clear away. Installed by the first call.
[[nodiscard]] const std::atomic<bool>& stop_on_signal();

}  // namespace weir
