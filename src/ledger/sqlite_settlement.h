#pragma once

#include "ledger/ledger.h"

#include <optional>
#include <utility>

namespace weir::sqlite {

/// A settlement without an effect on the gate.
[[nodiscard]] inline Settlement answer(Settled settled, std::optional<Order> order = std::nullopt,
                                       std::optional<Payment> payment = std::nullopt) {
  return {.settled = settled, .effect = GateEffect::none, .order = std::move(order), .payment = std::move(payment)};
}

}  // namespace weir::sqlite
