#include "flow/record_log.h"

#include "base/fault.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

StragglerAnswer straggler_answer(Adoption adoption) {
  switch (adoption) {
    case Adoption::adopted: return StragglerAnswer::adopted;
    case Adoption::other: return StragglerAnswer::adopted_other;
    case Adoption::refused: return StragglerAnswer::refused;
    case Adoption::ended: return StragglerAnswer::ended;
  }
  return StragglerAnswer::not_asked;
}

}  // namespace

RecordLog::RecordLog(LogConsumer& log, SharedLedger& ledger, SharedGate& gate, Lease& lease, Snapshot<Catalog>& catalog,
                     LedgerReader& reader)
    : log_(log), ledger_(ledger), gate_(gate), lease_(lease), catalog_(catalog), reader_(reader) {
  claims_.reserve(kLedgerBatchMax);
  outcomes_.reserve(kLedgerBatchMax);
}

std::size_t RecordLog::stuck() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(partitions_, [](const auto& entry) { return entry.second.is_stuck; }));
}

Result<std::size_t> RecordLog::step(Ticks now) {
  if (const auto followed = follow_assignment(now); !followed) return std::unexpected(followed.error());
  const std::size_t count = assignment_.partitions.size();
  // Each round begins behind the partition that was served last, so that none waits for ever. When none has anything,
  // the step waits at the next in turn.
  for (std::size_t i = 0; i <= count && count > 0; ++i) {
    const std::int32_t number = assignment_.partitions[(next_ + i) % count];
    const auto batch = take(number, i < count ? now : now + Micros{kLogTakeWaitUs}, now);
    if (!batch) return std::unexpected(batch.error());
    if (!*batch) continue;
    next_ = (next_ + i + 1) % count;
    return record(**batch, now);
  }
  if (count > 0) next_ = (next_ + 1) % count;
  return 0;
}

Result<std::optional<LogBatch>> RecordLog::take(std::int32_t number, Deadline deadline, Ticks now) {
  Partition& partition = partitions_[number];
  if (partition.is_stuck || now < partition.rests_until) return std::optional<LogBatch>{};
  if (!partition.is_sought) {
    if (const auto begun = begin(number, now); !begun) return std::unexpected(begun.error());
  }
  auto batch = log_.take(number, kLedgerBatchMax, deadline);
  if (!batch) return std::unexpected(batch.error());
  switch (batch->state) {
    case LogBatch::State::taken: return std::optional{*std::move(batch)};
    case LogBatch::State::empty: break;
    case LogBatch::State::not_owned: partition.is_sought = false; break;
    case LogBatch::State::out_of_range:
      partition.is_stuck = true;
      log::error(
          "log_record_gone",
          {{"topic", batch->topic_id}, {"partition", std::int64_t{number}}, {"offset", std::int64_t{batch->expected}}});
      break;
  }
  return std::optional<LogBatch>{};
}

Result<void> RecordLog::follow_assignment(Ticks now) {
  auto heard = log_.assignment(now + Micros{kSharedWaitUs});
  if (!heard) return std::unexpected(heard.error());
  if (heard->generation == assignment_.generation && heard->topic_id == assignment_.topic_id) return {};
  assignment_ = *std::move(heard);
  partitions_.clear();  // Where each stands is asked of the ledger again: another one may have recorded meanwhile.
  next_ = 0;
  return {};
}

Result<void> RecordLog::begin(std::int32_t partition, Ticks now) {
  const auto offset = ledger_.start_log({.topic_id = assignment_.topic_id, .partition = partition, .offset = 0},
                                        now + Micros{kSharedWaitUs});
  if (!offset) return std::unexpected(offset.error());
  const auto sought = log_.seek(partition, *offset);
  if (sought) partitions_[partition].is_sought = true;
  return sought;
}

bool RecordLog::needs_newer_catalog(const LogBatch& batch) const {
  const auto catalog = catalog_.get();
  return std::ranges::any_of(batch.entries, [&catalog](const LogEntry& entry) {
    const auto* message = std::get_if<ClaimMessage>(&entry.content);
    return message != nullptr && (catalog == nullptr || !claim_of(*message, *catalog));
  });
}

