// What the memory gate costs a claim. `dev bench gate_bench`, or run it: figures are nanoseconds of one thread.

#include "base/check.h"
#include "base/random.h"
#include "gate/memory_gate.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

namespace weir {
namespace {

constexpr Deadline kNever{INT64_MAX};
constexpr SaleNo kSale{1};
constexpr ItemNo kItem{1};

/// The `number`th buyer of a run; drawn in the same order, so that one seed names the same crowd again.
struct Buyer {
  OrderId order;
  BuyerKey key;
};
std::vector<Buyer> crowd(std::size_t size, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<Buyer> made(size);
  for (Buyer& buyer : made) buyer = {OrderId::random(random), {random.draw() | 1}};
  return made;
}

std::vector<Claim> claims_of(std::span<const Buyer> buyers) {
  std::vector<Claim> made(buyers.size());
  for (std::size_t i = 0; i < buyers.size(); ++i) {
    made[i].order = buyers[i].order;
    made[i].buyer_key = buyers[i].key;
    made[i].sale = kSale;
    made[i].item = kItem;
  }
  return made;
}

std::vector<Hold> holds_of(std::span<const Buyer> buyers) {
  std::vector<Hold> made(buyers.size());
  for (std::size_t i = 0; i < buyers.size(); ++i) {
    made[i] = {.order = buyers[i].order, .sale = kSale, .item = kItem, .units = 1, .buyer_key = buyers[i].key};
  }
  return made;
}

std::unique_ptr<MemoryGate> open_gate(std::int64_t units) {
  auto gate = std::make_unique<MemoryGate>();
  const GateItem item{kItem, units};
  CHECK(gate->open({kSale, 1, true}, {&item, 1}, kNever).has_value());
  return gate;
}

/// Every unit is held: a table as full as it gets.
std::unique_ptr<MemoryGate> sold_out_gate(std::span<const Buyer> buyers) {
  auto gate = open_gate(static_cast<std::int64_t>(buyers.size()));
  CHECK(gate->adopt(holds_of(buyers), kNever).has_value());
  return gate;
}

void count_each(benchmark::State& state, std::int64_t each) {
  state.SetItemsProcessed(state.iterations() * each);
  state.counters["each"] = benchmark::Counter(static_cast<double>(state.iterations() * each),
                                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// A whole sale in batches, from the first unit to the last.
void reserve_admitted(benchmark::State& state) {
  const auto units = static_cast<std::size_t>(state.range(0));
  const std::vector<Claim> claims = claims_of(crowd(units, 1));
  std::vector<Verdict> verdicts(kGateBatchMax);
  std::unique_ptr<MemoryGate> gate;
  for (auto step : state) {
    state.PauseTiming();
    gate = open_gate(static_cast<std::int64_t>(units));
    state.ResumeTiming();
    for (std::size_t at = 0; at < units; at += kGateBatchMax) {
      const std::size_t count = std::min(kGateBatchMax, units - at);
      CHECK(gate->reserve(std::span(claims).subspan(at, count), std::span(verdicts).first(count), kNever).has_value());
    }
    CHECK(verdicts[0].admission == Admission::admitted);
  }
  count_each(state, state.range(0));
}
BENCHMARK(reserve_admitted)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

/// Buyers who come after the last unit, answered by the desk.
void reserve_sold_out(benchmark::State& state) {
  const auto gate = sold_out_gate(crowd(static_cast<std::size_t>(state.range(0)), 1));
  std::vector<Claim> late = claims_of(crowd(kGateBatchMax, 2));
  std::vector<Verdict> verdicts(kGateBatchMax);
  SeededRandom random(3);
  for (auto step : state) {
    for (Claim& claim : late) claim.buyer_key = {random.draw()};  // Never the same again: drawing costs 1 ns.
    CHECK(gate->reserve(late, verdicts, kNever).has_value());
    CHECK(verdicts[0].admission == Admission::sold_out);
  }
  count_each(state, kGateBatchMax);
}
BENCHMARK(reserve_sold_out)->Arg(1000)->Arg(1'000'000);

/// What a reactor asks before it refuses: the buyer is a stranger.
void may_hold_stranger(benchmark::State& state) {
  const auto gate = sold_out_gate(crowd(static_cast<std::size_t>(state.range(0)), 1));
  const KnownBuyers& known = gate->known_buyers();
  SeededRandom random(3);
  for (auto step : state) benchmark::DoNotOptimize(known.may_hold(kSale, {random.draw()}));
}
BENCHMARK(may_hold_stranger)->Arg(1000)->Arg(1'000'000);

void may_hold_owner(benchmark::State& state) {
  const std::vector<Buyer> buyers = crowd(static_cast<std::size_t>(state.range(0)), 1);
  const auto gate = sold_out_gate(buyers);
  const KnownBuyers& known = gate->known_buyers();
  std::size_t at = 0;
  for (auto step : state) {
    benchmark::DoNotOptimize(known.may_hold(kSale, buyers[at].key));
    at = at + 1 == buyers.size() ? 0 : at + 1;
  }
}
BENCHMARK(may_hold_owner)->Arg(1000)->Arg(1'000'000);

/// The refusal's own question, over one item and over ten thousand.
void has_free(benchmark::State& state) {
  const auto items = static_cast<std::uint32_t>(state.range(0));
  ShelfBoard board;
  for (std::uint32_t no = 1; no <= items; ++no) board.publish({no}, {.total = 1, .sold = 1, .version = 1});
  std::uint32_t no = 0;
  for (auto step : state) {
    no = no + 7919 < items ? no + 7919 : (no + 7919) % items;
    benchmark::DoNotOptimize(board.has_free({no + 1}, 1));
  }
}
BENCHMARK(has_free)->Arg(1)->Arg(10'000);

/// All orders of a sale expire, in batches of the size that the ledger ends them in.
void release(benchmark::State& state) {
  const std::vector<Buyer> buyers = crowd(static_cast<std::size_t>(state.range(0)), 1);
  const std::vector<Hold> holds = holds_of(buyers);
  std::unique_ptr<MemoryGate> gate;
  for (auto step : state) {
    state.PauseTiming();
    gate = sold_out_gate(buyers);
    state.ResumeTiming();
    for (std::size_t at = 0; at < holds.size(); at += kExpireStepMax) {
      const std::size_t count = std::min(kExpireStepMax, holds.size() - at);
      CHECK(gate->release(std::span(holds).subspan(at, count), kNever).has_value());
    }
  }
  count_each(state, state.range(0));
}
BENCHMARK(release)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

/// The start of a process: the ledger's live orders come back.
void adopt(benchmark::State& state) {
  const std::vector<Buyer> buyers = crowd(static_cast<std::size_t>(state.range(0)), 1);
  const std::vector<Hold> holds = holds_of(buyers);
  std::unique_ptr<MemoryGate> gate;
  for (auto step : state) {
    state.PauseTiming();
    gate = open_gate(state.range(0));
    state.ResumeTiming();
    CHECK(gate->adopt(holds, kNever).has_value());
  }
  count_each(state, state.range(0));
}
BENCHMARK(adopt)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
