#include "sim/cluster/model_ledger.h"

#include <algorithm>

namespace weir::cluster {

template <typename R>
Result<R> ModelLedger::transact(std::string_view verb, bool writes, const std::function<R()>& work) {
  if (is_unknown_) return fail(Failure::timed_out, "a commit is unknown: recover first");
  const Passage passage = wire_.send(Peer::ledger, verb);
  const bool is_done = passage == Passage::fine || passage == Passage::reply_lost || passage == Passage::late;
  if (passage == Passage::refused || (!writes && passage != Passage::fine)) {
    return fail(Failure::unavailable, "the ledger was not reached");
  }
  if (!is_done) {
    is_unknown_ = true;
    wire_.met(Trouble::commit_lost);
    return fail(Failure::timed_out, "the commit was not answered");
  }
  R result = work();
  wire_.receive(Peer::ledger);
  if (passage == Passage::fine) return result;
  is_unknown_ = true;
  wire_.met(Trouble::commit_answer_lost);
  return fail(Failure::timed_out, "the commit was not answered");
}

Result<void> ModelLedger::recover(Deadline) {
  if (!is_unknown_) return {};
  if (wire_.send(Peer::ledger, "recover") != Passage::fine) return fail(Failure::unavailable, "not reached");
  is_unknown_ = false;
  return {};
}

Result<std::vector<GateState>> ModelLedger::gate_states(Deadline) {
  return transact<std::vector<GateState>>("gate_states", false, [this] {
    std::vector<GateState> states;
    for (const auto& [sale, state] : rows_.gates) {
      if (state.epoch > 0) states.push_back(state);
    }
    return states;
  });
}

Result<std::optional<std::int64_t>> ModelLedger::begin_build(const BuildStart& start, Deadline) {
  return transact<std::optional<std::int64_t>>("begin_build", true, [this, &start] {
    const GateState& gate = rows_.gates[start.sale];
    const bool takes_over = gate.phase == GatePhase::building && gate.epoch > 0 && gate.builder != start.builder;
    const auto epoch = rows_.begin_build(start, clock_.now());
    if (!epoch) wire_.met(Trouble::build_contested);
    if (epoch && takes_over) wire_.met(Trouble::build_taken_over);
    return epoch;
  });
}

Result<bool> ModelLedger::keep_building(SaleNo sale, std::int64_t epoch, std::string_view builder, Deadline) {
  return transact<bool>("keep_building", true, [&] { return rows_.keep_building(sale, epoch, builder, clock_.now()); });
}

Result<BuildResult> ModelLedger::finish_build(const BuildFinish& finish, Deadline) {
  return transact<BuildResult>("finish_build", true, [this, &finish] {
    BuildResult result = rows_.finish_build(finish);
    if (result.end == BuildEnd::superseded) wire_.met(Trouble::build_superseded);
    if (result.end == BuildEnd::behind) wire_.met(Trouble::build_behind_the_marks);
    return result;
  });
}

Result<std::vector<LogMark>> ModelLedger::log_marks(std::string_view topic_id, Deadline) {
  return transact<std::vector<LogMark>>("log_marks", false, [this, topic_id] {
    std::vector<LogMark> marks;
    for (const auto& [place, offset] : rows_.offsets) {
      if (place.first == topic_id)
        marks.push_back({.topic_id = place.first, .partition = place.second, .offset = offset});
    }
    return marks;
  });
}

Result<std::int64_t> ModelLedger::start_log(const LogMark& mark, Deadline) {
  return transact<std::int64_t>("start_log", true, [&] { return rows_.start_log(mark); });
}

Result<SliceResult> ModelLedger::record_log(const LogSlice& slice, std::span<LogOutcome> outcomes, Deadline) {
  return transact<SliceResult>("record_log", true, [&] {
    SliceResult result = rows_.record_log(slice, outcomes, clock_.now());
    note(result, outcomes);
    return result;
  });
}

void ModelLedger::note(const SliceResult& result, std::span<const LogOutcome> outcomes) {
  if (result.end == SliceEnd::fenced) wire_.met(Trouble::batch_fenced);
  if (result.end != SliceEnd::recorded) return;
  const bool is_building = std::ranges::any_of(
      result.gates, [](const GateState& gate) { return gate.phase == GatePhase::building && gate.last_open > 0; });
  for (const LogOutcome& outcome : outcomes) {
    switch (outcome.fate) {
      case LogFate::recorded:
        if (is_building) wire_.met(Trouble::recorded_while_building);
        break;
      case LogFate::repeated: wire_.met(Trouble::met_again_live); break;
      case LogFate::ended: wire_.met(Trouble::met_again_ended); break;
      case LogFate::rejected:
        wire_.met(is_building ? Trouble::rejected_while_building : Trouble::rejected_by_the_gate);
        break;
      case LogFate::parked: break;
      case LogFate::left: wire_.met(Trouble::straggler_left); return;
    }
  }
}

Result<std::vector<Release>> ModelLedger::releases(SaleNo sale, std::size_t count, Deadline) {
  return transact<std::vector<Release>>("releases", false, [&] { return rows_.releases_of(sale, count); });
}

Result<std::size_t> ModelLedger::drop_releases(SaleNo sale, std::int64_t epoch, std::span<const std::uint64_t> ids,
                                               Deadline) {
  return transact<std::size_t>("drop_releases", true, [&] {
    const std::size_t count = rows_.drop_releases(sale, epoch, ids);
    if (count == 0 && !ids.empty()) wire_.met(Trouble::releases_fenced);
    return count;
  });
}

Result<std::vector<Retake>> ModelLedger::undecided_retakes(std::size_t count, Deadline) {
  return transact<std::vector<Retake>>("undecided_retakes", false, [&] { return rows_.undecided_retakes(count); });
}

Result<void> ModelLedger::decide_retakes(std::span<const RetakeDecision> decisions, std::span<RetakeEnd> ends,
                                         Deadline) {
  const auto done = transact<bool>("decide_retakes", true, [&] {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      ends[i] = rows_.decide_retake(decisions[i]);
      if (ends[i] == RetakeEnd::moved) wire_.met(Trouble::retake_moved);
      if (ends[i] == RetakeEnd::kept) wire_.met(Trouble::late_money_kept);
      if (ends[i] == RetakeEnd::refunded) wire_.met(Trouble::late_money_returned);
    }
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<void> ModelLedger::look_up_holds(std::span<const OrderId> holds, std::span<HoldStanding> standings, Deadline) {
  const auto done = transact<bool>("look_up_holds", false, [&] {
    for (std::size_t i = 0; i < holds.size(); ++i) standings[i] = rows_.standing(holds[i]);
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<std::vector<ParkedMessage>> ModelLedger::parked(std::size_t count, Deadline) {
  return transact<std::vector<ParkedMessage>>("parked", false, [&] {
    const auto some = std::span{rows_.parked}.first(std::min(count, rows_.parked.size()));
    return std::vector<ParkedMessage>{some.begin(), some.end()};
  });
}

Result<void> ModelLedger::settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements, Deadline) {
  const auto done = transact<bool>("settle", true, [&] {
    for (std::size_t i = 0; i < commands.size(); ++i) settlements[i] = rows_.settle(commands[i], clock_.now());
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<std::size_t> ModelLedger::expire(std::span<Ended> ended, Deadline) {
  return transact<std::size_t>("expire", true, [&] {
    const std::size_t count = rows_.expire(ended, clock_.now());
    for (std::size_t i = 0; i < count; ++i) wire_.met(Trouble::expired);
    return count;
  });
}

Result<std::optional<Instant>> ModelLedger::next_expiry() {
  return transact<std::optional<Instant>>("next_expiry", false, [this] {
    std::optional<Instant> next;
    for (const auto& [id, row] : rows_.orders) {
      const Order& order = row.order;
      if (order.status == OrderStatus::pending && (!next || order.pay_by < *next)) next = order.pay_by;
    }
    return next;
  });
}

Result<Catalog> ModelReader::catalog() {
  if (wire_.send(Peer::ledger, "catalog") != Passage::fine) return fail(Failure::unavailable, "not reached");
  return rows_.catalog;
}

Result<std::optional<Order>> ModelReader::order(OrderId id) {
  if (wire_.send(Peer::ledger, "order") != Passage::fine) return fail(Failure::unavailable, "not reached");
  const auto found = rows_.orders.find(id);
  if (found == rows_.orders.end()) return std::optional<Order>{};
  return std::optional{found->second.order};
}

}  // namespace weir::cluster
