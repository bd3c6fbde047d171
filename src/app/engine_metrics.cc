#include "app/engine.h"
#include "app/seller_metrics.h"
#include "metrics/names.h"

namespace weir {

void Engine::add_metrics(TextExposition& out) {
  const auto add = [&](const Metric& metric, auto count) { out.add(metric, static_cast<double>(count)); };
  add_desk_metrics(out, desk_->counts(), in_flight());
  const WriterCounts writer = writer_->counts();
  add_settle_metrics(out, writer);
  add(metric::kQueueDepth, queue_.depth());
  add(metric::kLedgerBatches, writer.record.batches);
  add(metric::kLedgerRecorded, writer.record.recorded);
  add(metric::kLedgerRefused, writer.record.refused);
  add(metric::kLedgerUnknown, writer.record.unknown_commits);
  add(metric::kLedgerNotPersisted, writer.record.not_persisted);
  add(metric::kLedgerReady, is_ready() ? 1 : 0);
  add(metric::kFlowExpired, writer.expired);
  add_item_metrics(out, *catalog(), shelves());
}

}  // namespace weir
