#pragma once

#include "base/time.h"
#include "sim/world/chance.h"

#include <cstdint>

namespace weir::sim {

/// How one world is: its size, its people and its weather, drawn from the seed. Most kinds of trouble are off in most
/// worlds, and wild in some: a mixture of everything hides what a single excess would show.
///
/// Shares are of 1,000.
struct Swarm {
  explicit Swarm(Chance& chance);

  // The shop.
  std::int64_t items = 1;
  std::int64_t units_most = 10;  // Of an item.
  std::int64_t numbered = 0;     // Items with numbers in place of a count.
  std::int32_t limit = 1;
  Micros pay_within{5'000'000};
  Micros grace{0};
  std::int64_t reactors = 1;
  std::int64_t claim_ring = 64;
  std::int64_t answer_ring = 128;
  std::int64_t queue = 256;
  std::int64_t reserve_bytes = 0;

  // The crowd.
  std::int64_t buyers = 20;
  Micros arrivals{5'000'000};  // All first visits lie within this.
  std::int64_t visits_most = 3;
  std::int64_t clicks_most = 1;  // At once, in one visit.
  std::int64_t keyed = 500;
  std::int64_t retries_most = 3;
  std::int64_t retries_with_new_key = 0;
  std::int64_t pays = 500;
  std::int64_t cancels = 100;
  std::int64_t pays_late = 0;
  std::int64_t declines = 0;
  std::int64_t wrong_amounts = 0;
  std::int64_t pays_twice = 0;

  // The wires.
  Micros wire_most{20'000};
  std::int64_t requests_lost = 0;
  std::int64_t requests_doubled = 0;
  std::int64_t answers_lost = 0;
  std::int64_t webhooks_lost = 0;
  std::int64_t webhooks_doubled = 0;
  std::int64_t webhooks_delayed = 0;
  std::int64_t gateway_fails = 0;
  std::int64_t refund_answers_lost = 0;
  std::int64_t refund_notices_late = 0;

  // The threads.
  Micros desk_lag{500};
  Micros writer_lag{500};
  Micros pool_lag{500};
  Micros reactor_lag{500};
  std::int64_t stalls = 0;  // A reactor that does not look at its answers for long.
  std::int64_t yields = 0;  // The desk or the pool runs in the middle of a step of the writer.

  // The weather.
  Micros trouble_every{2'000'000};  // On average; of those kinds that have a weight.
  std::int64_t kills = 0;
  std::int64_t kills_at_points = 0;
  std::int64_t power_cuts = 0;
  std::int64_t storms = 0;
  std::int64_t orderly = 0;
  std::int64_t disk_faults = 0;
  std::int64_t commit_answers_lost = 0;
  std::int64_t full_disks = 0;
  std::int64_t strangers = 0;  // Another program locks or reads the ledger.
  std::int64_t pauses = 0;
  std::int64_t organiser = 0;
  std::int64_t closings = 0;
  std::int64_t refunds = 0;
  std::int64_t reconciles = 0;
  Micros down_most{500'000};
};

}  // namespace weir::sim
