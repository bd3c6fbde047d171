#include "sim/cluster/mutants.h"

#include <cstddef>

namespace weir::cluster {
namespace {

constexpr std::array<std::string_view, kMutants.size() + 1> kNames{
    "none",
    "believes_any_pin",
    "forgets_what_ended",
    "adopts_blindly",
    "adopts_out_of_flight",
    "reserves_out_of_flight",
    "releases_by_count",
    "retakes_without_asking",
    "repeats_as_recorded",
    "records_stragglers_unasked",
    "snapshots_outside",
    "drain_records_all",
    "opens_behind_the_marks",
    "forgets_expired_orders",
    "counts_ended_orders",
    "moves_the_offset_alone",
    "keeps_and_refunds",
    "lease_never_ends",
    "confirms_before_commit",
    "releases_before_commit",
    "gives_back_the_unknown",
    "answers_before_the_log",
    "skips_unreadable",
    "never_drives_again",
};

}  // namespace

std::string_view name(Mutant mutant) { return kNames[static_cast<std::size_t>(mutant)]; }

std::optional<Mutant> mutant_of(std::string_view text) {
  for (const Mutant mutant : kMutants) {
    if (name(mutant) == text) return mutant;
  }
  return std::nullopt;
}

GateFaults gate_faults_of(Mutant mutant) {
  GateFaults faults;
  faults.has_no_pin = mutant == Mutant::believes_any_pin;
  faults.forgets_ended = mutant == Mutant::forgets_what_ended;
  faults.adopts_blindly = mutant == Mutant::adopts_blindly;
  faults.adopts_out_of_flight = mutant == Mutant::adopts_out_of_flight;
  faults.reserves_out_of_flight = mutant == Mutant::reserves_out_of_flight;
  faults.releases_by_count = mutant == Mutant::releases_by_count;
  faults.retakes_without_asking = mutant == Mutant::retakes_without_asking;
  faults.repeats_as_recorded = mutant == Mutant::repeats_as_recorded;
  return faults;
}

LedgerFaults ledger_faults_of(Mutant mutant) {
  LedgerFaults faults;
  faults.records_stragglers_unasked = mutant == Mutant::records_stragglers_unasked;
  faults.snapshots_outside = mutant == Mutant::snapshots_outside;
  faults.drain_records_all = mutant == Mutant::drain_records_all;
  faults.opens_behind_the_marks = mutant == Mutant::opens_behind_the_marks;
  faults.forgets_releases_of_expired = mutant == Mutant::forgets_expired_orders;
  faults.counts_ended_orders = mutant == Mutant::counts_ended_orders;
  faults.moves_the_offset_alone = mutant == Mutant::moves_the_offset_alone;
  faults.keeps_and_refunds = mutant == Mutant::keeps_and_refunds;
  return faults;
}

}  // namespace weir::cluster
