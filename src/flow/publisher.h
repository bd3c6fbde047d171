#pragma once

#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/lease.h"
#include "gate/shared_gate.h"
#include "queue/log_queue.h"
#include "queue/queue.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace weir {

struct PublisherCounts {
  std::uint64_t published = 0;
  std::uint64_t durable = 0;
  std::uint64_t not_persisted = 0;
  std::uint64_t unknown = 0;
  std::uint64_t lease_lost = 0;  // Taken from the gate, and not published because the lease was gone.
};

/// Publishes what the desk admitted, as the messages of a shared log.
///
/// A claim goes out under the epoch that admitted it, and only while the lease on that epoch holds (P4). What did not
/// become durable is `handed_over`: its hold stays in the gate's list, from which workers drive it again.
/// Threads: the desk's. Blocking: never.
class Publisher final : public QueueProducer {
 public:
  Publisher(LogProducer& log, const SharedGate& gate, const Lease& lease, const Snapshot<Catalog>& catalog,
            const Clock& clock)
      : log_(log), gate_(gate), lease_(lease), catalog_(catalog), clock_(clock) {}

  [[nodiscard]] std::size_t room() override { return log_.room(); }
  void append(std::span<const Claim> claims) override;
  [[nodiscard]] std::size_t outcomes(std::span<Outcome> out) override;
  [[nodiscard]] const PublisherCounts& counts() const { return counts_; }

 private:
  void hand_over(OrderId order);

  LogProducer& log_;
  const SharedGate& gate_;
  const Lease& lease_;
  const Snapshot<Catalog>& catalog_;
  const Clock& clock_;
  std::vector<ClaimMessage> messages_;
  std::deque<Outcome> own_;  // Of claims that never reached the log; at most as many as one append brings.
  PublisherCounts counts_;
};

}  // namespace weir
