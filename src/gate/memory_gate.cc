#include "gate/memory_gate.h"

#include "base/check.h"
#include "config/limits.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::size_t kPrefetchAhead = 6;  // Claims in flight between memory and the desk.

bool is_units(std::int64_t units) { return units >= 1 && units <= kUnitsPerClaimMax; }

NumberList listed(std::span<const std::uint32_t> numbers) {
  std::optional<NumberList> list = NumberList::from(numbers);
  CHECK(list.has_value(), "{} numbers of one order are no list", numbers.size());
  return std::move(*list);
}

/// The claim asks for what this stock can give, now or at another time.
bool suits(const NumberStock* stock, const Claim& claim) {
  switch (claim.wish) {
    case Wish::units: return stock == nullptr;
    case Wish::random: return stock != nullptr;
    case Wish::named:
    case Wish::partial:
      return stock != nullptr && stock->covers(claim.numbers) &&
             static_cast<std::size_t>(claim.units) == claim.numbers.size();
  }
  return false;
}

/// An order that has these units asks for the same again.
bool is_same_wish(const Claim& claim, std::int32_t units, std::span<const std::uint32_t> numbers) {
  switch (claim.wish) {
    case Wish::units: return numbers.empty() && units == claim.units;
    case Wish::random: return !numbers.empty() && units == claim.units;
    case Wish::named: return !numbers.empty() && std::ranges::equal(claim.numbers.view(), numbers);
    case Wish::partial: return !numbers.empty() && std::ranges::includes(claim.numbers.view(), numbers);
  }
  return false;
}

/// Empty, or why the hold does not suit the stock of its item.
std::string_view misfit_of(const NumberStock* stock, const Hold& hold) {
  if (stock == nullptr) return hold.numbers.is_empty() ? "" : "counted stock has no numbers";
  if (static_cast<std::size_t>(hold.units) != hold.numbers.size()) return "not as many numbers as units";
  return stock->covers(hold.numbers) ? "" : "the item has not got its numbers";
}

}  // namespace

MemoryGate::MemoryGate() : known_buyers_(ended_) {}
MemoryGate::MemoryGate(Random& random) : random_(&random), known_buyers_(ended_) {}
MemoryGate::~MemoryGate() = default;

MemoryGate::SaleState* MemoryGate::find_sale(SaleNo no) const {
  return no.value < sales_.size() ? sales_[no.value].get() : nullptr;
}

MemoryGate::ItemState* MemoryGate::find_item(ItemNo no) {
  if (no.value >= items_.size() || items_[no.value].sale == SaleNo{}) return nullptr;
  return &items_[no.value];
}

MemoryGate::ItemState* MemoryGate::find_item(ItemNo no, SaleNo sale) {
  ItemState* const item = find_item(no);
  return item != nullptr && item->sale == sale ? item : nullptr;
}

MemoryGate::ItemState& MemoryGate::item_of(const SaleState& sale, std::uint16_t place) {
  return items_[sale.items[place].value];
}

void MemoryGate::touch(ItemState& item) {
  CHECK(item.stock == nullptr || item.stock->set().free_count() == static_cast<std::size_t>(item.shelf.free),
        "item={} free={} and {} numbers are", item.no.value, item.shelf.free, item.stock->set().free_count());
  ++item.shelf.version;
  if (item.touched) return;
  item.touched = true;
  touched_.push_back(item.no);
}

void MemoryGate::publish_touched() {
  for (const ItemNo no : touched_) {
    items_[no.value].touched = false;
    board_.publish(no, items_[no.value].shelf);
  }
  touched_.clear();
}

template <typename Subject>
void MemoryGate::prefetch(std::span<const Subject> subjects, std::size_t at) const {
  if (at >= subjects.size()) return;
  const SaleState* const sale = find_sale(subjects[at].sale);
  if (sale != nullptr) sale->holds.prefetch(subjects[at].buyer_key);
}

