#pragma once

#include "app/waker.h"
#include "base/ring.h"
#include "base/time.h"
#include "config/limits.h"
#include "flow/admit.h"
#include "gate/gate.h"
#include "queue/queue.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace weir {

/// How much each ring of a desk holds.
struct RingSizes {
  std::size_t claims = kClaimRingSize;
  std::size_t answers = kAnswerRingSize;
  std::size_t returns = kReturnRingSize;
};

/// The one thread that owns the gate: claims from the reactors' rings and effects from the ledger writer's ring go
/// through `Admit`, answers go back by ring.
///
/// Threads: `start`, `stop` from the owner. The rest says who may call it. Without `start` there is no thread: whoever
/// calls `turn` is the desk.
class Desk final : public AdmitPort {
 public:
  struct Hooks {
    std::function<void(std::uint16_t reactor)> wake_reactor;
    std::function<void(PaymentId, bool)> retake_answered;
  };

  Desk(Gate& gate, QueueProducer& queue, const std::atomic<bool>& storage_ready, const Clock& clock,
       std::size_t reactors, Hooks hooks, const RingSizes& sizes = {});
  ~Desk() override;

  void start();
  /// Goes on until nothing is in flight or `deadline` has passed, then joins.
  void stop(Deadline deadline);
  /// One bounded round; how many things were done. The desk's thread only.
  [[nodiscard]] std::size_t turn();

  /// From reactor `reactor` only. False: full.
  [[nodiscard]] bool offer(std::uint16_t reactor, const ClaimRequest& request);
  /// From reactor `reactor` only.
  [[nodiscard]] std::size_t take_answers(std::uint16_t reactor, std::span<ClaimAnswer> out);
  /// From the ledger writer only. Waits until there is room: effects are never dropped, and the desk never waits for
  /// the writer.
  void request(const GateRequest& request);
  /// Runs `task` on the desk between two steps. Any thread.
  void post(std::function<void(Admit&, Gate&)> task);
  void wake() { waker_.wake(); }

  [[nodiscard]] std::size_t in_flight() const { return admit_.in_flight(); }
  /// A copy made by the desk within the last second.
  [[nodiscard]] AdmitCounts counts() const;

  // AdmitPort; the desk's thread only.
  [[nodiscard]] std::size_t take_requests(std::span<GateRequest> out) override;
  [[nodiscard]] std::size_t take_claims(std::span<ClaimRequest> out) override;
  void answer(const ClaimAnswer& answer) override;
  void answer_retake(PaymentId payment, bool taken) override;

 private:
  struct Reactor {
    explicit Reactor(const RingSizes& sizes);
    Ring<ClaimRequest> claims;
    Ring<ClaimAnswer> answers;
    bool is_answered = false;
  };
  void run();
  [[nodiscard]] std::size_t run_tasks();
  void publish_counts();

  Gate& gate_;
  const Clock& clock_;
  Hooks hooks_;
  std::vector<std::unique_ptr<Reactor>> reactors_;
  Ring<GateRequest> requests_;
  std::size_t next_reactor_ = 0;
  Waker waker_;
  Admit admit_;
  std::mutex tasks_mutex_;
  std::vector<std::function<void(Admit&, Gate&)>> tasks_;
  bool is_over_ = false;  // Under `tasks_mutex_`: the thread has ended, and tasks run under the mutex.
  std::atomic<bool> has_tasks_{false};
  mutable std::mutex counts_mutex_;
  AdmitCounts counts_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> stop_by_us_{0};
  std::thread thread_;
};

}  // namespace weir
