#include "base/fault.h"
#include "ledger/sqlite_ledger.h"
#include "sim/world/lossy_ledger.h"
#include "sim/world/world.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace weir::sim {
namespace {

constexpr Micros kNapMin{40'000};
constexpr Micros kNapMost{250'000};
constexpr std::size_t kRefundsMax = 256;
constexpr Micros kCashierEvery{1'000'000};
constexpr Micros kAskAgain{10'000'000};
constexpr std::size_t kReturnRing = 4096;

/// Sets a flag for as long as a step runs, also when the step ends by the death of the process.
class Running {
 public:
  explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
};

}  // namespace

/// The tables of a sale that is about to open; storage is well while it is made.
void World::open_shop() {
  auto ledger = SqliteLedger::open(place_, clock_, *process_random_);
  if (!ledger) return violate("start", ledger.error().message);
  const Instant now = clock_.now();
  const auto sale = (*ledger)->create_sale({.tenant = "default",
                                            .id = "drop",
                                            .title = "Drop",
                                            .opens_at = now,
                                            .closes_at = now + Micros{3'600'000'000},
                                            .limit_per_buyer = swarm_.limit,
                                            .pay_within = swarm_.pay_within,
                                            .secret_url = false});
  if (!sale || sale->changed != Changed::done) return violate("start", "no sale could be made");
  for (std::int64_t i = 0; i < swarm_.items; ++i) {
    const std::int64_t units = chance_.between(1, swarm_.units_most);
    const bool is_numbered = chance_.hits(swarm_.numbered);
    first_numbers_.push_back(is_numbered ? std::optional{static_cast<std::uint32_t>(chance_.between(0, 40))}
                                         : std::nullopt);
    const auto item = (*ledger)->add_item({.tenant = "default",
                                           .sale = "drop",
                                           .id = fmt::format("item{}", i),
                                           .title = "Thing",
                                           .price = {chance_.between(1, 5000), *Currency::parse("EUR")},
                                           .units = units,
                                           .numbered = is_numbered,
                                           .first_number = first_numbers_.back().value_or(0),
                                           .labels = ""});
    if (!item || item->changed != Changed::done) return violate("start", "no item could be made");
    items_.push_back(item->item);
    totals_.push_back(units);
  }
  free_seen_.resize(items_.size());
  trace_.note(clock_.ticks(), "seed {}: {} items, limit {}, {} buyers, {} ms to pay", options_.seed, items_.size(),
              swarm_.limit, swarm_.buyers, swarm_.pay_within.count() / 1000);
}

void World::boot_later() {
  at(is_healed_ ? Micros{50'000} : chance_.span(10'000, swarm_.down_most.count()), [this] { boot(); });
}

void World::boot() {
  if (is_up()) return;
  is_booting_ = true;
  bool is_done = false;
  try {
    is_done = try_boot();
  } catch (const Death&) {
    is_done = false;
  }
  is_booting_ = false;
  if (is_done) return;
  count(Trouble::start_failed);
  trace_.note(clock_.ticks(), "the start failed");
  disk_.kill();
  spy_.reset();
  engine_.reset();
  boot_later();
}

bool World::try_boot() {
  ++report_.starts;
  ++generation_;
  auto ledger = SqliteLedger::open(place_, ledger_clock_, *process_random_);
  if (!ledger) return false;
  EngineParts parts;
  parts.ledger = std::make_unique<LossyLedger>(faulty_ledger(options_.mutant, std::move(*ledger)), [this] {
    if (is_healed_ || !chance_.hits(swarm_.commit_answers_lost)) return false;
    count(Trouble::commit_answer_lost);
    disturbed_at_ = clock_.ticks();
    trace_.note(clock_.ticks(), "the answer of a commit is lost");
    return true;
  });
  ledger_ = parts.ledger.get();
  for (int i = 0; i < 3; ++i) {
    auto reader = SqliteReader::open(place_, clock_);
    if (!reader) return false;
    if (i == 0)
      parts.own_reader = std::move(*reader);
    else if (i == 1)
      parts.pool_readers.push_back(std::move(*reader));
    else
      spy_ = std::move(*reader);
  }
  // Its own, so that what else a seed decides does not depend on numbers.
  parts.gate_random = std::make_unique<SeededRandom>(options_.seed + generation_);
  parts.gateways.emplace("sandbox", &network_);
  // Its own, so that what else a seed decides does not depend on numbers.
  parts.gate_random = std::make_unique<SeededRandom>(options_.seed + generation_);
  parts.reactors = static_cast<std::size_t>(swarm_.reactors);
  parts.buyer_hash = {process_random_->next(), process_random_->next()};
  parts.rings = {.claims = static_cast<std::size_t>(swarm_.claim_ring),
                 .answers = static_cast<std::size_t>(swarm_.answer_ring),
                 .returns = kReturnRing};
  parts.queue_size = static_cast<std::size_t>(swarm_.queue);
  parts.front_gate = [mutant = options_.mutant](Gate& gate) { return faulty_gate(mutant, gate); };
  parts.refund_due = [this] { is_refund_hurried_ = true; };
  parts.corrupt = [this](const Error& error) { violate("corrupt", error.message); };
  engine_ = std::make_unique<Engine>(std::move(parts), clock_);
  if (const auto built = engine_->build(); !built) {
    if (built.error().failure == Failure::corrupt) violate("corrupt", built.error().message);
    return false;
  }
  engine_->start_by_hand(mailbox_, [this](std::uint16_t reactor) {
    in_process(chance_.span(0, swarm_.reactor_lag.count()), [this, reactor] { run_reactor(reactor); });
  });
  stalled_until_.assign(static_cast<std::size_t>(swarm_.reactors), Ticks{});
  asked_.clear();
  recoveries_ = 0;
  disturbed_at_ = clock_.ticks();
  desk_due_ = writer_due_ = pool_due_ = Ticks{INT64_MAX};
  for (auto& seen : free_seen_) seen.clear();
  trace_.note(clock_.ticks(), "start {}", generation_);
  note_shelves();
  check_orders();
  if (generation_ % 3 == 0) check_audit("after a start");
  wake_all();
  if (storm_left_ > 0) {
    --storm_left_;
    count(Trouble::restarted_in_a_storm);
    in_process(chance_.span(0, 60'000), [] { throw Death{}; });
  }
  return true;
}

void World::die(const Death& death) {
  trace_.note(clock_.ticks(), "{}", death.loses_power ? "the power is cut" : "the process dies");
  if (death.loses_power)
    disk_.power_cut();
  else
    disk_.kill();
  disk_.heal();
  let_stranger_go();
  armed_point_.clear();
  spy_.reset();
  engine_.reset();
  slow_next_ = Micros{0};
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    Request& request = requests_[i];
    if (request.is_answered) continue;
    request.is_answered = true;
    at(chance_.span(0, swarm_.wire_most.count()),
       [this, visit = request.visit, order = request.order] { hear(visit, Reply::lost, order); });
  }
  boot_later();
}

void World::restart_in_order() {
  count(Trouble::restarted_in_order);
  // What is under way gets some turns to finish, as the threads do before they are joined.
  for (int i = 0; i < 20; ++i) {
    run_desk();
    run_writer();
  }
  spy_.reset();
  engine_.reset();
  throw Death{};
}

void World::wake_all() {
  const auto wake = [this](Ticks& due, Micros lag, void (World::*turn)()) {
    const Ticks moment = clock_.ticks() + chance_.span(0, lag.count());
    if (moment >= due) return;
    due = moment;
    in_process(moment - clock_.ticks(), [this, turn, moment, &due] {
      if (due != moment) return;
      due = Ticks{INT64_MAX};
      (this->*turn)();
    });
  };
  wake(desk_due_, swarm_.desk_lag, &World::run_desk);
  wake(writer_due_, swarm_.writer_lag, &World::run_writer);
  wake(pool_due_, swarm_.pool_lag, &World::run_pool);
}

void World::run_desk() {
  std::size_t done = 0;
  {
    const Running running{is_desk_running_};
    done = engine_->desk().turn();
  }
  if (done > 0) return wake_all();
  if (desk_due_ == Ticks{INT64_MAX}) {
    const Ticks moment = clock_.ticks() + chance_.span(kNapMin.count(), kNapMost.count());
    desk_due_ = moment;
    in_process(moment - clock_.ticks(), [this, moment] {
      if (desk_due_ != moment) return;
      desk_due_ = Ticks{INT64_MAX};
      run_desk();
    });
  }
}

void World::run_writer() {
  if (is_writer_running_) return;
  const bool was_ready = engine_->writer().ready().load();
  if (!is_healed_ && engine_->queue().depth() > 0 && chance_.hits(swarm_.disk_faults)) {
    // The sync of this very batch of claims.
    count(Trouble::sync_failed);
    disk_.fail_nth_sync(1);
    disturbed_at_ = clock_.ticks();
  }
  std::size_t done = 0;
  {
    const Running running{is_writer_running_};
    done = engine_->writer().turn();
  }
  const std::uint64_t recoveries = engine_->writer().counts().recoveries;
  if (recoveries > recoveries_) {
    count(Trouble::commit_unknown);
    disturbed_at_ = clock_.ticks();
  }
  recoveries_ = recoveries;
  if (!was_ready || !engine_->writer().ready().load()) disturbed_at_ = clock_.ticks();
  if (done > 0) {
    note_shelves();
    return wake_all();
  }
  if (writer_due_ == Ticks{INT64_MAX}) {
    const Ticks moment = clock_.ticks() + chance_.span(kNapMin.count(), kNapMost.count());
    writer_due_ = moment;
    in_process(moment - clock_.ticks(), [this, moment] {
      if (writer_due_ != moment) return;
      writer_due_ = Ticks{INT64_MAX};
      run_writer();
    });
  }
}

void World::run_pool() {
  if (engine_->pool().turn()) wake_all();
}

void World::run_reactor(std::uint16_t reactor) {
  Ticks& stalled = stalled_until_[reactor];
  if (clock_.ticks() < stalled) return;
  if (!is_healed_ && chance_.hits(swarm_.stalls)) {
    stalled = clock_.ticks() + chance_.span(100'000, 6'000'000);
    return in_process(stalled - clock_.ticks(), [this, reactor] { run_reactor(reactor); });
  }
  std::array<ClaimAnswer, 32> answers;
  std::size_t got = engine_->take_answers(reactor, answers);
  while (got > 0) {
    for (std::size_t i = 0; i < got; ++i) conclude(answers[i]);
    got = engine_->take_answers(reactor, answers);
  }
}

/// As the shipped cashier does, but over the world's network and without a thread.
void World::run_cashier() {
  at(kCashierEvery / 4, [this] { run_cashier(); });
  if (!is_up()) return;
  const bool is_due = clock_.ticks().us % kCashierEvery.count() < kCashierEvery.count() / 4;
  if (!is_due && !std::exchange(is_refund_hurried_, false)) return;
  const Ticks now = clock_.ticks();
  std::erase_if(asked_, [&](const auto& entry) { return entry.second <= now; });
  const auto due = spy_->refunds_due(kRefundsMax);
  if (!due) return;
  for (const RefundDue& one : *due) {
    if (asked_.contains(one.refund.id)) continue;
    asked_[one.refund.id] = now + kAskAgain;
    static_cast<void>(network_.refund(one.payment, one.refund.id, one.refund.amount, now));
  }
  send_notices();
}

void World::reach_point(std::string_view point, void* world) { static_cast<World*>(world)->pass_point(point); }

void World::pass_point(std::string_view point) {
  if (!is_up() || is_booting_) return;
  if (point == armed_point_ && armed_left_ > 0) --armed_left_;
  if (point == armed_point_ && armed_left_ == 0) {
    armed_point_.clear();
    count(armed_kind_);
    trace_.note(clock_.ticks(), "at {}", point);
    throw Death{armed_kind_ == Trouble::power_cut_inside_a_step};
  }
  if (!is_writer_running_ || is_desk_running_) return;
  if (slow_next_ > Micros{0} && point == "before_commit") {
    count(Trouble::commit_slow);
    disturbed_at_ = clock_.ticks() + slow_next_;
    trace_.note(clock_.ticks(), "the commit takes {} ms", slow_next_.count() / 1000);
    clock_.pass(slow_next_);
    ledger_clock_.pass(slow_next_);
    slow_next_ = Micros{0};
  }
  if (is_healed_ || !chance_.hits(swarm_.yields)) return;
  // Desk and pool go on while the writer is inside a step.
  if (chance_.one_in(2)) {
    const Running running{is_desk_running_};
    static_cast<void>(engine_->desk().turn());
  } else {
    static_cast<void>(engine_->pool().turn());
  }
}

}  // namespace weir::sim