Result<void> MemoryGate::check_item(SaleNo sale, const GateItem& item) {
  if (item.no.value < 1 || item.no.value > kItemsMax) {
    return fail(Failure::unfit, fmt::format("item {} is beyond kItemsMax={}", item.no.value, kItemsMax));
  }
  if (item.total < 0 || item.total > kUnitsPerItemMax) {
    return fail(Failure::unfit, fmt::format("item {}: a total of {} is not within 0 and kUnitsPerItemMax={}",
                                            item.no.value, item.total, kUnitsPerItemMax));
  }
  if (item.numbered && item.first_number + item.total - 1 > std::int64_t{kNumberMax}) {
    return fail(Failure::unfit, fmt::format("item {}: {} numbers from {} on go beyond kNumberMax={}", item.no.value,
                                            item.total, item.first_number, kNumberMax));
  }
  if (item.numbered && random_ == nullptr) {
    return fail(Failure::unfit, fmt::format("item {}: this gate was made for counted stock alone", item.no.value));
  }
  const ItemState* const state = find_item(item.no);
  if (state == nullptr) return {};
  if (state->sale != sale) {
    return fail(Failure::corrupt, fmt::format("item {} is opened for sale {} and belongs to sale {}", item.no.value,
                                              sale.value, state->sale.value));
  }
  const bool is_same_kind = item.numbered == (state->stock != nullptr);
  if (!is_same_kind || (item.numbered && item.first_number != state->stock->first())) {
    return fail(Failure::corrupt, fmt::format("item {} is opened with other numbers than before", item.no.value));
  }
  return {};
}

Result<void> MemoryGate::check_terms(const GateSale& sale, std::span<const GateItem> items) {
  if (sale.no.value < 1 || sale.no.value > kSalesMax) {
    return fail(Failure::unfit, fmt::format("sale {} is beyond kSalesMax={}", sale.no.value, kSalesMax));
  }
  if (sale.limit_per_buyer < 1 || sale.limit_per_buyer > kBuyerLimitMax) {
    return fail(Failure::unfit, fmt::format("sale {}: a limit of {} is not within 1 and kBuyerLimitMax={}",
                                            sale.no.value, sale.limit_per_buyer, kBuyerLimitMax));
  }
  const SaleState* const known = find_sale(sale.no);
  std::size_t count = known == nullptr ? 0 : known->items.size();
  for (const GateItem& item : items) {
    if (auto lawful = check_item(sale.no, item); !lawful) return lawful;
    if (find_item(item.no) == nullptr) ++count;
  }
  if (count > kItemsPerSaleMax) {
    return fail(Failure::unfit,
                fmt::format("sale {} has {} items, kItemsPerSaleMax={}", sale.no.value, count, kItemsPerSaleMax));
  }
  return {};
}

void MemoryGate::add_item(SaleState& sale, const GateItem& item, std::unique_ptr<NumberStock> stock) {
  if (items_.size() <= item.no.value) items_.resize(item.no.value + 1);
  ItemState& state = items_[item.no.value];
  state.no = item.no;
  state.sale = sale.terms.no;
  state.place = static_cast<std::uint16_t>(sale.items.size());
  state.shelf.total = item.total;
  state.shelf.free = item.total;
  state.stock = std::move(stock);
  if (state.stock != nullptr) {
    scratch_.resize(static_cast<std::size_t>(kUnitsPerClaimMax));
    number_board_.add(item.no, item.first_number, state.stock->set());
  }
  sale.items.push_back(item.no);
  sale.units_total += item.total;
  touched_.reserve(items_.size());
  touch(state);
}

Result<void> MemoryGate::open(const GateSale& sale, std::span<const GateItem> items, Deadline /*deadline*/) {
  if (auto lawful = check_terms(sale, items); !lawful) return lawful;
  std::int64_t units_new = 0;
  bool has_numbers = false;
  std::vector<std::unique_ptr<NumberStock>> stocks(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (find_item(items[i].no) != nullptr) continue;
    units_new += items[i].total;
    if (!items[i].numbered) continue;
    has_numbers = true;
    stocks[i] = NumberStock::make(items[i].first_number, static_cast<std::size_t>(items[i].total));
    if (stocks[i] == nullptr) {
      return fail(Failure::unfit, fmt::format("no memory for {} numbers of item {}; lower its total", items[i].total,
                                              items[i].no.value));
    }
  }

  if (sales_.size() <= sale.no.value) sales_.resize(sale.no.value + 1);
  std::unique_ptr<SaleState>& state = sales_[sale.no.value];
  const bool is_new = state == nullptr;
  auto made = is_new ? std::make_unique<SaleState>() : nullptr;
  SaleState& target = is_new ? *made : *state;
  if (!target.holds.make_room(static_cast<std::uint64_t>(target.units_total + units_new)) ||
      (has_numbers && !target.holds.make_chains())) {
    return fail(Failure::unfit, fmt::format("no memory for {} holds of sale {}; lower the totals of its items",
                                            target.units_total + units_new, sale.no.value));
  }
  if (is_new) state = std::move(made);
  target.terms = sale;
  for (std::size_t i = 0; i < items.size(); ++i) {
    // One that is named twice is known by then.
    if (find_item(items[i].no) == nullptr) add_item(target, items[i], std::move(stocks[i]));
  }
  ended_.expect(static_cast<std::size_t>(units_new));
  known_buyers_.add(sale.no, target.holds);
  publish_touched();
  return {};
}

