#pragma once

#include "domain/ids.h"
#include "gate/chunked.h"

#include <atomic>

namespace weir {

class EndedIds;
class HoldTable;

/// Tells the front door who must not be refused without asking the desk: buyers who may hold something, and orders that
/// may have ended. A view of the gate's own tables; it costs no memory a buyer.
///
/// Promise: never a false "no" for what the gate had decided before the call began. A false "yes" is possible (two
/// buyers with the same 64-bit key, or a table that changes while it is read) and costs one question to the desk.
///
/// Threads: `add` from the desk only; the questions from any thread, without a lock.
/// Blocking: never. Must not outlive the gate.
class KnownBuyers {
 public:
  /// Keeps references to both the ids and, in `add`, the table.
  explicit KnownBuyers(const EndedIds& ended) : ended_(ended) {}

  /// Requires: 1 <= sale <= kSalesMax. Repeatable.
  void add(SaleNo sale, const HoldTable& holds);

  /// False for a sale that was never opened.
  [[nodiscard]] bool may_hold(SaleNo sale, BuyerKey buyer) const;
  [[nodiscard]] bool may_have_ended(const OrderId& order) const;

 private:
  struct Entry {
    std::atomic<const HoldTable*> holds{nullptr};
  };

  const EndedIds& ended_;
  Chunked<Entry, kSalesMax> sales_;
};

}  // namespace weir
