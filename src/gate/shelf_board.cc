#include "gate/shelf_board.h"

#include "base/check.h"
#include "config/limits.h"

namespace weir {
namespace {

std::uint64_t packed(const Shelf& shelf) {
  return static_cast<std::uint64_t>(shelf.held) << 32 | static_cast<std::uint64_t>(shelf.free);
}

}  // namespace

void ShelfBoard::write(ItemNo item, const Shelf& shelf) {
  CHECK(shelf.free >= 0 && shelf.held >= 0 && shelf.sold >= 0 && shelf.free + shelf.held + shelf.sold == shelf.total &&
            shelf.total <= kUnitsPerItemMax,
        "item={} free={} held={} sold={} total={}", item.value, shelf.free, shelf.held, shelf.sold, shelf.total);
  Cell& cell = cells_.make(item.value);
  const std::uint64_t sequence = cell.sequence.load(std::memory_order_relaxed);
  // Each store below is a release, so a reader that sees one of them also sees the odd number before it.
  cell.sequence.store(sequence + 1, std::memory_order_relaxed);
  Cell::Place& place = cell.places[(sequence / 2 + 1) % 2];
  place.free_and_held.store(packed(shelf), std::memory_order_release);
  place.sold.store(static_cast<std::uint64_t>(shelf.sold), std::memory_order_release);
  place.version.store(shelf.version, std::memory_order_release);
  cell.sequence.store(sequence + 2, std::memory_order_release);
}

void ShelfBoard::publish(ItemNo item, const Shelf& shelf) {
  write(item, shelf);
  glances_.make(item.value).word.store(packed(shelf), std::memory_order_release);
}

void ShelfBoard::show(ItemNo item, const Shelf& shelf) {
  glances_.make(item.value).word.store(kNeverPublished, std::memory_order_release);
  write(item, shelf);
}

Shelf ShelfBoard::read(ItemNo item) const {
  const Cell* const cell = cells_.find(item.value);
  if (cell == nullptr) return {};
  for (int tries = 0; tries < kShelfReadTriesMax; ++tries) {
    const std::uint64_t published = cell->sequence.load(std::memory_order_acquire) / 2;
    if (published == 0) return {};
    const Cell::Place& place = cell->places[published % 2];
    const std::uint64_t free_and_held = place.free_and_held.load(std::memory_order_acquire);
    const std::uint64_t sold = place.sold.load(std::memory_order_acquire);
    const std::uint64_t version = place.version.load(std::memory_order_acquire);
    // This place is written again by the change after the next one.
    if (cell->sequence.load(std::memory_order_acquire) > 2 * published + 2) continue;
    Shelf shelf;
    shelf.free = static_cast<std::int64_t>(free_and_held & kLowHalf);
    shelf.held = static_cast<std::int64_t>(free_and_held >> 32);
    shelf.sold = static_cast<std::int64_t>(sold);
    shelf.total = shelf.free + shelf.held + shelf.sold;
    shelf.version = version;
    return shelf;
  }
  return {};
}

}  // namespace weir
