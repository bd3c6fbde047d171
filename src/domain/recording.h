#pragma once

#include "base/time.h"
#include "domain/ids.h"
#include "domain/order.h"

#include <cstdint>
#include <string_view>

namespace weir {

/// What the ledger made of a claim.
enum class Recording : std::uint8_t {
  recorded,       // A new row, durable, PENDING.
  repeated,       // The row was there before, for the same request, and is live.
  ended,          // The row was there before and has ended: its units must go back.
  key_reused,     // The id stands for another request: the units of this one must go back.
  over_limit,     // The buyer would hold more than the sale allows: the gate erred.
  exceeds_stock,  // It would sell units that do not exist: the gate erred.
  number_taken,   // A live order owns one of its numbers: the gate erred.
  unknown_item,   // The ledger has no such item.
};

[[nodiscard]] constexpr std::string_view name(Recording recording) {
  switch (recording) {
    case Recording::recorded: return "recorded";
    case Recording::repeated: return "repeated";
    case Recording::ended: return "ended";
    case Recording::key_reused: return "key_reused";
    case Recording::over_limit: return "over_limit";
    case Recording::exceeds_stock: return "exceeds_stock";
    case Recording::number_taken: return "number_taken";
    case Recording::unknown_item: return "unknown_item";
  }
  return "?";
}

/// How far an appended claim got. `unknown` keeps its units: it is driven again under the same id (R4, R6).
enum class Fate : std::uint8_t {
  durable,        // Safe: in the ledger (direct), or on all in-sync replicas (log). 202 may be sent.
  decided,        // The ledger refused it; see `recording`.
  not_persisted,  // Certain that nothing happened.
  unknown,        // It may have happened.
  handed_over,    // It may have happened, or will: whoever looks after the gate's list drives it on. Nothing is given
                  // back, and no other outcome follows here.
};

struct Outcome {
  OrderId order;
  Fate fate = Fate::unknown;
  Recording recording = Recording::recorded;  // Direct queue only; a log says `recorded` before the ledger has.
  OrderStatus status = OrderStatus::pending;
  Instant pay_by;  // What the buyer is told; never earlier than promised.
};

}  // namespace weir
