#pragma once

#include "base/time.h"
#include "domain/claim.h"
#include "domain/order.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace weir::sim {

/// What somebody who stands outside has written down about one order id: who asked for what, and what he was told.
struct Paper {
  std::size_t buyer = 0;
  std::size_t item = 0;
  std::int32_t units = 0;
  NumberList numbers{};            // As the 202 named them.
  std::uint64_t generation = 0;  // Of the process that was asked last.
  bool is_open = false;          // Asked, and no answer that settles it.
  bool is_acknowledged = false;  // 202 was sent.
  bool is_cancelled = false;     // The cancel was acknowledged.
  Instant promised_pay_by;       // The latest that was told.
  OrderStatus seen = OrderStatus::pending;
};

/// The world's own bookkeeping. It shares no table with gate, queue or ledger.
class Book {
 public:
  Paper& ask(const Claim& claim, std::size_t buyer, std::size_t item, std::uint64_t generation) {
    Paper& paper = papers_.try_emplace(claim.order).first->second;
    paper.buyer = buyer;
    paper.item = item;
    if (!paper.is_acknowledged) paper.units = claim.units;
    paper.generation = generation;
    paper.is_open = !paper.is_acknowledged;
    return paper;
  }
  [[nodiscard]] Paper* find(OrderId order) {
    const auto found = papers_.find(order);
    return found == papers_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::map<OrderId, Paper>& papers() { return papers_; }

  /// Units of the item that claims under way may have taken and the ledger need not have.
  [[nodiscard]] std::int64_t units_open(std::size_t item, std::uint64_t generation) const {
    std::int64_t units = 0;
    for (const auto& [order, paper] : papers_) {
      if (paper.is_open && paper.item == item && paper.generation == generation) units += paper.units;
    }
    return units;
  }

 private:
  std::map<OrderId, Paper> papers_;
};

/// Whether an order that was seen in one state can be found in another later.
[[nodiscard]] constexpr bool can_become(OrderStatus before, OrderStatus after) {
  if (before == after) return true;
  switch (before) {
    case OrderStatus::pending: return true;
    case OrderStatus::paid: return after == OrderStatus::refunded;
    case OrderStatus::expired: return after == OrderStatus::paid || after == OrderStatus::refunded;
    case OrderStatus::cancelled:
    case OrderStatus::rejected:
    case OrderStatus::refunded: return false;
  }
  return false;
}

}  // namespace weir::sim
