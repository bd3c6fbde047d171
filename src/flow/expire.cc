#include "flow/expire.h"

#include "base/fault.h"
#include "config/limits.h"

#include <span>

namespace weir {

Expire::Expire(Ledger& ledger, SettlePort& port, const SipKey& buyer_hash)
    : ledger_(ledger), port_(port), buyer_hash_(buyer_hash), ended_(kExpireStepMax) {}

Result<std::size_t> Expire::step(Ticks now) {
  // A payBy lies at least a second ahead when it is made, so a look every quarter second misses none by much.
  const bool is_due = next_ && *next_ <= ledger_.now();
  if (has_looked_ && !is_due && now - looked_at_ < Micros{kExpireLookUs}) return 0;
  has_looked_ = true;
  looked_at_ = now;
  FAULT("before_expire");
  const auto count = ledger_.expire(ended_, now + Micros{kLedgerWaitUs});
  FAULT("after_expire");
  if (!count) return std::unexpected(count.error());
  for (const Ended& ended : std::span{ended_}.first(*count)) {
    const Hold hold{.order = ended.order,
                    .sale = ended.sale,
                    .item = ended.item,
                    .units = ended.units,
                    .numbers = ended.numbers,
                    .buyer_key = buyer_key(buyer_hash_, ended.tenant, ended.buyer),
                    .sold = false,
                    .recorded = true};
    port_.to_gate({.kind = GateRequest::Kind::release, .hold = hold, .payment = {}});
  }
  expired_ += *count;
  const auto next = ledger_.next_expiry();
  if (!next) return std::unexpected(next.error());
  next_ = *next;
  return *count;
}

}  // namespace weir
