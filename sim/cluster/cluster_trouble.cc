#include "config/limits.h"
#include "sim/cluster/cluster.h"

#include <array>
#include <utility>

namespace weir::cluster {

/// Something befalls the cluster about every `trouble_every`, and its copy of the gate catches up now and then.
void Cluster::plan_trouble() {
  at(chance_.span(10'000, 2 * swarm_.trouble_every.count()), [this] {
    if (is_calm_) return;
    if (is_stormy()) strike();
    plan_trouble();
  });
}

void Cluster::strike() {
  if (chance_.hits(swarm_.copies * 4)) gates_.keep_a_copy();
  const std::array<std::pair<std::int64_t, int>, 17> kinds{{{swarm_.kills, 0},
                                                            {swarm_.sleeps, 1},
                                                            {swarm_.failovers, 2},
                                                            {swarm_.splits, 3},
                                                            {swarm_.restarts_empty, 4},
                                                            {swarm_.old_copies, 5},
                                                            {swarm_.moves, 6},
                                                            {swarm_.lost_keys, 7},
                                                            {swarm_.gate_outages, 8},
                                                            {swarm_.log_outages, 9},
                                                            {swarm_.rebalances, 10},
                                                            {swarm_.zombies, 11},
                                                            {swarm_.frozen_consumers, 12},
                                                            {swarm_.garbage, 13},
                                                            {swarm_.ledger_outages, 14},
                                                            {swarm_.pauses, 15},
                                                            {swarm_.kills / 20, 16}}};
  std::int64_t sum = 0;
  for (const auto& [weight, kind] : kinds) sum += weight;
  if (sum == 0) return;
  std::int64_t drawn = chance_.between(1, sum);
  for (const auto& [weight, kind] : kinds) {
    drawn -= weight;
    if (drawn > 0) continue;
    if (kind == 16) {
      met(Trouble::all_killed);
      for (const auto& process : processes_) process->has_died = process->is_up;
      return;
    }
    if (kind <= 1) return strike_process(kind == 0);
    if (kind <= 8) return strike_gate(kind);
    if (kind <= 13) return strike_log(kind);
    return kind == 14 ? strike_ledger() : change_sale();
  }
}

void Cluster::strike_process(bool kills) {
  Process& process = *processes_[static_cast<std::size_t>(chance_.between(0, kNodes + kWorkers - 1))];
  if (!process.is_up) return;
  if (!kills) return put_to_sleep(process, chance_.span(100'000, 15'000'000));
  met(process.is_node ? Trouble::node_killed_between_steps : Trouble::worker_killed_between_steps);
  process.has_died = true;
}

void Cluster::strike_gate(std::int64_t kind) {
  const Ticks now = clock_.ticks();
  switch (kind) {
    case 2:
      met(Trouble::gate_lost_a_suffix);
      trace_.note(now, "the gate fails over and loses what was written last");
      gates_.fail_over_to_the_copy(false);
      return;
    case 3:
      met(Trouble::gate_was_split);
      trace_.note(now, "the gate fails over, and the old master answers on");
      gates_.fail_over_to_the_copy(true);
      cut_off_some_clients(now + chance_.span(500'000, 25'000'000));
      return;
    case 4:
      met(Trouble::gate_restarted_empty);
      trace_.note(now, "the gate restarts empty");
      gates_.restart_empty();
      return;
    case 5:
      met(Trouble::gate_restarted_from_an_old_copy);
      trace_.note(now, "the gate restarts from an old copy");
      gates_.fail_over_to_the_copy(false);
      return;
    case 6:
      met(Trouble::gate_was_moved);
      trace_.note(now, "the sale moves to another process of the gate");
      gates_.move();
      return;
    case 7:
      met(Trouble::gate_lost_a_key);
      trace_.note(now, "the gate loses a key");
      gates_.lose_a_key();
      return;
    default: break;
  }
  if (chance_.one_in(3)) {
    met(Trouble::gate_forgot_its_scripts);  // The client sends them again: a call that takes twice as long.
    return;
  }
  met(Trouble::gate_away);
  trace_.note(now, "the gate is away");
  gates_.is_away = true;
  at(chance_.span(100'000, 8'000'000), [this] { gates_.is_away = false; });
}

/// Clients on the far side of a split talk to the old master on; all others find the new one at once.
void Cluster::cut_off_some_clients(Ticks until) {
  at(until - clock_.ticks(), [this] { gates_.end_splits(); });
  for (const auto& process : processes_) {
    if (process->is_up && chance_.one_in(2)) {
      process->nods_off = !process->is_node && chance_.hits(swarm_.nods_off);
      if (!chance_.hits(swarm_.cut_off)) continue;
      met(Trouble::cut_off_from_the_ledger);
      process->cut_off_until = until;
      continue;
    }
    if (!process->is_up) continue;
    if (process->node) process->node->gate.follow_master();
    for (const auto& parts : process->threads) parts->gate.follow_master();
  }
}

void Cluster::strike_log(std::int64_t kind) {
  Process& process = *processes_[static_cast<std::size_t>(chance_.between(kNodes, kNodes + kWorkers - 1))];
  const Ticks now = clock_.ticks();
  switch (kind) {
    case 9:
      met(Trouble::broker_away);
      trace_.note(now, "the log is away");
      log_.is_away = true;
      at(chance_.span(100'000, 10'000'000), [this] { log_.is_away = false; });
      return;
    case 10:
      met(Trouble::group_rebalanced);
      log_.rebalance(static_cast<std::size_t>(chance_.between(0, 3)));
      return;
    case 11:
      if (!process.is_up) return;
      for (const auto& parts : process.threads) parts->consumer.go_deaf(now + chance_.span(500'000, 15'000'000));
      log_.rebalance(static_cast<std::size_t>(chance_.between(0, 3)));
      met(Trouble::group_rebalanced);
      return;
    case 12:
      if (!process.is_up) return;
      met(Trouble::consumer_frozen);
      for (const auto& parts : process.threads) parts->consumer.freeze(now + chance_.span(500'000, 8'000'000));
      return;
    default: break;
  }
  LogEntry::Raw raw{.problem = {.why = Unreadable::malformed, .detail = "", .order = {}}, .key = "k", .bytes = "{"};
  met(Trouble::garbage_in_the_log);
  if (!claimed_.empty() && chance_.one_in(2)) {
    met(Trouble::garbage_with_an_order_in_the_log);
    auto some = claimed_.begin();
    std::advance(some, chance_.between(0, static_cast<std::int64_t>(claimed_.size()) - 1));
    raw.problem.order = some->first;
  }
  ++garbage_;
  LogStore::Record record;
  record.content = std::move(raw);
  log_.append(static_cast<std::int32_t>(chance_.between(0, swarm_.partitions - 1)), std::move(record));
}

void Cluster::strike_ledger() {
  met(Trouble::ledger_away);
  trace_.note(clock_.ticks(), "the ledger is away");
  is_ledger_away_ = true;
  at(chance_.span(100'000, 8'000'000), [this] { is_ledger_away_ = false; });
}

/// The organiser pauses the sale, or lets it go on. Processes read a new catalog some time later.
void Cluster::change_sale() {
  std::vector<Sale> sales = rows_.catalog.sales();
  sales.front().paused = !sales.front().paused && !is_calm_;
  met(sales.front().paused ? Trouble::sale_paused : Trouble::sale_resumed);
  rows_.catalog = Catalog{rows_.catalog.tenants(), std::move(sales), rows_.catalog.items()};
  for (const auto& process : processes_) {
    at(chance_.span(0, 1'000'000), [this, process = process.get()] {
      const auto fresh = std::make_shared<const Catalog>(rows_.catalog);
      if (process->node) process->node->catalog.set(fresh);
      for (const auto& parts : process->threads) parts->catalog.set(fresh);
    });
  }
}

/// All trouble ends: whoever sleeps wakes up, whoever is away comes back, and what was late has arrived soon after.
void Cluster::become_calm() {
  is_calm_ = true;
  calm_at_ = clock_.ticks();
  trace_.note(calm_at_, "the trouble ends");
  gates_.end_splits();
  gates_.is_away = log_.is_away = is_ledger_away_ = false;
  if (rows_.catalog.sales().front().paused) change_sale();
  for (const auto& process : processes_) {
    process->frozen_until = process->cut_off_until = {};
    for (const auto& parts : process->threads) {
      parts->consumer.go_deaf({});
      parts->consumer.freeze({});
    }
  }
  const Micros step{250'000};
  const auto look = [this, step](const auto& self) -> void {
    const std::string lacking = what_is_not_whole();
    report_.rest_took = clock_.ticks() - calm_at_;
    if (lacking.empty()) {
      is_over_ = true;
    } else if (report_.rest_took > Micros{kRestUs} + swarm_.pay_within) {
      violate("not whole after the trouble ended: " + lacking);
    } else {
      at(step, [self] { self(self); });
    }
  };
  at(step, [look] { look(look); });
}

}  // namespace weir::cluster
