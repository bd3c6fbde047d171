#pragma once

#include "app/shelf_watch.h"
#include "base/siphash.h"
#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "domain/claim.h"
#include "flow/lease.h"
#include "gate/ended_ids.h"
#include "gate/known_buyers.h"
#include "gate/shared_gate.h"
#include "ledger/ledger.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>

namespace weir {

/// Learns who holds units of a shared gate, so that nobody who does is told SOLD_OUT where ALREADY_PURCHASED is due.
///
/// What this process admits it notes at once. What others admit it lists: all holds of a sale, and all orders that have
/// ended, before the crowd of a sold-out item is refused for the first time in an epoch; then all holds again when the
/// sale has changed, at most every kOwnerLookUs. So a buyer whom another process sold to while the item was sold out
/// (units that came back) may hear SOLD_OUT for kOwnerLookUs and the length of a list. The same holds for a repeat, by
/// key, of an order that another process took and ended between two lists.
/// Nothing is forgotten but by a restart; past kEndedIdsMax buyers or orders, new ones are not remembered.
/// Threads: `step` from one owner; the rest from any. Blocking: `step` as gate and ledger, about kOwnerListUs.
class OwnerWatch {
 public:
  struct Parts {
    SharedGate& gate;  // Used for lists alone: it attaches one sale at a time.
    LedgerReader& ledger;
    const Lease& lease;
    const Snapshot<Catalog>& catalog;
    const Clock& clock;
    SipKey buyer_hash;
  };

  explicit OwnerWatch(const Parts& parts) : parts_(parts) {}

  /// Lists the sales whose turn it is; how many.
  std::size_t step(std::span<const ShelfWatch::ShortSale> sales);

  void note(std::span<const Claim> admitted);
  /// Reads which orders have ended. From the thread that owns the ledger's reader.
  [[nodiscard]] Result<void> note_ended();

  /// Whether the holds of this epoch were listed, or could not be for too long.
  [[nodiscard]] bool is_listed(SaleNo sale, std::int64_t epoch) const;
  [[nodiscard]] const KnownBuyers& known() const { return known_; }

 private:
  struct Listed {
    std::int64_t epoch = 0;
    std::uint64_t changes = 0;
    Ticks at;
    Ticks first_tried_at;
    std::int64_t tried_epoch = 0;
  };

  [[nodiscard]] bool is_due(const ShelfWatch::ShortSale& sale, Ticks now) const;
  [[nodiscard]] Result<void> list(const ShelfWatch::ShortSale& sale, bool is_first, Ticks now);
  void remember(SaleNo sale, BuyerKey buyer, const OrderId& order);

  const Parts parts_;
  EndedIds ended_;   // Orders that have ended, or may have by now.
  EndedIds owners_;  // Both sets have one writer at a time, under `mutex_`.
  KnownBuyers known_{ended_, owners_};
  mutable std::mutex mutex_;
  std::unordered_map<SaleNo, Listed> listed_;  // Under `mutex_`.
};

}  // namespace weir
