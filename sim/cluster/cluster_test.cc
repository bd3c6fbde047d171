#include "sim/cluster/cluster.h"

#include "base/log.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

constexpr std::uint64_t kSeedsForAMutant = 2000;

TEST(Cluster, TheSameSeedIsTheSameCluster) {
  for (const std::uint64_t seed : {1U, 7U, 23U, 40U, 61U}) {
    const RunReport once = run_cluster({.seed = seed});
    const RunReport again = run_cluster({.seed = seed});
    EXPECT_EQ(once.hash, again.hash) << "seed " << seed;
    EXPECT_EQ(once.events, again.events) << "seed " << seed;
  }
}

TEST(Cluster, AnotherSeedIsAnotherCluster) { EXPECT_NE(run_cluster({.seed = 1}).hash, run_cluster({.seed = 2}).hash); }

class PlantedFault : public testing::TestWithParam<Mutant> {
 protected:
  void SetUp() override { log::start(log::Level::off); }
};

TEST_P(PlantedFault, IsFound) {
  for (std::uint64_t seed = 1; seed <= kSeedsForAMutant; ++seed) {
    const RunReport report = run_cluster({.seed = seed, .is_printed = false, .mutant = GetParam()});
    if (report.violation.empty()) continue;
    RecordProperty("seed", static_cast<int>(seed));
    return;
  }
  FAIL() << name(GetParam()) << " was not found in " << kSeedsForAMutant << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Cluster, PlantedFault, testing::ValuesIn(kMutants),
                         [](const auto& tested) { return std::string{name(tested.param)}; });

}  // namespace
}  // namespace weir::cluster