Result<void> MemoryGate::restock(ItemNo no, std::int64_t delta, std::uint64_t change_id, Deadline /*deadline*/) {
  ItemState* const item = find_item(no);
  if (item == nullptr) return fail(Failure::unavailable, fmt::format("item {} was never opened", no.value));
  if (item->stock != nullptr) {
    return fail(Failure::unfit, fmt::format("item {} is numbered: its total is fixed", no.value));
  }
  const Change change{no, change_id};
  if (changes_.contains(change)) return {};
  if (changes_.size() >= kStockChangesMax) {
    return fail(Failure::overloaded,
                fmt::format("kStockChangesMax={} stock changes since the start", kStockChangesMax));
  }
  if (delta < -item->shelf.free) {
    return fail(Failure::unavailable,
                fmt::format("item {}: {} units cannot be taken away, {} are free", no.value, delta, item->shelf.free));
  }
  if (delta > kUnitsPerItemMax - item->shelf.total) {
    return fail(Failure::unfit, fmt::format("item {}: {} and {} units are more than kUnitsPerItemMax={}", no.value,
                                            item->shelf.total, delta, kUnitsPerItemMax));
  }
  SaleState& sale = *find_sale(item->sale);
  if (!sale.holds.make_room(static_cast<std::uint64_t>(sale.units_total + delta))) {
    return fail(Failure::unfit, fmt::format("no memory for {} holds of sale {}; lower the totals of its items",
                                            sale.units_total + delta, item->sale.value));
  }
  changes_.insert(change);
  if (delta == 0) return {};
  sale.units_total += delta;
  item->shelf.total += delta;
  item->shelf.free += delta;
  touch(*item);
  publish_touched();
  return {};
}

Verdict MemoryGate::decide(const Claim& claim) {
  CHECK(is_units(claim.units), "order={} units={}", claim.order.text(), claim.units);
  CHECK(claim.buyer_key.value != 0, "order={} has no buyer", claim.order.text());
  Verdict verdict;
  if (!claim.retake && ended_.contains(claim.order)) {
    verdict.admission = Admission::ended;
    return verdict;
  }
  SaleState* const sale = find_sale(claim.sale);
  if (sale == nullptr) return verdict;
  ItemState* const item = find_item(claim.item, claim.sale);
  const HoldTable::Walk walk = sale->holds.walk(claim.buyer_key, claim.order);
  if (walk.slot != HoldTable::kNone) return answer_again(item, sale->holds.at(walk.slot), claim);
  if (item == nullptr || !suits(item->stock.get(), claim)) return verdict;
  if (!sale->terms.selling && !claim.retake) return verdict;
  if (walk.units + claim.units > sale->terms.limit_per_buyer) {
    verdict.admission = Admission::over_limit;
    verdict.standing = walk.standing;
    verdict.units_held = walk.units;
    return verdict;
  }
  const bool is_listed = claim.wish == Wish::named || claim.wish == Wish::partial;
  const HoldTable::Units taken = is_listed ? take_listed(*item, claim, verdict) : take_any(*item, claim, verdict);
  if (taken.units == 0) return verdict;
  add_hold(*sale, walk, claim.buyer_key, claim.order, taken);
  verdict.admission = Admission::admitted;
  return verdict;
}

Verdict MemoryGate::answer_again(const ItemState* item, const HoldTable::Units& held, const Claim& claim) {
  Verdict verdict;
  verdict.admission = Admission::key_reused;
  if (item == nullptr || held.item != item->place) return verdict;
  const std::span<const std::uint32_t> numbers = numbers_of(*item, held);
  if (!is_same_wish(claim, held.units, numbers)) return verdict;
  verdict.admission = Admission::repeated;
  verdict.numbers = listed(numbers);
  return verdict;
}

