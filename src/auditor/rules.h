#pragma once

#include "auditor/auditor.h"
#include "auditor/lives.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace weir::auditor {

/// What every group of rules works on.
struct Case {
  std::span<const Event> history;
  const Terms& terms;
  const Lives& lives;
  /// Notes a finding. The sentence is only made when it is kept.
  std::function<void(Rule, std::size_t event, const std::function<std::string()>& text)> found;
};

/// Instants, windows and the names of orders: what one or two events alone can show.
void check_events(const Case& audited);
/// Units and numbers: what all orders together can show.
void check_stock(const Case& audited);
/// Limits and refusals that speak of the buyer.
void check_buyers(const Case& audited);
/// What later questions show about an order or the shelf.
void check_observations(const Case& audited);

}  // namespace weir::auditor
