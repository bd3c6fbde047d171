#pragma once

#include "base/time.h"
#include "config/limits.h"

#include <string>
#include <vector>

namespace weir {

/// One setting of the Kafka client that is handed on as it is: `ssl.ca.location`, `sasl.username` and their like.
struct KafkaSetting {
  std::string key;
  std::string value;  // May be a secret: never logged.
};

/// Where the log lies and how to get to it.
struct KafkaOptions {
  std::vector<std::string> brokers;  // `host:port`, some of them; the rest is learned.
  std::string topic = "flash-sale-orders";
  std::string dead_letter_topic = "flash-sale-orders.dlq";
  std::string client_id = "weir";
  std::string group = "flash-sale-workers";
  std::string instance_id;                      // A name that this worker keeps over restarts; empty: none.
  Micros publish_deadline{kPublishDeadlineUs};  // After it a publish is given up.
  Micros session_timeout{10'000'000};           // A worker that is not heard of for so long loses its partitions.
  std::vector<KafkaSetting> security;           // Only keys of `security.`, `ssl.`, `sasl.` and `enable.ssl.`.
};

}  // namespace weir
