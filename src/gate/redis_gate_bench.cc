// What the Redis gate costs a claim, against a server of its own on this machine. Prints microseconds.

#include "base/check.h"
#include "base/random.h"
#include "gate/redis_bed.h"
#include "gate/redis_gate_bed.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace weir {
namespace {

constexpr SaleNo kSale{1};
constexpr std::size_t kClaims = 50'000;

struct Run {
  std::size_t claims_a_script;
  std::size_t scripts_in_a_row;
};

std::vector<Claim> crowd(SeededRandom& random) {
  std::vector<Claim> made(kClaims);
  for (std::size_t i = 0; i < kClaims; ++i) {
    made[i] = redis_bed::claim(1, i + 1);
    made[i].order = OrderId::random(random);
  }
  return made;
}

/// The processor time of the server so far, in microseconds: it does not grow while others have the machine.
double cpu_us(RedisServer& server) {
  const auto seconds = [&](std::string_view name) { return std::atof(server.info(name).c_str()); };
  return 1e6 * (seconds("used_cpu_user_main_thread") + seconds("used_cpu_sys_main_thread"));
}

/// Claims all, and prints what one script and one claim took.
void measure(RedisGate& gate, RedisServer& server, std::span<const Claim> claims, const Run& run, const char* what) {
  std::vector<Verdict> verdicts(claims.size());
  const double cpu_before = cpu_us(server);
  const Ticks start = redis_bed::clock().ticks();
  std::size_t scripts = 0;
  for (std::size_t at = 0; at < claims.size();) {
    std::vector<ReserveBatch> batches;
    while (batches.size() < run.scripts_in_a_row && at < claims.size()) {
      const std::size_t count = std::min(run.claims_a_script, claims.size() - at);
      ReserveBatch& batch = batches.emplace_back();
      batch.sale = kSale;
      batch.claims = claims.subspan(at, count);
      batch.verdicts = std::span(verdicts).subspan(at, count);
      at += count;
    }
    gate.reserve_batches(batches, kNoDeadline);
    for (const ReserveBatch& batch : batches) CHECK(batch.trouble == GateTrouble::none, "{}", batch.message);
    scripts += batches.size();
  }
  const auto us = static_cast<double>((redis_bed::clock().ticks() - start).count());
  const double inside = cpu_us(server) - cpu_before;
  std::printf(
      "%-9s %3zu claims a script, %2zu scripts in a row: %7.0f scripts/s %8.0f claims/s, processor %6.1f us a "
      "script %5.2f us a claim\n",
      what, run.claims_a_script, run.scripts_in_a_row, static_cast<double>(scripts) * 1e6 / us,
      static_cast<double>(claims.size()) * 1e6 / us, inside / static_cast<double>(scripts),
      inside / static_cast<double>(claims.size()));
}

int run_all() {
  if (const auto missing = redis_is_missing()) {
    std::printf("SKIPPED: %s\n", missing->c_str());
    return 0;
  }
  RedisServer server;
  server.start();
  const auto gate = redis_bed::connect({server.address()});
  SeededRandom random(1);
  std::int64_t epoch = 0;
  for (const Run& run : {Run{1, 1}, Run{1, 16}, Run{16, 1}, Run{64, 1}, Run{256, 1}, Run{256, 4}}) {
    const GateItem item{{1}, static_cast<std::int64_t>(kClaims)};
    const std::size_t few = run.claims_a_script == 1 ? kClaims / 10 : kClaims;
    const std::vector<Claim> claims = crowd(random);
    const auto built = redis_bed::build(*gate, {kSale, {1}, "shop:bench", ++epoch, ""}, {1, true, 1}, {&item, 1});
    CHECK(built.has_value(), "{}", built.error().message);
    CHECK(gate->drop_older(kSale, kNoDeadline).has_value());
    measure(*gate, server, std::span(claims).first(few), run, "admitted");
    CHECK(gate->restock({1}, -static_cast<std::int64_t>(kClaims - few), 1, kNoDeadline).has_value());
    std::vector<Claim> late = crowd(random);
    for (std::size_t i = 0; i < late.size(); ++i) late[i].buyer = redis_bed::claim(1, kClaims + i + 1).buyer;
    measure(*gate, server, std::span(late).first(few), run, "sold_out");
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main() { return weir::run_all(); }
