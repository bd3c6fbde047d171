#pragma once

#include "gate/gate.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace weir {

/// What a gate should say, computed the slow way: every count is summed anew from the holds, every time. For tests.
class GateModel {
 public:
  void open(const GateSale& sale, std::span<const GateItem> items) {
    sales_[sale.no] = sale;
    for (const GateItem& item : items) items_.try_emplace(item.no, OpenItem{sale.no, item.total});
  }

  /// False: refused.
  bool restock(ItemNo item, std::int64_t delta, std::uint64_t change_id) {
    if (changes_.contains({item, change_id})) return true;
    if (shelf(item).free + delta < 0) return false;
    changes_.insert({item, change_id});
    items_.at(item).total += delta;
    return true;
  }

  /// `standing` is left out; any of `orders_of` will do.
  Verdict reserve(const Claim& claim) {
    Verdict verdict;
    verdict.admission = admission(claim);
    if (verdict.admission == Admission::over_limit) verdict.units_held = units_of(claim.sale, claim.buyer_key);
    if (verdict.admission == Admission::sold_out) verdict.may_return = shelf(claim.item).held > 0;
    if (verdict.admission == Admission::admitted) {
      held_[claim.order] = {.order = claim.order,
                            .sale = claim.sale,
                            .item = claim.item,
                            .units = claim.units,
                            .buyer_key = claim.buyer_key};
    }
    return verdict;
  }

  /// False: it does not fit.
  bool adopt(const Hold& hold) {
    if (ended_.contains(hold.order)) return true;
    const auto known = held_.find(hold.order);
    if (known == held_.end()) {
      if (shelf(hold.item).free < hold.units) return false;
      held_[hold.order] = hold;
      return true;
    }
    if (known->second.item != hold.item || known->second.units != hold.units) return false;
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
    sum.total = items_.at(item).total;
    for (const auto& [order, hold] : held_) {
      if (hold.item == item) (hold.sold ? sum.sold : sum.held) += hold.units;
    }
    sum.free = sum.total - sum.held - sum.sold;
    return sum;
  }

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
    std::int64_t total = 0;
  };

  [[nodiscard]] Admission admission(const Claim& claim) const {
    if (!claim.retake && ended_.contains(claim.order)) return Admission::ended;
    if (const auto known = held_.find(claim.order); known != held_.end()) {
      const bool is_same = known->second.item == claim.item && known->second.units == claim.units;
      return is_same ? Admission::repeated : Admission::key_reused;
    }
    const auto sale = sales_.find(claim.sale);
    const auto item = items_.find(claim.item);
    if (sale == sales_.end() || item == items_.end() || item->second.sale != claim.sale) return Admission::not_on_sale;
    if (!sale->second.selling && !claim.retake) return Admission::not_on_sale;
    if (units_of(claim.sale, claim.buyer_key) + claim.units > sale->second.limit_per_buyer)
      return Admission::over_limit;
    if (shelf(claim.item).free < claim.units) return Admission::sold_out;
    return Admission::admitted;
  }

  std::map<SaleNo, GateSale> sales_;
  std::map<ItemNo, OpenItem> items_;
  std::map<OrderId, Hold> held_;
  std::set<OrderId> ended_;
  std::set<std::pair<ItemNo, std::uint64_t>> changes_;
};

}  // namespace weir
