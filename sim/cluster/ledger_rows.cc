#include "sim/cluster/ledger_rows.h"

#include "base/check.h"
#include "config/limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::cluster {

LedgerRows::LedgerRows(Catalog shop) : catalog(std::move(shop)) {
  for (const Item& item : catalog.items()) items[item.no] = {.sale = item.sale, .total = item.total};
}

std::optional<std::int64_t> LedgerRows::begin_build(const BuildStart& start, Instant now) {
  GateState& gate = gates[start.sale];
  const bool is_own_again = gate.phase == GatePhase::building && gate.builder == start.builder &&
                            gate.epoch > start.believed && gate.epoch > 0;
  if (is_own_again) return gate.epoch;
  if (gate.epoch != start.believed) return std::nullopt;
  gate.sale = start.sale;
  gate.epoch = std::max({gate.epoch, start.seen_in_gate, start.seen_in_log}) + 1;
  gate.phase = GatePhase::building;
  gate.builder = start.builder;
  gate.builder_seen_at = now;
  old_snapshot_ = snapshot(start.sale);
  return gate.epoch;
}

bool LedgerRows::keep_building(SaleNo sale, std::int64_t epoch, std::string_view builder, Instant now) {
  GateState& gate = gates[sale];
  if (gate.epoch != epoch || gate.builder != builder || gate.phase != GatePhase::building) return false;
  gate.builder_seen_at = now;
  return true;
}

BuildResult LedgerRows::finish_build(const BuildFinish& finish) {
  GateState& gate = gates[finish.sale];
  if (gate.epoch != finish.epoch || gate.builder != finish.builder)
    return {.end = BuildEnd::superseded, .snapshot = {}};
  if (gate.phase == GatePhase::building) {
    const bool is_behind = std::ranges::any_of(finish.marks, [this](const LogMark& mark) {
      const auto found = offsets.find({mark.topic_id, mark.partition});
      return mark.offset > (found == offsets.end() ? 0 : found->second);
    });
    if (is_behind && !faults.opens_behind_the_marks) return {.end = BuildEnd::behind, .snapshot = {}};
    gate.phase = GatePhase::open;
    gate.last_open = gate.epoch;
    gate.pin = finish.pin;
  }
  return {.end = BuildEnd::open, .snapshot = faults.snapshots_outside ? old_snapshot_ : snapshot(finish.sale)};
}

GateSnapshot LedgerRows::snapshot(SaleNo sale) const {
  GateSnapshot made;
  made.limit_per_buyer = catalog.sale(sale)->limit_per_buyer;
  for (const auto& [no, item] : items) {
    if (item.sale == sale) made.totals.emplace_back(no, item.total);
  }
  for (const auto& [id, row] : orders) {
    const Order& order = row.order;
    if (order.sale != sale) continue;
    if (row.hold != id || !is_live(order.status)) made.ended.push_back(id);
    if (!is_live(order.status)) continue;
    made.live.push_back({.hold = row.hold,
                         .order = id,
                         .item = order.item,
                         .units = order.units,
                         .sold = order.status == OrderStatus::paid,
                         .buyer = order.buyer,
                         .digest = order.digest,
                         .pay_by = order.pay_by});
  }
  for (const auto& [hold, retake] : retakes) {
    if (standing(hold) == HoldStanding::ended) made.ended.push_back(hold);
  }
  return made;
}

std::int64_t LedgerRows::start_log(const LogMark& mark) {
  return offsets.try_emplace({mark.topic_id, mark.partition}, mark.offset).first->second;
}

SliceResult LedgerRows::record_log(const LogSlice& slice, std::span<LogOutcome> outcomes, Instant now) {
  SliceResult result;
  for (const auto& [sale, gate] : gates) result.gates.push_back(gate);
  std::int64_t& offset = offsets[{std::string{slice.topic_id}, slice.partition}];
  result.next = offset;
  if (offset != slice.expected) return result;
  for (const LogClaim& one : slice.claims) {
    if (one.claim && one.epoch > gates[one.claim->sale].epoch)
      result.epoch_seen = std::max(result.epoch_seen, one.epoch);
  }
  result.end = result.epoch_seen > 0 ? SliceEnd::lost_commits : SliceEnd::recorded;
  if (result.end != SliceEnd::recorded) return result;
  result.next = slice.next;
  const bool is_dropped = faults.moves_the_offset_alone && ++slices_ % 7 == 0;
  for (std::size_t i = 0; i < slice.claims.size() && !is_dropped; ++i) {
    const LogClaim& one = slice.claims[i];
    if (one.claim) {
      outcomes[i] = decide(one, now);
    } else {
      park(slice, one, now);
      outcomes[i].fate = LogFate::parked;
    }
    if (outcomes[i].fate != LogFate::left) continue;
    result.next = one.offset;
    break;
  }
  offset = result.next;
  return result;
}

LogOutcome LedgerRows::decide(const LogClaim& one, Instant now) {
  const bool is_other = one.answer == StragglerAnswer::adopted_other && one.held;
  const Claim& claim = is_other ? *one.held : *one.claim;
  if (const auto known = orders.find(claim.order); known != orders.end()) return meet_again(known->second);
  const GateState& gate = gates[claim.sale];
  const auto why = judge_epoch(one, gate);
  if (!why) return {};
  if (*why != Rejection::none) return insert(claim, one.epoch, *why, now);
  const Rejection room = judge_room(claim);
  // The gate knew stock and limit of every claim that comes here: its word was exact, or a rule was broken.
  if (room != Rejection::none) {
    breaches.push_back(fmt::format("exact: the ledger refuses {} of epoch {} ({}) at {} {}", claim.order.text(),
                                   one.epoch, name(room), name(gate.phase), gate.epoch));
  }
  return insert(claim, one.epoch, room, now);
}

