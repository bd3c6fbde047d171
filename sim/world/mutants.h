#pragma once

#include "base/time.h"
#include "gate/gate.h"
#include "ledger/ledger.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace weir::sim {

/// Faults that can be planted around the shipped parts, to see that the world finds them. None is in the parts.
enum class Mutant : std::uint8_t {
  none,
  // At the gate.
  sells_one_too_many,    // Now and then a claim is admitted though nothing is free.
  forgets_the_limit,     // … though the buyer has all that the sale allows.
  drops_a_release,       // Units of an ended order do not come back.
  releases_by_count,     // They come back twice, as a number and not as an order.
  forgets_to_sell,       // A paid order stays held.
  sells_a_number_twice,  // Though somebody has it.
  says_sold_out_early,   // A refusal while units are free.
  // At the ledger.
  answers_before_commit,     // 202 before the order is durable.
  gives_back_the_unknown,    // Units of a commit that may have happened.
  forgets_an_expired_order,  // Ended, but nobody is told.
  loses_a_capture,           // A webhook is acknowledged and not stored.
  runs_ahead,                // Its clock: orders end before their time.
  loses_a_stock_change,      // The organiser hears of success, and nothing is changed.
  // Below both.
  disk_lies,  // Syncs that do nothing.
};
inline constexpr std::array kMutants{Mutant::sells_one_too_many,     Mutant::forgets_the_limit,
                                     Mutant::drops_a_release,        Mutant::releases_by_count,
                                     Mutant::forgets_to_sell,        Mutant::sells_a_number_twice,
                                     Mutant::says_sold_out_early,    Mutant::answers_before_commit,
                                     Mutant::gives_back_the_unknown, Mutant::forgets_an_expired_order,
                                     Mutant::loses_a_capture,        Mutant::runs_ahead,
                                     Mutant::loses_a_stock_change,   Mutant::disk_lies};

[[nodiscard]] std::string_view name(Mutant mutant);
[[nodiscard]] std::optional<Mutant> mutant_of(std::string_view text);

/// What the desk asks in place of the gate; null when this mutant is not the gate's.
[[nodiscard]] std::unique_ptr<Gate> faulty_gate(Mutant mutant, Gate& gate);
/// What the writer asks in place of the ledger: the ledger itself when this mutant is not its own.
[[nodiscard]] std::unique_ptr<Ledger> faulty_ledger(Mutant mutant, std::unique_ptr<Ledger> ledger);

}  // namespace weir::sim
