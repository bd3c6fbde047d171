#include "sim/world/world.h"

#include "base/fault.h"
#include "base/log.h"

#include <utility>

#include <fmt/format.h>

namespace weir::sim {
namespace {

constexpr std::uint64_t kEventsMax = 60'000;
constexpr Micros kLoadAfterArrivals{15'000'000};

}  // namespace

World::World(const RunOptions& options)
    : options_(options),
      chance_(options.seed),
      swarm_(chance_),
      trace_(options.is_printed),
      disk_(options.seed),
      network_(chance_, swarm_, report_.troubles) {
  log::start(log::Level::off);
  place_ = {.data = "ledger",
            .vfs = disk_.vfs_name(),
            .uses_lock = false,
            .reserve_bytes = swarm_.reserve_bytes,
            .free_bytes = [this] { return disk_.free_bytes(); }};
  if (options.mutant == Mutant::disk_lies) disk_.ignore_syncs(true);
  if (options.mutant == Mutant::runs_ahead) ledger_clock_.set_ahead(Micros{5'000'000});
  process_random_ = std::make_unique<SeededRandom>(options.seed ^ 0x5eed);
  set_fault_hook(&World::reach_point, this);
}

World::~World() {
  set_fault_hook(nullptr, nullptr);
  disk_.kill();
  spy_.reset();
  engine_.reset();
  let_stranger_go();
}

void World::at(Micros after, std::function<void()> act) {
  events_.push({clock_.ticks() + after, ++event_count_, std::move(act)});
}

/// The same, if the process of now is still there then.
void World::in_process(Micros after, std::function<void()> act) {
  at(after, [this, generation = generation_, act = std::move(act)] {
    if (generation == generation_ && is_up()) act();
  });
}

void World::violate(std::string_view rule, const std::string& what) {
  if (is_violated_) return;
  is_violated_ = true;
  report_.violation = fmt::format("{}: {}", rule, what);
  trace_.note(clock_.ticks(), "VIOLATED {}", report_.violation);
}

void World::step(Event event) {
  ++report_.events;
  clock_.pass_until(event.at);
  ledger_clock_.pass_until(clock_.ticks());
  try {
    event.act();
    if (is_up()) check_board();
  } catch (const Death& death) {
    die(death);
  }
}

void World::run_events(Ticks until, std::uint64_t most) {
  for (std::uint64_t i = 0; i < most && !events_.empty() && !is_violated_; ++i) {
    if (events_.top().at > until) break;
    Event next = events_.top();
    events_.pop();
    step(std::move(next));
  }
}

/// To that moment, whatever happens until then.
void World::go_on(Ticks until) {
  const std::uint64_t before = report_.events;
  run_events(until, kEventsMax);
  if (report_.events - before >= kEventsMax) violate("liveness", fmt::format("{} events and no end", kEventsMax));
  clock_.pass_until(until);
  ledger_clock_.pass_until(until);
}

RunReport World::run() {
  open_shop();
  boot();
  plan_buyers();
  plan_trouble();
  at(Micros{0}, [this] { run_cashier(); });
  at(Micros{0}, [this] { check_in_a_quiet_moment(); });
  go_on(clock_.ticks() + swarm_.arrivals + kLoadAfterArrivals);
  settle_down();
  if (!is_violated_) check_end();
  report_.hash = trace_.hash();
  report_.last_lines = trace_.last_lines();
  return report_;
}

/// Everything is well again, and everything that waits gets its time: a time to pay with its grace, the longest delay
/// of a notice, the network's last tries.
void World::settle_down() {
  if (is_violated_) return;
  heal();
  go_on(clock_.ticks() + swarm_.pay_within + swarm_.grace + Micros{45'000'000});
}

RunReport run_world(const RunOptions& options) {
  World world{options};
  return world.run();
}

}  // namespace weir::sim
