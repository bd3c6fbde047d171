#include "app/proofs.h"

#include "config/limits.h"

#include <utility>

namespace weir {
namespace {

template <typename T, typename Open>
Result<void> open_once(std::unique_ptr<T>& place, const Open& open) {
  if (place != nullptr) return {};
  auto opened = open();
  if (!opened) return std::unexpected(opened.error());
  place = *std::move(opened);
  return {};
}

std::unexpected<Error> busy() {
  return fail(Failure::overloaded, "gate and ledger are being compared by somebody else: try again");
}

}  // namespace

/// A commit of which the last question did not hear is settled first.
Result<void> Proofs::open_ledger() {
  if (!stores_.ledger) return fail(Failure::unavailable, "this process was told of no stores to compare");
  if (const auto opened = open_once(ledger_, stores_.ledger); !opened) return opened;
  if (const auto opened = open_once(reader_, stores_.reader); !opened) return opened;
  return ledger_->recover(clock_.ticks() + Micros{kSharedWaitUs});
}

Result<void> Proofs::open_gate() {
  return open_once(gate_, [this] { return stores_.gate(*reader_); });
}

Result<void> Proofs::open_log_end() {
  if (ask_log_end_) return {};
  auto opened = stores_.log_end();
  if (!opened) return std::unexpected(opened.error());
  ask_log_end_ = *std::move(opened);
  return {};
}

Result<void> Proofs::open_for_repairs() {
  if (reconcile_) return {};
  if (const auto opened = open_gate(); !opened) return opened;
  if (const auto opened = open_log_end(); !opened) return opened;
  if (const auto opened = open_once(log_, stores_.log); !opened) return opened;
  if (const auto opened = open_once(letters_, stores_.letters); !opened) return opened;
  reconcile_.emplace(ReconcileParts{.ledger = *ledger_,
                                    .reader = *reader_,
                                    .gate = *gate_,
                                    .log = *log_,
                                    .letters = *letters_,
                                    .ask_log_end = ask_log_end_},
                     clock_);
  return {};
}

Result<Findings> Proofs::reconcile(bool dry_run) {
  const std::unique_lock lock{mutex_, Micros{kSharedWaitUs}};
  if (!lock.owns_lock()) return busy();
  if (const auto opened = open_ledger(); !opened) return std::unexpected(opened.error());
  if (const auto opened = open_for_repairs(); !opened) return std::unexpected(opened.error());
  return reconcile_->step(clock_.ticks(), dry_run);
}

Result<Explained> Proofs::explain(OrderId order) {
  const std::unique_lock lock{mutex_, Micros{kSharedWaitUs}};
  if (!lock.owns_lock()) return busy();
  if (const auto opened = open_ledger(); !opened) return std::unexpected(opened.error());
  const auto gate = open_gate();
  const auto log_end = open_log_end();
  return weir::explain(order,
                       {.reader = *reader_,
                        .ledger = *ledger_,
                        .gate = gate_.get(),
                        .no_gate = gate ? std::string{} : gate.error().message,
                        .ask_log_end = ask_log_end_,
                        .no_log = log_end ? std::string{} : log_end.error().message},
                       clock_);
}

}  // namespace weir
