#pragma once

#include "config/doctor.h"
#include "config/settings.h"

namespace weir {

/// Gathers the facts of this machine that `examine` judges. What cannot be read stays "not known".
/// Blocking: reads a few small files.
[[nodiscard]] Machine look_at_machine(const Settings& settings);

/// Lets this process open as many files and connections as it may.
void raise_open_files_limit();

}  // namespace weir
