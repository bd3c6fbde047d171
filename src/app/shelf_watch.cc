#include "app/shelf_watch.h"

#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <span>

namespace weir {

std::size_t ShelfWatch::step() {
  const auto catalog = parts_.catalog.get();
  const auto states = parts_.lease.states();
  if (catalog == nullptr || states == nullptr) return 0;
  const Ticks asked_at = parts_.clock.ticks();
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock{mutex_};
    generation = generation_;
    sold_of_round_ = sold_;
  }
  short_of_round_.clear();
  std::size_t answered = 0;
  for (const Sale& sale : catalog->sales()) {
    if (look_at(sale, *catalog, asked_at)) ++answered;
  }
  const std::lock_guard lock{mutex_};
  short_sales_ = short_of_round_;
  // Whoever dropped the counts while they were being asked for knew more than this round.
  if (generation_ != generation) return answered;
  asked_at_ = asked_at;
  parts_.board.refuse_until(std::min(asked_at + Micros{kShelfAgeUsMax}, states->asked_at + Micros{kLeaseUs}));
  return answered;
}

void ShelfWatch::drop() {
  const std::lock_guard lock{mutex_};
  ++generation_;
  asked_at_ = {};
  parts_.board.refuse_until({});
}

void ShelfWatch::set_sold(std::unordered_map<ItemNo, std::int64_t> sold) {
  const std::lock_guard lock{mutex_};
  sold_ = std::move(sold);
}

std::vector<ShelfWatch::ShortSale> ShelfWatch::short_sales() const {
  const std::lock_guard lock{mutex_};
  return short_sales_;
}

Ticks ShelfWatch::asked_at() const {
  const std::lock_guard lock{mutex_};
  return asked_at_;
}

/// False: nothing was heard of the sale in this round, and so its counts refuse nobody.
bool ShelfWatch::look_at(const Sale& sale, const Catalog& catalog, Ticks asked_at) {
  Watched& watched = sales_[sale.no];
  const bool is_selling = phase(sale, parts_.clock.now()) == SalePhase::open;
  const bool is_idle = !is_selling && watched.was_looked_at && asked_at - watched.looked_at < Micros{kShelfIdleLookUs};
  const auto state = parts_.lease.open_at(sale.no, parts_.clock.ticks());
  if (is_idle || asked_at < watched.rests_until || !state) {
    forget(watched);
    return false;
  }
  watched.was_looked_at = true;
  watched.looked_at = asked_at;
  watched.items.clear();
  for (const Item* const item : catalog.items_of(sale.no)) watched.items.push_back(item->no);
  const Deadline deadline = asked_at + Micros{kShelfAgeUsMax};
  const Heard heard = attach_at(parts_.gate, *state, catalog) ? ask(sale, *state, watched, deadline) : Heard::nothing;
  switch (heard) {
    case Heard::counts: publish(sale, *state, watched, is_selling); return true;
    case Heard::nothing: watched.rests_until = asked_at + Micros{kUpkeepRestUs}; break;
    case Heard::lacks_items:
      watched.rests_until = asked_at + Micros{kShelfIdleLookUs};
      add_missing(sale, catalog, deadline);
      break;
  }
  forget(watched);
  return false;
}

ShelfWatch::Heard ShelfWatch::ask(const Sale& sale, const GateState& state, const Watched& watched, Deadline deadline) {
  shelves_.assign(watched.items.size(), Shelf{});
  const std::span<const ItemNo> items{watched.items};
  for (std::size_t at = 0; at < items.size(); at += kGateBatchMax) {
    const std::size_t count = std::min(kGateBatchMax, items.size() - at);
    const auto answered =
        parts_.gate.shelves(sale.no, items.subspan(at, count), std::span{shelves_}.subspan(at, count), deadline);
    if (answered) continue;
    // Of a gate that stands and answers, a count is missing only for an item that was made after the gate was.
    const bool is_standing =
        answered.error().trouble == GateTrouble::unavailable && parts_.gate.trouble(sale.no) == GateTrouble::none;
    return is_standing ? Heard::lacks_items : Heard::nothing;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (shelves_[i].version < shown_[items[i]].gate_version) return Heard::nothing;  // Older than what was heard.
  }
  const auto now = parts_.lease.open_at(sale.no, parts_.clock.ticks());
  return now && now->epoch == state.epoch ? Heard::counts : Heard::nothing;
}

void ShelfWatch::add_missing(const Sale& sale, const Catalog& catalog, Deadline deadline) {
  std::vector<GateItem> items;
  for (const Item* const item : catalog.items_of(sale.no)) items.push_back({.no = item->no, .total = item->total});
  // The oldest terms of all, so that this adds items and changes no terms.
  const GateSale terms{
      .no = sale.no, .limit_per_buyer = sale.limit_per_buyer, .selling = !sale.paused && !sale.closed, .version = 0};
  const auto added = parts_.gate.open(terms, items, deadline);
  if (!added) log::warn("items_not_added", {{"sale", sale.id}, {"message", added.error().message}});
}

void ShelfWatch::publish(const Sale& sale, const GateState& state, Watched& watched, bool is_selling) {
  const bool is_known_who = parts_.knows_owners(sale.no, state.epoch);
  bool is_short = false;
  std::uint64_t changes = 0;
  for (std::size_t i = 0; i < watched.items.size(); ++i) {
    const bool is_item_short = shelves_[i].free < sale.limit_per_buyer;
    is_short = is_short || is_item_short;
    changes += shelves_[i].version;
    publish(watched.items[i], shelves_[i], is_selling && (is_known_who || !is_item_short));
  }
  watched.refuses = is_selling;
  if (is_selling && is_short) {
    short_of_round_.push_back({.sale = sale.no, .epoch = state.epoch, .changes = changes});
  }
}

void ShelfWatch::publish(ItemNo item, const Shelf& counts, bool refuses) {
  Shown& shown = shown_[item];
  Shelf shelf = counts;
  const std::int64_t taken = shelf.total - shelf.free;
  const auto sold = sold_of_round_.find(item);
  shelf.sold = std::clamp<std::int64_t>(sold == sold_of_round_.end() ? 0 : sold->second, 0, taken);
  shelf.held = taken - shelf.sold;
  // The gate's version does not grow with what is paid for, and readers tell changes by it.
  shelf.version = shown.shelf.version;
  const bool is_other = shelf != shown.shelf || shown.gate_version == 0;
  if (is_other) shelf.version = std::max(counts.version, shown.shelf.version + 1);
  shown.gate_version = counts.version;
  if (!is_other && shown.refuses == refuses) return;
  if (refuses)
    parts_.board.publish(item, shelf);
  else
    parts_.board.show(item, shelf);
  shown.shelf = shelf;
  shown.refuses = refuses;
}

void ShelfWatch::forget(Watched& watched) {
  if (!std::exchange(watched.refuses, false)) return;
  for (const ItemNo item : watched.items) {
    Shown& shown = shown_[item];
    if (std::exchange(shown.refuses, false)) parts_.board.show(item, shown.shelf);
  }
}

}  // namespace weir
