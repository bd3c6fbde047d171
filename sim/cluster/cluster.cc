#include "sim/cluster/cluster.h"

#include "base/check.h"
#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir::cluster {
namespace {

constexpr std::int64_t kTroubleUs = 75'000'000;  // So long things go wrong, at most; then comes rest.
constexpr std::uint64_t kAllVerbs = 0xff;
constexpr std::uint64_t kRecordVerb = 1;
constexpr std::uint64_t kUpkeepVerbs = 2 | 4 | 8 | 16;
constexpr std::uint64_t kBuildVerb = 32;

Catalog shop(const Swarm& swarm, sim::Chance& chance) {
  Tenant tenant{.no = {1}, .id = "default", .domains = {}, .order_id_key_0 = {1, 2}, .order_id_key_1 = {3, 4}};
  Sale sale;
  sale.no = {1};
  sale.tenant = {1};
  sale.id = "drop";
  sale.closes_at = {INT64_MAX};
  sale.limit_per_buyer = swarm.limit;
  sale.pay_within = swarm.pay_within;
  std::vector<Item> items;
  for (std::int64_t i = 1; i <= swarm.items; ++i) {
    Item item;
    item.no = {static_cast<std::uint32_t>(i)};
    item.sale = {1};
    item.id = fmt::format("item{}", i);
    item.total = chance.between(1, swarm.units_most);
    items.push_back(std::move(item));
  }
  return Catalog{{std::move(tenant)}, {std::move(sale)}, std::move(items)};
}

}  // namespace

RunReport run_cluster(const RunOptions& options) { return Cluster{options}.run(); }

Cluster::Cluster(const RunOptions& options)
    : options_(options),
      chance_(options.seed * 2 + 1),
      trace_(options.is_printed),
      swarm_(chance_),
      gates_(clock_),
      log_(clock_, static_cast<std::size_t>(swarm_.partitions)),
      rows_(shop(swarm_, chance_)) {
  gates_.faults = gate_faults_of(options.mutant);
  rows_.faults = ledger_faults_of(options.mutant);
  for (std::size_t i = 0; i < kNodes + kWorkers; ++i) {
    auto process = std::make_unique<Process>();
    process->is_node = i < kNodes;
    process->number = i;
    process->name =
        fmt::format("{}{}", process->is_node ? "node" : "worker", process->is_node ? i + 1 : i - kNodes + 1);
    process->wire = std::make_unique<ProcessWire>(*this, *process);
    processes_.push_back(std::move(process));
  }
}

Cluster::~Cluster() {
  for (const auto& process : processes_) stop(*process);
}

