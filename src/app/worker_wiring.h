#pragma once

#include "app/worker.h"
#include "base/result.h"
#include "base/system_clock.h"
#include "base/system_random.h"
#include "base/time.h"
#include "config/settings.h"
#include "http/server.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace weir {

/// A whole worker process: its stores, its threads and its operations listener, built here and nowhere else.
class WorkerProcess {
 public:
  /// `unfit` when the settings do not suit a worker, or a store is not what it must be; `unavailable` when one is not
  /// reached.
  [[nodiscard]] static Result<std::unique_ptr<WorkerProcess>> open(const Settings& settings, const SystemClock& clock);
  ~WorkerProcess();

  void start();
  /// Ends every thread after the step under way.
  void stop();

  [[nodiscard]] std::uint16_t ops_port() const { return ops_->port(); }
  [[nodiscard]] bool is_corrupt() const { return is_corrupt_.load(); }

 private:
  WorkerProcess(const Settings& settings, const SystemClock& clock)
      : settings_(settings), clock_(clock), started_at_(clock.now()) {}
  [[nodiscard]] Result<void> look_at_log() const;
  [[nodiscard]] Result<void> open_worker();
  [[nodiscard]] Result<void> open_ledgers(WorkerParts& parts);
  [[nodiscard]] Result<void> open_gates(WorkerParts& parts);
  [[nodiscard]] Result<void> open_log(WorkerParts& parts);
  [[nodiscard]] Result<void> open_operations();
  [[nodiscard]] std::string metrics_text() const;  // worker_metrics.cc

  const Settings settings_;
  const SystemClock& clock_;
  const Instant started_at_;
  std::array<SystemRandom, 4> random_;  // One a ledger connection, and so one a thread.
  std::atomic<bool> is_corrupt_{false};
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<http::Server> ops_;
};

}  // namespace weir
