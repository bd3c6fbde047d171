#pragma once

#include "base/result.h"
#include "base/time.h"
#include "queue/kafka_client.h"
#include "queue/log_queue.h"

#include <memory>
#include <span>

namespace weir {

/// Publishes parked messages to the topic of dead letters: the bytes as they were, with headers that say why and where
/// they lay (`reason`, `topic_id`, `partition`, `offset`).
///
/// Each call starts a client of its own and ends it: letters are rare, and nothing of one call meets the next.
/// Threads, blocking: as DeadLetters.
class KafkaDeadLetters final : public DeadLetters {
 public:
  /// `clock` outlives it.
  KafkaDeadLetters(KafkaOptions options, const Clock& clock);

  [[nodiscard]] Result<void> publish(std::span<const DeadLetter> letters, Deadline deadline) override;

 private:
  const KafkaOptions options_;
  const Clock& clock_;
};

}  // namespace weir
