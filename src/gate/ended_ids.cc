#include "gate/ended_ids.h"

#include "gate/slot_order.h"

#include <algorithm>

namespace weir {
namespace {

std::uint64_t fingerprint(const OrderId& order) {
  const std::uint64_t mixed = order.low + order.high * 0x9e3779b97f4a7c15U;  // Ids numbered by hand stay apart too.
  return mixed == 0 ? 1 : mixed;
}

}  // namespace

void EndedIds::expect(std::size_t more) { expected_ = std::min(expected_ + more, ids_max_); }

EndedIds::Level* EndedIds::open_level() {
  if (levels_ > 0 && owned_[levels_ - 1]->room > 0) return owned_[levels_ - 1].get();
  const std::size_t left = ids_max_ - size();
  if (left == 0 || levels_ == kLevelsMax) return nullptr;
  const std::size_t wanted =
      levels_ == 0 ? std::max(kFirstLevel, expected_) : 2 * owned_[levels_ - 1]->capacity * 3 / 4;
  auto level = std::make_unique<Level>();
  level->room = std::min(wanted, left);
  level->capacity = level->room * 4 / 3 + 1;
  level->slots = ZeroedArray<std::uint64_t>(level->capacity);
  if (level->slots.is_empty()) return nullptr;
  seen_[levels_].store(level.get(), std::memory_order_release);
  owned_[levels_] = std::move(level);
  return owned_[levels_++].get();
}

void EndedIds::remember(const OrderId& order) {
  if (contains(order)) return;
  Level* const level = open_level();
  if (level == nullptr) return;
  const std::uint64_t key = fingerprint(order);
  std::size_t at = home_slot(key, level->capacity);
  while (std::atomic_ref(level->slots[at]).load(std::memory_order_relaxed) != 0) at = slot_after(at, level->capacity);
  std::atomic_ref(level->slots[at]).store(key, std::memory_order_release);
  --level->room;
  size_.store(size() + 1, std::memory_order_relaxed);
}

bool EndedIds::contains(const OrderId& order) const {
  const std::uint64_t key = fingerprint(order);
  for (const auto& seen : seen_) {
    const Level* const level = seen.load(std::memory_order_acquire);
    if (level == nullptr) return false;
    std::size_t at = home_slot(key, level->capacity);
    // A level always keeps a vacant slot, so the run ends.
    for (;; at = slot_after(at, level->capacity)) {
      const std::uint64_t found = std::atomic_ref(level->slots[at]).load(std::memory_order_acquire);
      if (found == key) return true;
      if (found == 0) break;
    }
  }
  return false;
}

}  // namespace weir
