#include "config/limits.h"
#include "sim/cluster/cluster.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace weir::cluster {
namespace {

std::string short_id(OrderId id) { return id.text().substr(0, 8); }

/// Whether one step, or several in a row, can lead from one status to the other.
bool may_become(OrderStatus from, OrderStatus to) {
  if (from == to) return true;
  switch (from) {
    case OrderStatus::pending: return to != OrderStatus::rejected;
    case OrderStatus::paid: return to == OrderStatus::refunded;
    case OrderStatus::expired: return to == OrderStatus::paid || to == OrderStatus::refunded;
    case OrderStatus::cancelled:
    case OrderStatus::rejected:
    case OrderStatus::refunded: return false;
  }
  return false;
}

}  // namespace

void Cluster::violate(std::string what) {
  if (!report_.violation.empty()) return;
  trace_.note(clock_.ticks(), "VIOLATION {}", what);
  report_.violation = std::move(what);
}

/// What has to hold after every single effect, wherever everybody stands.
void Cluster::check_stores() {
  if (!rows_.breaches.empty()) return violate(rows_.breaches.front());
  for (const auto& [id, row] : rows_.orders) {
    OrderStatus& seen = seen_.try_emplace(id, row.order.status).first->second;
    if (!may_become(seen, row.order.status)) {
      return violate(fmt::format("I4: {} went from {} to {}", short_id(id), name(seen), name(row.order.status)));
    }
    seen = row.order.status;
  }
  const GateState& state = rows_.gates[kSale];
  if (state.phase != GatePhase::open) return;
  const SaleKeys* const keys = gates_.sale_at(state.pin, kGateName);
  // Only the pinned process is the gate, and only at the epoch that the ledger calls OPEN.
  if (keys == nullptr || keys->epoch() != state.epoch || !keys->is_open() || keys->keys() == nullptr) return;
  check_gate(*keys);
}

void Cluster::check_gate(const SaleKeys& gate) {
  const EpochKeys& keys = *gate.keys();
  std::map<ItemNo, std::int64_t> held;
  std::map<std::string_view, std::int32_t> units;
  for (const auto& [id, hold] : keys.holds) {
    held[hold.claim.item] += hold.claim.units;
    units[hold.claim.buyer.view()] += hold.claim.units;
  }
  for (const auto& [no, item] : keys.items) {
    if (item.free < 0 || item.free + held[no] != item.total) {
      return violate(fmt::format("I6: gate: free {} + held {} is not {}", item.free, held[no], item.total));
    }
  }
  for (const auto& [name, count] : units) {
    if (count > swarm_.limit) return violate(fmt::format("I3: the gate holds {} units for {}", count, name));
  }
  for (const auto& [id, row] : rows_.orders) {
    if (is_live(row.order.status) && !keys.holds.contains(row.hold)) {
      return violate(fmt::format("covered: {} is live, and its units are for sale", short_id(id)));
    }
  }
  for (const auto& [id, hold] : keys.holds) {
    if (keys.in_flight.contains(id) || rows_.standing(id) == HoldStanding::live) continue;
    const auto& outbox = rows_.releases;
    const bool is_released = std::ranges::any_of(outbox, [&](const auto& row) { return row.second.hold == id; });
    if (!is_released) return violate(fmt::format("no orphan: {} is held by nobody", short_id(id)));
  }
}

/// Empty, or what is still missing.
std::string Cluster::what_is_not_whole() const {
  for (const auto& process : processes_) {
    if (!process->is_up) return process->name + " is down";
  }
  for (std::size_t i = 0; i < log_.partitions().size(); ++i) {
    const auto at = rows_.offsets.find({log_.topic_id(), static_cast<std::int32_t>(i)});
    const std::int64_t recorded = at == rows_.offsets.end() ? 0 : at->second;
    const auto end = static_cast<std::int64_t>(log_.partitions()[i].size());
    if (recorded != end) return fmt::format("partition {} is recorded up to {} of {}", i, recorded, end);
  }
  for (const auto& [id, row] : rows_.orders) {
    if (row.order.status == OrderStatus::pending) return "an order is pending";
  }
  for (const auto& [hold, retake] : rows_.retakes) {
    if (retake.decision == RetakeRow::Decision::none) return "late money is not decided";
  }
  if (!rows_.releases.empty()) return fmt::format("{} releases are in the outbox", rows_.releases.size());
  return what_the_gate_lacks();
}

