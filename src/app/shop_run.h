#pragma once

#include "app/command.h"
#include "app/wiring.h"
#include "base/result.h"
#include "config/settings.h"

#include <functional>

namespace weir {

/// Opens a shop and serves until a signal says otherwise; what went wrong becomes the exit code. Call it from the first
/// thread, before there are others. `before`: done when the machine is fit, before anything is opened.
void run_shop(CommandContext& context, const Settings& settings, const SellerKind& kind,
              const std::function<Result<void>()>& before = {});

}  // namespace weir
