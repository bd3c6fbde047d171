#include "gate/known_buyers.h"

#include "gate/ended_ids.h"
#include "gate/hold_table.h"

namespace weir {

void KnownBuyers::add(SaleNo sale, const HoldTable& holds) {
  sales_.make(sale.value).holds.store(&holds, std::memory_order_release);
}

bool KnownBuyers::may_hold(SaleNo sale, BuyerKey buyer) const {
  if (owners_ != nullptr) return owners_->contains(mark(sale, buyer));
  const Entry* const entry = sales_.find(sale.value);
  if (entry == nullptr) return false;
  const HoldTable* const holds = entry->holds.load(std::memory_order_acquire);
  return holds != nullptr && holds->may_hold(buyer);
}

bool KnownBuyers::may_have_ended(const OrderId& order) const { return ended_.contains(order); }

}  // namespace weir
