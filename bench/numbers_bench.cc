// What it costs to find free numbers: `ninja -C build/release numbers_bench`, then run it. Figures are nanoseconds of
// one thread.

#include "base/check.h"
#include "base/random.h"
#include "config/limits.h"
#include "gate/number_set.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

namespace weir {
namespace {

/// `size` numbers of which `free` are left, anywhere.
NumberSet picked_over(std::size_t size, std::size_t free) {
  NumberSet set{size};
  SeededRandom random{1};
  std::vector<std::uint32_t> places(static_cast<std::size_t>(kUnitsPerClaimMax));
  while (set.free_count() > free) {
    const std::size_t count = std::min(places.size(), set.free_count() - free);
    CHECK(set.take_random(std::span{places}.first(count), random));
  }
  return set;
}

/// Takes `range(2)` at once and puts them back: the fill stays. Arguments: numbers, free ones, how many at once.
void take_random(benchmark::State& state) {
  NumberSet set = picked_over(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  SeededRandom random{2};
  std::vector<std::uint32_t> places(static_cast<std::size_t>(state.range(2)));
  for (auto step : state) {
    CHECK(set.take_random(places, random));
    for (const std::uint32_t place : places) CHECK(set.put_back(place));
  }
  state.counters["bytes"] = static_cast<double>(set.bytes());
}
BENCHMARK(take_random)
    ->ArgNames({"numbers", "free", "at_once"})
    ->Args({10'000, 100, 1})
    ->Args({1'000'000, 10'000, 1})
    ->Args({10'000'000, 10'000'000, 1})
    ->Args({10'000'000, 100'000, 1})
    ->Args({10'000'000, 100, 1})
    ->Args({10'000'000, 100'000, 10})
    ->Args({10'000'000, 100'000, 1000});

void take_named(benchmark::State& state) {
  NumberSet set = picked_over(10'000'000, 5'000'000);
  SeededRandom random{3};
  for (auto step : state) {
    const std::size_t place = random.below(set.size());
    if (set.take(place)) CHECK(set.put_back(place));
  }
}
BENCHMARK(take_named);

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
