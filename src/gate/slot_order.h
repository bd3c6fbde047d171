#pragma once

#include <cstddef>
#include <cstdint>

namespace weir {

/// The slot at which the search for `key` begins in an open table of `capacity` slots, which need be no power of two.
///
/// Keys are keyed hashes or random ids, so nobody outside can aim at a slot; the multiplication only spreads keys that
/// were numbered by hand.
[[nodiscard]] inline std::size_t home_slot(std::uint64_t key, std::size_t capacity) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t spread = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>((static_cast<Wide>(spread) * capacity) >> 64);
}

[[nodiscard]] inline std::size_t slot_after(std::size_t slot, std::size_t capacity) {
  return slot + 1 == capacity ? 0 : slot + 1;
}

[[nodiscard]] inline std::size_t slot_before(std::size_t slot, std::size_t capacity) {
  return slot == 0 ? capacity - 1 : slot - 1;
}

/// Steps from one slot forward to another.
[[nodiscard]] inline std::size_t slot_distance(std::size_t from, std::size_t to, std::size_t capacity) {
  return to >= from ? to - from : to + capacity - from;
}

}  // namespace weir
