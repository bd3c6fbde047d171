#pragma once

#include "base/time.h"
#include "domain/ids.h"
#include "domain/numbers.h"

#include <cstdint>

namespace weir {

/// What a claim asks for. Counted stock knows only `units`.
enum class Wish : std::uint8_t {
  units,    // That many, whichever they are.
  random,   // That many numbers, every set of free ones being equally likely.
  named,    // Exactly these numbers.
  partial,  // Those of these numbers that are free, at least one.
};

/// One request to take units, before it is answered. Its order id exists before the gate is asked, travels everywhere
/// and is the idempotency key everywhere.
struct Claim {
  OrderId order;
  TenantNo tenant;
  SaleNo sale;
  ItemNo item;
  Wish wish = Wish::units;
  std::int32_t units = 1;  // 1 to kUnitsPerClaimMax. Once admitted: how many it got.
  NumberList numbers{};    // `named` and `partial`: what is asked for. Once admitted: what it got.
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
  NumberList numbers{};  // Of numbered stock: as many as units.
  BuyerKey buyer_key;
  bool sold = false;     // Paid; false while the order is PENDING.
  bool recorded = true;  // False: the ledger never had it, so its id is not remembered as ended when it is released.
  BuyerName buyer{};     // For a gate that several processes share: it adopts by name. Others do not look at it.
};

}  // namespace weir