LogOutcome LedgerRows::meet_again(OrderRow& row) {
  const OrderStatus status = row.order.status;
  const bool has_ended = !is_live(status);
  if (has_ended && !faults.ignores_ended_repeats) {
    releases[next_release_++] = {.sale = row.order.sale, .hold = row.order.id};
  }
  return {.fate = has_ended ? LogFate::ended : LogFate::repeated,
          .why = Rejection::none,
          .status = status,
          .pay_by = row.order.pay_by};
}

/// Null: it has to wait for an answer of the gate that is open now.
std::optional<Rejection> LedgerRows::judge_epoch(const LogClaim& one, const GateState& gate) const {
  if (gate.phase == GatePhase::building) {
    const bool is_current = one.epoch >= gate.last_open || faults.drain_records_all;
    return is_current ? Rejection::none : Rejection::gate_lost;
  }
  if (one.epoch == gate.epoch || faults.records_stragglers_unasked) return Rejection::none;
  const bool is_answered = one.answer != StragglerAnswer::not_asked && one.answered_at == gate.epoch;
  if (!is_answered) return std::nullopt;
  const bool is_held = one.answer == StragglerAnswer::adopted || one.answer == StragglerAnswer::adopted_other;
  return is_held ? Rejection::none : Rejection::gate_refused;
}

std::int32_t LedgerRows::live_units_of(SaleNo sale, std::string_view buyer) const {
  std::int32_t units = 0;
  for (const auto& [id, row] : orders) {
    const bool counts =
        is_live(row.order.status) || (faults.counts_ended_orders && row.order.status == OrderStatus::expired);
    if (row.order.sale == sale && row.order.buyer == buyer && counts) units += row.order.units;
  }
  return units;
}

Rejection LedgerRows::judge_room(const Claim& claim) const {
  const std::int32_t units = live_units_of(claim.sale, claim.buyer.view()) + claim.units;
  if (units > catalog.sale(claim.sale)->limit_per_buyer) return Rejection::over_limit;
  const ItemRow& item = items.at(claim.item);
  return item.held + item.sold + claim.units <= item.total ? Rejection::none : Rejection::exceeds_stock;
}

LogOutcome LedgerRows::insert(const Claim& claim, std::int64_t epoch, Rejection why, Instant now) {
  const Micros pay_within = catalog.sale(claim.sale)->pay_within;
  OrderRow row;
  row.epoch = epoch;
  row.hold = claim.order;
  row.order.id = claim.order;
  row.order.tenant = claim.tenant;
  row.order.sale = claim.sale;
  row.order.item = claim.item;
  row.order.buyer = claim.buyer.view();
  row.order.units = claim.units;
  row.order.amount = {.value = claim.units, .currency = {}};
  row.order.digest = claim.digest;
  row.order.created_at = now;
  row.order.reason = name(why);
  row.order.status = why == Rejection::none ? OrderStatus::pending : OrderStatus::rejected;
  row.order.pay_by =
      std::max(std::min(claim.promised_pay_by, now + pay_within + Micros{kPromiseSlackUs}), now + pay_within);
  if (why == Rejection::none) {
    take(row.order, false);
  } else {
    releases[next_release_++] = {.sale = claim.sale, .hold = claim.order};
  }
  const LogOutcome outcome{.fate = why == Rejection::none ? LogFate::recorded : LogFate::rejected,
                           .why = why,
                           .status = row.order.status,
                           .pay_by = row.order.pay_by};
  orders[claim.order] = std::move(row);
  return outcome;
}

void LedgerRows::take(const Order& order, bool is_sold) {
  ItemRow& item = items[order.item];
  (is_sold ? item.sold : item.held) += order.units;
  std::int32_t& units = buyers[{order.sale, order.buyer}];
  units += order.units;
  if (item.held + item.sold > item.total) breaches.push_back(fmt::format("I1: item {} is oversold", order.item.value));
  if (units > catalog.sale(order.sale)->limit_per_buyer)
    breaches.push_back("I3: " + order.buyer + " is over the limit");
}

void LedgerRows::give_back(OrderRow& row, OrderStatus status, bool has_release) {
  Order& order = row.order;
  ItemRow& item = items[order.item];
  (order.status == OrderStatus::paid ? item.sold : item.held) -= order.units;
  buyers[{order.sale, order.buyer}] -= order.units;
  if (item.held < 0 || item.sold < 0)
    breaches.push_back(fmt::format("I1: item {} counts below zero", order.item.value));
  order.status = status;
  if (has_release) releases[next_release_++] = {.sale = order.sale, .hold = row.hold};
}

void LedgerRows::park(const LogSlice& slice, const LogClaim& one, Instant now) {
  parked.push_back({.topic_id = std::string{slice.topic_id},
                    .partition = slice.partition,
                    .offset = one.offset,
                    .key = one.key,
                    .bytes = one.bytes,
                    .problem = one.problem,
                    .since = now});
  if (!one.order) return;
  const auto known = orders.find(*one.order);
  if (known != orders.end() && !is_live(known->second.order.status)) static_cast<void>(meet_again(known->second));
}

}  // namespace weir::cluster
