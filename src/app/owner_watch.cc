#include "app/owner_watch.h"

#include "base/log.h"
#include "config/limits.h"

namespace weir {

std::size_t OwnerWatch::step(std::span<const ShelfWatch::ShortSale> sales) {
  std::size_t count = 0;
  for (const ShelfWatch::ShortSale& sale : sales) {
    const Ticks now = parts_.clock.ticks();
    if (!is_due(sale, now)) continue;
    ++count;
    const bool is_first = !is_listed(sale.sale, sale.epoch);
    const auto done = list(sale, is_first, now);
    const std::lock_guard lock{mutex_};
    Listed& listed = listed_[sale.sale];
    listed.at = now;
    if (done) {
      // Changes that came while the list was made are in it or are newer than this: then it is made again.
      listed.epoch = sale.epoch;
      listed.changes = sale.changes;
      continue;
    }
    log::warn("owners_not_listed", {{"sale", std::int64_t{sale.sale.value}}, {"message", done.error().message}});
    if (listed.tried_epoch != sale.epoch) {
      listed.tried_epoch = sale.epoch;
      listed.first_tried_at = now;
    }
    // A crowd that all goes to the gate would be worse than an owner who hears SOLD_OUT.
    if (now - listed.first_tried_at >= Micros{kOwnerPatienceUs}) listed.epoch = sale.epoch;
  }
  return count;
}

bool OwnerWatch::is_due(const ShelfWatch::ShortSale& sale, Ticks now) const {
  const std::lock_guard lock{mutex_};
  const auto found = listed_.find(sale.sale);
  if (found == listed_.end()) return true;
  const Listed& listed = found->second;
  const bool is_known = listed.epoch == sale.epoch;
  if (is_known && listed.changes == sale.changes) return false;
  // The first list of an epoch waits for nothing but the rest after one that failed.
  const bool has_failed = listed.tried_epoch == sale.epoch;
  return (!is_known && !has_failed) || now - listed.at >= Micros{kOwnerLookUs};
}

Result<void> OwnerWatch::list(const ShelfWatch::ShortSale& sale, bool is_first, Ticks now) {
  const auto catalog = parts_.catalog.get();
  const auto state = parts_.lease.open_at(sale.sale, now);
  const Sale* const found = catalog == nullptr ? nullptr : catalog->sale(sale.sale);
  if (found == nullptr || !state || state->epoch != sale.epoch || !attach_at(parts_.gate, *state, *catalog)) {
    return fail(Failure::unavailable, "the sale's gate is not open");
  }
  const auto listed = parts_.gate.each_hold(
      [&](const Hold& hold) {
        remember(hold.sale, buyer_key(parts_.buyer_hash, found->tenant, hold.buyer.view()), hold.order);
      },
      now + Micros{kOwnerListUs});
  parts_.gate.detach(sale.sale);
  if (!listed || !is_first) return listed;
  // After the holds: an order that had ended before they were listed has ended in the ledger before.
  return note_ended();
}

Result<void> OwnerWatch::note_ended() {
  return parts_.ledger.ended_orders([this](OrderId order, SaleNo) {
    const std::lock_guard lock{mutex_};
    ended_.remember(order);
  });
}

void OwnerWatch::note(std::span<const Claim> admitted) {
  for (const Claim& claim : admitted) remember(claim.sale, claim.buyer_key, claim.order);
}

void OwnerWatch::remember(SaleNo sale, BuyerKey buyer, const OrderId& order) {
  const std::lock_guard lock{mutex_};
  owners_.remember(KnownBuyers::mark(sale, buyer));
  ended_.remember(order);
}

bool OwnerWatch::is_listed(SaleNo sale, std::int64_t epoch) const {
  const std::lock_guard lock{mutex_};
  const auto found = listed_.find(sale);
  return found != listed_.end() && found->second.epoch == epoch;
}

}  // namespace weir
