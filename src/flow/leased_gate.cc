#include "flow/leased_gate.h"

#include "base/log.h"
#include "config/limits.h"

#include <algorithm>

namespace weir {

bool LeasedGate::attach(SaleNo sale) {
  const auto state = lease_.open_at(sale, clock_.ticks());
  const auto catalog = catalog_.get();
  return state && catalog != nullptr && attach_at(gate_, *state, *catalog);
}

Result<void> LeasedGate::reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline deadline) {
  for (Verdict& verdict : verdicts) {
    verdict = {};
    verdict.admission = Admission::closed;
  }
  std::vector<bool> is_done(claims.size(), false);
  for (std::size_t first = 0; first < claims.size(); ++first) {
    if (is_done[first]) continue;
    const SaleNo sale = claims[first].sale;
    places_.clear();
    for (std::size_t i = first; i < claims.size(); ++i) {
      if (claims[i].sale != sale) continue;
      is_done[i] = true;
      places_.push_back(i);
    }
    if (attach(sale)) reserve_of_sale(sale, places_, claims, verdicts, deadline);
  }
  return {};
}

void LeasedGate::reserve_of_sale(SaleNo sale, std::span<const std::size_t> places, std::span<const Claim> claims,
                                 std::span<Verdict> verdicts, Deadline deadline) {
  claims_.clear();
  for (const std::size_t place : places) claims_.push_back(claims[place]);
  verdicts_.assign(claims_.size(), Verdict{});
  const auto reserved = gate_.reserve(claims_, verdicts_, deadline);
  if (!reserved) {
    log::warn("gate_not_answering", {{"sale", std::int64_t{sale.value}},
                                     {"trouble", name(gate_.trouble(sale))},
                                     {"message", reserved.error().message}});
    const bool is_unknown = reserved.error().failure == Failure::timed_out;
    for (const std::size_t place : places) {
      verdicts[place].admission = is_unknown ? Admission::unknown : Admission::closed;
    }
    return;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    Verdict& verdict = verdicts[places[i]];
    verdict = verdicts_[i];
    // An answer of the gate's memory is not enough for a 202: what the ledger may lack goes to the log again.
    if (verdict.admission == Admission::repeated && !verdict.recorded) verdict.admission = Admission::in_flight;
  }
}

Result<void> LeasedGate::restock(ItemNo item, std::int64_t delta, std::uint64_t change_id, Deadline deadline) {
  const auto catalog = catalog_.get();
  const Item* const found = catalog == nullptr ? nullptr : catalog->item(item);
  if (found == nullptr || !attach(found->sale)) return fail(Failure::unavailable, "the sale's gate is not open");
  return gate_.restock(item, delta, change_id, deadline);
}

Result<void> LeasedGate::each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) {
  const auto catalog = catalog_.get();
  if (catalog == nullptr) return {};
  for (const Sale& sale : catalog->sales()) {
    if (!attach(sale.no)) {
      gate_.detach(sale.no);  // What is attached is asked; a gate that may not be believed is left out.
    }
  }
  return gate_.each_hold(each, deadline);
}

Result<Shelf> LeasedGate::shelf(ItemNo item, Deadline deadline) {
  const auto catalog = catalog_.get();
  const Item* const found = catalog == nullptr ? nullptr : catalog->item(item);
  if (found == nullptr || !attach(found->sale)) return fail(Failure::unavailable, "the sale's gate is not open");
  return gate_.shelf(item, deadline);
}

Result<std::optional<Claim>> LeasedGate::find(OrderId order, Deadline deadline) {
  const auto catalog = catalog_.get();
  bool is_complete = catalog != nullptr;
  for (const Sale& sale : catalog == nullptr ? std::vector<Sale>{} : catalog->sales()) {
    const auto states = lease_.states();
    if (states != nullptr && !states->of_sale.contains(sale.no)) continue;  // It never had a gate.
    if (!attach(sale.no)) {
      is_complete = false;
      continue;
    }
    const auto held = gate_.find_hold(sale.no, order, deadline);
    if (held && *held) return std::optional{(*held)->claim};
    if (!held) is_complete = false;
  }
  if (!is_complete) return fail(Failure::unavailable, "a gate could not be asked");
  return std::optional<Claim>{};
}

}  // namespace weir
