#pragma once

#include "base/result.h"
#include "base/time.h"
#include "config/doctor.h"
#include "queue/kafka_options.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir {

/// A topic as its brokers describe it.
struct KafkaTopicFacts {
  std::string name;
  bool exists = false;
  std::size_t partitions = 0;
  std::size_t replicas = 0;                     // Of the partition that has the fewest.
  std::size_t in_sync = 0;                      // Likewise, at this moment.
  std::map<std::string, std::string> settings;  // By Kafka's names. One that is missing could not be read.
};

/// Every setting of the topic of orders that could lose a claim which was answered with 202, or stop selling for no
/// need, worst first. Pure.
[[nodiscard]] std::vector<Finding> examine_orders_topic(const KafkaTopicFacts& facts);

/// The same for the topic that shows dead letters. They are kept in the ledger whatever becomes of it. Pure.
[[nodiscard]] std::vector<Finding> examine_dead_letter_topic(const KafkaTopicFacts& facts);

/// Asks the brokers about one topic. A missing topic is an answer, not a failure. Blocking: up to the deadline.
[[nodiscard]] Result<KafkaTopicFacts> describe_kafka_topic(const KafkaOptions& options, const std::string& topic,
                                                           const Clock& clock, Deadline deadline);

/// Both topics, asked and examined. In production mode a fatal finding refuses the start (`refuses_start`).
[[nodiscard]] Result<std::vector<Finding>> audit_kafka(const KafkaOptions& options, const Clock& clock,
                                                       Deadline deadline);

}  // namespace weir
