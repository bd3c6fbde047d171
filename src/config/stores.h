#pragma once

#include "base/result.h"
#include "config/settings.h"

#include <cstdint>
#include <string>
#include <string_view>

/// Which stores go together, and who can work on them.
namespace weir {

/// What a process is for, as far as its stores matter.
enum class ProcessRole : std::uint8_t {
  serve,   // Everything in one process: the gate is its memory.
  api,     // A front door on a shared gate.
  worker,  // Records what the front doors have admitted.
  tool,    // Looks at the ledger or changes it, and ends.
};

/// `memory + direct + sqlite`.
[[nodiscard]] std::string stores_text(const Settings& settings);

/// Whether the chosen stores work together, have what they need to be reached, and suit the role. Pure.
/// Failures: `unfit`, with what is wrong and the settings that would change it.
[[nodiscard]] Result<void> check_stores(const Settings& settings, ProcessRole role);

}  // namespace weir
