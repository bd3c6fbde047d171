#include "app/node.h"
#include "app/seller_metrics.h"
#include "metrics/names.h"

namespace weir {
namespace {

double seconds_since(Ticks at, Ticks now) { return static_cast<double>((now - at).count()) / 1e6; }

}  // namespace

void Node::add_metrics(TextExposition& out) {
  const auto add = [&](const Metric& metric, auto count) { out.add(metric, static_cast<double>(count)); };
  const AdmitCounts admit = desk_->counts();
  add_desk_metrics(out, admit, desk_->in_flight());
  add_settle_metrics(out, writer_->counts());
  add(metric::kLedgerReady, is_ready() ? 1 : 0);
  PublisherCounts published;
  {
    const std::lock_guard lock{published_mutex_};
    published = published_;
  }
  add(metric::kQueuePublished, published.published);
  add(metric::kQueueDurable, published.durable);
  add(metric::kQueueNotPersisted, published.not_persisted);
  add(metric::kQueueUnknown, published.unknown);
  add(metric::kFlowLeaseLost, published.lease_lost);
  const Ticks now = clock_.ticks();
  const auto states = lease_.states();
  add(metric::kFlowLeaseAge, states == nullptr ? -1.0 : seconds_since(states->asked_at, now));
  const Ticks asked_at = shelves_.asked_at();
  add(metric::kGateShelfAge, asked_at == Ticks{} ? -1.0 : seconds_since(asked_at, now));
  add_item_metrics(out, *catalog_.get(), board_);
}

}  // namespace weir