std::string Cluster::what_the_gate_lacks() const {
  const GateState& state = rows_.gates.at(kSale);
  if (state.phase != GatePhase::open) return fmt::format("the ledger says BUILDING at {}", state.epoch);
  const SaleKeys* const gate = gates_.sale_at(state.pin, kGateName);
  if (gate == nullptr || gate->epoch() != state.epoch || !gate->is_open() || gate->keys() == nullptr) {
    return fmt::format("the gate is not open at {} on {}", state.epoch, state.pin);
  }
  const EpochKeys& keys = *gate->keys();
  if (!keys.in_flight.empty()) return fmt::format("{} is in flight", short_id(keys.in_flight.begin()->first));
  for (const auto& [no, item] : rows_.items) {
    const std::int64_t free = item.total - item.held - item.sold;
    const auto in_gate = keys.items.find(no);
    if (in_gate == keys.items.end() || in_gate->second.free != free) {
      return fmt::format("item {}: {} are free in the gate, {} in the ledger", no.value,
                         in_gate == keys.items.end() ? -1 : in_gate->second.free, free);
    }
  }
  return {};
}

/// At the end: everything again, from the rows alone.
void Cluster::audit() {
  check_stores();
  report_.builds = static_cast<std::uint64_t>(rows_.gates[kSale].epoch);
  audit_orders();
  audit_told();
  audit_money();
  if (rows_.parked.size() != garbage_) {
    violate(fmt::format("nothing skipped: {} of {} unreadable messages are parked", rows_.parked.size(), garbage_));
  }
}

void Cluster::audit_orders() {
  std::map<ItemNo, std::int64_t> live;
  std::map<std::string_view, std::int32_t> units;
  for (const auto& [id, row] : rows_.orders) {
    const auto claimed = claimed_.find(id);
    if (claimed == claimed_.end()) return violate(fmt::format("I5: nobody asked for {}", short_id(id)));
    if (!is_live(row.order.status)) continue;
    live[row.order.item] += row.order.units;
    units[row.order.buyer] += row.order.units;
  }
  for (const auto& [no, item] : rows_.items) {
    if (live[no] > item.total) violate(fmt::format("I1: item {} sold {} of {}", no.value, live[no], item.total));
    if (live[no] != item.held + item.sold) {
      violate(fmt::format("I6: item {} counts {} + {} and has {} live", no.value, item.held, item.sold, live[no]));
    }
  }
  for (const auto& [name, count] : units) {
    if (count > swarm_.limit) violate(fmt::format("I3: {} has {} units", name, count));
  }
}

/// I4: a 202 was true. What PROTOCOL 8 allows is counted, and the sleep that explains it is asked for.
void Cluster::audit_told() {
  for (const auto& [id, told] : told_) {
    const auto row = rows_.orders.find(id);
    if (row == rows_.orders.end()) return violate(fmt::format("I4: {} was told 202 and is not there", short_id(id)));
    if (row->second.order.status != OrderStatus::rejected) continue;
    met(Trouble::rejected_after_202);
    bool is_explained = false;
    for (const auto& partition : log_.partitions()) {
      for (const auto& record : partition) {
        const auto* message = std::get_if<ClaimMessage>(&record.content);
        if (message == nullptr || message->order != id) continue;
        if (record.appended_at - record.checked_at > Micros{kPublishDeadlineUs}) is_explained = true;
      }
    }
    if (!is_explained)
      return violate(fmt::format("exact: {} was told 202 and rejected, and nobody slept", short_id(id)));
  }
}

/// I7: money is kept by a paid order or goes back, never both and never neither.
void Cluster::audit_money() {
  std::map<OrderId, int> kept;
  for (const auto& [id, payment] : rows_.payments) {
    if (payment.state == PaymentState::late) return violate("I7: late money waits for ever");
    if (payment.state == PaymentState::captured) ++kept[payment.order];
  }
  for (const auto& [id, row] : rows_.orders) {
    const int expected = row.order.status == OrderStatus::paid ? 1 : 0;
    if (kept[id] != expected) {
      return violate(fmt::format("I7: {} is {} and keeps {} payments", short_id(id), name(row.order.status), kept[id]));
    }
  }
}

}  // namespace weir::cluster
