#include "sim/world/world.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace weir::sim {
namespace {

constexpr int kExitViolated = 1;
constexpr std::uint64_t kSeedsForAllKinds = 2000;  // From so many on, each kind of trouble must have been met.

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t paid = 0;
  std::uint64_t starts = 0;
  std::uint64_t violations = 0;
  TroubleCounts troubles{};
};

struct Options {
  std::uint64_t seeds = 2000;
  std::uint64_t first = 1;
  std::uint64_t only = 0;
  bool is_json = false;
  std::string mutant = "none";
  std::string seeds_file;
};

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
  totals.events += report.events;
  totals.accepted += report.accepted;
  totals.refused += report.refused;
  totals.paid += report.paid;
  totals.starts += report.starts;
  for (std::size_t i = 0; i < kTroubleCount; ++i) totals.troubles[i] += report.troubles[i];
}

void tell_violation(const RunReport& report, std::uint64_t seed) {
  for (const std::string& line : report.last_lines) fmt::print(stderr, "{}\n", line);
  fmt::print(stderr, "violated: {}\n", report.violation);
  fmt::print(stderr, "repeat: build/dev/sim/weir_sim --seed {}\n", seed);
}

void print_text(const Totals& totals) {
  fmt::print("{} seeds, {} events, {} accepted, {} refused, {} paid, {} starts, {} violations\n", totals.seeds,
             totals.events, totals.accepted, totals.refused, totals.paid, totals.starts, totals.violations);
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    fmt::print("  {:<28} {}\n", name(static_cast<Trouble>(i)), totals.troubles[i]);
  }
}

void print_json(const Totals& totals) {
  fmt::print(
      "{{\"seeds\":{},\"events\":{},\"accepted\":{},\"refused\":{},\"paid\":{},\"starts\":{},\"violations\":{},"
      "\"troubles\":{{",
      totals.seeds, totals.events, totals.accepted, totals.refused, totals.paid, totals.starts, totals.violations);
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    fmt::print("{}\"{}\":{}", i == 0 ? "" : ",", name(static_cast<Trouble>(i)), totals.troubles[i]);
  }
  fmt::print("}}}}\n");
}

int run_one(const Options& options, Mutant mutant) {
  const RunReport report = run_world({.seed = options.only, .is_printed = !options.is_json, .mutant = mutant});
  Totals totals;
  add(totals, report);
  totals.violations = report.violation.empty() ? 0 : 1;
  if (options.is_json) print_json(totals);
  fmt::print(stderr, "hash {:016x}\n", report.hash);
  if (report.violation.empty()) return EXIT_SUCCESS;
  tell_violation(report, options.only);
  return kExitViolated;
}

int run_many(const Options& options, Mutant mutant) {
  Totals totals;
  std::vector<std::uint64_t> seeds = known_seeds(options.seeds_file);
  for (std::uint64_t i = 0; i < options.seeds; ++i) seeds.push_back(options.first + i);
  for (const std::uint64_t seed : seeds) {
    const RunReport report = run_world({.seed = seed, .is_printed = false, .mutant = mutant});
    add(totals, report);
    if (report.violation.empty()) continue;
    ++totals.violations;
    tell_violation(report, seed);
    break;
  }
  if (options.is_json)
    print_json(totals);
  else
    print_text(totals);
  if (totals.violations > 0) return kExitViolated;
  bool is_all_met = true;
  for (std::size_t i = 0; i < kTroubleCount && options.seeds >= kSeedsForAllKinds; ++i) {
    if (totals.troubles[i] > 0) continue;
    is_all_met = false;
    fmt::print(stderr, "never met: {}\n", name(static_cast<Trouble>(i)));
  }
  return is_all_met ? EXIT_SUCCESS : kExitViolated;
}

int run(int count, char** arguments) {
  Options options;
  CLI::App app{"Simulates whole sales, one a seed, with everything that can go wrong."};
  app.add_option("--seeds", options.seeds, "How many seeds");
  app.add_option("--first", options.first, "The first seed");
  app.add_option("--seed", options.only, "One seed, line by line");
  app.add_option("--mutant", options.mutant, "Plants a fault around the shipped parts");
  app.add_option("--known", options.seeds_file, "A file of seeds that are run first");
  app.add_flag("--json", options.is_json, "Prints the counts as JSON");
  CLI11_PARSE(app, count, arguments);
  const auto mutant = options.mutant == "none" ? std::optional{Mutant::none} : mutant_of(options.mutant);
  if (!mutant) {
    fmt::print(stderr, "no mutant '{}'\n", options.mutant);
    return 2;
  }
  return options.only != 0 ? run_one(options, *mutant) : run_many(options, *mutant);
}

}  // namespace
}  // namespace weir::sim

int main(int count, char** arguments) { return weir::sim::run(count, arguments); }
