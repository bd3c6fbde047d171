#pragma once

#include "crowd/crowd.h"

#include <cstdint>

namespace weir {

/// Tells a person on standard error how far a crowd is: one line that is drawn anew on a terminal, otherwise a plain
/// line a second.
///
/// Threads: one. Blocking: writes to standard error.
class Progress {
 public:
  Progress();
  void show(const crowd::Progress& at);
  /// Leaves the last line of a terminal in place.
  void end();

 private:
  bool is_terminal_;
  bool is_drawn_ = false;
  std::int64_t next_line_us_ = 0;
};

}  // namespace weir