void Cluster::at(Micros from_now, std::function<void()> happening) {
  const auto order = static_cast<std::uint64_t>(chance_.between(0, 1'000'000'000));
  events_.push({.at = clock_.ticks() + from_now, .order = order, .happen = std::move(happening)});
}

RunReport Cluster::run() {
  set_fault_hook([](std::string_view point, void* self) { static_cast<Cluster*>(self)->reach_point(point); }, this);
  for (const auto& process : processes_) start(*process);
  open_shop();
  plan_trouble();
  at(Micros{chance_.between(kTroubleUs / 4, kTroubleUs)}, [this] { become_calm(); });
  while (!is_over_ && !events_.empty() && report_.violation.empty()) go_on();
  if (report_.violation.empty()) audit();
  set_fault_hook(nullptr, nullptr);
  report_.hash = trace_.hash();
  if (!report_.violation.empty()) report_.last_lines = trace_.last_lines();
  for (const auto& process : processes_) stop(*process);
  return report_;
}

void Cluster::go_on() {
  Event event = events_.top();
  events_.pop();
  clock_.pass_until(event.at);
  ++report_.events;
  event.happen();
  for (const auto& process : processes_) {
    if (!process->has_died) continue;
    trace_.note(clock_.ticks(), "{} dies", process->name);
    stop(*process);
    restart_later(*process);
  }
}

void Cluster::restart_later(Process& process) {
  if (!process.is_node) at(chance_.span(0, 3'000'000), [this, member = process.member] { log_.leave(member); });
  const Micros down = is_calm_ ? Micros{100'000} : chance_.span(10'000, swarm_.down_most.count());
  at(down, [this, &process] { start(process); });
}

void Cluster::start(Process& process) {
  if (process.is_up) return;
  process.is_up = true;
  process.has_died = false;
  process.frozen_until = {};
  ++process.starts;
  ++report_.starts;
  trace_.note(clock_.ticks(), "{} starts", process.name);
  process.is_node ? start_node(process) : start_worker(process);
}

void Cluster::start_node(Process& process) {
  const Surroundings around{gates_, log_, rows_, *this, clock_, options_.mutant};
  process.node = std::make_unique<NodeParts>(around, *process.wire,
                                             [this](const ClaimAnswer& answer) { hear(answer.ticket.slot, answer); });
  NodeParts& node = *process.node;
  add_agent(process, [this, &node] {
    const auto done = node.admit.step(clock_.ticks());
    return done && *done > 0 ? chance_.span(10, 2'000) : std::min(swarm_.idle, Micros{200'000});
  });
  add_agent(process, [this, &node] {
    const auto done = node.lease.step(clock_.ticks());
    if (!done && done.error().failure == Failure::timed_out) static_cast<void>(node.ledger->recover({}));
    return Micros{kLeaseLookUs};
  });
}

void Cluster::start_worker(Process& process) {
  const Surroundings around{gates_, log_, rows_, *this, clock_, options_.mutant};
  const std::size_t member = process.member = member_next_++;
  std::vector<std::uint64_t> threads{kAllVerbs};
  if (swarm_.has_threads) threads = {kRecordVerb, kUpkeepVerbs, kBuildVerb};
  for (const std::uint64_t verbs : threads) {
    process.threads.push_back(std::make_unique<WorkerParts>(around, *process.wire, member,
                                                            fmt::format("{}-{}", process.name, process.starts)));
    WorkerParts& parts = *process.threads.back();
    add_agent(process, [this, &parts, verbs] { return work(parts, verbs); });
  }
  log_.join(member);
}

/// One round of a worker's thread: each of its verbs once, in any order.
Micros Cluster::work(WorkerParts& parts, std::uint64_t verbs) {
  Micros rest = rest_after(parts.lease.step(clock_.ticks()), parts);
  std::vector<int> turns{0, 1, 2, 3, 4, 5};
  for (std::size_t i = turns.size() - 1; i > 0; --i) {
    std::swap(turns[i], turns[static_cast<std::size_t>(chance_.between(0, static_cast<std::int64_t>(i)))]);
  }
  for (const int turn : turns) {
    if ((verbs >> turn & 1) == 0) continue;
    const Ticks now = clock_.ticks();
    Result<std::size_t> done = 0;
    if (turn == 0) done = parts.record.step(now);
    if (turn == 1) done = parts.give_back.step(now);
    if (turn == 2 && options_.mutant != Mutant::never_drives_again) done = parts.redrive.step(now);
    if (turn == 3) done = parts.late_money.step(now);
    if (turn == 4) done = parts.expire.step(now);
    if (turn == 5) done = parts.build.step(now);
    parts.build.saw_epoch_in_log(parts.record.epoch_seen());
    rest = std::min(rest, rest_after(done, parts));
  }
  return rest;
}

/// How long to rest after a step; after an unknown commit the ledger recovers first.
Micros Cluster::rest_after(const Result<std::size_t>& done, WorkerParts& parts) {
  if (done) return *done > 0 ? chance_.span(10, 3'000) : swarm_.idle;
  if (done.error().failure == Failure::timed_out) static_cast<void>(parts.ledger->recover({}));
  if (done.error().failure == Failure::corrupt) violate("a verb met corrupt data: " + done.error().message);
  return std::max(Micros{kUpkeepRestUs}, swarm_.idle);
}

void Cluster::add_agent(Process& process, std::function<Micros()> round) {
  process.agents.push_back(std::make_unique<Agent>());
  Agent& agent = *process.agents.back();
  agent.process = &process;
  agent.round = std::move(round);
  agent.fiber = std::make_unique<Fiber>([this, &agent] { live(agent); });
  wake_in(agent, chance_.span(0, 50'000));
}

void Cluster::live(Agent& agent) {
  try {
    while (true) {
      const Micros rest = agent.round();
      agent.is_idle = true;
      pause(rest);
      agent.is_idle = false;
    }
  } catch (const Death&) {
    agent.process->has_died = true;
  }
}

void Cluster::wake_in(Agent& agent, Micros span) {
  const std::uint64_t wake = ++agent.wake;
  Process& process = *agent.process;
  const std::uint64_t start = process.starts;
  at(span, [this, &process, &agent, wake, start] {
    // The agent of an earlier start is gone; what it waited for is nobody's.
    if (!process.is_up || process.starts != start || agent.wake != wake) return;
    if (clock_.ticks() < process.frozen_until) {
      wake_in(agent, process.frozen_until - clock_.ticks() + chance_.span(0, 1'000));
      return;
    }
    resume(agent);
  });
}

void Cluster::resume(Agent& agent) {
  current_ = &agent;
  agent.fiber->resume();
  current_ = nullptr;
}

void Cluster::pause(Micros span) {
  Agent& agent = *current_;
  wake_in(agent, span);
  agent.fiber->pause();
  if (agent.is_dying) throw Death{};
}

/// Ends a process where it stands: whatever it was in the middle of never goes on.
void Cluster::stop(Process& process) {
  for (const auto& agent : process.agents) {
    agent->is_dying = true;
    if (agent->fiber->has_begun() && !agent->fiber->is_done()) resume(*agent);
  }
  process.agents.clear();
  process.node.reset();
  process.threads.clear();
  process.is_up = false;
  process.has_died = false;
}

}  // namespace weir::cluster
