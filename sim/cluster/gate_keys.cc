#include "sim/cluster/gate_keys.h"

#include <algorithm>

namespace weir::cluster {
namespace {

std::unexpected<GateError> no(GateTrouble trouble) {
  return std::unexpected(GateError{trouble, std::string{name(trouble)}});
}

void take(EpochKeys& keys, HoldKind kind, const Claim& claim) {
  keys.items[claim.item].free -= claim.units;
  SharedHold hold;
  hold.claim = claim;
  hold.kind = kind;
  keys.holds[claim.order] = hold;
  EpochKeys::Buyer& buyer = keys.buyers[std::string{claim.buyer.view()}];
  buyer.units += claim.units;
  buyer.newest = claim.order;
}

std::int64_t give_back(EpochKeys& keys, OrderId id) {
  const auto held = keys.holds.find(id);
  if (held == keys.holds.end()) return 0;
  const Claim claim = held->second.claim;
  keys.items[claim.item].free += claim.units;
  const auto buyer = keys.buyers.find(claim.buyer.view());
  buyer->second.units -= claim.units;
  if (buyer->second.units == 0) keys.buyers.erase(buyer);
  keys.holds.erase(held);
  keys.in_flight.erase(id);
  return claim.units;
}

std::int32_t units_of(const EpochKeys& keys, const BuyerName& name) {
  const auto found = keys.buyers.find(name.view());
  return found == keys.buyers.end() ? 0 : found->second.units;
}

bool is_same(const Claim& a, const Claim& b) { return a.item == b.item && a.units == b.units && a.buyer == b.buyer; }

}  // namespace

GateTrouble SaleKeys::guard(std::int64_t epoch, bool needs_open) const {
  if (epoch_ == 0) return GateTrouble::missing;
  if (epoch_ != epoch) return GateTrouble::wrong_epoch;
  if (is_open_ != needs_open) return needs_open ? GateTrouble::closed : GateTrouble::already_open;
  const auto found = epochs_.find(epoch);
  if (found == epochs_.end() || found->second.has_lost_a_key) return GateTrouble::missing;
  return GateTrouble::none;
}

const EpochKeys* SaleKeys::keys() const {
  const auto found = epochs_.find(epoch_);
  return found == epochs_.end() || found->second.has_lost_a_key ? nullptr : &found->second;
}

void SaleKeys::lose_a_key() {
  if (const auto found = epochs_.find(epoch_); found != epochs_.end()) found->second.has_lost_a_key = true;
}

GateAnswer<void> SaleKeys::reserve(std::int64_t epoch, std::span<const Claim> claims, std::span<Verdict> verdicts,
                                   Ticks now, const GateFaults& faults) {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  ++writes_;
  for (std::size_t i = 0; i < claims.size(); ++i) verdicts[i] = decide(epochs_[epoch], claims[i], now, faults);
  return {};
}

Verdict SaleKeys::decide(EpochKeys& keys, const Claim& claim, Ticks now, const GateFaults& faults) {
  Verdict verdict;
  const auto held = keys.holds.find(claim.order);
  const auto item = keys.items.find(claim.item);
  const std::int32_t units = units_of(keys, claim.buyer);
  if (keys.ended.contains(claim.order)) {
    verdict.admission = Admission::ended;
  } else if (held != keys.holds.end()) {
    const bool is_repeat = held->second.claim.digest == claim.digest;
    verdict.admission = is_repeat ? Admission::repeated : Admission::key_reused;
    verdict.recorded = faults.repeats_as_recorded || !keys.in_flight.contains(claim.order);
  } else if (!is_selling_ || item == keys.items.end()) {
    verdict.admission = Admission::not_on_sale;
  } else if (units + claim.units > limit_) {
    verdict.admission = Admission::over_limit;
    verdict.units_held = units;
    if (units > 0) verdict.standing = keys.buyers.find(claim.buyer.view())->second.newest;
  } else if (item->second.free < claim.units) {
    verdict.admission = Admission::sold_out;
  } else {
    verdict.admission = Admission::admitted;
    take(keys, HoldKind::claim, claim);
    if (!faults.reserves_out_of_flight) keys.in_flight[claim.order] = now;
  }
  return verdict;
}

GateAnswer<void> SaleKeys::adopt(std::int64_t epoch, HoldKind kind, std::span<const Claim> claims,
                                 std::span<Adopted> adopted, Ticks now, const GateFaults& faults) {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  ++writes_;
  for (std::size_t i = 0; i < claims.size(); ++i) adopted[i] = take_up(epochs_[epoch], kind, claims[i], now, faults);
  return {};
}

Adopted SaleKeys::take_up(EpochKeys& keys, HoldKind kind, const Claim& claim, Ticks now, const GateFaults& faults) {
  const bool is_retake = kind == HoldKind::retake;
  if (is_retake && faults.retakes_without_asking) return {.adoption = Adoption::adopted, .held = {}};
  if (keys.ended.contains(claim.order)) return {.adoption = Adoption::ended, .held = {}};
  if (const auto held = keys.holds.find(claim.order); held != keys.holds.end()) {
    if (is_same(held->second.claim, claim)) return {.adoption = Adoption::adopted, .held = {}};
    return {.adoption = Adoption::other, .held = held->second.claim};
  }
  const auto item = keys.items.find(claim.item);
  const bool fits = item != keys.items.end() && item->second.free >= claim.units &&
                    units_of(keys, claim.buyer) + claim.units <= limit_;
  if (!fits && (is_retake || !faults.adopts_blindly)) return {.adoption = Adoption::refused, .held = {}};
  take(keys, kind, claim);
  if (!faults.adopts_out_of_flight) keys.in_flight[claim.order] = now;
  return {.adoption = Adoption::adopted, .held = {}};
}

GateAnswer<std::int64_t> SaleKeys::release(std::int64_t epoch, std::span<const OrderId> holds,
                                           const GateFaults& faults) {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  ++writes_;
  EpochKeys& keys = epochs_[epoch];
  std::int64_t units = 0;
  for (const OrderId& hold : holds) {
    const std::int64_t given = give_back(keys, hold);
    if (given == 0 && faults.releases_by_count && !keys.items.empty()) ++keys.items.begin()->second.free;
    units += given;
    if (!faults.forgets_ended) keys.ended.insert(hold);
  }
  return units;
}

GateAnswer<void> SaleKeys::confirm(std::int64_t epoch, std::span<const OrderId> holds) {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  ++writes_;
  for (const OrderId& hold : holds) epochs_[epoch].in_flight.erase(hold);
  return {};
}

GateAnswer<std::vector<InFlight>> SaleKeys::in_flight(std::int64_t epoch, Micros age, std::size_t count,
                                                      Ticks now) const {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  const EpochKeys& keys = epochs_.at(epoch);
  std::vector<InFlight> found;
  for (const auto& [id, since] : keys.in_flight) {
    if (now - since >= age) found.push_back({.hold = keys.holds.at(id), .age = now - since});
  }
  std::ranges::stable_sort(found, std::greater{}, &InFlight::age);
  if (found.size() > count) found.resize(count);
  return found;
}

GateAnswer<std::optional<SharedHold>> SaleKeys::find(std::int64_t epoch, OrderId hold) const {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  const auto& holds = epochs_.at(epoch).holds;
  const auto found = holds.find(hold);
  if (found == holds.end()) return std::optional<SharedHold>{};
  return std::optional{found->second};
}

GateAnswer<Shelf> SaleKeys::shelf(std::int64_t epoch, ItemNo item) const {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  const auto& items = epochs_.at(epoch).items;
  const auto found = items.find(item);
  if (found == items.end()) return no(GateTrouble::unavailable);
  const EpochKeys::Item& counts = found->second;
  return Shelf{.total = counts.total, .free = counts.free, .held = counts.total - counts.free, .sold = 0, .version = 0};
}

GateAnswer<void> SaleKeys::set_terms(std::int64_t epoch, const GateTerms& terms) {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  if (terms.version < terms_) return {};
  ++writes_;
  terms_ = terms.version;
  limit_ = terms.limit_per_buyer;
  is_selling_ = terms.selling;
  return {};
}

GateAnswer<void> SaleKeys::close(std::int64_t epoch) {
  if (epoch_ > epoch) return no(GateTrouble::wrong_epoch);
  ++writes_;
  epoch_ = epoch;
  is_open_ = false;
  return {};
}

GateAnswer<void> SaleKeys::start(std::int64_t epoch, const GateTerms& terms, std::span<const GateItem> items) {
  const GateTrouble trouble = guard(epoch, false);  // What is missing is made here.
  if (trouble != GateTrouble::none && (trouble != GateTrouble::missing || epoch_ == 0)) return no(trouble);
  ++writes_;
  EpochKeys& keys = epochs_[epoch] = {};
  terms_ = terms.version;
  limit_ = terms.limit_per_buyer;
  is_selling_ = terms.selling;
  for (const GateItem& item : items) keys.items[item.no] = {.total = item.total, .free = item.total};
  return {};
}

GateAnswer<void> SaleKeys::put_holds(std::int64_t epoch, std::span<const SharedHold> holds) {
  if (const GateTrouble trouble = guard(epoch, false); trouble != GateTrouble::none) return no(trouble);
  ++writes_;
  EpochKeys& keys = epochs_[epoch];
  for (const SharedHold& hold : holds) {
    if (keys.holds.contains(hold.claim.order)) continue;
    const auto item = keys.items.find(hold.claim.item);
    if (item == keys.items.end() || item->second.free < hold.claim.units) return no(GateTrouble::corrupt);
    take(keys, hold.kind, hold.claim);
  }
  return {};
}

GateAnswer<void> SaleKeys::put_ended(std::int64_t epoch, std::span<const OrderId> holds, const GateFaults& faults) {
  if (const GateTrouble trouble = guard(epoch, false); trouble != GateTrouble::none) return no(trouble);
  ++writes_;
  if (!faults.forgets_ended) epochs_[epoch].ended.insert(holds.begin(), holds.end());
  return {};
}

GateAnswer<void> SaleKeys::open(std::int64_t epoch) {
  const GateTrouble trouble = guard(epoch, is_open_);
  if (trouble != GateTrouble::none) return no(trouble);
  ++writes_;
  is_open_ = true;
  return {};
}

GateAnswer<void> SaleKeys::drop_older(std::int64_t epoch) {
  if (const GateTrouble trouble = guard(epoch, true); trouble != GateTrouble::none) return no(trouble);
  epochs_.erase(epochs_.begin(), epochs_.find(epoch));
  return {};
}

GateLook SaleKeys::look(std::int64_t attached) const {
  GateLook look;
  look.epoch = epoch_;
  look.layout = 1;
  look.open = is_open_;
  look.selling = is_selling_;
  look.limit_per_buyer = limit_;
  look.writes = writes_;
  const auto found = epochs_.find(attached);
  // A build under way has not written everything yet: that is no loss.
  const bool has_lost = found == epochs_.end() || found->second.has_lost_a_key;
  look.missing = epoch_ == 0 || (is_open_ && epoch_ == attached && has_lost);
  return look;
}

}  // namespace weir::cluster
