#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::crowd {

/// One glance at the public counts of an item. The moment it shows lies between `sent_us` and `answered_us`, or up to
/// the server's caching time before.
struct StockSample {
  std::uint32_t sent_us = 0;
  std::uint32_t answered_us = 0;
  std::int32_t total = 0;
  std::int32_t free = 0;
  std::int32_t held = 0;
  std::int32_t sold = 0;
  std::uint64_t version = 0;
};

/// Reads the answer of `GET /api/flash-sales/items/{item}`; null if a count is missing. Moments are left 0.
[[nodiscard]] std::optional<StockSample> read_stock(std::string_view body);

}  // namespace weir::crowd
