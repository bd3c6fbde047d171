#include "flow/lease.h"

#include "config/limits.h"

#include <utility>

namespace weir {

Result<std::size_t> Lease::step(Ticks now) {
  if (has_looked_ && looked_at_ != Ticks{} && now - looked_at_ < Micros{kLeaseLookUs}) return 0;
  looked_at_ = now;
  has_looked_ = true;
  auto read = ledger_.gate_states(now + Micros{kSharedWaitUs});
  if (!read) return std::unexpected(read.error());
  auto states = std::make_shared<GateStates>();
  states->asked_at = now;
  for (GateState& state : *read) states->of_sale.emplace(state.sale, std::move(state));
  const std::size_t count = states->of_sale.size();
  states_.set(std::move(states));
  return count;
}

std::optional<GateState> Lease::open_at(SaleNo sale, Ticks now) const {
  const auto states = states_.get();
  if (states == nullptr || now - states->asked_at >= Micros{kLeaseUs}) return std::nullopt;
  const auto found = states->of_sale.find(sale);
  if (found == states->of_sale.end() || found->second.phase != GatePhase::open) return std::nullopt;
  return found->second;
}

std::optional<GatePlace> place_of(const GateState& state, const Catalog& catalog) {
  const Sale* const sale = catalog.sale(state.sale);
  const Tenant* const tenant = sale == nullptr ? nullptr : catalog.tenant(sale->tenant);
  if (tenant == nullptr) return std::nullopt;
  return GatePlace{.sale = state.sale,
                   .tenant = tenant->no,
                   .name = tenant->id + ":" + sale->id,
                   .epoch = state.epoch,
                   .pin = state.pin};
}

bool attach_at(SharedGate& gate, const GateState& state, const Catalog& catalog) {
  const GatePlace* const now = gate.place(state.sale);
  if (now != nullptr && now->epoch == state.epoch && now->pin == state.pin) return true;
  const auto place = place_of(state, catalog);
  return place && gate.attach(*place).has_value();
}

}  // namespace weir
