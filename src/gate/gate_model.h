#pragma once

#include "gate/gate.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace weir {

/// What a gate should say, computed the slow way: every count and every set of free numbers is made anew from the
/// holds, every time. For tests.
class GateModel {
 public:
  void open(const GateSale& sale, std::span<const GateItem> items) {
    sales_[sale.no] = sale;
    for (const GateItem& item : items) items_.try_emplace(item.no, OpenItem{sale.no, item});
  }

  /// False: refused.
  bool restock(ItemNo item, std::int64_t delta, std::uint64_t change_id) {
    if (items_.at(item).terms.numbered) return false;
    if (changes_.contains({item, change_id})) return true;
    if (shelf(item).free + delta < 0) return false;
    changes_.insert({item, change_id});
    items_.at(item).terms.total += delta;
    return true;
  }

  /// `standing` is left out; any of `orders_of` will do. `drawn` is what the gate gave to a `random` wish: if it could
  /// be, the model gives the same.
  Verdict reserve(const Claim& claim, const NumberList& drawn = {}) {
    Verdict verdict;
    verdict.admission = admission(claim);
    verdict.numbers = numbers(claim, verdict.admission, drawn);
    if (verdict.admission == Admission::over_limit) verdict.units_held = units_of(claim.sale, claim.buyer_key);
    if (verdict.admission == Admission::sold_out) verdict.may_return = shelf(claim.item).held > 0;
    if (verdict.admission == Admission::admitted) {
      held_[claim.order] = {.order = claim.order,
                            .sale = claim.sale,
                            .item = claim.item,
                            .units = is_listed(claim) ? size_of(verdict.numbers) : claim.units,
                            .numbers = verdict.numbers,
                            .buyer_key = claim.buyer_key};
    }
    return verdict;
  }

  /// False: it does not fit.
  bool adopt(const Hold& hold) {
    if (!is_sound(hold)) return false;
    if (ended_.contains(hold.order)) return true;
    const auto known = held_.find(hold.order);
    if (known == held_.end()) {
      if (shelf(hold.item).free < hold.units || !are_free(hold.item, hold.numbers)) return false;
      held_[hold.order] = hold;
      return true;
    }
    if (known->second.item != hold.item || known->second.units != hold.units) return false;
    if (known->second.numbers != hold.numbers) return false;
    known->second.sold = known->second.sold || hold.sold;
    return true;
  }

  void sell(const Hold& hold) {
    const auto known = held_.find(hold.order);
    if (known != held_.end()) known->second.sold = true;
  }

  std::int64_t release(const Hold& hold) {
    if (hold.recorded) ended_.insert(hold.order);
    const auto known = held_.find(hold.order);
    if (known == held_.end()) return 0;
    const std::int64_t units = known->second.units;
    held_.erase(known);
    return units;
  }

  /// Without a version.
  [[nodiscard]] Shelf shelf(ItemNo item) const {
    Shelf sum;
    sum.total = items_.at(item).terms.total;
    for (const auto& [order, hold] : held_) {
      if (hold.item == item) (hold.sold ? sum.sold : sum.held) += hold.units;
    }
    sum.free = sum.total - sum.held - sum.sold;
    return sum;
  }

  [[nodiscard]] std::set<std::uint32_t> free_numbers(ItemNo item) const {
    const GateItem& terms = items_.at(item).terms;
    std::set<std::uint32_t> free;
    for (std::uint32_t place = 0; place < terms.total; ++place) free.insert(terms.first_number + place);
    for (const auto& [order, hold] : held_) {
      if (hold.item != item) continue;
      for (const std::uint32_t number : hold.numbers.view()) free.erase(number);
    }
    return free;
  }

  [[nodiscard]] const std::map<OrderId, Hold>& holds() const { return held_; }

  [[nodiscard]] std::set<OrderId> orders_of(SaleNo sale, BuyerKey buyer) const {
    std::set<OrderId> found;
    for (const auto& [order, hold] : held_) {
      if (hold.sale == sale && hold.buyer_key == buyer) found.insert(order);
    }
    return found;
  }

  [[nodiscard]] std::int32_t units_of(SaleNo sale, BuyerKey buyer) const {
    std::int32_t units = 0;
    for (const OrderId& order : orders_of(sale, buyer)) units += held_.at(order).units;
    return units;
  }

 private:
  struct OpenItem {
    SaleNo sale;
    GateItem terms;
  };

