#include "gate/hold_table.h"

#include "base/check.h"
#include "config/limits.h"
#include "gate/slot_order.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::uint32_t kSoldBit = 0x8000;
constexpr std::uint32_t kUnitsMask = 0x7fff;

/// Seven eighths full at most, rounded so that a million holds stay within 32 bytes each; one slot is always vacant.
std::uint64_t slots_for(std::uint64_t bound) { return std::max(bound * 8 / 7, bound + 1); }

}  // namespace

void HoldTable::Slots::move(std::size_t from, std::size_t to) const {
  fill(to, key(from, std::memory_order_relaxed), orders[from], contents(from));
}

void HoldTable::Slots::fill(std::size_t slot, std::uint64_t key, const OrderId& order, const Contents& contents) const {
  orders[slot] = order;
  units[slot] = contents.units;
  if (!chains.is_empty()) chains[slot] = contents.chain;
  put_key(slot, key);
}

bool HoldTable::Slots::ends_at(std::size_t slot, std::uint64_t key_there, std::size_t home) const {
  return key_there == 0 ||
         slot_distance(home_slot(key_there, capacity), slot, capacity) < slot_distance(home, slot, capacity);
}

void HoldTable::Slots::make_gap(std::size_t place) const {
  std::size_t end = place;
  while (key(end, std::memory_order_relaxed) != 0) end = slot_after(end, capacity);
  // From the end on: a hold is in its new slot before its old one is overwritten, so a reader, who walks the other way,
  // may meet it twice and never misses it.
  while (end != place) {
    const std::size_t before = slot_before(end, capacity);
    move(before, end);
    end = before;
  }
}

HoldTable::Slots::Contents HoldTable::packed(const Units& units) {
  const std::uint32_t word = static_cast<std::uint32_t>(units.item) << 16 | (units.sold ? kSoldBit : 0) |
                             static_cast<std::uint32_t>(units.units);
  return {word, units.chain};
}

std::unique_ptr<HoldTable::Slots> HoldTable::make_slots(std::uint64_t bound, bool with_chains) {
  auto slots = std::make_unique<Slots>();
  slots->capacity = static_cast<std::size_t>(slots_for(bound));
  slots->keys = ZeroedArray<std::uint64_t>(slots->capacity);
  slots->orders = ZeroedArray<OrderId>(slots->capacity);
  slots->units = ZeroedArray<std::uint32_t>(slots->capacity);
  if (with_chains) slots->chains = ZeroedArray<std::uint32_t>(slots->capacity);
  const bool complete = !slots->keys.is_empty() && !slots->orders.is_empty() && !slots->units.is_empty() &&
                        slots->chains.is_empty() != with_chains;
  return complete ? std::move(slots) : nullptr;
}

bool HoldTable::make_room(std::uint64_t holds) {
  if (slots_ != nullptr && holds <= bound_) return true;
  const std::uint64_t bound = std::max(holds, bound_ + bound_ / 8);
  std::unique_ptr<Slots> grown = make_slots(bound, has_chains_);
  if (grown == nullptr) return false;
  if (slots_ != nullptr) copy_holds(*slots_, *grown);
  seen_.store(grown.get(), std::memory_order_release);
  if (slots_ != nullptr) {
    slots_->orders.clear();
    slots_->units.clear();
    slots_->chains.clear();
  }
  slots_ = grown.get();
  bound_ = bound;
  generations_.push_back(std::move(grown));
  return true;
}

bool HoldTable::make_chains() {
  if (has_chains_) return true;
  slots_->chains = ZeroedArray<std::uint32_t>(slots_->capacity);
  has_chains_ = !slots_->chains.is_empty();
  return has_chains_;
}

void HoldTable::copy_holds(const Slots& from, const Slots& to) {
  for (std::size_t slot = 0; slot < from.capacity; ++slot) {
    const std::uint64_t key = from.key(slot, std::memory_order_relaxed);
    if (key == 0) continue;
    const std::size_t home = home_slot(key, to.capacity);
    std::size_t at = home;
    while (!to.ends_at(at, to.key(at, std::memory_order_relaxed), home)) at = slot_after(at, to.capacity);
    to.make_gap(at);
    to.fill(at, key, from.orders[slot], from.contents(slot));
  }
}

