#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_statements.h"

namespace weir {

/// All or none: the first that has an owner, be it this order, gives back those before it. Counted stock has no
/// numbers, and costs no statement.
bool SqliteLedger::take_numbers(ItemNo item, OrderId order, const NumberList& numbers) {
  const auto wanted = numbers.view();
  if (wanted.empty()) return true;
  auto& take = statements_->take_number.bind(1, item).bind(3, order);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (take.bind(2, std::int64_t{wanted[i]}).run_counted() == 1) continue;
    free_numbers(item, order, wanted.first(i));
    return false;
  }
  return true;
}

/// Those that the order owns; another owner's stay.
void SqliteLedger::free_numbers(ItemNo item, OrderId order, std::span<const std::uint32_t> numbers) {
  if (numbers.empty()) return;
  auto& free = statements_->free_number.bind(1, item).bind(3, order);
  for (const std::uint32_t number : numbers) free.bind(2, std::int64_t{number}).run();
}

}  // namespace weir
