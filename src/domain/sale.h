#pragma once

#include "base/time.h"
#include "domain/ids.h"
#include "domain/money.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// A flash sale: a window in time, a limit per buyer across all its items, and a time to pay.
struct Sale {
  SaleNo no;
  TenantNo tenant;
  std::string id;
  std::string title;
  Instant opens_at;
  Instant closes_at;
  bool paused = false;
  bool closed = false;  // By hand, before `closes_at`; for ever.
  std::int32_t limit_per_buyer = 1;
  Micros pay_within{600'000'000};
  std::string secret;  // Empty: the purchase address has no key.
  bool operator==(const Sale&) const = default;
};

/// One product of a sale. Its stock is a count, or numbers: first_number to first_number + total - 1.
struct Item {
  ItemNo no;
  SaleNo sale;
  std::string id;
  std::string title;
  Money price;
  std::int64_t total = 0;
  bool numbered = false;
  std::uint32_t first_number = 0;
  std::string labels;           // `NumberLabels`, as the organiser wrote it.
  std::string draw_commitment;  // `domain/draw`; empty on counted stock.
  bool operator==(const Item&) const = default;
};

/// Where a sale stands. Spelled in capitals outside. `waiting_room` is reported by sales that have one.
enum class SalePhase : std::uint8_t { scheduled, waiting_room, open, paused, closed };

[[nodiscard]] constexpr std::string_view name(SalePhase phase) {
  switch (phase) {
    case SalePhase::scheduled: return "SCHEDULED";
    case SalePhase::waiting_room: return "WAITING_ROOM";
    case SalePhase::open: return "OPEN";
    case SalePhase::paused: return "PAUSED";
    case SalePhase::closed: return "CLOSED";
  }
  return "?";
}

/// The window is half open: the sale sells from `opens_at` on and no longer at `closes_at`. A pause outside the window
/// shows only inside it.
[[nodiscard]] inline SalePhase phase(const Sale& sale, Instant now) {
  if (sale.closed || now >= sale.closes_at) return SalePhase::closed;
  if (now < sale.opens_at) return SalePhase::scheduled;
  return sale.paused ? SalePhase::paused : SalePhase::open;
}

/// The public counts of an item, all from one moment: free + held + sold == total.
struct Shelf {
  std::int64_t total = 0;
  std::int64_t free = 0;
  std::int64_t held = 0;
  std::int64_t sold = 0;
  std::uint64_t version = 0;  // Grows with every change.
  bool operator==(const Shelf&) const = default;
};

/// `AVAILABLE`: something is free now. `ALL_HELD`: nothing is free, unpaid orders may give units back. `SOLD_OUT`.
[[nodiscard]] constexpr std::string_view availability(const Shelf& shelf) {
  if (shelf.free > 0) return "AVAILABLE";
  return shelf.held > 0 ? "ALL_HELD" : "SOLD_OUT";
}

}  // namespace weir
