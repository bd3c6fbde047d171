#include "gate/number_stock.h"

#include "base/check.h"

#include <algorithm>
#include <new>

namespace weir {

NumberStock::NumberStock(std::uint32_t first, std::size_t count)
    : first_(first), set_(count), next_(std::max<std::size_t>(count, 1)) {}

std::unique_ptr<NumberStock> NumberStock::make(std::uint32_t first, std::size_t count) {
  try {
    std::unique_ptr<NumberStock> made(new NumberStock(first, count));
    return made->next_.is_empty() ? nullptr : std::move(made);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool NumberStock::covers(const NumberList& numbers) const {
  const std::span<const std::uint32_t> asked = numbers.view();
  return !asked.empty() && asked.front() >= first_ && asked.back() - first_ < set_.size();
}

NumberStock::Chain NumberStock::link(std::span<const std::uint32_t> numbers) {
  Chain chain = 0;
  for (std::size_t at = numbers.size(); at > 0; --at) {
    const std::uint32_t place = numbers[at - 1] - first_;
    next_[place] = chain;
    chain = place + 1;
  }
  return chain;
}

NumberStock::Chain NumberStock::take(std::span<const std::uint32_t> numbers) {
  for (const std::uint32_t number : numbers) CHECK(set_.take(number - first_), "number {} is not free", number);
  return link(numbers);
}

NumberStock::Chain NumberStock::take_random(std::span<std::uint32_t> numbers, Random& random) {
  if (!set_.take_random(numbers, random)) return 0;
  for (std::uint32_t& number : numbers) number += first_;
  return link(numbers);
}

void NumberStock::list(Chain chain, std::span<std::uint32_t> numbers) const {
  for (std::uint32_t& number : numbers) {
    CHECK(chain != 0 && chain <= set_.size(), "a chain of {} numbers goes on at {}", numbers.size(), chain);
    number = first_ + chain - 1;
    chain = next_[chain - 1];
  }
  CHECK(chain == 0, "a chain of {} numbers goes on at {}", numbers.size(), chain);
}

void NumberStock::put_back(std::span<const std::uint32_t> numbers) {
  for (const std::uint32_t number : numbers) CHECK(set_.put_back(number - first_), "number {} is free", number);
}

}  // namespace weir
