#pragma once

#include "gate/gate_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir {

/// Leads a gate and the model of a gate through the same calls and tells the first difference. For tests.
///
/// A small world, so that everything meets everything: two sales, four items with a few units, nine buyers, order ids
/// that come again and wander on slowly. Where the gate sells numbers, every sale has a numbered item too.
class GateWalk {
 public:
  enum class Stock : std::uint8_t { counted, mixed };

  explicit GateWalk(Gate& gate, Stock stock = Stock::counted) : gate_(gate), has_numbers_(stock == Stock::mixed) {
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
    for (const ItemNo item : items()) compare_shelf(item);
    if (has_numbers_) compare_holds();
    return difference_.empty();
  }

  [[nodiscard]] const std::string& difference() const { return difference_; }

 private:
  static constexpr std::array<ItemNo, 6> kItems{ItemNo{1}, ItemNo{2}, ItemNo{3}, ItemNo{70}, ItemNo{4}, ItemNo{71}};
  static constexpr std::size_t kCounted = 4;
  // The numbered ones come last. The larger one's numbers that are asked for lie on both sides of a border of its bits.
  static constexpr std::array<GateItem, 4> kOfSale1{{{{1}, 6}, {{2}, 4}, {{3}, 3}, {{4}, 6, true, 7}}};
  static constexpr std::array<GateItem, 2> kOfSale2{{{{70}, 5}, {{71}, 67, true, 100}}};
  static constexpr std::uint32_t kFirstAsked4 = 7;
  static constexpr std::uint32_t kFirstAsked71 = 161;
  static constexpr Deadline kNever{INT64_MAX};

  void differ(std::string what) {
    if (difference_.empty()) difference_ = std::move(what);
  }

  [[nodiscard]] std::span<const ItemNo> items() const {
    return std::span(kItems).first(has_numbers_ ? kItems.size() : kCounted);
  }

  void reopen(const GateSale& sale) {
    std::span<const GateItem> items = sale.no == SaleNo{1} ? std::span<const GateItem>(kOfSale1) : kOfSale2;
    if (!has_numbers_) items = items.first(items.size() - 1);
    if (!gate_.open(sale, items, kNever)) differ("open failed");
    model_.open(sale, items);
  }
  void change_sale(const std::array<std::uint32_t, 4>& chance) {
    reopen({{1 + chance[1] % 2}, static_cast<std::int32_t>(1 + chance[2] % 4), chance[3] % 4 != 0});
  }

  void restock(const std::array<std::uint32_t, 4>& chance) {
    const ItemNo item = items()[chance[1] % items().size()];
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
    if (has_numbers_ && number / 8 % 2 == 1) wish_numbers(made, number, variant);
    if (variant % 16 == 0) made.units += 1;
    if (variant % 16 == 1) made.item = items()[variant / 16 % items().size()];
    if (variant % 16 == 2) made.item = {9};
    made.retake = variant % 16 == 3;
    return made;
  }
  static void wish_numbers(Claim& made, std::uint64_t number, std::uint32_t variant) {
    made.item = made.sale == SaleNo{1} ? ItemNo{4} : ItemNo{71};
    made.wish = static_cast<Wish>(1 + number / 16 % 3);
    if (variant % 16 == 4) made.wish = static_cast<Wish>(variant / 16 % 4);
    if (made.wish == Wish::units || made.wish == Wish::random) return;
    if (variant % 16 == 6) ++number;
    std::set<std::uint32_t> asked;
    for (std::uint64_t i = 0; i <= number / 4 % 3; ++i) {
      const std::uint32_t first = made.sale == SaleNo{1} ? kFirstAsked4 : kFirstAsked71;
      asked.insert(first + static_cast<std::uint32_t>((number + i * 5) % 6));
    }
    if (variant % 16 == 7) asked.insert(variant / 16 % 2 == 0 ? 6 : 167);
    made.numbers = *NumberList::from(std::vector(asked.begin(), asked.end()));
    made.units = static_cast<std::int32_t>(asked.size());
  }
  /// Orders that chose their numbers by lot are adopted and ended with a list of somebody's numbers.
  Hold hold(const std::array<std::uint32_t, 4>& chance) const {
    Claim of = claim(chance[1], 5);
    if (of.wish == Wish::random) {
      const std::uint32_t first = of.sale == SaleNo{1} ? kFirstAsked4 : kFirstAsked71;
      of.numbers = *NumberList::from(std::vector{first + chance[2] % 6});
      if (chance[2] % 5 != 0) of.units = 1;
    }
    return {.order = of.order,
            .sale = of.sale,
            .item = of.item,
            .units = of.units,
            .numbers = of.numbers,
            .buyer_key = of.buyer_key,
            .sold = chance[2] % 4 == 0,
            .recorded = chance[2] % 8 != 1,
            .buyer = of.buyer};
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

  static std::string asked(const Claim& claim) {
    return claim.numbers.is_empty() ? fmt::format("{}", claim.units) : text(claim.numbers);
  }
  static std::string told(const Verdict& verdict) {
    return fmt::format("{} held={} may_return={} numbers={}", name(verdict.admission), verdict.units_held,
                       verdict.may_return, text(verdict.numbers));
  }
  static std::string text(const NumberList& numbers) {
    return fmt::format("[{}]", fmt::join(numbers.view().begin(), numbers.view().end(), ","));
  }

  void reserve(const std::vector<Claim>& claims) {
    std::vector<Verdict> verdicts(claims.size());
    if (!gate_.reserve(claims, verdicts, kNever)) return differ("reserve failed");
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const std::set<OrderId> standing = model_.orders_of(claims[i].sale, claims[i].buyer_key);
      const Verdict& got = verdicts[i];
      const Verdict wanted = model_.reserve(claims[i], got.numbers);
      const bool is_same = got.admission == wanted.admission && got.units_held == wanted.units_held &&
                           got.may_return == wanted.may_return && got.numbers == wanted.numbers;
      if (!is_same) {
        return differ(fmt::format("claim {} of {} in item {}: {} and not {}", claims[i].order.low, asked(claims[i]),
                                  claims[i].item.value, told(got), told(wanted)));
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

  /// Each order has what the model says, and no number is in two of them.
  void compare_holds() {
    std::map<OrderId, Hold> left = model_.holds();
    std::set<std::pair<ItemNo, std::uint32_t>> seen;
    const auto listed = gate_.each_hold(
        [&](const Hold& got) {
          const auto wanted = left.find(got.order);
          if (wanted == left.end()) return differ(fmt::format("order {} is held twice or for nobody", got.order.low));
          if (got.item != wanted->second.item || got.units != wanted->second.units ||
              got.numbers != wanted->second.numbers || got.sold != wanted->second.sold) {
            return differ(fmt::format("order {} has {} {} and not {} {}", got.order.low, got.units, text(got.numbers),
                                      wanted->second.units, text(wanted->second.numbers)));
          }
          for (const std::uint32_t number : got.numbers.view()) {
            if (!seen.insert({got.item, number}).second) differ(fmt::format("number {} is in two orders", number));
          }
          left.erase(wanted);
        },
        kNever);
    if (!listed || !left.empty()) differ(fmt::format("{} orders are not held", left.size()));
  }

  Gate& gate_;
  const bool has_numbers_;
  GateModel model_;
  std::map<ItemNo, Shelf> last_;
  std::uint64_t order_base_ = 1;
  std::uint64_t changes_ = 1;
  std::string difference_;
};

}  // namespace weir
