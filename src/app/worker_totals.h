#pragma once

#include "base/time.h"
#include "domain/sale.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir {

/// An item's total as the ledger and as the gate have it.
struct ItemTotals {
  SaleNo sale;
  ItemNo item;
  std::int64_t in_ledger = 0;
  std::int64_t in_gate = 0;
};

/// Finds gates whose totals stay apart from the ledger's: a change of stock that never reached them.
///
/// Ledger and gate are not asked at one moment, and a change takes its way from one to the other; so only a difference
/// that is met again and again for kTotalsApartUs counts. Pure.
class WorkerTotals {
 public:
  /// `seen` is everything that could be compared now; what is not in it is forgotten. The sales whose gates
  /// need another build, once every kTotalsApartUs.
  [[nodiscard]] std::vector<SaleNo> compare(std::span<const ItemTotals> seen, Ticks now);

 private:
  std::unordered_map<ItemNo, Ticks> apart_since_;
};

}  // namespace weir
