#pragma once

#include "config/settings.h"

#include <string>

/// The settings as people read them. Pure; made from the same declarations as everything else.
namespace weir {

/// What `weir serve --print-config` prints: a lawful `weir.toml`, one line a setting, with unit, bounds and source
/// behind it. The value of a secret is not in it; paths of secret files are.
[[nodiscard]] std::string print_config(const Settings& settings);

/// The page `docs/settings.md`.
[[nodiscard]] std::string settings_page();

}  // namespace weir
