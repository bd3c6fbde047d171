// What numbered stock costs the embedded ledger: `ninja -C build/release ledger_numbers_bench`, then run it with an
// empty folder. Prints figures as JSON; fails when an item of ten million numbers takes a second.

#include "base/check.h"
#include "base/random.h"
#include "base/system_clock.h"
#include "config/limits.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_reader.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Deadline kNever{INT64_MAX};
constexpr Micros kTwoHours{7'200'000'000};
constexpr std::size_t kBatch = 512;
constexpr std::uint32_t kOrders = 100 * kBatch;
constexpr std::uint32_t kLookUps = 100'000;

double seconds_of(const auto& work) {
  const auto from = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

ItemNo make_item(Ledger& ledger, const char* id, bool is_numbered) {
  ItemDraft item;
  item.sale = "s";
  item.id = id;
  item.title = "Item";
  item.price = {1999, *Currency::parse("EUR")};
  item.units = kNumbersPerItemMax;
  item.numbered = is_numbered;
  const auto added = ledger.add_item(item);
  CHECK(added.has_value() && added->changed == Changed::done);
  return added->item;
}

/// One order each of a buyer of his own, numbers anywhere; how long it took.
double sell(Ledger& ledger, ItemNo item, std::uint32_t orders, std::uint32_t numbers_each, std::uint64_t first_id) {
  std::vector<Claim> claims(kBatch);
  std::vector<Outcome> outcomes(kBatch);
  std::uint32_t made = 0;
  return seconds_of([&] {
    while (made < orders) {
      const std::size_t count = std::min<std::size_t>(kBatch, orders - made);
      for (std::size_t i = 0; i < count; ++i, ++made) {
        const std::uint64_t id = first_id + made;
        Claim& claim = claims[i];
        claim.order = {id * 0x9e3779b97f4a7c15U, id};
        claim.tenant = {1};
        claim.sale = {1};
        claim.item = item;
        claim.units = static_cast<std::int32_t>(std::max(numbers_each, 1U));
        claim.buyer = *BuyerName::from(fmt::format("b{}", id));
        std::vector<std::uint32_t> numbers;
        // A step that has no divisor in common with the count of numbers visits each once.
        const std::uint64_t place = std::uint64_t{made} * 7'654'321 % static_cast<std::uint64_t>(kNumbersPerItemMax);
        for (std::uint32_t n = 0; n < numbers_each; ++n)
          numbers.push_back(numbers_each == 1 ? static_cast<std::uint32_t>(place) : made * numbers_each + n);
        claim.numbers = *NumberList::from(numbers);
      }
      CHECK(ledger.record(std::span{claims}.first(count), std::span{outcomes}.first(count), kNever).has_value());
      for (std::size_t i = 0; i < count; ++i) CHECK(outcomes[i].recording == Recording::recorded);
    }
  });
}

int run(const std::string& folder) {
  const SystemClock clock;
  SeededRandom random{1};
  const auto ledger = SqliteLedger::open({.data = folder}, clock, random);
  CHECK(ledger.has_value(), "{}", ledger.error().message);
  SaleDraft sale;
  sale.id = "s";
  sale.title = "Bench";
  sale.opens_at = (*ledger)->now();
  sale.closes_at = (*ledger)->now() + kTwoHours;
  sale.limit_per_buyer = kBuyerLimitMax;
  CHECK((*ledger)->create_sale(sale).has_value());
  ItemNo raffle;
  const double made_s = seconds_of([&] { raffle = make_item(**ledger, "raffle", true); });
  const ItemNo hall = make_item(**ledger, "hall", true);
  const ItemNo hat = make_item(**ledger, "hat", false);
  const double counted_s = sell(**ledger, hat, kOrders, 0, 1);
  const double numbered_s = sell(**ledger, raffle, kOrders, 1, 1'000'000);
  const double large_s = sell(**ledger, hall, 64, static_cast<std::uint32_t>(kUnitsPerClaimMax), 2'000'000);
  const auto reader = SqliteReader::open({.data = folder}, clock);
  CHECK(reader.has_value());
  const double look_s = seconds_of([&] {
    for (std::uint32_t i = 0; i < kLookUps; ++i) CHECK((*reader)->owner_of(raffle, i * 97).has_value());
  });
  const double audit_s = seconds_of([&] { CHECK((*reader)->audit()->ok); });
  fmt::print(
      "{{\"item_ms\": {:.2f}, \"counted_a_s\": {:.0f}, \"numbered_a_s\": {:.0f}, \"thousand_numbers_ms\": {:.2f}, "
      "\"owner_us\": {:.2f}, \"audit_s\": {:.2f}}}\n",
      made_s * 1e3, kOrders / counted_s, kOrders / numbered_s, large_s / 64 * 1e3, look_s / kLookUps * 1e6, audit_s);
  return made_s < 1.0 ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  CHECK(argc == 2, "usage: ledger_numbers_bench FOLDER");
  return weir::run(argv[1]);
}
