#pragma once

#include "app/wiring.h"

namespace weir {

/// A node on a shared gate, log and ledger: `weir api`.
[[nodiscard]] SellerKind node_seller();

}  // namespace weir
