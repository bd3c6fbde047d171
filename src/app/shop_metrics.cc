#include "app/wiring.h"
#include "metrics/names.h"
#include "metrics/process_use.h"
#include "metrics/text_exposition.h"

namespace weir {
namespace {

void add_admissions(TextExposition& out, const AdmitCounts& admit) {
  const auto add = [&](const LabelWord& verdict, std::uint64_t count) {
    out.add(metric::kGateAdmissions, verdict, static_cast<double>(count));
  };
  add("admitted", admit.admitted);
  add("repeated", admit.repeated);
  add("sold_out", admit.sold_out);
  add("over_limit", admit.over_limit);
  add("not_on_sale", admit.not_on_sale);
  add("key_reused", admit.key_reused);
  add("ended", admit.ended);
}

void add_items(TextExposition& out, const Catalog& catalog, const ShelfBoard& shelves) {
  for (const Item& item : catalog.items()) {
    const Shelf shelf = shelves.read(item.no);
    out.add_item(metric::kGateFree, item.id, static_cast<double>(shelf.free));
    out.add_item(metric::kGateHeld, item.id, static_cast<double>(shelf.held));
    out.add_item(metric::kGateSold, item.id, static_cast<double>(shelf.sold));
  }
}

}  // namespace

std::string Shop::metrics_text() {
  TextExposition out;
  const auto add = [&](const Metric& metric, auto count) { out.add(metric, static_cast<double>(count)); };
  {
    const std::lock_guard lock{ports_mutex_};
    for (const http::CodeText& code : http::kCodes) {
      std::uint64_t count = 0;
      for (const http::FrontDoor* door : doors_)
        count += door->outcomes().by_code[static_cast<std::size_t>(code.code)].load(std::memory_order_relaxed);
      out.add(metric::kHttpOutcomes, code.code, static_cast<double>(count));
    }
  }
  const http::ServerCounts server = server_->counts();
  add(metric::kHttpOpen, server.open);
  add(metric::kHttpAccepted, server.accepted);
  add(metric::kHttpRequests, server.requests);
  add(metric::kHttpMalformed, server.malformed);
  add(metric::kHttpTimedOut, server.timed_out);
  add(metric::kHttpAnswersLate, server.answer_late);
  const AdmitCounts admit = engine_->desk().counts();
  add_admissions(out, admit);
  add(metric::kFlowShed, admit.shed);
  add(metric::kFlowGivenUp, admit.given_up);
  add(metric::kFlowGateErred, admit.gate_erred);
  add(metric::kFlowInFlight, engine_->in_flight());
  add(metric::kGateReleased, admit.released_units);
  add(metric::kQueueDepth, engine_->queue().depth());
  const WriterCounts writer = engine_->writer().counts();
  add(metric::kLedgerBatches, writer.record.batches);
  add(metric::kLedgerRecorded, writer.record.recorded);
  add(metric::kLedgerRefused, writer.record.refused);
  add(metric::kLedgerUnknown, writer.record.unknown_commits);
  add(metric::kLedgerNotPersisted, writer.record.not_persisted);
  add(metric::kLedgerRecoveries, writer.recoveries);
  add(metric::kLedgerReady, engine_->is_ready() ? 1 : 0);
  add(metric::kFlowExpired, writer.expired);
  add(metric::kFlowPaid, writer.settle.paid);
  add(metric::kFlowPaidLate, writer.settle.late);
  add(metric::kFlowCancelled, writer.settle.cancelled);
  add(metric::kFlowRefundsDue, writer.settle.refunds_due);
  add(metric::kClockStep, static_cast<double>(clock_.step().count()) / 1e6);
  add(metric::kStartTime, static_cast<double>(started_at_.us) / 1e6);
  const ProcessUse use = read_process_use();
  add(metric::kProcessCpu, use.cpu_seconds);
  add(metric::kProcessResident, use.resident_bytes);
  add_items(out, *engine_->catalog(), engine_->shelves());
  return out.text();
}

}  // namespace weir
