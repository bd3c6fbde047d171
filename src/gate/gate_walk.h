#pragma once

#include "gate/gate_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace weir {

/// Leads a gate and the model of a gate through the same calls and tells the first difference. For tests.
///
/// A small world, so that everything meets everything: two sales, four items with a few units, nine buyers, order ids
/// that come again and wander on slowly.
class GateWalk {
 public:
  explicit GateWalk(Gate& gate) : gate_(gate) {
    reopen({{1}, 3, true});
    reopen({{2}, 2, true});
  }

  /// One call, chosen by four numbers of any size. False: there was a difference, see `difference()`.
  bool step(const std::array<std::uint32_t, 4>& chance) {
    order_base_ += chance[3] % 3;
    switch (chance[0] % 16) {
      case 0: change_sale(chance); break;
      case 1: restock(chance); break;
      case 2: adopt(hold(chance)); break;
      case 3:
      case 4: sell(holds(chance)); break;
      case 5:
      case 6:
      case 7:
      case 8: release(holds(chance)); break;
      default: reserve(claims(chance)); break;
    }
    for (const ItemNo item : kItems) compare_shelf(item);
    return difference_.empty();
  }

  [[nodiscard]] const std::string& difference() const { return difference_; }

 private:
  static constexpr std::array<ItemNo, 4> kItems{ItemNo{1}, ItemNo{2}, ItemNo{3}, ItemNo{70}};
  static constexpr std::array<GateItem, 3> kOfSale1{{{{1}, 6}, {{2}, 4}, {{3}, 3}}};
  static constexpr std::array<GateItem, 1> kOfSale2{{{{70}, 5}}};
  static constexpr Deadline kNever{INT64_MAX};

  void differ(std::string what) {
    if (difference_.empty()) difference_ = std::move(what);
  }

  void reopen(const GateSale& sale) {
    const std::span<const GateItem> items = sale.no == SaleNo{1} ? std::span<const GateItem>(kOfSale1) : kOfSale2;
    if (!gate_.open(sale, items, kNever)) differ("open failed");
    model_.open(sale, items);
  }
  void change_sale(const std::array<std::uint32_t, 4>& chance) {
    reopen({{1 + chance[1] % 2}, static_cast<std::int32_t>(1 + chance[2] % 4), chance[3] % 4 != 0});
  }

  void restock(const std::array<std::uint32_t, 4>& chance) {
    const ItemNo item = kItems[chance[1] % kItems.size()];
    const std::int64_t delta = static_cast<std::int64_t>(chance[2] % 7) - 3;
    const std::uint64_t change_id = changes_ + chance[3] % 2;  // Now and then an old one.
    changes_ += chance[3] % 2;
    const bool accepted = gate_.restock(item, delta, change_id, kNever).has_value();
    if (accepted != model_.restock(item, delta, change_id))
      differ(fmt::format("restock by {} answered {}", delta, accepted));
  }

  /// An order belongs to one buyer and one sale for ever; item and units may be asked for in another way.
  Claim claim(std::uint32_t pick, std::uint32_t variant) const {
    Claim made;
    const std::uint64_t number = order_base_ + pick % 30;
    made.order = {number * 0x9e3779b97f4a7c15U, number};
    made.buyer_key = {1 + number % 9};
    made.buyer = *BuyerName::from(fmt::format("buyer-{}", made.buyer_key.value));
    made.sale = {static_cast<std::uint32_t>(1 + number % 2)};
    made.item = number % 2 == 1 ? ItemNo{70} : kItems[number / 2 % 3];
    made.units = static_cast<std::int32_t>(1 + number / 4 % 2);
    if (variant % 16 == 0) made.units += 1;
    if (variant % 16 == 1) made.item = kItems[variant / 16 % kItems.size()];
    if (variant % 16 == 2) made.item = {9};
    made.retake = variant % 16 == 3;
    return made;
  }
  Hold hold(const std::array<std::uint32_t, 4>& chance) const {
    const Claim of = claim(chance[1], 5);
    return {of.order, of.sale, of.item, of.units, of.buyer_key, chance[2] % 4 == 0, chance[2] % 8 != 1, of.buyer};
  }
  std::vector<Claim> claims(std::array<std::uint32_t, 4> chance) const {
    std::vector<Claim> made;
    for (std::uint32_t i = 0; i <= chance[1] % 8; ++i)
      made.push_back(claim(chance[2] + i * chance[3], chance[3] + 7 * i));
    return made;
  }
  std::vector<Hold> holds(std::array<std::uint32_t, 4> chance) const {
    std::vector<Hold> made;
    for (std::uint32_t i = 0; i <= chance[2] % 4; ++i) {
      made.push_back(hold(chance));
      chance[1] += chance[3];
    }
    return made;
  }

  void reserve(const std::vector<Claim>& claims) {
    std::vector<Verdict> verdicts(claims.size());
    if (!gate_.reserve(claims, verdicts, kNever)) return differ("reserve failed");
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const std::set<OrderId> standing = model_.orders_of(claims[i].sale, claims[i].buyer_key);
      const Verdict wanted = model_.reserve(claims[i]);
      const Verdict& got = verdicts[i];
      if (got.admission != wanted.admission || got.units_held != wanted.units_held ||
          got.may_return != wanted.may_return) {
        return differ(fmt::format("claim {} of {}: {} held={} may_return={} and not {} held={} may_return={}",
                                  claims[i].order.low, claims[i].units, name(got.admission), got.units_held,
                                  got.may_return, name(wanted.admission), wanted.units_held, wanted.may_return));
      }
      const bool names_one = standing.contains(got.standing) || (standing.empty() && got.standing.is_none());
      if (got.admission == Admission::over_limit && !names_one) return differ("over_limit names a foreign order");
    }
  }
  void adopt(const Hold& one) {
    const bool accepted = gate_.adopt({&one, 1}, kNever).has_value();
    if (accepted != model_.adopt(one)) differ(fmt::format("adopt of {} answered {}", one.order.low, accepted));
  }
  void sell(const std::vector<Hold>& sold) {
    if (!gate_.confirm(sold, kNever) || !gate_.sell(sold, kNever)) differ("sell failed");
    for (const Hold& one : sold) model_.sell(one);
  }
  void release(const std::vector<Hold>& ended) {
    const auto units = gate_.release(ended, kNever);
    std::int64_t wanted = 0;
    for (const Hold& one : ended) wanted += model_.release(one);
    if (!units || *units != wanted) differ(fmt::format("release gave {} and not {}", units.value_or(-1), wanted));
  }

  void compare_shelf(ItemNo item) {
    const auto got = gate_.shelf(item, kNever);
    if (!got) return differ("shelf failed");
    Shelf wanted = model_.shelf(item);
    wanted.version = got->version;
    if (*got != wanted) {
      return differ(fmt::format("item {}: free={} held={} sold={} total={} and not {} {} {} {}", item.value, got->free,
                                got->held, got->sold, got->total, wanted.free, wanted.held, wanted.sold, wanted.total));
    }
    Shelf& last = last_[item];
    Shelf unchanged = last;
    unchanged.version = got->version;
    if (got->version < last.version || (*got != unchanged && got->version == last.version))
      differ("version did not grow");
    last = *got;
  }

  Gate& gate_;
  GateModel model_;
  std::map<ItemNo, Shelf> last_;
  std::uint64_t order_base_ = 1;
  std::uint64_t changes_ = 1;
  std::string difference_;
};

}  // namespace weir
