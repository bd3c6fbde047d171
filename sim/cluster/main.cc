#include "base/log.h"
#include "sim/cluster/cluster.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace weir::cluster {
namespace {

constexpr int kExitViolated = 1;
constexpr int kExitUsage = 2;
constexpr std::uint64_t kSeedsForAllKinds = 2000;  // From so many on, each kind of trouble must have been met.

struct Options {
  std::uint64_t seeds = 2000;
  std::uint64_t first = 1;
  std::uint64_t only = 0;
  std::string mutant = "none";
  std::string seeds_file;
  bool goes_on = false;
};

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t violations = 0;
  std::uint64_t events = 0;
  std::uint64_t accepted = 0;
  std::uint64_t builds = 0;
  std::uint64_t starts = 0;
  Micros longest_rest{0};
  TroubleCounts troubles{};
};

/// Kinds that a run may be without: the protocol allows the one only after a sleep that is longer than everything it
/// waits for, and makes the other as good as impossible. Both are counted, and explained by the checks when met.
bool may_stay_away(Trouble trouble) {
  return trouble == Trouble::rejected_after_202 || trouble == Trouble::straggler_of_other_contents;
}

/// Seeds that failed once, one a line; what follows a `#` is for people.
std::vector<std::uint64_t> known_seeds(const std::string& path) {
  std::vector<std::uint64_t> seeds;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    const std::uint64_t seed = std::strtoull(line.c_str(), nullptr, 10);
    if (seed != 0) seeds.push_back(seed);
  }
  return seeds;
}

void add(Totals& totals, const RunReport& report) {
  ++totals.seeds;
  if (!report.violation.empty()) ++totals.violations;
  totals.events += report.events;
  totals.accepted += report.accepted;
  totals.builds += report.builds;
  totals.starts += report.starts;
  totals.longest_rest = std::max(totals.longest_rest, report.rest_took);
  for (std::size_t i = 0; i < kTroubleCount; ++i) totals.troubles[i] += report.troubles[i];
}

void tell_violation(const RunReport& report, std::uint64_t seed, bool is_short) {
  for (const std::string& line : report.last_lines) {
    if (!is_short) fmt::print(stderr, "{}\n", line);
  }
  fmt::print(stderr, "violated: {}\n", report.violation);
  fmt::print(stderr, "repeat: build/dev/sim/weir_cluster_sim --seed {}\n", seed);
}

void print(const Totals& totals) {
  fmt::print(
      "{} seeds, {} events, {} answered 202, {} builds, {} starts, whole after {:.1f} s at most, {} violations\n",
      totals.seeds, totals.events, totals.accepted, totals.builds, totals.starts,
      static_cast<double>(totals.longest_rest.count()) / 1e6, totals.violations);
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    fmt::print("  {:<36} {}\n", name(static_cast<Trouble>(i)), totals.troubles[i]);
  }
}

int run_one(const Options& options, Mutant mutant) {
  const RunReport report = run_cluster({.seed = options.only, .is_printed = true, .mutant = mutant});
  fmt::print(stderr, "hash {:016x}\n", report.hash);
  if (report.violation.empty()) return EXIT_SUCCESS;
  tell_violation(report, options.only, true);
  return kExitViolated;
}

int run_many(const Options& options, Mutant mutant) {
  Totals totals;
  std::vector<std::uint64_t> seeds = known_seeds(options.seeds_file);
  for (std::uint64_t i = 0; i < options.seeds; ++i) seeds.push_back(options.first + i);
  for (const std::uint64_t seed : seeds) {
    const RunReport report = run_cluster({.seed = seed, .is_printed = false, .mutant = mutant});
    add(totals, report);
    if (report.violation.empty()) continue;
    tell_violation(report, seed, options.goes_on);
    if (!options.goes_on) break;
  }
  print(totals);
  if (totals.violations > 0) return kExitViolated;
  bool is_all_met = true;
  for (std::size_t i = 0; i < kTroubleCount && options.seeds >= kSeedsForAllKinds; ++i) {
    if (totals.troubles[i] > 0 || may_stay_away(static_cast<Trouble>(i))) continue;
    is_all_met = false;
    fmt::print(stderr, "never met: {}\n", name(static_cast<Trouble>(i)));
  }
  return is_all_met ? EXIT_SUCCESS : kExitViolated;
}

int run(int count, char** arguments) {
  Options options;
  CLI::App app{"Simulates sales of several processes, one a seed, with everything that can go wrong."};
  app.add_option("--seeds", options.seeds, "How many seeds");
  app.add_option("--first", options.first, "The first seed");
  app.add_option("--seed", options.only, "One seed, line by line");
  app.add_option("--mutant", options.mutant, "Leaves out one rule of the protocol");
  app.add_option("--known", options.seeds_file, "A file of seeds that are run first");
  app.add_flag("--go-on", options.goes_on, "Goes on with the next seed after a violation");
  CLI11_PARSE(app, count, arguments);
  const auto mutant = options.mutant == "none" ? std::optional{Mutant::none} : mutant_of(options.mutant);
  if (!mutant) {
    fmt::print(stderr, "no mutant '{}'\n", options.mutant);
    return kExitUsage;
  }
  return options.only != 0 ? run_one(options, *mutant) : run_many(options, *mutant);
}

}  // namespace
}  // namespace weir::cluster

int main(int count, char** arguments) {
  weir::log::start(weir::log::Level::off);
  return weir::cluster::run(count, arguments);
}
