#pragma once

#include "base/time.h"
#include "queue/log_queue.h"
#include "sim/cluster/wire.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weir::cluster {

/// What becomes of one published message.
enum class Landing : std::uint8_t {
  fine,            // It stands in the log, and the producer hears so.
  unacknowledged,  // It stands there, and the producer never hears of it.
  not_persisted,   // It never stands there, and the producer is told.
  lost,            // It never stands there, and nobody knows.
  late,            // It stands there after the producer has given up.
  doubled,         // It stands there twice.
};

/// How the world decides what the log does. Everything that takes time is `in`: run after that span.
class LogWeather {
 public:
  virtual ~LogWeather() = default;
  [[nodiscard]] virtual Landing landing() = 0;
  [[nodiscard]] virtual Micros flight() = 0;    // From the producer to the partition.
  [[nodiscard]] virtual Micros lateness() = 0;  // Of what lands late, beyond the publish deadline.
  virtual void in(Micros span, std::function<void()> happening) = 0;
};

/// A log of several partitions and the group that reads it.
///
/// Threads: one.
class LogStore {
 public:
  LogStore(const Clock& clock, std::size_t partitions) : clock_(clock), partitions_(partitions) {}

  struct Record {
    std::variant<ClaimMessage, LogEntry::Raw> content;
    bool is_by_node = false;
    bool is_acknowledged = false;
    Ticks checked_at;  // When its producer was told to publish it.
    Ticks appended_at;
  };
  using Partition = std::vector<Record>;

  [[nodiscard]] const std::string& topic_id() const { return topic_id_; }
  [[nodiscard]] const std::vector<Partition>& partitions() const { return partitions_; }
  [[nodiscard]] std::int32_t partition_of(std::string_view key) const;
  void append(std::int32_t partition, Record record);
  void acknowledge(OrderId order, Ticks checked_at);

  // The group: who owns what. A member that has not heard of the newest generation goes on by what it heard last.
  [[nodiscard]] LogAssignment assignment_of(std::size_t member) const;
  void join(std::size_t member);
  void leave(std::size_t member);
  void rebalance(std::size_t first);

  [[nodiscard]] Ticks now() const { return clock_.ticks(); }
  bool is_away = false;

 private:
  const Clock& clock_;
  std::string topic_id_ = "topic-1";
  std::vector<Partition> partitions_;
  std::vector<std::size_t> members_;
  std::map<std::int32_t, std::size_t> owner_;
  std::uint64_t generation_ = 1;
};

/// The producing end of one process.
class ModelProducer : public LogProducer {
 public:
  ModelProducer(LogStore& store, Wire& wire, LogWeather& weather, bool is_node)
      : store_(store), wire_(wire), weather_(weather), is_node_(is_node) {}

  std::size_t room() override;
  void append(std::span<const ClaimMessage> messages) override;
  std::size_t outcomes(std::span<Outcome> out) override;
  std::size_t drain(Deadline) override { return state_->under_way; }

 private:
  /// Lives as long as anything of it is under way: a process may die before its messages land.
  struct State {
    std::deque<Outcome> heard;
    std::size_t under_way = 0;
  };

  void launch(const ClaimMessage& message, Ticks checked_at);
  static void hear(State& state, OrderId order, Fate fate);

  LogStore& store_;
  Wire& wire_;
  LogWeather& weather_;
  bool is_node_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// The consuming end of one process.
class ModelConsumer final : public LogConsumer {
 public:
  ModelConsumer(LogStore& store, Wire& wire, std::size_t member) : store_(store), wire_(wire), member_(member) {}

  Result<LogAssignment> assignment(Deadline deadline) override;
  Result<void> seek(std::int32_t partition, std::int64_t offset) override;
  Result<LogBatch> take(std::int32_t partition, std::size_t entries_max, Deadline deadline) override;
  Result<LogRanges> ranges(Deadline deadline) override;
  void hint(std::int32_t, std::int64_t) override {}

  /// Until then it does not hear of new generations: a zombie.
  void go_deaf(Ticks until) { deaf_until_ = until; }
  /// Until then it gets nothing.
  void freeze(Ticks until) { frozen_until_ = until; }
  bool skips_unreadable = false;  // A fault that can be planted: what cannot be read is passed over.

 private:
  LogStore& store_;
  Wire& wire_;
  std::size_t member_;
  LogAssignment heard_;
  std::map<std::int32_t, std::int64_t> next_;
  Ticks deaf_until_;
  Ticks frozen_until_;
};

}  // namespace weir::cluster
