#include "flow/draw.h"

#include "domain/draw.h"

#include <utility>

namespace weir {
namespace {

Result<DrawOutcome> earlier_draw(LedgerReader& reader, ItemNo item, DrawOutcome::Kind kind) {
  auto found = reader.draw_of(item);
  if (!found) return std::unexpected(found.error());
  return DrawOutcome{.kind = *found ? kind : DrawOutcome::Kind::moved,
                     .draw = std::move(*found),
                     .pending = 0,
                     .pending_until = std::nullopt};
}

}  // namespace

Result<DrawOutcome> draw_item(const DrawWish& wish, LedgerReader& reader,
                              const std::function<Result<ChangeResult>(ItemNo, const Draw&)>& record) {
  using Kind = DrawOutcome::Kind;
  const auto earlier = earlier_draw(reader, wish.item, Kind::repeated);
  if (!earlier || earlier->draw) return earlier;
  auto facts = reader.draw_facts(wish.item);
  if (!facts) return std::unexpected(facts.error());
  const auto stop = [](Kind kind) {
    return DrawOutcome{.kind = kind, .draw = std::nullopt, .pending = 0, .pending_until = std::nullopt};
  };
  if (!*facts || !(*facts)->numbered) return stop(Kind::counted);
  DrawFacts& seen = **facts;
  if (!seen.is_sale_closed) return stop(Kind::open);
  if (seen.pending > 0) {
    DrawOutcome outcome = stop(Kind::pending);
    outcome.pending = seen.pending;
    outcome.pending_until = seen.pending_until;
    return outcome;
  }
  if (seen.entrants.empty()) return stop(Kind::empty);
  Draw draw;
  draw.commitment = draw_commitment(seen.seed);
  draw.winners = draw_winners(seen.seed, wish.mix, seen.entrants, wish.winners);
  draw.entrants_hash = entrants_hash(seen.entrants);
  draw.seed = std::move(seen.seed);
  draw.mix = wish.mix;
  draw.entrants = std::move(seen.entrants);
  const auto kept = record(wish.item, draw);
  if (!kept) return std::unexpected(kept.error());
  // What the ledger kept is the result, whoever drew first.
  return earlier_draw(reader, wish.item, kept->changed == Changed::done ? Kind::drawn : Kind::repeated);
}

}  // namespace weir
