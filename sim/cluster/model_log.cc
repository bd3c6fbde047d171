#include "sim/cluster/model_log.h"

#include "base/siphash.h"
#include "config/limits.h"

#include <algorithm>
#include <utility>

namespace weir::cluster {

std::int32_t LogStore::partition_of(std::string_view key) const {
  return static_cast<std::int32_t>(siphash({1, 2}, key) % partitions_.size());
}

void LogStore::append(std::int32_t partition, Record record) {
  record.appended_at = now();
  partitions_[static_cast<std::size_t>(partition)].push_back(std::move(record));
}

void LogStore::acknowledge(OrderId order, Ticks checked_at) {
  for (Partition& partition : partitions_) {
    for (Record& record : partition) {
      const auto* message = std::get_if<ClaimMessage>(&record.content);
      if (message != nullptr && message->order == order && record.checked_at == checked_at) {
        record.is_acknowledged = true;
      }
    }
  }
}

LogAssignment LogStore::assignment_of(std::size_t member) const {
  LogAssignment assignment{.generation = generation_, .topic_id = topic_id_, .partitions = {}};
  for (const auto& [partition, owner] : owner_) {
    if (owner == member) assignment.partitions.push_back(partition);
  }
  return assignment;
}

void LogStore::join(std::size_t member) {
  leave(member);
  members_.push_back(member);
  rebalance(0);
}

void LogStore::leave(std::size_t member) {
  std::erase(members_, member);
  rebalance(0);
}

void LogStore::rebalance(std::size_t first) {
  ++generation_;
  owner_.clear();
  for (std::size_t i = 0; i < partitions_.size() && !members_.empty(); ++i) {
    owner_[static_cast<std::int32_t>(i)] = members_[(i + first) % members_.size()];
  }
}

std::size_t ModelProducer::room() {
  if (store_.is_away && state_->under_way > 0) {
    wire_.met(Trouble::producer_full);
    return 0;
  }
  return kPublishInFlightMax - std::min(kPublishInFlightMax, state_->under_way);
}

void ModelProducer::append(std::span<const ClaimMessage> messages) {
  if (messages.empty()) return;
  const Ticks checked_at = store_.now();
  const std::vector<ClaimMessage> kept{messages.begin(), messages.end()};
  // Between the check of the lease and the first byte on the wire a process may sleep.
  static_cast<void>(wire_.send(Peer::log, "append"));
  for (const ClaimMessage& message : kept) launch(message, checked_at);
}

void ModelProducer::hear(State& state, OrderId order, Fate fate) {
  --state.under_way;
  state.heard.push_back({.order = order, .fate = fate, .recording = {}, .status = {}, .pay_by = {}});
}

void ModelProducer::launch(const ClaimMessage& message, Ticks checked_at) {
  ++state_->under_way;
  const Landing landing =
      store_.is_away ? (weather_.landing() == Landing::fine ? Landing::lost : Landing::late) : weather_.landing();
  const LogStore::Record record{.content = message,
                                .is_by_node = is_node_,
                                .is_acknowledged = false,
                                .checked_at = checked_at,
                                .appended_at = {}};
  const auto land = [&store = store_, record, partition = store_.partition_of(message.item)] {
    store.append(partition, record);
  };
  const auto give_up = [state = state_, order = message.order] { hear(*state, order, Fate::unknown); };
  const Micros flight = weather_.flight();
  const Micros deadline{kPublishDeadlineUs};
  switch (landing) {
    case Landing::fine:
    case Landing::doubled:
      if (landing == Landing::doubled) {
        wire_.met(Trouble::append_doubled);
        weather_.in(flight + weather_.flight(), land);
      }
      weather_.in(flight, [&store = store_, state = state_, land, order = message.order, checked_at] {
        land();
        store.acknowledge(order, checked_at);
        hear(*state, order, Fate::durable);
      });
      return;
    case Landing::unacknowledged:
      wire_.met(Trouble::append_acknowledged_never);
      weather_.in(flight, land);
      weather_.in(deadline, give_up);
      return;
    case Landing::not_persisted:
      wire_.met(Trouble::append_not_persisted);
      weather_.in(flight, [state = state_, order = message.order] { hear(*state, order, Fate::not_persisted); });
      return;
    case Landing::lost:
      wire_.met(Trouble::append_lost);
      weather_.in(deadline, give_up);
      return;
    case Landing::late:
      wire_.met(Trouble::append_late);
      weather_.in(deadline + weather_.lateness(), land);
      weather_.in(deadline, give_up);
      return;
  }
}

std::size_t ModelProducer::outcomes(std::span<Outcome> out) {
  std::size_t count = 0;
  for (; count < out.size() && !state_->heard.empty(); ++count) {
    out[count] = state_->heard.front();
    state_->heard.pop_front();
  }
  return count;
}

Result<LogAssignment> ModelConsumer::assignment(Deadline) {
  if (store_.now() >= deaf_until_) {
    LogAssignment fresh = store_.assignment_of(member_);
    if (fresh.generation != heard_.generation) next_.clear();
    heard_ = std::move(fresh);
  }
  return heard_;
}

Result<void> ModelConsumer::seek(std::int32_t partition, std::int64_t offset) {
  if (std::ranges::find(heard_.partitions, partition) != heard_.partitions.end()) next_[partition] = offset;
  return {};
}

Result<LogBatch> ModelConsumer::take(std::int32_t partition, std::size_t entries_max, Deadline) {
  LogBatch batch;
  batch.topic_id = store_.topic_id();
  batch.partition = partition;
  batch.generation = heard_.generation;
  const Passage passage = wire_.send(Peer::log, "take");
  if (passage != Passage::fine) return fail(Failure::unavailable, "the log was not read");
  const auto at = next_.find(partition);
  if (at == next_.end()) {
    batch.state = LogBatch::State::not_owned;
    return batch;
  }
  const auto& records = store_.partitions()[static_cast<std::size_t>(partition)];
  const auto end = static_cast<std::int64_t>(records.size());
  batch.expected = batch.next = at->second;
  if (at->second > end) {
    batch.state = LogBatch::State::out_of_range;
    return batch;
  }
  if (at->second == end || store_.is_away || store_.now() < frozen_until_) return batch;
  if (heard_.generation != store_.assignment_of(member_).generation) wire_.met(Trouble::zombie_consumed);
  batch.state = LogBatch::State::taken;
  batch.next = std::min(end, at->second + static_cast<std::int64_t>(entries_max));
  for (std::int64_t offset = at->second; offset < batch.next; ++offset) {
    const auto& content = records[static_cast<std::size_t>(offset)].content;
    if (skips_unreadable && std::holds_alternative<LogEntry::Raw>(content)) continue;
    batch.entries.push_back({.offset = offset, .content = content});
  }
  at->second = batch.next;
  return batch;
}

Result<LogRanges> ModelConsumer::ranges(Deadline) {
  const Passage passage = wire_.send(Peer::log, "ranges");
  if (passage != Passage::fine || store_.is_away) return fail(Failure::unavailable, "no leader answers");
  LogRanges ranges{.topic_id = store_.topic_id(), .partitions = {}};
  for (std::size_t i = 0; i < store_.partitions().size(); ++i) {
    ranges.partitions.push_back({.partition = static_cast<std::int32_t>(i),
                                 .first = 0,
                                 .end = static_cast<std::int64_t>(store_.partitions()[i].size())});
  }
  return ranges;
}

}  // namespace weir::cluster
