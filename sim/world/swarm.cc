#include "sim/world/swarm.h"

#include <array>

namespace weir::sim {

Swarm::Swarm(Chance& chance) {
  items = chance.between(1, 3);
  units_most = chance.pick<std::int64_t>(std::array<std::int64_t, 4>{3, 8, 20, 60});
  numbered = chance.pick<std::int64_t>(std::array<std::int64_t, 3>{0, 500, 1000});
  limit = static_cast<std::int32_t>(chance.one_in(2) ? 1 : chance.between(2, 6));
  pay_within = chance.span(2'000'000, 12'000'000);
  grace = chance.one_in(2) ? Micros{0} : chance.span(1'000'000, 15'000'000);
  reactors = chance.between(1, 2);
  claim_ring = chance.one_in(4) ? chance.between(1, 4) : 64;
  answer_ring = chance.one_in(5) ? chance.between(1, 4) : 128;
  queue = chance.one_in(4) ? chance.between(1, 8) : 256;
  reserve_bytes = chance.one_in(2) ? 0 : 64 * 1024;

  buyers = chance.one_in(8) ? chance.between(60, 150) : chance.between(5, 40);
  arrivals = chance.one_in(2) ? chance.span(1'000, 500'000) : chance.span(1'000'000, 15'000'000);
  visits_most = chance.between(1, 4);
  clicks_most = chance.one_in(2) ? 1 : chance.between(2, 6);
  keyed = chance.pick<std::int64_t>(std::array<std::int64_t, 3>{0, 500, 1000});
  retries_most = chance.between(0, 6);
  retries_with_new_key = chance.wild(1000);
  pays = chance.between(100, 1000);
  cancels = chance.wild(600);
  pays_late = chance.wild(800);
  declines = chance.wild(500);
  wrong_amounts = chance.wild(300);
  pays_twice = chance.wild(500);

  wire_most = chance.one_in(3) ? chance.span(100'000, 2'000'000) : chance.span(100, 30'000);
  requests_lost = chance.wild(300);
  requests_doubled = chance.wild(300);
  answers_lost = chance.wild(500);
  webhooks_lost = chance.wild(600);
  webhooks_doubled = chance.wild(600);
  webhooks_delayed = chance.wild(700);
  gateway_fails = chance.wild(500);
  refund_answers_lost = chance.wild(500);
  refund_notices_late = chance.wild(800);

  desk_lag = chance.one_in(5) ? chance.span(5'000, 80'000) : chance.span(10, 2'000);
  writer_lag = chance.one_in(4) ? chance.span(5'000, 150'000) : chance.span(10, 2'000);
  pool_lag = chance.one_in(4) ? chance.span(20'000, 400'000) : chance.span(10, 5'000);
  reactor_lag = chance.span(10, 5'000);
  stalls = chance.wild(200);
  yields = chance.wild(800);

  trouble_every = chance.one_in(3) ? chance.span(100'000, 800'000) : chance.span(800'000, 8'000'000);
  kills = chance.wild(100);
  kills_at_points = chance.wild(100);
  power_cuts = chance.wild(100);
  storms = chance.one_in(8) ? chance.between(1, 20) : 0;
  orderly = chance.wild(30);
  disk_faults = chance.wild(100);
  commit_answers_lost = chance.wild(200);
  full_disks = chance.wild(60);
  strangers = chance.wild(60);
  pauses = chance.wild(60);
  organiser = chance.wild(100);
  closings = chance.one_in(10) ? chance.between(1, 20) : 0;
  refunds = chance.wild(60);
  reconciles = chance.wild(60);
  down_most = chance.one_in(3) ? Micros{15'000'000} : Micros{500'000};
}

}  // namespace weir::sim
