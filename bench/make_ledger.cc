// Writes a ledger with many live orders, for benches of memory, restart and expiry: each order is of another buyer and
// takes the only unit left for it. `make_ledger FOLDER ORDERS ITEMS PAY_WITHIN_S` prints how fast it went as JSON.

#include "base/check.h"
#include "base/system_clock.h"
#include "base/system_random.h"
#include "ledger/sqlite_ledger.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Deadline kNever{INT64_MAX};
constexpr Micros kTwoHours{7'200'000'000};

struct Plan {
  std::string folder;
  std::int64_t orders = 0;
  std::int64_t items = 1;
  std::int64_t pay_within_s = 0;
};

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  CHECK(error == std::errc{} && end == text.data() + text.size() && value > 0, "text={}", text);
  return value;
}

std::vector<ItemNo> make_sale(Ledger& ledger, const Plan& plan) {
  SaleDraft sale;
  sale.id = "s";
  sale.title = "Bench";
  sale.opens_at = ledger.now();
  sale.closes_at = ledger.now() + kTwoHours;
  sale.pay_within = Micros{plan.pay_within_s * 1'000'000};
  CHECK(ledger.create_sale(sale).has_value());
  std::vector<ItemNo> items;
  for (std::int64_t i = 0; i < plan.items; ++i) {
    ItemDraft item;
    item.sale = "s";
    item.id = fmt::format("i{}", i);
    item.title = "Item";
    item.price = {1999, *Currency::parse("EUR")};
    item.units = plan.orders / plan.items;
    const auto added = ledger.add_item(item);
    CHECK(added.has_value() && added->changed == Changed::done);
    items.push_back(added->item);
  }
  return items;
}

void record_orders(Ledger& ledger, Random& random, std::span<const ItemNo> items, std::int64_t orders) {
  std::vector<Claim> claims(kLedgerBatchMax);
  std::vector<Outcome> outcomes(kLedgerBatchMax);
  std::size_t next = 0;
  const auto total = static_cast<std::size_t>(orders);
  while (next < total) {
    const std::size_t count = std::min(kLedgerBatchMax, total - next);
    for (std::size_t i = 0; i < count; ++i, ++next) {
      Claim& claim = claims[i];
      claim = {};
      claim.order = OrderId::random(random);
      claim.tenant = {1};
      claim.sale = {1};
      claim.item = items[next % items.size()];
      claim.buyer = *BuyerName::from(fmt::format("known-{}", next));
    }
    CHECK(ledger.record(std::span(claims).first(count), std::span(outcomes).first(count), kNever).has_value());
    CHECK(outcomes[count - 1].fate == Fate::durable, "recording={}", name(outcomes[count - 1].recording));
  }
}

int make(const Plan& plan) {
  CHECK(plan.orders % plan.items == 0, "orders={} items={}", plan.orders, plan.items);
  const SystemClock clock;
  SystemRandom random;
  SqliteOptions options;
  options.data = plan.folder;
  auto ledger = SqliteLedger::open(options, clock, random);
  CHECK(ledger.has_value());
  const auto items = make_sale(**ledger, plan);
  const Instant begin = clock.now();
  record_orders(**ledger, random, items, plan.orders);
  const std::int64_t us = std::max<std::int64_t>((clock.now() - begin).count(), 1);
  fmt::print("{{\"orders\":{},\"us\":{},\"perSecond\":{}}}\n", plan.orders, us, plan.orders * 1'000'000 / us);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace weir

int main(int count, char** words) {
  if (count != 5) {
    fmt::print(stderr, "usage: make_ledger FOLDER ORDERS ITEMS PAY_WITHIN_S\n");
    return 2;
  }
  return weir::make({words[1], weir::number(words[2]), weir::number(words[3]), weir::number(words[4])});
}
