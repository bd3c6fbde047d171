#include "app/seller_metrics.h"

#include "metrics/names.h"

namespace weir {

void add_desk_metrics(TextExposition& out, const AdmitCounts& admit, std::size_t in_flight) {
  const auto add_verdict = [&](const LabelWord& verdict, std::uint64_t count) {
    out.add(metric::kGateAdmissions, verdict, static_cast<double>(count));
  };
  add_verdict("admitted", admit.admitted);
  add_verdict("repeated", admit.repeated);
  add_verdict("sold_out", admit.sold_out);
  add_verdict("over_limit", admit.over_limit);
  add_verdict("number_taken", admit.number_taken);
  add_verdict("not_on_sale", admit.not_on_sale);
  add_verdict("key_reused", admit.key_reused);
  add_verdict("ended", admit.ended);
  const auto add = [&](const Metric& metric, auto count) { out.add(metric, static_cast<double>(count)); };
  add(metric::kFlowShed, admit.shed);
  add(metric::kFlowGivenUp, admit.given_up);
  add(metric::kFlowGateErred, admit.gate_erred);
  add(metric::kFlowInFlight, in_flight);
  add(metric::kGateReleased, admit.released_units);
}

void add_settle_metrics(TextExposition& out, const WriterCounts& writer) {
  const auto add = [&](const Metric& metric, auto count) { out.add(metric, static_cast<double>(count)); };
  add(metric::kLedgerRecoveries, writer.recoveries);
  add(metric::kFlowPaid, writer.settle.paid);
  add(metric::kFlowPaidLate, writer.settle.late);
  add(metric::kFlowCancelled, writer.settle.cancelled);
  add(metric::kFlowRefundsDue, writer.settle.refunds_due);
}

void add_item_metrics(TextExposition& out, const Catalog& catalog, const ShelfBoard& shelves) {
  for (const Item& item : catalog.items()) {
    const Shelf shelf = shelves.read(item.no);
    out.add_item(metric::kGateFree, item.id, static_cast<double>(shelf.free));
    out.add_item(metric::kGateHeld, item.id, static_cast<double>(shelf.held));
    out.add_item(metric::kGateSold, item.id, static_cast<double>(shelf.sold));
  }
}

}  // namespace weir
