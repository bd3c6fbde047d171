#pragma once

#include "base/random.h"
#include "domain/numbers.h"
#include "gate/number_set.h"
#include "gate/zeroed_array.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weir {

/// The numbers of one item of the memory gate: which are free, and which of the others belong together.
///
/// What was taken at once is a chain of ascending numbers, known by its beginning, so an order costs the table of holds
/// 4 bytes however many numbers it has. A link is 4 bytes a number, in memory that costs nothing before the number is
/// first taken.
///
/// Threads: one owner, the desk; of the set, what `NumberBoard` reads. Blocking: never. Memory is taken by `make` only.
class NumberStock {
 public:
  /// Where a chain begins. 0: nothing was taken.
  using Chain = std::uint32_t;

  /// All are free. Null: the machine has not got the memory. At most kNumbersPerItemMax.
  [[nodiscard]] static std::unique_ptr<NumberStock> make(std::uint32_t first, std::size_t count);

  [[nodiscard]] std::uint32_t first() const { return first_; }
  [[nodiscard]] const NumberSet& set() const { return set_; }

  /// There is a number in the list, and all are numbers of the item.
  [[nodiscard]] bool covers(const NumberList& numbers) const;
  /// Requires: a number of the item.
  [[nodiscard]] bool is_free(std::uint32_t number) const { return set_.is_free(number - first_); }

  /// Requires: at least one, ascending, all of them free.
  [[nodiscard]] Chain take(std::span<const std::uint32_t> numbers);
  /// Takes as many as there is room in `numbers`, any free ones, and tells which. 0 when fewer are free.
  [[nodiscard]] Chain take_random(std::span<std::uint32_t> numbers, Random& random);
  /// Fills `numbers` with those of the chain, ascending. Requires: as many as were taken.
  void list(Chain chain, std::span<std::uint32_t> numbers) const;
  /// Requires: those of a chain, which is no more.
  void put_back(std::span<const std::uint32_t> numbers);

 private:
  NumberStock(std::uint32_t first, std::size_t count);

  [[nodiscard]] Chain link(std::span<const std::uint32_t> numbers);

  std::uint32_t first_;
  NumberSet set_;
  ZeroedArray<std::uint32_t> next_;  // By place: the next place of the chain plus one, 0 at its end.
};

}  // namespace weir
