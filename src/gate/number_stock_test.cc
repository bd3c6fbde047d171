#include "gate/number_stock.h"

#include "base/random.h"
#include "config/limits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers listed(const NumberStock& stock, NumberStock::Chain chain, std::size_t count) {
  Numbers numbers(count);
  stock.list(chain, numbers);
  return numbers;
}

TEST(NumberStock, AChainKeepsWhatWasTakenTogether) {
  const auto stock = NumberStock::make(500, 1000);
  const Numbers one{500, 777, 1499};
  const Numbers other{501, 776, 778};
  const NumberStock::Chain first = stock->take(one);
  const NumberStock::Chain second = stock->take(other);
  EXPECT_EQ(listed(*stock, first, 3), one);
  EXPECT_EQ(listed(*stock, second, 3), other);
  EXPECT_FALSE(stock->is_free(777));
  stock->put_back(one);
  EXPECT_TRUE(stock->is_free(777));
  EXPECT_EQ(listed(*stock, second, 3), other);
  EXPECT_EQ(stock->set().free_count(), 997U);
}

TEST(NumberStock, CoversItsOwnNumbersAlone) {
  const auto stock = NumberStock::make(500, 10);
  const auto covers = [&](const Numbers& numbers) { return stock->covers(*NumberList::from(numbers)); };
  EXPECT_TRUE(covers({500}));
  EXPECT_TRUE(covers({500, 509}));
  EXPECT_FALSE(covers({}));
  EXPECT_FALSE(covers({499}));
  EXPECT_FALSE(covers({510}));
  EXPECT_FALSE(covers({499, 500}));
  EXPECT_FALSE(covers({509, 510}));
  EXPECT_FALSE(covers({0, 505, UINT32_MAX}));
  EXPECT_FALSE(NumberStock::make(0, 0)->covers(*NumberList::from(Numbers{0})));
}

TEST(NumberStock, TooFewAreNotTakenInPart) {
  SeededRandom random{1};
  const auto stock = NumberStock::make(1, 5);
  Numbers drawn(6);
  EXPECT_EQ(stock->take_random(drawn, random), 0U);
  EXPECT_EQ(stock->set().free_count(), 5U);
  drawn.resize(5);
  const NumberStock::Chain chain = stock->take_random(drawn, random);
  EXPECT_EQ(drawn, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(listed(*stock, chain, 5), drawn);
}

TEST(NumberStock, F76_ManyOrdersComeAndGoAndKeepTheirNumbers) {
  constexpr std::size_t kSize = 3000;
  SeededRandom random{76};
  const auto stock = NumberStock::make(7, kSize);
  std::map<NumberStock::Chain, Numbers> orders;
  std::size_t taken = 0;
  for (int step = 0; step < 20'000; ++step) {
    Numbers wanted(1 + random.below(9));
    if (random.below(2) == 0) {
      const NumberStock::Chain chain = stock->take_random(wanted, random);
      ASSERT_EQ(chain != 0, taken + wanted.size() <= kSize);
      if (chain == 0) continue;
      taken += wanted.size();
      ASSERT_TRUE(orders.emplace(chain, wanted).second) << "two orders begin with one number";
      continue;
    }
    if (orders.empty()) continue;
    auto gone = orders.lower_bound(static_cast<NumberStock::Chain>(random.below(kSize)));
    if (gone == orders.end()) gone = orders.begin();
    ASSERT_EQ(listed(*stock, gone->first, gone->second.size()), gone->second);
    stock->put_back(gone->second);
    taken -= gone->second.size();
    orders.erase(gone);
  }
  std::set<std::uint32_t> all;
  for (const auto& [chain, numbers] : orders) {
    EXPECT_EQ(listed(*stock, chain, numbers.size()), numbers);
    all.insert(numbers.begin(), numbers.end());
  }
  EXPECT_EQ(all.size(), taken);
  EXPECT_EQ(stock->set().free_count(), kSize - taken);
}

TEST(NumberStock, TheLargestItemAndTheHighestNumberFit) {
  const auto stock = NumberStock::make(kNumberMax - kNumbersPerItemMax + 1, kNumbersPerItemMax);
  const Numbers ends{kNumberMax - kNumbersPerItemMax + 1, kNumberMax};
  EXPECT_EQ(listed(*stock, stock->take(ends), 2), ends);
}

TEST(NumberStockDeathTest, F76_ANumberGoneTwiceIsABug) {
  const auto stock = NumberStock::make(1, 10);
  const Numbers one{3, 4};
  const NumberStock::Chain chain = stock->take(one);
  EXPECT_DEATH(static_cast<void>(stock->take(Numbers{4, 5})), "number 4 is not free");
  EXPECT_DEATH(stock->put_back(Numbers{5}), "number 5 is free");
  EXPECT_DEATH(static_cast<void>(listed(*stock, chain, 1)), "a chain of 1 numbers goes on");
  EXPECT_DEATH(static_cast<void>(listed(*stock, chain, 3)), "a chain of 3 numbers");
}

}  // namespace
}  // namespace weir