HoldTable::Units MemoryGate::take_any(ItemState& item, const Claim& claim, Verdict& verdict) {
  if (item.shelf.free < claim.units) {
    verdict.admission = Admission::sold_out;
    verdict.may_return = item.shelf.held > 0;
    return {};
  }
  HoldTable::Units taken{item.place, claim.units, false};
  if (item.stock == nullptr) return taken;
  const std::span<std::uint32_t> drawn = std::span(scratch_).first(static_cast<std::size_t>(claim.units));
  taken.chain = item.stock->take_random(drawn, *random_);
  number_board_.changed(item.no, drawn);
  verdict.numbers = listed(drawn);
  return taken;
}

HoldTable::Units MemoryGate::take_listed(ItemState& item, const Claim& claim, Verdict& verdict) {
  const std::span<const std::uint32_t> free = free_of(*item.stock, claim.numbers);
  const bool are_all_free = free.size() == claim.numbers.size();
  const bool is_enough = claim.wish == Wish::partial ? !free.empty() : are_all_free;
  if (!is_enough) {
    verdict.admission = Admission::number_taken;
    verdict.numbers = free.empty() ? claim.numbers : numbers_without(claim.numbers, listed(free));
    return {};
  }
  verdict.numbers = are_all_free ? claim.numbers : listed(free);
  return take_these(item, free);
}

HoldTable::Units MemoryGate::take_these(ItemState& item, std::span<const std::uint32_t> numbers) {
  const NumberStock::Chain chain = item.stock->take(numbers);
  number_board_.changed(item.no, numbers);
  return {item.place, static_cast<std::int32_t>(numbers.size()), false, chain};
}

std::span<const std::uint32_t> MemoryGate::free_of(const NumberStock& stock, const NumberList& numbers) {
  std::size_t count = 0;
  for (const std::uint32_t number : numbers.view()) {
    if (stock.is_free(number)) scratch_[count++] = number;
  }
  return std::span(scratch_).first(count);
}

std::span<const std::uint32_t> MemoryGate::numbers_of(const ItemState& item, const HoldTable::Units& held) {
  if (item.stock == nullptr) return {};
  const std::span<std::uint32_t> numbers = std::span(scratch_).first(static_cast<std::size_t>(held.units));
  item.stock->list(held.chain, numbers);
  return numbers;
}

void MemoryGate::add_hold(SaleState& sale, const HoldTable::Walk& walk, BuyerKey buyer, const OrderId& order,
                          const HoldTable::Units& units) {
  ItemState& item = item_of(sale, units.item);
  sale.holds.insert(walk, buyer, order, units);
  item.shelf.free -= units.units;
  (units.sold ? item.shelf.sold : item.shelf.held) += units.units;
  touch(item);
}

Result<void> MemoryGate::reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline /*deadline*/) {
  CHECK(claims.size() == verdicts.size() && claims.size() <= kGateBatchMax, "claims={} verdicts={}", claims.size(),
        verdicts.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    prefetch(claims, i + kPrefetchAhead);
    verdicts[i] = decide(claims[i]);
  }
  publish_touched();
  return {};
}

Result<void> MemoryGate::adopt_one(const Hold& hold) {
  SaleState* const sale = find_sale(hold.sale);
  ItemState* const item = find_item(hold.item, hold.sale);
  const auto misfit = [&](std::string_view why) {
    return fail(Failure::corrupt, fmt::format("order {} of sale {} with {} units of item {}: {}", hold.order.text(),
                                              hold.sale.value, hold.units, hold.item.value, why));
  };
  if (item == nullptr) return misfit("no such item is open in the sale");
  if (!is_units(hold.units)) return misfit("no lawful number of units");
  if (hold.buyer_key.value == 0) return misfit("it has no buyer");
  if (const std::string_view why = misfit_of(item->stock.get(), hold); !why.empty()) return misfit(why);
  if (ended_.contains(hold.order)) return {};
  const HoldTable::Walk walk = sale->holds.walk(hold.buyer_key, hold.order);
  if (walk.slot != HoldTable::kNone) {
    const HoldTable::Units held = sale->holds.at(walk.slot);
    if (held.item != item->place || held.units != hold.units) return misfit("the gate holds it with other contents");
    if (!std::ranges::equal(numbers_of(*item, held), hold.numbers.view()))
      return misfit("the gate holds it with other numbers");
    if (hold.sold) sell_slot(*sale, walk.slot);
    return {};
  }
  if (item->shelf.free < hold.units) return misfit(fmt::format("only {} units are free", item->shelf.free));
  HoldTable::Units units{item->place, hold.units, false};
  if (item->stock != nullptr) {
    if (free_of(*item->stock, hold.numbers).size() != hold.numbers.size())
      return misfit("another order has one of its numbers");
    units = take_these(*item, hold.numbers.view());
  }
  units.sold = hold.sold;
  add_hold(*sale, walk, hold.buyer_key, hold.order, units);
  return {};
}

