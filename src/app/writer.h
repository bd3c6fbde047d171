#pragma once

#include "app/waker.h"
#include "base/siphash.h"
#include "base/time.h"
#include "flow/expire.h"
#include "flow/record.h"
#include "flow/settle.h"
#include "ledger/ledger.h"
#include "queue/queue.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weir {

/// What the ledger writer has done, for metrics.
struct WriterCounts {
  RecordCounts record;
  SettleCounts settle;
  std::uint64_t expired = 0;
  std::uint64_t recoveries = 0;
};

/// The one thread that writes to the ledger: record, settle, expire in turn, changes by organisers between them.
///
/// While one commit syncs, the next batch fills. After a failure it recovers the ledger before it goes on, and asks for
/// a comparison of gate and ledger, because effects of an unknown commit may not have been heard.
///
/// Without `start` there is no thread: whoever calls `turn` is the ledger writer.
class Writer final : public SettlePort {
 public:
  struct Hooks {
    std::function<void(const GateRequest&)> to_gate;
    std::function<void()> recovered;            // After each recovery.
    std::function<void(const Error&)> corrupt;  // Once: stop and call a person.
  };

  /// Who ends orders that were not paid in time: this writer, or somebody else who shares the ledger.
  enum class Expiry : std::uint8_t { here, elsewhere };

  Writer(Ledger& ledger, QueueConsumer& queue, const Clock& clock, const SipKey& buyer_hash, Hooks hooks,
         Expiry expiry = Expiry::here);
  ~Writer() override;

  void start();
  /// Goes on until the queue and the commands are done or `deadline` has passed, then joins.
  void stop(Deadline deadline);
  /// One bounded round; how many things were done. The writer's thread only.
  [[nodiscard]] std::size_t turn();

  /// Any thread. False: full.
  [[nodiscard]] bool submit(SettleRequest request);
  /// Runs `task` between two steps. Any thread. False: full.
  [[nodiscard]] bool post(std::function<void(Ledger&)> task);
  void wake() { waker_.wake(); }

  /// The ledger takes claims.
  [[nodiscard]] const std::atomic<bool>& ready() const { return record_.ready(); }
  [[nodiscard]] WriterCounts counts() const;

  // SettlePort; the writer's thread only.
  [[nodiscard]] std::size_t take_commands(std::span<SettleRequest> out) override;
  void to_gate(const GateRequest& request) override { hooks_.to_gate(request); }

 private:
  void run();
  [[nodiscard]] std::size_t note(const Result<std::size_t>& stepped);
  void recover();
  [[nodiscard]] std::size_t run_tasks();
  void look_after();
  void publish_counts();
  void probe();

  Ledger& ledger_;
  const Clock& clock_;
  Hooks hooks_;
  const Expiry expiry_;
  Record record_;
  Settle settle_;
  Expire expire_;
  Waker waker_;
  std::mutex mutex_;
  std::deque<SettleRequest> commands_;
  std::deque<std::function<void(Ledger&)>> tasks_;
  bool is_broken_ = false;
  bool is_corrupt_ = false;
  Ticks resting_until_;
  Ticks tidied_at_;
  Ticks probed_at_;
  std::uint64_t recoveries_ = 0;
  mutable std::mutex counts_mutex_;
  WriterCounts counts_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> stop_by_us_{0};
  std::thread thread_;
};

}  // namespace weir
