#pragma once

#include "sim/cluster/gate_keys.h"
#include "sim/cluster/ledger_rows.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::cluster {

/// Faults that can be planted, to see that a run finds them: each leaves out one rule of the protocol. None is in the
/// shipped parts. The fence of P6 is not among them (an adoption, a release or a decision on late money that belongs
/// to another epoch): no run of 2,000 seeds is hurt without it, so only the ledger's own tests hold it.
enum class Mutant : std::uint8_t {
  none,
  // At the gate.
  believes_any_pin,
  forgets_what_ended,
  adopts_blindly,
  adopts_out_of_flight,
  reserves_out_of_flight,
  releases_by_count,
  retakes_without_asking,
  repeats_as_recorded,
  // At the ledger.
  records_stragglers_unasked,
  snapshots_outside,
  drain_records_all,
  opens_behind_the_marks,
  forgets_expired_orders,
  counts_ended_orders,
  moves_the_offset_alone,
  keeps_and_refunds,
  // In a process.
  lease_never_ends,
  confirms_before_commit,
  releases_before_commit,
  gives_back_the_unknown,
  answers_before_the_log,
  skips_unreadable,
  never_drives_again,
};

inline constexpr std::array kMutants{
    Mutant::believes_any_pin,       Mutant::forgets_what_ended,     Mutant::adopts_blindly,
    Mutant::adopts_out_of_flight,   Mutant::reserves_out_of_flight, Mutant::releases_by_count,
    Mutant::retakes_without_asking, Mutant::repeats_as_recorded,    Mutant::records_stragglers_unasked,
    Mutant::snapshots_outside,      Mutant::drain_records_all,      Mutant::opens_behind_the_marks,
    Mutant::forgets_expired_orders, Mutant::counts_ended_orders,    Mutant::moves_the_offset_alone,
    Mutant::keeps_and_refunds,      Mutant::lease_never_ends,       Mutant::confirms_before_commit,
    Mutant::releases_before_commit, Mutant::gives_back_the_unknown, Mutant::answers_before_the_log,
    Mutant::skips_unreadable,       Mutant::never_drives_again};

[[nodiscard]] std::string_view name(Mutant mutant);
[[nodiscard]] std::optional<Mutant> mutant_of(std::string_view text);

[[nodiscard]] GateFaults gate_faults_of(Mutant mutant);
[[nodiscard]] LedgerFaults ledger_faults_of(Mutant mutant);

}  // namespace weir::cluster