Result<void> MemoryGate::adopt(std::span<const Hold> holds, Deadline /*deadline*/) {
  Result<void> result;
  for (std::size_t i = 0; i < holds.size() && result; ++i) {
    prefetch(holds, i + kPrefetchAhead);
    result = adopt_one(holds[i]);
  }
  publish_touched();
  return result;
}

Result<void> MemoryGate::confirm(std::span<const Hold> /*holds*/, Deadline /*deadline*/) { return {}; }

void MemoryGate::sell_slot(SaleState& sale, std::size_t slot) {
  const HoldTable::Units held = sale.holds.at(slot);
  if (held.sold) return;
  sale.holds.mark_sold(slot);
  ItemState& item = item_of(sale, held.item);
  item.shelf.held -= held.units;
  item.shelf.sold += held.units;
  touch(item);
}

Result<void> MemoryGate::sell(std::span<const Hold> holds, Deadline /*deadline*/) {
  for (std::size_t i = 0; i < holds.size(); ++i) {
    prefetch(holds, i + kPrefetchAhead);
    SaleState* const sale = find_sale(holds[i].sale);
    if (sale == nullptr) continue;
    const HoldTable::Walk walk = sale->holds.walk(holds[i].buyer_key, holds[i].order);
    if (walk.slot != HoldTable::kNone) sell_slot(*sale, walk.slot);
  }
  publish_touched();
  return {};
}

Result<std::int64_t> MemoryGate::release(std::span<const Hold> holds, Deadline /*deadline*/) {
  std::int64_t units = 0;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    prefetch(holds, i + kPrefetchAhead);
    // Remembered before the hold is gone: a reader finds the order in one of the two at any moment.
    if (holds[i].recorded) ended_.remember(holds[i].order);
    SaleState* const sale = find_sale(holds[i].sale);
    if (sale == nullptr) continue;
    const HoldTable::Walk walk = sale->holds.walk(holds[i].buyer_key, holds[i].order);
    if (walk.slot == HoldTable::kNone) continue;
    const HoldTable::Units held = sale->holds.at(walk.slot);
    sale->holds.remove(walk.slot);
    ItemState& item = item_of(*sale, held.item);
    if (item.stock != nullptr) {
      const std::span<const std::uint32_t> numbers = numbers_of(item, held);
      item.stock->put_back(numbers);
      number_board_.changed(item.no, numbers);
    }
    (held.sold ? item.shelf.sold : item.shelf.held) -= held.units;
    item.shelf.free += held.units;
    touch(item);
    units += held.units;
  }
  publish_touched();
  return units;
}

Result<void> MemoryGate::each_hold(const std::function<void(const Hold&)>& each, Deadline /*deadline*/) {
  for (const auto& sale : sales_) {
    if (!sale) continue;
    sale->holds.each([&](BuyerKey buyer, const OrderId& order, HoldTable::Units units) {
      const ItemState& item = item_of(*sale, units.item);
      each({.order = order,
            .sale = sale->terms.no,
            .item = item.no,
            .units = units.units,
            .numbers = listed(numbers_of(item, units)),
            .buyer_key = buyer,
            .sold = units.sold,
            .recorded = true});
    });
  }
  return {};
}

Result<Shelf> MemoryGate::shelf(ItemNo no, Deadline /*deadline*/) {
  const ItemState* const item = find_item(no);
  if (item == nullptr) return fail(Failure::unavailable, fmt::format("item {} was never opened", no.value));
  return item->shelf;
}

void MemoryGate::remember_ended(std::span<const OrderId> orders) {
  ended_.expect(orders.size());
  for (const OrderId& order : orders) ended_.remember(order);
}

double MemoryGate::bytes_per_hold(SaleNo no) const {
  const SaleState* const sale = find_sale(no);
  if (sale == nullptr || sale->holds.size() == 0) return 0;
  return static_cast<double>(sale->holds.bytes()) / static_cast<double>(sale->holds.size());
}

}  // namespace weir
