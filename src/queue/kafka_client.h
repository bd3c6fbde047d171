#pragma once

#include "base/result.h"
#include "base/time.h"
#include "queue/kafka_options.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <librdkafka/rdkafka.h>

namespace weir {

/// Turns a C handle's destructor into that of a `unique_ptr`.
template <auto kDestroy>
struct KafkaDestroy {
  template <typename T>
  void operator()(T* handle) const {
    kDestroy(handle);
  }
};

/// Ends a client within kKafkaEndUsMax. The library waits for its brokers' threads without a bound, and with a topic
/// that was deleted under a reader these may never come to an end. A client that does not end is left behind with its
/// threads and a line in the log: a worker must be able to stop. A consumer leaves its group before.
struct KafkaEnd {
  void operator()(rd_kafka_t* client) const;
};

using KafkaHandle = std::unique_ptr<rd_kafka_t, KafkaEnd>;
using KafkaConf = std::unique_ptr<rd_kafka_conf_t, KafkaDestroy<rd_kafka_conf_destroy>>;
using KafkaQueue = std::unique_ptr<rd_kafka_queue_t, KafkaDestroy<rd_kafka_queue_destroy>>;
using KafkaTopic = std::unique_ptr<rd_kafka_topic_t, KafkaDestroy<rd_kafka_topic_destroy>>;
using KafkaMessage = std::unique_ptr<rd_kafka_message_t, KafkaDestroy<rd_kafka_message_destroy>>;
using KafkaEvent = std::unique_ptr<rd_kafka_event_t, KafkaDestroy<rd_kafka_event_destroy>>;
using KafkaError = std::unique_ptr<rd_kafka_error_t, KafkaDestroy<rd_kafka_error_destroy>>;
using KafkaPartitions =
    std::unique_ptr<rd_kafka_topic_partition_list_t, KafkaDestroy<rd_kafka_topic_partition_list_destroy>>;

/// What every client of ours begins with: brokers, name, security, log lines into our log, no topics made by accident,
/// and `own`. Fails as `unfit` with the setting that is wrong.
[[nodiscard]] Result<KafkaConf> make_kafka_conf(const KafkaOptions& options, std::span<const KafkaSetting> own);

/// Starts a client. Connects in the background: brokers that cannot be reached are no failure here.
[[nodiscard]] Result<KafkaHandle> make_kafka_client(rd_kafka_type_t type, KafkaConf conf);

/// Leaves the group, so that its partitions go to others at once and not after the session's time-out. Waits for it at
/// most kKafkaEndUsMax; the callback of the group runs inside.
void leave_kafka_group(rd_kafka_t& client);

/// What an error of the client means for the caller: `what` failed, why, and which setting would change it.
[[nodiscard]] Error kafka_error(rd_kafka_resp_err_t code, std::string_view what, const KafkaOptions& options);

/// Milliseconds until the deadline, for the client's calls: 0 to a minute.
[[nodiscard]] int wait_ms(Deadline deadline, const Clock& clock);

}  // namespace weir
