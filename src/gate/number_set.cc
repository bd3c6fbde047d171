#include "gate/number_set.h"

#include "base/check.h"
#include "config/limits.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace weir {
namespace {

std::size_t whole(std::size_t bits, std::size_t unit) { return (bits + unit - 1) / unit; }

/// The place of the set bit that has `rank` set bits below it. Requires that there is one.
std::size_t select_bit(std::uint64_t word, std::size_t rank) {
  std::size_t at = 0;
  for (std::size_t width = 32; width > 0; width /= 2) {
    const auto low = static_cast<std::size_t>(std::popcount(word & ((std::uint64_t{1} << width) - 1)));
    if (rank < low) continue;
    rank -= low;
    word >>= width;
    at += width;
  }
  return at;
}

/// Walks over `counts` from `first`, taking from `rank` what each covers, to the one in which the rank lies.
template <typename Count>
std::size_t descend(const std::vector<Count>& counts, std::size_t first, std::size_t& rank) {
  while (rank >= counts[first]) rank -= counts[first++];
  return first;
}

}  // namespace

NumberSet::NumberSet(std::size_t size)
    : size_(size),
      free_(size),
      words_(whole(size, kBlockBits) * kBlockWords),
      blocks_(whole(size, kGroupBits) * kGroupBlocks),
      groups_(whole(size, kStripeBits) * kStripeGroups),
      stripes_(whole(size, kStripeBits)) {
  CHECK(size <= static_cast<std::size_t>(kUnitsPerItemMax), "{} numbers of at most {}", size, kUnitsPerItemMax);
  for (std::size_t at = 0; at < size / kWordBits; ++at) words_[at] = ~std::uint64_t{0};
  if (size % kWordBits != 0) words_[size / kWordBits] = (std::uint64_t{1} << (size % kWordBits)) - 1;
  const auto covered = [size](std::size_t at, std::size_t bits) {
    return size <= at * bits ? 0 : std::min(bits, size - at * bits);
  };
  for (std::size_t at = 0; at < blocks_.size(); ++at) blocks_[at] = static_cast<std::uint16_t>(covered(at, kBlockBits));
  for (std::size_t at = 0; at < groups_.size(); ++at) groups_[at] = static_cast<std::uint16_t>(covered(at, kGroupBits));
  for (std::size_t at = 0; at < stripes_.size(); ++at)
    stripes_[at] = static_cast<std::uint32_t>(covered(at, kStripeBits));
}

bool NumberSet::is_free(std::size_t place) const {
  return place < size_ && (words_[place / kWordBits] >> (place % kWordBits) & 1) != 0;
}

void NumberSet::count(std::size_t place, int change) {
  std::uint64_t& word = words_[place / kWordBits];
  std::atomic_ref(word).store(word ^ std::uint64_t{1} << (place % kWordBits), std::memory_order_relaxed);
  blocks_[place / kBlockBits] = static_cast<std::uint16_t>(blocks_[place / kBlockBits] + change);
  groups_[place / kGroupBits] = static_cast<std::uint16_t>(groups_[place / kGroupBits] + change);
  stripes_[place / kStripeBits] += static_cast<std::uint32_t>(change);
  free_ += static_cast<std::size_t>(static_cast<std::ptrdiff_t>(change));
}

bool NumberSet::take(std::size_t place) {
  if (!is_free(place)) return false;
  count(place, -1);
  return true;
}

bool NumberSet::put_back(std::size_t place) {
  if (place >= size_ || is_free(place)) return false;
  count(place, 1);
  return true;
}

std::size_t NumberSet::select(std::size_t rank) const {
  if (rank >= free_) return kNone;
  const std::size_t stripe = descend(stripes_, 0, rank);
  const std::size_t group = descend(groups_, stripe * kStripeGroups, rank);
  const std::size_t block = descend(blocks_, group * kGroupBlocks, rank);
  std::size_t word = block * kBlockWords;
  for (;; ++word) {
    const auto bits = static_cast<std::size_t>(std::popcount(words_[word]));
    if (rank < bits) break;
    rank -= bits;
  }
  return word * kWordBits + select_bit(words_[word], rank);
}

bool NumberSet::take_random(std::span<std::uint32_t> places, Random& random) {
  CHECK(places.size() <= static_cast<std::size_t>(kUnitsPerClaimMax), "{} numbers at once of at most {}", places.size(),
        kUnitsPerClaimMax);
  if (places.size() > free_) return false;
  // A set of ranks first (Floyd's: one draw each, kept in order), then their places. No number is taken before all are
  // found, so each is found by its rank among the same free ones, and different ranks are different numbers.
  std::size_t kept = 0;
  for (std::size_t last = free_ - places.size(); last < free_; ++last) {
    auto rank = static_cast<std::uint32_t>(random.below(last + 1));
    auto* const end = places.data() + kept;
    auto* at = std::lower_bound(places.data(), end, rank);
    if (at != end && *at == rank) {  // `last` is greater than every rank before it.
      rank = static_cast<std::uint32_t>(last);
      at = end;
    }
    std::copy_backward(at, end, end + 1);
    *at = rank;
    ++kept;
  }
  for (std::uint32_t& place : places) place = static_cast<std::uint32_t>(select(place));
  for (const std::uint32_t place : places) count(place, -1);
  return true;
}

std::uint64_t NumberSet::word(std::size_t at) const {
  // An atomic view needs a word that it could write; the words themselves are not const.
  return std::atomic_ref(const_cast<std::uint64_t&>(words_[at])).load(std::memory_order_relaxed);
}

std::size_t NumberSet::bytes() const {
  return words_.size() * sizeof words_[0] + blocks_.size() * sizeof blocks_[0] + groups_.size() * sizeof groups_[0] +
         stripes_.size() * sizeof stripes_[0];
}

}  // namespace weir
