#pragma once

#include "app/proofs.h"
#include "base/random.h"
#include "config/settings.h"

namespace weir {

/// The shared stores that the settings name, for proofs. `clock` and `random` outlive what is opened.
[[nodiscard]] ProofStores proof_stores(const Settings& settings, const Clock& clock, Random& random);

}  // namespace weir
