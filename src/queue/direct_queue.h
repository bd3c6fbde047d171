#pragma once

#include "base/ring.h"
#include "queue/queue.h"

#include <functional>
#include <span>
#include <vector>

namespace weir {

/// The queue of the embedded mode: straight from the desk to the ledger's group commit and back, over two rings.
///
/// Each appended claim yields exactly one outcome, in the order of the appends.
/// Threads: the producing end is the desk's, the consuming end the ledger writer's. Blocking: never.
class DirectQueue final : public QueueProducer, public QueueConsumer {
 public:
  /// `capacity`: claims that are appended and whose outcome has not been taken.
  explicit DirectQueue(std::size_t capacity);

  /// Called after claims, or outcomes, were made visible. Set before the threads start.
  void set_wakes(std::function<void()> wake_consumer, std::function<void()> wake_producer);

  [[nodiscard]] std::size_t room() override;
  void append(std::span<const Claim> claims) override;
  [[nodiscard]] std::size_t outcomes(std::span<Outcome> out) override;

  [[nodiscard]] std::size_t peek(std::span<Claim> out) override;
  void finish(std::span<const Outcome> outcomes) override;

  /// Claims that wait for the ledger. A glance.
  [[nodiscard]] std::size_t depth() const { return claims_.size(); }

 private:
  const std::size_t capacity_;
  Ring<Claim> claims_;
  Ring<Outcome> outcomes_;
  std::size_t open_ = 0;         // Producer's: appended, outcome not taken yet.
  std::vector<Claim> batch_;     // Consumer's: room for what is taken from the ring, never resized.
  std::span<Claim> unfinished_;  // Consumer's: the part of `batch_` that was taken and is not finished yet.
  std::function<void()> wake_consumer_;
  std::function<void()> wake_producer_;
};

}  // namespace weir
