#include "domain/money.h"

#include <array>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::int64_t kLargestExact = 9'007'199'254'740'991;  // 2^53 - 1.

TEST(Money, F59_AProductIsExactOrNull) {
  struct Case {
    std::int64_t price;
    std::int64_t units;
    std::optional<std::int64_t> amount;
  };
  const std::array<Case, 20> cases{{{0, 0, 0},
                                    {0, 1000, 0},
                                    {1, 0, 0},
                                    {1999, 3, 5997},
                                    {kPriceMinorMax, kUnitsPerClaimMax, 1'000'000'000'000'000},
                                    {kLargestExact, 1, kLargestExact},
                                    {1, kLargestExact, kLargestExact},
                                    {kLargestExact + 1, 1, std::nullopt},
                                    {kLargestExact, 2, std::nullopt},
                                    {-1, 1, std::nullopt},
                                    {1, -1, std::nullopt},
                                    {-1, -1, std::nullopt},
                                    {0, -1, std::nullopt},
                                    {-1, 0, std::nullopt},
                                    {INT64_MAX, 1, std::nullopt},
                                    {INT64_MAX, INT64_MAX, std::nullopt},
                                    {INT64_MIN, 1, std::nullopt},
                                    {INT64_MIN, -1, std::nullopt},
                                    {1LL << 32, 1LL << 32, std::nullopt},
                                    {2'147'483'648, 2, 4'294'967'296}}};
  for (const Case& wanted : cases) {
    const auto amount = times({wanted.price, *Currency::parse("EUR")}, wanted.units);
    EXPECT_EQ(amount.has_value(), wanted.amount.has_value()) << wanted.price << " * " << wanted.units;
    if (!amount || !wanted.amount) continue;
    EXPECT_EQ(amount->value, *wanted.amount);
    EXPECT_EQ(amount->currency.view(), "EUR");
  }
}

TEST(Money, ACurrencyIsThreeCapitals) {
  EXPECT_EQ(Currency::parse("JPY")->view(), "JPY");
  EXPECT_EQ(Currency().view(), "XXX") << "ISO 4217's own word for none";
  for (const std::string_view text : {"", "EU", "EURO", "eur", "Eur", "E1R", "E R", "\xe2\x82\xac"}) {
    EXPECT_FALSE(Currency::parse(text)) << text;
  }
}

TEST(Money, AmountsOfTwoCurrenciesAreNeverEqual) {
  const Money euros{100, *Currency::parse("EUR")};
  EXPECT_EQ(euros, (Money{100, *Currency::parse("EUR")}));
  EXPECT_NE(euros, (Money{100, *Currency::parse("USD")}));
  EXPECT_NE(euros, (Money{101, *Currency::parse("EUR")}));
}

}  // namespace
}  // namespace weir
