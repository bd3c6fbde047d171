#include "app/worker_totals.h"

#include "config/limits.h"

#include <algorithm>
#include <utility>

namespace weir {

std::vector<SaleNo> WorkerTotals::compare(std::span<const ItemTotals> seen, Ticks now) {
  std::unordered_map<ItemNo, Ticks> apart;
  std::vector<SaleNo> doubted;
  for (const ItemTotals& totals : seen) {
    if (totals.in_ledger == totals.in_gate) continue;
    const auto before = apart_since_.find(totals.item);
    const Ticks since = before == apart_since_.end() ? now : before->second;
    if (now - since < Micros{kTotalsApartUs}) {
      apart[totals.item] = since;
      continue;
    }
    // The build takes longer than this: the time begins anew.
    apart[totals.item] = now;
    if (std::ranges::find(doubted, totals.sale) == doubted.end()) doubted.push_back(totals.sale);
  }
  apart_since_ = std::move(apart);
  return doubted;
}

}  // namespace weir
