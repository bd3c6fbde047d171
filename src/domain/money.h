#pragma once

#include "config/limits.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// An ISO 4217 code: three capital letters.
class Currency {
 public:
  constexpr Currency() = default;
  [[nodiscard]] static constexpr std::optional<Currency> parse(std::string_view text) {
    if (text.size() != 3) return std::nullopt;
    Currency currency;
    for (std::size_t i = 0; i < 3; ++i) {
      if (text[i] < 'A' || text[i] > 'Z') return std::nullopt;
      currency.code_[i] = text[i];
    }
    return currency;
  }
  [[nodiscard]] constexpr std::string_view view() const { return {code_.data(), code_.size()}; }
  constexpr bool operator==(const Currency&) const = default;

 private:
  std::array<char, 3> code_{'X', 'X', 'X'};
};

/// An amount in minor units (cents) of one currency. Never negative.
struct Money {
  std::int64_t value = 0;
  Currency currency;
  constexpr bool operator==(const Money&) const = default;
};

/// `price` times `units`; null when the product passes 2^53 - 1, the largest number that every JSON reader keeps.
[[nodiscard]] constexpr std::optional<Money> times(Money price, std::int64_t units) {
  constexpr std::int64_t kMax = 9'007'199'254'740'991;
  std::int64_t product = 0;
  if (units < 0 || price.value < 0 || __builtin_mul_overflow(price.value, units, &product) || product > kMax) {
    return std::nullopt;
  }
  return Money{product, price.currency};
}
static_assert(times(Money{1999, {}}, 3)->value == 5997);
static_assert(!times(Money{INT64_MAX, {}}, 2), "an overflow is no price");
static_assert(!times(Money{1, {}}, -1));
static_assert(times(Money{kPriceMinorMax, {}}, kUnitsPerClaimMax).has_value(), "every lawful order has an amount");

}  // namespace weir
