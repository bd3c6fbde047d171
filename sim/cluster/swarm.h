#pragma once

#include "base/time.h"
#include "sim/world/chance.h"

#include <cstdint>

namespace weir::cluster {

/// How one cluster is: its size, its people and its weather, drawn from the seed. Most kinds of trouble are off in most
/// clusters, and wild in some: a mixture of everything hides what a single excess would show.
///
/// Shares are of 1,000; those of calls are of 10,000 calls.
struct Swarm {
  explicit Swarm(sim::Chance& chance);

  // The shop and the crowd.
  std::int64_t items = 1;
  std::int64_t units_most = 5;  // Of an item.
  std::int32_t limit = 1;
  Micros pay_within{5'000'000};
  std::int64_t partitions = 2;
  std::int64_t buyers = 20;
  Micros arrivals{5'000'000};  // All first visits lie within this.
  std::int64_t presses_most = 3;
  std::int64_t keyed = 500;
  std::int64_t other_contents = 0;  // The key again, for another number of units.
  std::int64_t on_two_nodes = 0;
  std::int64_t answers_lost = 0;
  std::int64_t asks_after_the_end = 0;  // He presses once more when his order is over.
  std::int64_t pays = 500;
  std::int64_t pays_late = 0;
  std::int64_t cancels = 100;
  std::int64_t refunds = 0;

  // The processes.
  bool has_threads = false;  // A worker's verbs run beside each other, not one after the other.
  Micros idle{200'000};
  std::int64_t yields = 300;  // Of 1,000 calls: others run before the answer.
  std::int64_t slow_calls = 0;
  std::int64_t long_sleeps = 0;    // Inside of a call, seconds.
  std::int64_t chosen_sleeps = 0;  // Before the calls at which it hurts most.
  std::int64_t kills_at_calls = 0;
  std::int64_t kills_at_points = 0;
  Micros down_most{2'000'000};

  // The wires: of 10,000 calls.
  std::int64_t gate_refused = 0;
  std::int64_t gate_requests_lost = 0;
  std::int64_t gate_replies_lost = 0;
  std::int64_t gate_late = 0;
  std::int64_t late_build_calls = 0;  // Of 1,000 calls of a build.
  std::int64_t ledger_refused = 0;
  std::int64_t commits_lost = 0;
  std::int64_t log_reads_failed = 0;

  // Of messages.
  std::int64_t landings_unacknowledged = 0;
  std::int64_t landings_refused = 0;
  std::int64_t landings_lost = 0;
  std::int64_t landings_late = 0;
  std::int64_t landings_doubled = 0;
  Micros flight_most{5'000};
  Micros lateness_most{20'000'000};
  std::int64_t hunts_late_ones = 0;  // Of messages that are late: the gate is lost before they arrive.

  // What befalls the cluster, by weight, and how often on average.
  Micros trouble_every{3'000'000};
  std::int64_t kills = 0;
  std::int64_t sleeps = 0;
  std::int64_t failovers = 0;
  std::int64_t splits = 0;
  std::int64_t nods_off = 0;  // Of 1,000 workers on the far side of a split: they sleep before their next question.
  std::int64_t cut_off = 0;   // Of 1,000 processes on the far side of a split: the ledger does not hear them either.
  std::int64_t restarts_empty = 0;
  std::int64_t old_copies = 0;
  std::int64_t moves = 0;
  std::int64_t lost_keys = 0;
  std::int64_t gate_outages = 0;
  std::int64_t log_outages = 0;
  std::int64_t ledger_outages = 0;
  std::int64_t rebalances = 0;
  std::int64_t zombies = 0;
  std::int64_t frozen_consumers = 0;
  std::int64_t garbage = 0;
  std::int64_t pauses = 0;
  std::int64_t copies = 0;  // How often the copy of the gate catches up.

 private:
  void seek_rebuilds(sim::Chance& chance);
};

}  // namespace weir::cluster