HoldTable::Walk HoldTable::walk(BuyerKey buyer, const OrderId& order) const {
  Walk found;
  const std::size_t home = home_slot(buyer.value, slots_->capacity);
  std::size_t at = home;
  for (;; at = slot_after(at, slots_->capacity)) {
    const std::uint64_t key = slots_->key(at, std::memory_order_relaxed);
    if (slots_->ends_at(at, key, home)) break;
    if (key != buyer.value) continue;
    found.units += static_cast<std::int32_t>(slots_->units[at] & kUnitsMask);
    found.standing = slots_->orders[at];
    if (slots_->orders[at] == order) found.slot = at;
  }
  found.place = at;
  return found;
}

void HoldTable::prefetch(BuyerKey buyer) const {
  const std::size_t home = home_slot(buyer.value, slots_->capacity);
  __builtin_prefetch(&slots_->keys[home]);
  __builtin_prefetch(&slots_->orders[home]);
  __builtin_prefetch(&slots_->units[home]);
}

HoldTable::Units HoldTable::at(std::size_t slot) const {
  const auto [word, chain] = slots_->contents(slot);
  return {static_cast<std::uint16_t>(word >> 16), static_cast<std::int32_t>(word & kUnitsMask), (word & kSoldBit) != 0,
          chain};
}

void HoldTable::insert(const Walk& walk, BuyerKey buyer, const OrderId& order, Units units) {
  CHECK(size_ < bound_, "{} holds in a table for {}", size_, bound_);
  const std::uint64_t key_there = slots_->key(walk.place, std::memory_order_relaxed);
  CHECK(buyer.value != 0 && slots_->ends_at(walk.place, key_there, home_slot(buyer.value, slots_->capacity)));
  CHECK(units.units >= 1 && static_cast<std::uint32_t>(units.units) <= kUnitsMask, "units={}", units.units);
  CHECK(has_chains_ || units.chain == 0, "no room for the chain {}", units.chain);
  slots_->make_gap(walk.place);
  slots_->fill(walk.place, buyer.value, order, packed(units));
  ++size_;
}

void HoldTable::mark_sold(std::size_t slot) { slots_->units[slot] |= kSoldBit; }

void HoldTable::remove(std::size_t slot) {
  const std::size_t capacity = slots_->capacity;
  CHECK(slots_->key(slot, std::memory_order_relaxed) != 0, "slot {} is vacant", slot);
  // Every key is stored with release: a reader that meets a moved one sees the odd count when it looks again.
  const std::uint64_t shifts = shifts_.load(std::memory_order_relaxed);
  shifts_.store(shifts + 1, std::memory_order_relaxed);
  std::size_t hole = slot;
  for (std::size_t at = slot_after(hole, capacity);; at = slot_after(at, capacity)) {
    const std::uint64_t key = slots_->key(at, std::memory_order_relaxed);
    if (key == 0 || home_slot(key, capacity) == at) break;  // Who is at home stays there, and so does all behind him.
    slots_->move(at, hole);
    hole = at;
  }
  slots_->put_key(hole, 0);
  shifts_.store(shifts + 2, std::memory_order_release);
  --size_;
}

bool HoldTable::contains(const Slots& slots, std::uint64_t key) {
  const std::size_t home = home_slot(key, slots.capacity);
  std::size_t at = home;
  for (std::size_t steps = 0; steps < slots.capacity; ++steps, at = slot_after(at, slots.capacity)) {
    const std::uint64_t seen = slots.key(at, std::memory_order_acquire);
    if (seen == key) return true;
    if (slots.ends_at(at, seen, home)) return false;
  }
  return true;  // Only a table that changes while it is read has no vacant slot.
}

bool HoldTable::may_hold(BuyerKey buyer) const {
  for (int tries = 0; tries < kKnownBuyerTriesMax; ++tries) {
    const std::uint64_t shifts = shifts_.load(std::memory_order_acquire);
    if (shifts % 2 != 0) continue;
    const Slots* const slots = seen_.load(std::memory_order_acquire);
    if (slots == nullptr) return false;
    if (contains(*slots, buyer.value)) return true;
    if (shifts_.load(std::memory_order_acquire) == shifts) return false;
  }
  return true;
}

}  // namespace weir
