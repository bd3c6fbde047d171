#pragma once

#include "config/limits.h"
#include "domain/ids.h"
#include "gate/chunked.h"
#include "gate/number_set.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weir {

/// The numbers of an item: `first` to `first + total - 1`.
struct NumberRange {
  std::uint32_t first = 0;
  std::int64_t total = 0;
  bool operator==(const NumberRange&) const = default;
};

/// Which numbers a page is about, and what its bits are good for.
struct NumberPage {
  std::uint32_t first = 0;
  std::uint32_t count = 0;    // kNumberPageBits, but for the last page of an item.
  std::uint64_t version = 0;  // The bits show this version, and may show some of what came after it.
};

/// Which numbers of each numbered item are free, in pages of kNumberPageBits, read where the desk changes them.
///
/// A version never claims more than the bits show: who has a page of version 7 lacks nothing that was changed up to it.
/// Of a change that comes while a page is read he may see a part; the version after it brings him the rest. Versions
/// grow from 1 and begin anew with the process.
///
/// Threads: `add` and `changed` from the owner of the sets, the desk; everything else from any, without a lock.
/// Blocking: never. Must not outlive the sets. Memory is taken by `add` only.
class NumberBoard {
 public:
  static constexpr std::size_t kPageWords = kNumberPageBits / 64;

  /// Keeps a reference to the set. Requires: 1 <= item <= kItemsMax, never added before.
  void add(ItemNo item, std::uint32_t first, const NumberSet& set);
  /// These numbers have been taken or put back. Requires: of an added item, ascending.
  void changed(ItemNo item, std::span<const std::uint32_t> numbers);

  [[nodiscard]] bool has(ItemNo item) const { return find(item) != nullptr; }
  /// Whether the number is free at this moment. False for what is no number of the item.
  [[nodiscard]] bool is_free(ItemNo item, std::uint32_t number) const;
  /// Null for an item without numbers.
  [[nodiscard]] std::optional<NumberRange> item(ItemNo item) const;
  /// Null for an item without numbers, and past its last page.
  [[nodiscard]] std::optional<std::uint64_t> version(ItemNo item, std::uint32_t page) const;
  /// Fills `words` with the page's bits, 1 for free, the lowest number in the lowest bit, bits past the end unset.
  /// Null as in `version`. Requires: room for the page; kPageWords is enough for any.
  [[nodiscard]] std::optional<NumberPage> read(ItemNo item, std::uint32_t page, std::span<std::uint64_t> words) const;

 private:
  struct Shown {
    std::uint32_t first = 0;
    const NumberSet& set;
    std::size_t pages = 0;
    std::unique_ptr<std::atomic<std::uint64_t>[]> versions;
  };
  struct Entry {
    std::atomic<const Shown*> shown{nullptr};
  };

  [[nodiscard]] const Shown* find(ItemNo item) const;

  std::vector<std::unique_ptr<const Shown>> owned_;
  Chunked<Entry, kItemsMax> entries_;
};

}  // namespace weir
