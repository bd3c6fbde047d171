#include "app/writer.h"

#include "base/log.h"
#include "config/limits.h"

#include <iterator>
#include <utility>

namespace weir {
namespace {

constexpr Micros kNapMax{50'000};
constexpr Micros kRest{20'000};  // After "nothing happened, try later".
constexpr Micros kRecoverWait{1'000'000};
constexpr Micros kTidyEvery{200'000};
constexpr Micros kProbeEvery{250'000};  // How soon selling resumes when storage is well again.
constexpr std::size_t kTasksMax = 1024;

}  // namespace

Writer::Writer(Ledger& ledger, QueueConsumer& queue, const Clock& clock, const SipKey& buyer_hash, Hooks hooks,
               Expiry expiry)
    : ledger_(ledger),
      clock_(clock),
      hooks_(std::move(hooks)),
      expiry_(expiry),
      record_(queue, ledger),
      settle_(ledger, *this, buyer_hash),
      expire_(ledger, *this, buyer_hash) {}

Writer::~Writer() { stop(Deadline{0}); }

void Writer::start() {
  thread_ = std::thread{[this] { run(); }};
}

void Writer::stop(Deadline deadline) {
  if (!thread_.joinable()) return;
  stop_by_us_.store(deadline.us);
  stopping_.store(true);
  waker_.wake();
  thread_.join();
}

bool Writer::submit(SettleRequest request) {
  {
    const std::lock_guard lock{mutex_};
    if (commands_.size() >= kSettleQueueMax) return false;
    commands_.push_back(std::move(request));
  }
  waker_.wake();
  return true;
}

bool Writer::post(std::function<void(Ledger&)> task) {
  {
    const std::lock_guard lock{mutex_};
    if (tasks_.size() >= kTasksMax) return false;
    tasks_.push_back(std::move(task));
  }
  waker_.wake();
  return true;
}

WriterCounts Writer::counts() const {
  const std::lock_guard lock{counts_mutex_};
  return counts_;
}

std::size_t Writer::take_commands(std::span<SettleRequest> out) {
  const std::lock_guard lock{mutex_};
  std::size_t count = 0;
  for (; count < out.size() && !commands_.empty(); ++count) {
    out[count] = std::move(commands_.front());
    commands_.pop_front();
  }
  return count;
}

std::size_t Writer::run_tasks() {
  std::deque<std::function<void(Ledger&)>> tasks;
  {
    const std::lock_guard lock{mutex_};
    tasks.swap(tasks_);
  }
  std::size_t count = 0;
  while (!tasks.empty()) {
    tasks.front()(ledger_);
    tasks.pop_front();
    ++count;
    // A task whose commit is unknown leaves a ledger that has to recover before the next may ask it anything.
    const auto looked = ledger_.next_expiry();
    if (looked) continue;
    static_cast<void>(note(std::unexpected(looked.error())));
    if (is_broken_) break;
  }
  if (tasks.empty()) return count;
  const std::lock_guard lock{mutex_};
  tasks_.insert(tasks_.begin(), std::make_move_iterator(tasks.begin()), std::make_move_iterator(tasks.end()));
  return count;
}

std::size_t Writer::note(const Result<std::size_t>& stepped) {
  if (stepped) return *stepped;
  switch (stepped.error().failure) {
    case Failure::unavailable:
    case Failure::overloaded: resting_until_ = clock_.ticks() + kRest; break;
    case Failure::timed_out:
    case Failure::unfit: is_broken_ = true; break;
    case Failure::corrupt:
      if (!std::exchange(is_corrupt_, true)) hooks_.corrupt(stepped.error());
      break;
  }
  return 0;
}

std::size_t Writer::turn() {
  if (is_corrupt_ || clock_.ticks() < resting_until_) return 0;
  if (is_broken_) recover();
  if (is_broken_) return 0;
  std::size_t done = note(record_.step(clock_.ticks()));
  if (is_broken_) return done;
  done += note(settle_.step(clock_.ticks()));
  if (is_broken_) return done;
  if (expiry_ == Expiry::here) done += note(expire_.step(clock_.ticks()));
  if (is_broken_) return done;
  done += run_tasks();
  probe();
  look_after();
  return done;
}

void Writer::recover() {
  const auto recovered = ledger_.recover(clock_.ticks() + kRecoverWait);
  if (!recovered) {
    log::error("ledger_recovery_failed", {{"message", recovered.error().message}});
    if (recovered.error().failure == Failure::corrupt && !std::exchange(is_corrupt_, true))
      hooks_.corrupt(recovered.error());
    record_.set_ready(false);
    resting_until_ = clock_.ticks() + kRest;
    return;
  }
  ++recoveries_;
  is_broken_ = false;
  record_.set_ready(true);
  log::warn("ledger_recovered", {{"times", static_cast<std::int64_t>(recoveries_)}});
  hooks_.recovered();
}

void Writer::probe() {
  // While selling is paused no claim tells whether storage is well again, so an empty batch asks.
  if (record_.ready().load() || clock_.ticks() - probed_at_ < kProbeEvery) return;
  probed_at_ = clock_.ticks();
  if (ledger_.record({}, {}, clock_.ticks() + Micros{kLedgerWaitUs})) {
    record_.set_ready(true);
    log::info("selling_resumed");
  }
}

void Writer::look_after() {
  if (clock_.ticks() - tidied_at_ < kTidyEvery) return;
  tidied_at_ = clock_.ticks();
  if (const auto tidied = ledger_.tidy_up(); !tidied) static_cast<void>(note(std::unexpected(tidied.error())));
  publish_counts();
}

void Writer::publish_counts() {
  const std::lock_guard lock{counts_mutex_};
  counts_ = {
      .record = record_.counts(), .settle = settle_.counts(), .expired = expire_.expired(), .recoveries = recoveries_};
}

void Writer::run() {
  while (true) {
    if (turn() > 0) continue;
    if (stopping_.load() && (!is_broken_ || clock_.ticks().us >= stop_by_us_.load())) {
      publish_counts();
      return;
    }
    waker_.prepare();
    if (turn() > 0) {
      waker_.cancel();
      continue;
    }
    const Micros rest = resting_until_ - clock_.ticks();
    waker_.wait(rest.count() > 0 ? rest : kNapMax);
  }
}

}  // namespace weir