void RecordLog::read_entry(const LogEntry& entry, LogClaim& into) {
  into.offset = entry.offset;
  if (const auto* raw = std::get_if<LogEntry::Raw>(&entry.content)) {
    into.key = raw->key;
    into.bytes = raw->bytes;
    into.problem = fmt::format("{}: {}", name(raw->problem.why), raw->problem.detail);
    into.order = raw->problem.order;
    return;
  }
  const auto& message = std::get<ClaimMessage>(entry.content);
  const auto catalog = catalog_.get();
  into.epoch = message.epoch;
  into.claim = catalog == nullptr ? std::nullopt : claim_of(message, *catalog);
  if (into.claim) return;
  into.key = message.item;
  into.bytes = write_claim_message(message).value_or("");
  into.problem = "unknown_item: the ledger has no such tenant, sale or item";
  into.order = message.order;
}

void RecordLog::read_entries(const LogBatch& batch, Ticks now) {
  if (needs_newer_catalog(batch)) {
    // It may be on sale for a moment only. If the ledger cannot be asked, the batch will fail there as well.
    if (auto fresh = reader_.catalog()) catalog_.set(std::make_shared<const Catalog>(*std::move(fresh)));
  }
  claims_.assign(batch.entries.size(), LogClaim{});
  for (std::size_t i = 0; i < batch.entries.size(); ++i) read_entry(batch.entries[i], claims_[i]);
  ask_for_stragglers(now);
}

/// A claim that an older epoch admitted is the present gate's to decide, unless the ledger knows its id already (P5).
void RecordLog::ask_for_stragglers(Ticks now) {
  const auto states = lease_.states();
  if (states == nullptr) return;
  std::vector<std::size_t> places;
  std::vector<OrderId> ids;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    if (!claims_[i].claim) continue;
    const auto state = states->of_sale.find(claims_[i].claim->sale);
    if (state == states->of_sale.end() || state->second.phase != GatePhase::open) continue;
    if (claims_[i].epoch >= state->second.epoch) continue;
    places.push_back(i);
    ids.push_back(claims_[i].claim->order);
  }
  if (places.empty()) return;
  std::vector<HoldStanding> standings(ids.size(), HoldStanding::unknown);
  if (!ledger_.look_up_holds(ids, standings, now + Micros{kSharedWaitUs})) return;
  std::unordered_map<SaleNo, std::vector<std::size_t>> of_sale;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (standings[i] == HoldStanding::unknown) of_sale[claims_[places[i]].claim->sale].push_back(places[i]);
  }
  for (const auto& [sale, of_this] : of_sale) ask_gate(sale, states->of_sale.at(sale), of_this, now);
}

void RecordLog::ask_gate(SaleNo sale, const GateState& state, std::span<const std::size_t> places, Ticks now) {
  const auto catalog = catalog_.get();
  if (!attach_at(gate_, state, *catalog)) return;
  for (std::size_t first = 0; first < places.size(); first += kGateBatchMax) {
    const auto some = places.subspan(first, std::min(kGateBatchMax, places.size() - first));
    std::vector<Claim> asked;
    asked.reserve(some.size());
    for (const std::size_t place : some) asked.push_back(*claims_[place].claim);
    adopted_.assign(asked.size(), Adopted{});
    const auto answered = gate_.adopt_stragglers(sale, HoldKind::claim, asked, adopted_, now + Micros{kSharedWaitUs});
    if (!answered) {
      log::warn("stragglers_wait", {{"sale", std::int64_t{sale.value}},
                                    {"trouble", name(answered.error().trouble)},
                                    {"message", answered.error().message}});
      return;
    }
    FAULT("stragglers_adopted");
    for (std::size_t i = 0; i < some.size(); ++i) {
      LogClaim& claim = claims_[some[i]];
      claim.answer = straggler_answer(adopted_[i].adoption);
      claim.answered_at = state.epoch;
      if (adopted_[i].adoption == Adoption::other) claim.held = adopted_[i].held;
    }
  }
}

