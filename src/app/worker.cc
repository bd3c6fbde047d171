#include "app/worker.h"

#include "config/limits.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {
namespace {

// How long a verb rests when there was nothing to do.
constexpr Micros kSoon{10'000};
constexpr Micros kBuildPause{50'000};  // Each try to finish one excludes every recorder of its sale.
constexpr Micros kGiveBackPause{50'000};
constexpr Micros kRedrivePause{500'000};
constexpr Micros kLateMoneyPause{100'000};
constexpr Micros kTotalsPause{500'000};
constexpr Micros kCatalogPause{500'000};
constexpr Micros kLettersPause{1'000'000};
constexpr Micros kBacklogPause{2'000'000};
constexpr Micros kDrainWait{1'000'000};

constexpr SipKey kNoBuyerHash{};  // Nobody here knows buyers by hash.

}  // namespace

Worker::Worker(WorkerParts parts, const Clock& clock)
    : parts_(std::move(parts)),
      clock_(clock),
      marks_(clock),
      record_lease_(*parts_.record.ledger),
      record_(*parts_.log, *parts_.record.ledger, *parts_.record.gate, record_lease_, catalog_, *parts_.record.reader),
      upkeep_lease_(*parts_.upkeep.ledger),
      build_(
          {*parts_.upkeep.ledger, *parts_.upkeep.gate, upkeep_lease_, catalog_},
          [this](Deadline deadline) { return marks_.ask(deadline); }, clock, parts_.builder),
      give_back_({*parts_.upkeep.ledger, *parts_.upkeep.gate, upkeep_lease_, catalog_}),
      redrive_({*parts_.upkeep.ledger, *parts_.upkeep.gate, upkeep_lease_, catalog_}, *parts_.producer, clock),
      late_money_({*parts_.upkeep.ledger, *parts_.upkeep.gate, upkeep_lease_, catalog_}),
      expire_(*parts_.expire_ledger, no_effects_, kNoBuyerHash),
      show_parked_(*parts_.errands_ledger, *parts_.letters),
      recorder_("recorder", clock, hooks_of(*parts_.record.ledger, [this] { publish_record(); })),
      upkeep_("upkeep", clock, hooks_of(*parts_.upkeep.ledger, [this] { publish_upkeep(); })),
      expirer_("expirer", clock, hooks_of(*parts_.expire_ledger, {})),
      errands_("errands", clock, hooks_of(*parts_.errands_ledger, {})) {
  add_recorder_verbs();
  add_upkeep_verbs();
  add_other_verbs();
}

Worker::~Worker() { stop(); }

WorkerThread::Hooks Worker::hooks_of(SharedLedger& ledger, std::function<void()> turned) {
  return {.recover = [&ledger](Deadline deadline) { return ledger.recover(deadline); },
          .turned = std::move(turned),
          .corrupt = parts_.corrupt};
}

void Worker::add_recorder_verbs() {
  recorder_.add("marks", kSoon, [this](Ticks now) { return marks_.answer(*parts_.log, now); });
  recorder_.add("lease", kSoon, [this](Ticks now) { return record_lease_.step(now); });
  recorder_.add("record", kSoon, [this](Ticks now) { return record_.step(now); });
}

void Worker::add_upkeep_verbs() {
  upkeep_.add("catalog", kCatalogPause, [this](Ticks now) { return refresh_catalog(now); });
  upkeep_.add("lease", kSoon, [this](Ticks now) { return upkeep_lease_.step(now); });
  upkeep_.add("build", kBuildPause, [this](Ticks now) {
    build_.saw_epoch_in_log(epoch_seen_.load());
    return build_.step(now);
  });
  upkeep_.add("give_back", kGiveBackPause, [this](Ticks now) { return give_back_.step(now); });
  upkeep_.add("redrive", kRedrivePause, [this](Ticks now) { return redrive_.step(now); });
  upkeep_.add("late_money", kLateMoneyPause, [this](Ticks now) {
    auto decided = late_money_.step(now);
    const std::lock_guard lock{counts_mutex_};
    if (decided) counts_.late_decided += *decided;
    return decided;
  });
  upkeep_.add("totals", kTotalsPause, [this](Ticks now) { return compare_totals(now); });
}

void Worker::add_other_verbs() {
  expirer_.add("expire", kSoon, [this](Ticks now) {
    auto expired = expire_.step(now);
    const std::lock_guard lock{counts_mutex_};
    counts_.expired = expire_.expired();
    return expired;
  });
  errands_.add("letters", kLettersPause, [this](Ticks now) {
    auto shown = show_parked_.step(now);
    const std::lock_guard lock{counts_mutex_};
    if (shown) counts_.letters_shown += *shown;
    return shown;
  });
  errands_.add("backlog", kBacklogPause, [this](Ticks now) { return measure_backlog(now); });
}

Result<void> Worker::prepare() {
  auto fresh = parts_.upkeep.reader->catalog();
  if (!fresh) return std::unexpected(fresh.error());
  catalog_.set(std::make_shared<const Catalog>(*std::move(fresh)));
  return {};
}

void Worker::start() {
  for (WorkerThread* thread : {&recorder_, &upkeep_, &expirer_, &errands_}) thread->start();
}

void Worker::stop() {
  marks_.close();
  for (WorkerThread* thread : {&upkeep_, &errands_, &expirer_, &recorder_}) thread->stop();
  static_cast<void>(parts_.producer->drain(clock_.ticks() + kDrainWait));
}

Result<std::size_t> Worker::refresh_catalog(Ticks) {
  if (const auto read = prepare(); !read) return std::unexpected(read.error());
  return 0;
}

Result<std::size_t> Worker::compare_totals(Ticks now) {
  const auto catalog = catalog_.get();
  const auto in_ledger = parts_.upkeep.reader->shelves();
  if (!in_ledger) return std::unexpected(in_ledger.error());
  std::unordered_map<SaleNo, std::vector<std::pair<ItemNo, std::int64_t>>> of_sale;
  for (const auto& [no, shelf] : *in_ledger) {
    const Item* const item = catalog->item(no);
    if (item != nullptr) of_sale[item->sale].emplace_back(no, shelf.total);
  }
  std::vector<ItemTotals> seen;
  for (const auto& [sale, totals] : of_sale) {
    const auto state = upkeep_lease_.open_at(sale, now);
    if (!state || !attach_at(*parts_.upkeep.gate, *state, *catalog)) continue;
    for (std::size_t first = 0; first < totals.size(); first += kGateBatchMax) {
      const std::size_t count = std::min(kGateBatchMax, totals.size() - first);
      std::vector<ItemNo> items;
      for (std::size_t i = first; i < first + count; ++i) items.push_back(totals[i].first);
      std::vector<Shelf> shelves(count);
      // A gate that does not answer, or is not open, is the builder's business.
      if (!parts_.upkeep.gate->shelves(sale, items, shelves, now + Micros{kSharedWaitUs})) break;
      for (std::size_t i = 0; i < count; ++i) {
        seen.push_back(
            {.sale = sale, .item = items[i], .in_ledger = totals[first + i].second, .in_gate = shelves[i].total});
      }
    }
  }
  for (const SaleNo sale : totals_.compare(seen, now)) build_.doubt(sale);
  return 0;
}

Result<std::size_t> Worker::measure_backlog(Ticks now) {
  const Deadline deadline = now + Micros{kSharedWaitUs};
  const auto ends = marks_.ask(deadline);
  if (!ends) return std::unexpected(ends.error());
  const auto marks = parts_.errands_ledger->log_marks(ends->topic_id, deadline);
  if (!marks) return std::unexpected(marks.error());
  std::unordered_map<std::int32_t, std::int64_t> recorded;
  for (const LogMark& mark : *marks) recorded[mark.partition] = mark.offset;
  std::int64_t backlog = 0;
  for (const LogRange& range : ends->partitions) {
    const auto found = recorded.find(range.partition);
    const std::int64_t next = found == recorded.end() ? range.first : std::max(range.first, found->second);
    backlog += std::max<std::int64_t>(0, range.end - next);
  }
  const std::lock_guard lock{counts_mutex_};
  counts_.backlog = backlog;
  return 0;
}

void Worker::publish_record() {
  epoch_seen_.store(record_.epoch_seen());
  const std::lock_guard lock{counts_mutex_};
  counts_.record = record_.counts();
  counts_.stuck_partitions = record_.stuck();
}

void Worker::publish_upkeep() {
  const std::lock_guard lock{counts_mutex_};
  counts_.builds = build_.counts();
  counts_.builds_under_way = build_.under_way();
  counts_.driven = redrive_.driven();
  counts_.released_units = give_back_.released_units();
  counts_.oldest_in_flight_us = redrive_.oldest().count();
}

bool Worker::is_ready() const {
  const auto states = upkeep_lease_.states();
  const bool is_current = states != nullptr && clock_.ticks() - states->asked_at < Micros{kLeaseUs};
  return is_current && recorder_.is_well() && upkeep_.is_well() && expirer_.is_well();
}

WorkerCounts Worker::counts() const {
  const std::lock_guard lock{counts_mutex_};
  WorkerCounts counts = counts_;
  for (const WorkerThread* thread : {&recorder_, &upkeep_, &expirer_, &errands_}) {
    counts.recoveries += thread->recoveries();
  }
  return counts;
}

}  // namespace weir
