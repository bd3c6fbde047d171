#pragma once

#include "base/result.h"
#include "base/time.h"
#include "queue/kafka_client.h"
#include "queue/log_queue.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace weir {

/// Reads a Kafka topic as one worker of a group.
///
/// The group only spreads the partitions over the workers (cooperative: a change touches only the partitions that
/// move). Reading begins where `seek` says; a partition without one is not fetched. Nothing is committed by itself.
/// An offset that the log does not have is an answer (`out_of_range`), never a jump to another place.
/// Threads, blocking: as LogConsumer. The destructor leaves the group, which takes a moment.
class KafkaConsumer final : public LogConsumer {
 public:
  /// Joins the group in the background. `clock` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<KafkaConsumer>> create(KafkaOptions options, const Clock& clock);
  ~KafkaConsumer() override;
  KafkaConsumer(const KafkaConsumer&) = delete;
  KafkaConsumer& operator=(const KafkaConsumer&) = delete;

  [[nodiscard]] Result<LogAssignment> assignment(Deadline deadline) override;
  Result<void> seek(std::int32_t partition, std::int64_t offset) override;
  [[nodiscard]] Result<LogBatch> take(std::int32_t partition, std::size_t entries_max, Deadline deadline) override;
  [[nodiscard]] Result<LogRanges> ranges(Deadline deadline) override;
  void hint(std::int32_t partition, std::int64_t next_offset) override;

 private:
  /// What is known of a partition that the group gave us.
  struct Owned {
    std::optional<std::int64_t> position;  // Where the next batch begins; null until `seek`.
    std::optional<std::int64_t> doubted;   // A gap was met there: it was read once more to be sure.
    KafkaQueue queue;                      // The client's own for this partition.
    std::deque<KafkaMessage> early;        // Came over the common queue before the partition had its own.
  };

  KafkaConsumer(KafkaOptions options, const Clock& clock);
  [[nodiscard]] Result<void> start();
  void on_rebalance(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t& partitions);
  void on_error(rd_kafka_resp_err_t code, const char* reason);
  static void rebalance_callback(rd_kafka_t* client, rd_kafka_resp_err_t code,
                                 rd_kafka_topic_partition_list_t* partitions, void* self);
  static void error_callback(rd_kafka_t* client, int code, const char* reason, void* self);

  void serve_common_queue(int first_wait_ms);
  [[nodiscard]] Result<void> check_alive() const;
  [[nodiscard]] Result<void> learn_topic_id(Deadline deadline);
  [[nodiscard]] KafkaPartitions one(std::int32_t partition, std::int64_t offset) const;
  void stop_fetching(std::int32_t partition);
  [[nodiscard]] KafkaMessage next_message(Owned& owned, int wait);
  [[nodiscard]] Result<LogBatch::State> fill(LogBatch& batch, Owned& owned, std::size_t entries_max, Deadline deadline);
  [[nodiscard]] bool is_gap_doubtful(Owned& owned, std::int32_t partition, std::int64_t next, std::int64_t offset);

  const KafkaOptions options_;
  const Clock& clock_;
  std::string topic_id_;  // Empty until it is known.
  std::uint64_t generation_ = 1;
  std::map<std::int32_t, Owned> owned_;
  std::optional<Error> trouble_;  // The last thing that only the operator can mend; gone with the next assignment.
  KafkaTopic topic_;
  KafkaHandle client_;
};

}  // namespace weir
