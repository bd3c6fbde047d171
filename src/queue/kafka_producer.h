#pragma once

#include "base/result.h"
#include "base/time.h"
#include "queue/kafka_client.h"
#include "queue/log_queue.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weir {

/// What the producer has seen, for metrics.
struct KafkaProducerCounts {
  std::uint64_t durable = 0;
  std::uint64_t not_persisted = 0;
  std::uint64_t unknown = 0;
  std::uint64_t recreated = 0;  // Times that it broke for good and was replaced.
};

/// Publishes admitted claims to a Kafka topic: acknowledged by all in-sync replicas, idempotent, key = item id.
///
/// What the client says of each message is taken exactly: persisted is `durable`, not persisted is `not_persisted`,
/// possibly persisted is `unknown`. A client with a fatal error is destroyed and replaced, at most once in
/// kProducerRestUs; what it had under way is `unknown`.
/// Room follows success: a failed publish leaves room for one message at a time, each success doubles it. So a log that
/// does not answer costs one held claim each deadline, not a thousand.
/// Threads: the owner's; the wake is called from threads of the client. Blocking: never but for `drain` and, for a
/// moment, the replacement.
class KafkaProducer final : public LogProducer {
 public:
  /// Fails as `unfit` on settings that the client does not take. Brokers need not be there yet. `clock` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<KafkaProducer>> create(KafkaOptions options, const Clock& clock);
  ~KafkaProducer() override;
  KafkaProducer(const KafkaProducer&) = delete;
  KafkaProducer& operator=(const KafkaProducer&) = delete;

  /// Called, from any thread, when outcomes may have arrived. Set before the first append.
  void set_wake(std::function<void()> wake);

  [[nodiscard]] std::size_t room() override;
  void append(std::span<const ClaimMessage> messages) override;
  [[nodiscard]] std::size_t outcomes(std::span<Outcome> out) override;
  [[nodiscard]] std::size_t drain(Deadline deadline) override;

  [[nodiscard]] const KafkaProducerCounts& counts() const { return counts_; }

 private:
  struct Slot {
    OrderId order;
    Instant pay_by;
    bool is_open = false;  // Given to the client, not reported yet.
  };

  KafkaProducer(KafkaOptions options, const Clock& clock);
  [[nodiscard]] Result<void> start();
  void replace_if_fatal();
  void publish(const ClaimMessage& message);
  void conclude(std::size_t slot, Fate fate);
  void on_delivery(const rd_kafka_message_t& message);
  void on_error(rd_kafka_resp_err_t code, const char* reason);
  void shrink();
  [[nodiscard]] std::size_t open_count() const { return slots_.size() - free_.size(); }

  static void delivery_callback(rd_kafka_t* client, const rd_kafka_message_t* message, void* self);
  static void error_callback(rd_kafka_t* client, int code, const char* reason, void* self);

  const KafkaOptions options_;
  const Clock& clock_;
  std::function<void()> wake_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;  // Slots that nobody uses.
  std::vector<Outcome> arrived_;   // Not taken yet. With what is under way never more than there are slots.
  std::size_t window_;             // How many may be under way: 1 while the log fails.
  Ticks replaced_at_;
  bool was_replaced_ = false;
  bool is_fatal_ = false;
  KafkaProducerCounts counts_;
  KafkaHandle client_;  // Last: its callbacks use what stands above.
};

}  // namespace weir
