#include "app/node.h"
#include "base/log.h"
#include "config/limits.h"

#include <future>
#include <utility>

// Changes by an organiser on a node: the ledger first, then this node's catalog and the gate. What the gate does not
// take now it takes later: terms from a worker, new items from every node's shelf watch, more units when the change is
// sent again under its key.

namespace weir {
namespace {

constexpr const char* kNoWithdrawal =
    "Units cannot be taken out of a sale that several processes sell: pause the sale, or let it sell them.";
constexpr const char* kAgain = "The ledger has the change and the gate could not be told: send it again, same key.";

bool has_other_terms(const Sale& a, const Sale& b) {
  return a.paused != b.paused || a.closed != b.closed || a.limit_per_buyer != b.limit_per_buyer;
}

}  // namespace

bool Node::change(http::ChangeRequest request) {
  return writer_->post([this, request = std::move(request)](Ledger& ledger) {
    const auto result = run_change(request, ledger);
    if (!result) log::error("change_failed", {{"message", result.error().message}});
    request.done(result);
  });
}

Result<ChangeResult> Node::run_change(const http::ChangeRequest& request, Ledger& ledger) {
  if (request.withdraw > 0) return fail(Failure::unavailable, kNoWithdrawal);
  auto result = request.run(ledger);
  // A repeat is followed too: the first time what came after the ledger's answer may have failed.
  if (!result || (result->changed != Changed::done && result->changed != Changed::repeated)) return result;
  if (const auto followed = follow(*result, request.add); !followed) return std::unexpected(followed.error());
  return result;
}

Result<void> Node::follow(const ChangeResult& result, std::int64_t add) {
  const auto before = catalog_.get();
  if (const auto read = refresh_catalog(); !read) return read;
  const auto after = catalog_.get();
  const Item* const item = after->item(result.item);
  for (const Sale& sale : after->sales()) {
    const Sale* const known = before->sale(sale.no);
    const bool is_touched =
        (item != nullptr && item->sale == sale.no) || (known != nullptr && has_other_terms(*known, sale));
    if (!is_touched || !lease_.open_at(sale.no, clock_.ticks())) continue;
    if (const auto told = on_desk([&] { return tell_gate(sale, *after); }); !told)
      log::warn("gate_told_later", {{"sale", sale.id}, {"message", told.error().message}});
  }
  if (add <= 0) return {};
  const auto added = on_desk([&] { return add_units(result, add); });
  if (added) return {};
  log::warn("stock_not_added", {{"item", std::int64_t{result.item.value}}, {"message", added.error().message}});
  return fail(Failure::unavailable, kAgain);
}

Result<void> Node::tell_gate(const Sale& sale, const Catalog& catalog) {
  const auto state = lease_.open_at(sale.no, clock_.ticks());
  if (!state || !attach_at(*parts_.desk_gate, *state, catalog)) {
    return fail(Failure::unavailable, "the sale's gate is not open");
  }
  std::vector<GateItem> items;
  for (const Item* const item : catalog.items_of(sale.no)) items.push_back({.no = item->no, .total = item->total});
  return parts_.desk_gate->open({.no = sale.no,
                                 .limit_per_buyer = sale.limit_per_buyer,
                                 .selling = !sale.paused && !sale.closed,
                                 .version = static_cast<std::uint64_t>(clock_.now().us)},
                                items, clock_.ticks() + Micros{kSharedWaitUs});
}

/// Never above the ledger's total: a gate that was built since, or an item that was added since, has the units already.
Result<void> Node::add_units(const ChangeResult& result, std::int64_t add) {
  const auto catalog = catalog_.get();
  const Item* const item = catalog->item(result.item);
  const Sale* const sale = item == nullptr ? nullptr : catalog->sale(item->sale);
  if (sale == nullptr) return fail(Failure::unavailable, "the item is not in the catalog");
  if (const auto told = tell_gate(*sale, *catalog); !told) return told;
  const Deadline deadline = clock_.ticks() + Micros{kSharedWaitUs};
  Shelf shelf;
  const auto looked = parts_.desk_gate->shelves(sale->no, {&result.item, 1}, {&shelf, 1}, deadline);
  if (!looked) return fail(failure_of(looked.error().trouble), looked.error().message);
  if (shelf.total + add > item->total) return {};
  return gate_.restock(result.item, add, result.change_id, deadline);
}

Result<void> Node::on_desk(const std::function<Result<void>()>& task) {
  // The desk never waits for the ledger writer, which is who waits here, so this always ends.
  std::promise<Result<void>> promise;
  auto future = promise.get_future();
  desk_->post([&promise, &task](Admit&, Gate&) { promise.set_value(task()); });
  if (is_by_hand_) static_cast<void>(desk_->turn());
  return future.get();
}

}  // namespace weir
