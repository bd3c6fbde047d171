#pragma once

#include "base/result.h"
#include "base/time.h"
#include "ledger/ledger.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weir {

/// What an organiser asks for: so many winners among the paid numbers of an item.
struct DrawWish {
  ItemNo item;
  std::size_t winners = 1;
  std::string mix;  // Public randomness; see `domain/draw`.
};

/// Why there is no draw yet, or what it came to.
struct DrawOutcome {
  enum class Kind : std::uint8_t {
    drawn,     // Now.
    repeated,  // Before: the first result stands, whatever was asked for now.
    counted,   // The item has no numbers.
    open,      // Its sale is not closed.
    pending,   // `pending` orders may still be paid, until `pending_until`.
    empty,     // No number was paid for.
    moved,     // Something was refunded or paid just now: ask again.
  } kind = Kind::moved;
  std::optional<Draw> draw;
  std::int64_t pending = 0;
  std::optional<Instant> pending_until;
};

/// Draws the winners of an item once and for ever. The winners are computed here, from what the reader sees; the ledger
/// keeps them in one transaction, if what was seen still holds. Dying anywhere loses nothing: the seed is the ledger's
/// since the item was made, so the next call comes to the same winners or finds them.
///
/// `record` runs the change where the ledger may be written.
/// Blocking: reads all paid numbers, a second or two for a million.
[[nodiscard]] Result<DrawOutcome> draw_item(const DrawWish& wish, LedgerReader& reader,
                                            const std::function<Result<ChangeResult>(ItemNo, const Draw&)>& record);

}  // namespace weir
