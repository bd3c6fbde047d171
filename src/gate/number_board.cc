#include "gate/number_board.h"

#include "base/check.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr std::size_t kWordBits = 64;
static_assert(kNumberPageBits % kWordBits == 0);

}  // namespace

void NumberBoard::add(ItemNo item, std::uint32_t first, const NumberSet& set) {
  Entry& entry = entries_.make(item.value);
  CHECK(entry.shown.load(std::memory_order_relaxed) == nullptr, "item {} has numbers already", item.value);
  const std::size_t pages = (set.size() + kNumberPageBits - 1) / kNumberPageBits;
  auto versions = std::make_unique<std::atomic<std::uint64_t>[]>(pages);
  for (std::size_t page = 0; page < pages; ++page) versions[page].store(1, std::memory_order_relaxed);
  owned_.push_back(std::make_unique<const Shown>(first, set, pages, std::move(versions)));
  entry.shown.store(owned_.back().get(), std::memory_order_release);
}

void NumberBoard::changed(ItemNo item, std::span<const std::uint32_t> numbers) {
  const Shown* const shown = find(item);
  CHECK(shown != nullptr, "item {} has no numbers", item.value);
  std::size_t last = SIZE_MAX;
  for (const std::uint32_t number : numbers) {
    const std::size_t page = (number - shown->first) / kNumberPageBits;
    if (page == last) continue;
    last = page;
    std::atomic<std::uint64_t>& version = shown->versions[page];
    // A release: whoever reads the new version also sees the bits that were stored before it.
    version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
}

const NumberBoard::Shown* NumberBoard::find(ItemNo item) const {
  const Entry* const entry = entries_.find(item.value);
  return entry == nullptr ? nullptr : entry->shown.load(std::memory_order_acquire);
}

bool NumberBoard::is_free(ItemNo item, std::uint32_t number) const {
  const Shown* const shown = find(item);
  if (shown == nullptr || number < shown->first || number - shown->first >= shown->set.size()) return false;
  const std::size_t place = number - shown->first;
  return (shown->set.word(place / kWordBits) >> place % kWordBits & 1) != 0;
}

std::optional<NumberRange> NumberBoard::item(ItemNo item) const {
  const Shown* const shown = find(item);
  if (shown == nullptr) return std::nullopt;
  return NumberRange{shown->first, static_cast<std::int64_t>(shown->set.size())};
}

std::optional<std::uint64_t> NumberBoard::version(ItemNo item, std::uint32_t page) const {
  const Shown* const shown = find(item);
  if (shown == nullptr || page >= shown->pages) return std::nullopt;
  return shown->versions[page].load(std::memory_order_acquire);
}

std::optional<NumberPage> NumberBoard::read(ItemNo item, std::uint32_t page, std::span<std::uint64_t> words) const {
  // Before the bits, or the version would claim changes that came after they were read.
  const std::optional<std::uint64_t> seen = version(item, page);
  if (!seen) return std::nullopt;
  const Shown& shown = *find(item);
  const std::size_t begin = std::size_t{page} * kNumberPageBits;
  const std::size_t count = std::min<std::size_t>(kNumberPageBits, shown.set.size() - begin);
  const std::size_t used = (count + kWordBits - 1) / kWordBits;
  CHECK(words.size() >= used, "{} words of {}", words.size(), used);
  for (std::size_t at = 0; at < used; ++at) words[at] = shown.set.word(begin / kWordBits + at);
  return NumberPage{shown.first + static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(count), *seen};
}

}  // namespace weir