  static bool is_listed(const Claim& claim) { return claim.wish == Wish::named || claim.wish == Wish::partial; }
  static std::int32_t size_of(const NumberList& numbers) { return static_cast<std::int32_t>(numbers.size()); }

  [[nodiscard]] bool are_free(ItemNo item, const NumberList& numbers) const {
    const std::set<std::uint32_t> free = free_numbers(item);
    return std::ranges::all_of(numbers.view(), [&](std::uint32_t number) { return free.contains(number); });
  }
  [[nodiscard]] bool are_inside(const GateItem& item, const NumberList& numbers) const {
    return std::ranges::all_of(numbers.view(), [&](std::uint32_t number) {
      return number >= item.first_number && number < item.first_number + item.total;
    });
  }

  /// The hold is of an item that is open, and of its kind.
  [[nodiscard]] bool is_sound(const Hold& hold) const {
    const auto item = items_.find(hold.item);
    if (item == items_.end() || item->second.sale != hold.sale) return false;
    if (!item->second.terms.numbered) return hold.numbers.is_empty();
    return size_of(hold.numbers) == hold.units && are_inside(item->second.terms, hold.numbers);
  }

  [[nodiscard]] bool suits(const GateItem& item, const Claim& claim) const {
    if (!item.numbered) return claim.wish == Wish::units;
    if (!is_listed(claim)) return claim.wish == Wish::random;
    return size_of(claim.numbers) == claim.units && are_inside(item, claim.numbers);
  }

  /// Of what is asked for, the numbers that are free, or those that are not.
  [[nodiscard]] NumberList asked(const Claim& claim, bool free) const {
    const std::set<std::uint32_t> all = free_numbers(claim.item);
    std::vector<std::uint32_t> found;
    std::ranges::copy_if(claim.numbers.view(), std::back_inserter(found),
                         [&](std::uint32_t number) { return all.contains(number) == free; });
    return *NumberList::from(found);
  }

  [[nodiscard]] NumberList numbers(const Claim& claim, Admission admission, const NumberList& drawn) const {
    if (admission == Admission::repeated) return held_.at(claim.order).numbers;
    if (admission == Admission::number_taken) return asked(claim, false);
    if (admission != Admission::admitted) return {};
    if (is_listed(claim)) return asked(claim, true);
    const bool could_be = size_of(drawn) == claim.units && are_free(claim.item, drawn);
    return claim.wish == Wish::random && could_be ? drawn : NumberList{};
  }

  /// An order that the gate holds asks for what it has.
  [[nodiscard]] bool is_same(const Hold& known, const Claim& claim) const {
    if (known.item != claim.item || items_.at(known.item).terms.numbered != (claim.wish != Wish::units)) return false;
    if (claim.wish == Wish::named) return known.numbers == claim.numbers;
    if (claim.wish == Wish::partial) return numbers_without(known.numbers, claim.numbers).is_empty();
    return known.units == claim.units;
  }

  [[nodiscard]] Admission admission(const Claim& claim) const {
    if (!claim.retake && ended_.contains(claim.order)) return Admission::ended;
    if (const auto known = held_.find(claim.order); known != held_.end()) {
      return is_same(known->second, claim) ? Admission::repeated : Admission::key_reused;
    }
    const auto sale = sales_.find(claim.sale);
    const auto item = items_.find(claim.item);
    if (sale == sales_.end() || item == items_.end() || item->second.sale != claim.sale) return Admission::not_on_sale;
    if (!suits(item->second.terms, claim)) return Admission::not_on_sale;
    if (!sale->second.selling && !claim.retake) return Admission::not_on_sale;
    if (units_of(claim.sale, claim.buyer_key) + claim.units > sale->second.limit_per_buyer)
      return Admission::over_limit;
    if (claim.wish == Wish::named)
      return are_free(claim.item, claim.numbers) ? Admission::admitted : Admission::number_taken;
    if (claim.wish == Wish::partial)
      return asked(claim, true).is_empty() ? Admission::number_taken : Admission::admitted;
    return shelf(claim.item).free < claim.units ? Admission::sold_out : Admission::admitted;
  }

  std::map<SaleNo, GateSale> sales_;
  std::map<ItemNo, OpenItem> items_;
  std::map<OrderId, Hold> held_;
  std::set<OrderId> ended_;
  std::set<std::pair<ItemNo, std::uint64_t>> changes_;
};

}  // namespace weir
