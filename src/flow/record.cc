#include "flow/record.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <span>

namespace weir {
namespace {

Fate fate_of(Recording recording) {
  switch (recording) {
    case Recording::recorded:
    case Recording::repeated: return Fate::durable;
    case Recording::ended:
    case Recording::key_reused:
    case Recording::over_limit:
    case Recording::exceeds_stock:
    case Recording::number_taken:
    case Recording::unknown_item: return Fate::decided;
  }
  return Fate::unknown;
}

/// How many of these claims one transaction records: numbers are rows of their own, and some claims have a thousand.
std::size_t batch_of(std::span<const Claim> claims) {
  std::int64_t numbers = 0;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    numbers += static_cast<std::int64_t>(claims[i].numbers.size());
    if (numbers > kNumbersPerBatchMax) return std::max<std::size_t>(i, 1);
  }
  return claims.size();
}

}  // namespace

Record::Record(QueueConsumer& queue, Ledger& ledger)
    : queue_(queue), ledger_(ledger), claims_(kLedgerBatchMax), outcomes_(kLedgerBatchMax) {}

Result<std::size_t> Record::step(Ticks now) {
  const std::size_t count = batch_of(std::span{claims_}.first(queue_.peek(claims_)));
  if (count == 0) return 0;
  const std::span outcomes = std::span{outcomes_}.first(count);
  FAULT("before_record");
  const auto recorded = ledger_.record(std::span{claims_}.first(count), outcomes, now + Micros{kLedgerWaitUs});
  FAULT("after_record");
  if (!recorded) {
    if (recorded.error().failure == Failure::timed_out) {
      ++counts_.unknown_commits;
      may_have_happened_ = true;
    }
    if (!failing_) {
      failing_ = true;
      failing_since_ = now;
      log::warn("record_failed", {{"failure", name(recorded.error().failure)}, {"message", recorded.error().message}});
    }
    if (now - failing_since_ >= Micros{kRecordPatienceUs}) {
      set_ready(false);
      // Only a certain "nothing happened" may be handed back, and only when it lasts.
      if (recorded.error().failure == Failure::unavailable && !may_have_happened_) return hand_back(count);
    }
    return std::unexpected(recorded.error());
  }
  if (failing_) log::info("record_resumed");
  failing_ = false;
  may_have_happened_ = false;
  set_ready(true);
  ++counts_.batches;
  for (Outcome& outcome : outcomes) {
    outcome.fate = fate_of(outcome.recording);
    if (outcome.recording == Recording::recorded) ++counts_.recorded;
    if (outcome.fate == Fate::decided) ++counts_.refused;
  }
  queue_.finish(outcomes);
  return count;
}

std::size_t Record::hand_back(std::size_t count) {
  counts_.not_persisted += count;
  for (std::size_t i = 0; i < count; ++i) {
    outcomes_[i] = Outcome{.order = claims_[i].order,
                           .fate = Fate::not_persisted,
                           .recording = Recording::recorded,
                           .status = OrderStatus::pending,
                           .pay_by = {}};
  }
  queue_.finish(std::span{outcomes_}.first(count));
  return count;
}

}  // namespace weir
