#include "app/worker_wiring.h"
#include "metrics/names.h"
#include "metrics/process_use.h"
#include "metrics/text_exposition.h"

namespace weir {

std::string WorkerProcess::metrics_text() const {
  TextExposition out;
  const auto add = [&](const Metric& metric, auto count) { out.add(metric, static_cast<double>(count)); };
  const WorkerCounts counts = worker_->counts();
  add(metric::kLedgerBatches, counts.record.batches);
  add(metric::kLedgerRecorded, counts.record.recorded);
  add(metric::kLedgerUnknown, counts.record.unknown_commits);
  add(metric::kLedgerRecoveries, counts.recoveries);
  add(metric::kLedgerReady, worker_->is_ready() ? 1 : 0);
  add(metric::kQueueBacklog, counts.backlog);
  add(metric::kQueueParked, counts.record.parked);
  add(metric::kQueueLettersShown, counts.letters_shown);
  add(metric::kQueueFenced, counts.record.fenced);
  add(metric::kQueueStuck, counts.stuck_partitions);
  add(metric::kFlowRejected, counts.record.rejected);
  add(metric::kFlowRepeated, counts.record.repeated + counts.record.ended);
  add(metric::kFlowStragglersLeft, counts.record.left);
  add(metric::kFlowDriven, counts.driven);
  add(metric::kFlowLateDecided, counts.late_decided);
  add(metric::kFlowExpired, counts.expired);
  add(metric::kGateReleased, counts.released_units);
  add(metric::kGateInFlightOldest, static_cast<double>(counts.oldest_in_flight_us) / 1e6);
  out.add(metric::kGateBuilds, "started", static_cast<double>(counts.builds.started));
  out.add(metric::kGateBuilds, "finished", static_cast<double>(counts.builds.finished));
  out.add(metric::kGateBuilds, "given_up", static_cast<double>(counts.builds.given_up));
  add(metric::kGateBuildsUnderWay, counts.builds_under_way);
  add(metric::kClockStep, static_cast<double>(clock_.step().count()) / 1e6);
  add(metric::kStartTime, static_cast<double>(started_at_.us) / 1e6);
  const ProcessUse use = read_process_use();
  add(metric::kProcessCpu, use.cpu_seconds);
  add(metric::kProcessResident, use.resident_bytes);
  return out.text();
}

}  // namespace weir