Result<std::size_t> RecordLog::record(const LogBatch& batch, Ticks now) {
  read_entries(batch, now);
  outcomes_.assign(claims_.size(), LogOutcome{});
  const LogSlice slice{.topic_id = batch.topic_id,
                       .partition = batch.partition,
                       .expected = batch.expected,
                       .next = batch.next,
                       .claims = claims_};
  const auto result = ledger_.record_log(slice, outcomes_, now + Micros{kLedgerWaitUs});
  if (!result) {
    // Whatever happened, the ledger's own offset says where to go on.
    partitions_[batch.partition].is_sought = false;
    if (result.error().failure == Failure::timed_out) ++counts_.unknown_commits;
    return std::unexpected(result.error());
  }
  FAULT("slice_recorded");
  if (result->end == SliceEnd::fenced) {
    ++counts_.fenced;
    partitions_[batch.partition].is_sought = log_.seek(batch.partition, result->next).has_value();
    return 0;
  }
  if (result->end == SliceEnd::lost_commits) {
    epoch_seen_ = std::max(epoch_seen_, result->epoch_seen);
    log::error("ledger_lost_commits", {{"epoch", result->epoch_seen}});
    partitions_[batch.partition] = {.is_sought = false, .is_stuck = false, .rests_until = now + Micros{kGateLookUs}};
    return 0;
  }
  conclude(batch, *result, now);
  return static_cast<std::size_t>(
      std::ranges::count_if(outcomes_, [](const LogOutcome& outcome) { return outcome.fate != LogFate::left; }));
}

void RecordLog::conclude(const LogBatch& batch, const SliceResult& result, Ticks now) {
  ++counts_.batches;
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    switch (outcomes_[i].fate) {
      case LogFate::recorded: ++counts_.recorded; break;
      case LogFate::repeated: ++counts_.repeated; break;
      case LogFate::ended: ++counts_.ended; break;
      case LogFate::rejected:
        ++counts_.rejected;
        log::warn("claim_rejected",
                  {{"order", claims_[i].claim ? claims_[i].claim->order.text() : ""}, {"why", name(outcomes_[i].why)}});
        break;
      case LogFate::parked:
        ++counts_.parked;
        log::error("message_parked", {{"partition", std::int64_t{batch.partition}},
                                      {"offset", claims_[i].offset},
                                      {"problem", claims_[i].problem}});
        break;
      case LogFate::left: ++counts_.left; break;
    }
  }
  confirm(result.gates, now);
  log_.hint(batch.partition, result.next);
  if (result.next >= batch.next) return;
  // A straggler was left: it is taken again when its gate may answer.
  Partition& partition = partitions_[batch.partition];
  partition.is_sought = log_.seek(batch.partition, result.next).has_value();
  partition.rests_until = now + Micros{kUpkeepRestUs};
  lease_.look_again();
}

/// A confirmation that gets lost leaves the hold in the gate's list: the re-driver finds it and confirms it then.
void RecordLog::confirm(std::span<const GateState> gates, Ticks now) {
  const auto catalog = catalog_.get();
  for (const GateState& state : gates) {
    if (state.phase != GatePhase::open || !attach_at(gate_, state, *catalog)) continue;
    std::vector<Hold> holds;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const bool is_live = outcomes_[i].fate == LogFate::recorded || outcomes_[i].fate == LogFate::repeated;
      if (!is_live || claims_[i].claim->sale != state.sale) continue;
      const Claim& claim = *claims_[i].claim;
      holds.push_back({.order = claim.order,
                       .sale = claim.sale,
                       .item = claim.item,
                       .units = claim.units,
                       .buyer_key = {},
                       .sold = false,
                       .recorded = true,
                       .buyer = claim.buyer});
    }
    if (holds.empty()) continue;
    if (const auto confirmed = gate_.confirm(holds, now + Micros{kSharedWaitUs}); !confirmed) {
      log::warn("confirm_lost", {{"sale", std::int64_t{state.sale.value}}, {"message", confirmed.error().message}});
    }
  }
}

}  // namespace weir
