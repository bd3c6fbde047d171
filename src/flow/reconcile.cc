#include "flow/reconcile.h"

#include <unordered_map>

namespace weir {

Result<Findings> compare(const GateView& view, LedgerReader& ledger, const SipKey& buyer_hash) {
  Findings findings;
  std::unordered_map<OrderId, const Hold*> held;
  held.reserve(view.holds.size());
  for (const Hold& hold : view.holds) held.emplace(hold.order, &hold);

  const auto read = ledger.live_orders([&](const Ended& live, bool sold) {
    ++findings.compared;
    const auto found = held.find(live.order);
    const Hold hold{.order = live.order,
                    .sale = live.sale,
                    .item = live.item,
                    .units = live.units,
                    .numbers = live.numbers,
                    .buyer_key = buyer_key(buyer_hash, live.tenant, live.buyer),
                    .sold = sold,
                    .recorded = true};
    if (found == held.end()) {
      if (!view.in_flight.contains(live.order)) findings.ledger_only.push_back(hold);
      return;
    }
    if (sold && !found->second->sold) findings.unsold.push_back(hold);
    held.erase(found);
  });
  if (!read) return std::unexpected(read.error());
  for (const auto& [order, hold] : held) {
    if (!view.in_flight.contains(order)) findings.gate_only.push_back(*hold);
  }

  const auto shelves = ledger.shelves();
  if (!shelves) return std::unexpected(shelves.error());
  std::unordered_map<ItemNo, std::int64_t> totals;
  for (const auto& [item, shelf] : *shelves) totals.emplace(item, shelf.total);
  for (const auto& [item, shelf] : view.shelves) {
    const auto found = totals.find(item);
    const std::int64_t total = found == totals.end() ? 0 : found->second;
    if (total != shelf.total) findings.totals.push_back({item, shelf.total, total});
  }
  return findings;
}

}  // namespace weir
