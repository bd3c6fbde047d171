#pragma once

namespace weir {

/// Exit codes of the program (the outside promise).
enum class Exit : int { done = 0, failed = 1, usage = 2, unfit = 3 };

}  // namespace weir
