#pragma once

#include "domain/ids.h"
#include "gate/chunked.h"

#include <atomic>

namespace weir {

class EndedIds;
class HoldTable;

/// Tells the front door who must not be refused without asking the desk: buyers who may hold something, and orders that
/// may have ended. Of a gate in this process it is a view of the gate's own tables, which costs no memory a buyer; of a
/// shared gate it is a set of everybody who was heard of, who stays in it.
///
/// Promise: never a false "no" for what the gate had decided before the call began; of a shared gate, for what was
/// noted in the sets before. A false "yes" is possible (two buyers with the same 64-bit key, a table that changes while
/// it is read, units given back since) and costs one question to the desk.
///
/// Threads: `add` from the desk only; the questions from any thread, without a lock.
/// Blocking: never. Must not outlive the gate.
class KnownBuyers {
 public:
  /// Keeps references to both the ids and, in `add`, the table.
  explicit KnownBuyers(const EndedIds& ended) : ended_(ended) {}
  /// Of a shared gate. `owners` remembers `mark`s.
  KnownBuyers(const EndedIds& ended, const EndedIds& owners) : ended_(ended), owners_(&owners) {}

  /// The name of a buyer of a sale in a set of ids.
  [[nodiscard]] static OrderId mark(SaleNo sale, BuyerKey buyer) { return {sale.value, buyer.value}; }

  /// Requires: 1 <= sale <= kSalesMax, and no `owners`. Repeatable.
  void add(SaleNo sale, const HoldTable& holds);

  /// False for a sale that was never opened.
  [[nodiscard]] bool may_hold(SaleNo sale, BuyerKey buyer) const;
  [[nodiscard]] bool may_have_ended(const OrderId& order) const;

 private:
  struct Entry {
    std::atomic<const HoldTable*> holds{nullptr};
  };

  const EndedIds& ended_;
  const EndedIds* const owners_ = nullptr;  // Null: the tables of `sales_` are asked.
  Chunked<Entry, kSalesMax> sales_;
};

}  // namespace weir
