#include "base/system_clock.h"
#include "base/system_random.h"
#include "ledger/postgres_bed.h"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::int64_t kUnits = 10'000'000;
constexpr int kRowsWanted = 40'000;

/// Rows a second of one recorder that does nothing else, every commit synced.
double rows_per_second(SharedLedger& ledger, const Clock& clock, std::size_t batch, std::int64_t& offset) {
  int rows = 0;
  const Ticks start = clock.ticks();
  while (rows < kRowsWanted) {
    std::vector<LogClaim> claims(batch);
    for (LogClaim& one : claims) {
      const auto number = static_cast<std::uint64_t>(++offset);
      one.claim = LedgerScene::claim_as({number * 0x9e3779b97f4a7c15U, number}, fmt::format("buyer-{:010}", number));
      one.offset = offset - 1;
      one.epoch = 1;
    }
    std::vector<LogOutcome> outcomes(batch);
    const auto from = offset - static_cast<std::int64_t>(batch);
    const auto done =
        ledger.record_log({.topic_id = "speed", .partition = 0, .expected = from, .next = offset, .claims = claims},
                          outcomes, clock.ticks() + Micros{kLedgerWaitUs});
    if (!done || done->end != SliceEnd::recorded || outcomes[0].fate != LogFate::recorded) {
      std::printf("not recorded: %s\n", done ? "see outcomes" : done.error().message.c_str());
      return 0;
    }
    rows += static_cast<int>(batch);
  }
  return rows * 1e6 / static_cast<double>((clock.ticks() - start).count());
}

int run() {
  auto cluster = PostgresCluster::start(PostgresCluster::Storage::durable);
  if (!cluster) {
    std::printf("SKIPPED: %s\n", cluster.error().message.c_str());
    return 0;
  }
  SystemClock clock;
  SystemRandom random;
  const PostgresOptions options{.dsn = (*cluster)->dsn((*cluster)->make_schema()), .sells_alone = false};
  if (const auto migrated = PostgresLedger::migrate(options, clock, random); !migrated) return 1;
  const auto ledger = std::move(*PostgresLedger::open(options, clock, random));
  const auto deadline = [&] { return clock.ticks() + Micros{kLedgerWaitUs}; };
  static_cast<void>(ledger->create_sale(
      {.id = "drop", .title = "Drop", .opens_at = clock.now(), .closes_at = clock.now() + Micros{86'400'000'000}}));
  static_cast<void>(
      ledger->add_item({.sale = "drop", .id = "hat", .title = "Hat", .price = {1999, {}}, .units = kUnits}));
  static_cast<void>(ledger->begin_build({.sale = {1}, .builder = "speed"}, deadline()));
  static_cast<void>(
      ledger->finish_build({.sale = {1}, .epoch = 1, .builder = "speed", .pin = "x", .marks = {}}, deadline()));
  static_cast<void>(ledger->start_log({"speed", 0, 0}, deadline()));
  std::int64_t offset = 0;
  static_cast<void>(rows_per_second(*ledger, clock, 100, offset));  // The first ones find an empty table.
  for (const std::size_t batch : {100U, 500U, 1000U}) {
    std::printf("batch %4zu: %.0f rows a second\n", batch, rows_per_second(*ledger, clock, batch, offset));
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main() { return weir::run(); }
