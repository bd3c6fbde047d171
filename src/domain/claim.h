#pragma once

#include "base/time.h"
#include "domain/ids.h"

#include <cstdint>

namespace weir {

/// One request to take units, before it is answered. Its order id exists before the gate is asked, travels everywhere
/// and is the idempotency key everywhere.
struct Claim {
  OrderId order;
  TenantNo tenant;
  SaleNo sale;
  ItemNo item;
  std::int32_t units = 1;  // 1 to kUnitsPerClaimMax.
  bool retake =
      false;           // Late money takes the units of an order that ended once more; phase and `ended` do not stop it.
  bool keyed = false;  // The id was derived from an Idempotency-Key: an order that ended may bear it.
  BuyerKey buyer_key;
  RequestDigest digest;
  Instant promised_pay_by;  // The ledger takes the later of this and its own now + pay_within.
  BuyerName buyer;
};

/// Units that an order holds, as the gate needs to know it.
struct Hold {
  OrderId order;
  SaleNo sale;
  ItemNo item;
  std::int32_t units = 0;
  BuyerKey buyer_key;
  bool sold = false;     // Paid; false while the order is PENDING.
  bool recorded = true;  // False: the ledger never had it, so its id is not remembered as ended when it is released.
  BuyerName buyer{};     // For a gate that several processes share: it adopts by name. Others do not look at it.
};

}  // namespace weir
