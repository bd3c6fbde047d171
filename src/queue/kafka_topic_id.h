#pragma once

#include "base/result.h"
#include "base/time.h"
#include "queue/kafka_options.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// Asks a broker for the id that the topic got when it was made. A topic that is deleted and made anew bears the same
/// name and another id, and the offsets that the ledger remembers mean nothing in it.
///
/// The client library of this version does not tell the id, so this speaks the three requests that it takes by itself:
/// over plain TCP or TLS, and with SASL PLAIN if that is set. Where it cannot (another SASL mechanism, a key that needs
/// a password, brokers older than 2.8) the answer is `name:` and the topic's name, always the same for the same
/// settings; a new topic is then noticed by its offsets alone.
/// Failures: `unavailable`, `timed_out`, `unfit` (no such topic, no permission). Blocking: up to the deadline, but for
/// the look-up of a host's name.
[[nodiscard]] Result<std::string> kafka_topic_id(const KafkaOptions& options, const Clock& clock, Deadline deadline);

/// What the answer to a metadata request says of its one topic. Pure; for the reader of whatever a broker sends.
struct KafkaTopicAnswer {
  std::int16_t error = 0;
  std::string id;  // 32 hexadecimal digits.
};
[[nodiscard]] Parsed<KafkaTopicAnswer> read_topic_answer(std::string_view body);

}  // namespace weir
