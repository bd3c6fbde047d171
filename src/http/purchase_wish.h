#pragma once

#include "domain/claim.h"
#include "domain/sale.h"
#include "http/exchange.h"
#include "http/json_body.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::http {

/// What the body of a purchase asks for. Its syntax is read before anybody knows which stock the item has, and whether
/// it fits the item is checked later.
struct PurchaseWish {
  Wish wish = Wish::units;
  bool is_plain = true;  // An empty body: one unit, or one random number.
  std::int32_t units = 1;
  std::vector<std::uint32_t> numbers;  // `named` and `partial`: ascending, each once.

  /// How many units must be free for a claim that may succeed.
  [[nodiscard]] std::int32_t units_wanted() const { return wish == Wish::named || wish == Wish::partial ? 1 : units; }
};

/// Reads an object with `quantity`, `numbers`, `random` and `partial`. Keeps the memory of `wish`. What is wrong, or
/// null.
[[nodiscard]] std::optional<Response> read_wish(const JsonBody& body, PurchaseWish& wish);

/// Whether the item's kind of stock can be asked in this way, and has these numbers; a plain wish becomes one of that
/// kind. What is wrong, or null.
[[nodiscard]] std::optional<Response> fit_wish(const Item& item, PurchaseWish& wish);

}  // namespace weir::http
