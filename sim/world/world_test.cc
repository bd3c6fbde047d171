#include "sim/world/world.h"

#include <gtest/gtest.h>

namespace weir::sim {
namespace {

constexpr std::uint64_t kSeedsForAMutant = 300;

TEST(World, TheSameSeedIsTheSameWorld) {
  for (const std::uint64_t seed : {1U, 7U, 23U, 40U, 61U, 130U}) {
    const RunReport once = run_world({.seed = seed});
    const RunReport again = run_world({.seed = seed});
    EXPECT_EQ(once.hash, again.hash) << "seed " << seed;
    EXPECT_EQ(once.events, again.events) << "seed " << seed;
  }
}

TEST(World, AnotherSeedIsAnotherWorld) { EXPECT_NE(run_world({.seed = 1}).hash, run_world({.seed = 2}).hash); }

class PlantedFault : public testing::TestWithParam<Mutant> {};

TEST_P(PlantedFault, IsFound) {
  for (std::uint64_t seed = 1; seed <= kSeedsForAMutant; ++seed) {
    const RunReport report = run_world({.seed = seed, .is_printed = false, .mutant = GetParam()});
    if (!report.violation.empty()) return;
  }
  FAIL() << name(GetParam()) << " was not found in " << kSeedsForAMutant << " seeds";
}

INSTANTIATE_TEST_SUITE_P(World, PlantedFault, testing::ValuesIn(kMutants),
                         [](const auto& tested) { return std::string{name(tested.param)}; });

}  // namespace
}  // namespace weir::sim
