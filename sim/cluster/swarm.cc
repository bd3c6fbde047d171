#include "sim/cluster/swarm.h"

#include <array>

namespace weir::cluster {

Swarm::Swarm(sim::Chance& chance) {
  items = chance.between(1, 3);
  units_most = chance.pick<std::int64_t>(std::array<std::int64_t, 4>{1, 2, 5, 15});
  limit = static_cast<std::int32_t>(chance.one_in(2) ? 1 : chance.between(2, 4));
  pay_within = chance.span(1'500'000, 8'000'000);
  partitions = chance.between(1, 3);
  buyers = chance.one_in(4) ? chance.between(20, 50) : chance.between(4, 20);
  arrivals = chance.one_in(2) ? chance.span(1'000, 500'000) : chance.span(1'000'000, 50'000'000);
  presses_most = chance.between(1, 8);
  keyed = chance.pick<std::int64_t>(std::array<std::int64_t, 3>{300, 700, 1000});
  other_contents = chance.wild(300);
  on_two_nodes = chance.wild(500);
  answers_lost = chance.wild(400);
  asks_after_the_end = chance.wild(1000);
  pays = chance.between(100, 900);
  pays_late = chance.wild(800);
  cancels = chance.wild(500);
  refunds = chance.wild(500);

  has_threads = chance.one_in(2);
  idle = chance.span(50'000, 400'000);
  yields = chance.one_in(2) ? 1000 : chance.between(100, 1000);
  slow_calls = chance.wild(100);
  long_sleeps = chance.wild(8);
  chosen_sleeps = chance.wild(400);
  kills_at_calls = chance.wild(8);
  kills_at_points = chance.wild(100);
  down_most = chance.one_in(3) ? Micros{12'000'000} : Micros{1'000'000};

  gate_refused = chance.wild(300);
  gate_requests_lost = chance.wild(300);
  gate_replies_lost = chance.wild(500);
  gate_late = chance.wild(300);
  late_build_calls = chance.wild(300);
  ledger_refused = chance.wild(300);
  commits_lost = chance.wild(500);
  log_reads_failed = chance.wild(300);

  landings_unacknowledged = chance.wild(500);
  landings_refused = chance.wild(400);
  landings_lost = chance.wild(500);
  landings_late = chance.wild(500);
  landings_doubled = chance.wild(300);
  flight_most = chance.one_in(3) ? Micros{1'500'000} : Micros{5'000};
  lateness_most = chance.one_in(2) ? Micros{20'000'000} : Micros{4'000'000};

  trouble_every = chance.one_in(4) ? chance.span(500'000, 3'000'000) : chance.span(4'000'000, 15'000'000);
  kills = chance.wild(100);
  sleeps = chance.wild(100);
  failovers = chance.wild(60);
  splits = chance.wild(60);
  cut_off = chance.wild(1000);
  restarts_empty = chance.wild(40);
  old_copies = chance.wild(40);
  moves = chance.wild(40);
  lost_keys = chance.wild(40);
  gate_outages = chance.wild(40);
  log_outages = chance.wild(40);
  ledger_outages = chance.wild(40);
  rebalances = chance.wild(60);
  zombies = chance.wild(60);
  frozen_consumers = chance.wild(40);
  garbage = chance.wild(60);
  pauses = chance.wild(40);
  copies = chance.between(20, 150);
  if (chance.one_in(2)) seek_rebuilds(chance);
}

/// A sale of few units and many people whose gate is built anew again and again, while messages come late and processes
/// sleep where it hurts; nothing else goes wrong that would keep the gate shut.
void Swarm::seek_rebuilds(sim::Chance& chance) {
  units_most = chance.pick<std::int64_t>(std::array<std::int64_t, 4>{1, 2, 4, 12});
  buyers = chance.between(15, 60);
  arrivals = chance.span(10'000'000, 60'000'000);
  presses_most = chance.one_in(2) ? 3 : 14;
  keyed = chance.pick<std::int64_t>(std::array<std::int64_t, 3>{0, 500, 1000});
  limit = static_cast<std::int32_t>(chance.between(1, 2));
  other_contents = limit > 1 && chance.one_in(2) ? 400 : 0;
  pay_within = chance.one_in(2) ? chance.span(1'500'000, 4'000'000) : chance.span(6'000'000, 9'000'000);
  pays = 400;
  pays_late = chance.one_in(2) ? 800 : 0;
  asks_after_the_end = chance.one_in(2) ? 900 : 0;
  landings_late = chance.one_in(3) ? 0 : chance.between(100, 800);
  hunts_late_ones = chance.between(0, 1000);
  lateness_most = chance.one_in(2) ? Micros{30'000'000} : Micros{10'000'000};
  chosen_sleeps = chance.one_in(2) ? chance.between(20, 200) : 0;
  kills_at_points = chance.one_in(4) ? 50 : 0;
  kills_at_calls = 0;
  long_sleeps = 0;
  down_most = Micros{1'000'000};
  gate_refused = gate_requests_lost = ledger_refused = log_reads_failed = 0;
  trouble_every = chance.span(7'000'000, 20'000'000);
  kills = sleeps = gate_outages = log_outages = ledger_outages = garbage = pauses = 0;
  failovers = chance.between(0, 60);
  splits = chance.between(0, 150);
  cut_off = chance.one_in(2) ? 0 : chance.between(0, 1000);
  nods_off = chance.one_in(2) ? 0 : 800;
  if (nods_off > 0) idle = chance.span(300'000, 3'000'000);
  refunds = chance.one_in(2) ? 0 : 600;
  moves = 40;
}

}  // namespace weir::cluster
