#include "app/worker_thread.h"

#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr Micros kNapMax{50'000};
constexpr Micros kRest{kUpkeepRestUs};
constexpr Micros kUnfitRest{1'000'000};  // An operator has to act.
constexpr Micros kReportEvery{5'000'000};
constexpr Micros kWellFor{5'000'000};

}  // namespace

WorkerThread::WorkerThread(std::string_view thread_name, const Clock& clock, Hooks hooks)
    : name_(thread_name), clock_(clock), hooks_(std::move(hooks)) {}

WorkerThread::~WorkerThread() { stop(); }

void WorkerThread::add(std::string_view verb, Micros pause, Step step) {
  verbs_.push_back({.verb_name = verb,
                    .pause = pause,
                    .step = std::move(step),
                    .due = clock_.ticks(),
                    .reported_at = {},
                    .was_reported = false});
}

void WorkerThread::start() {
  well_at_us_.store(clock_.ticks().us);
  thread_ = std::thread{[this] { run(); }};
}

void WorkerThread::stop() {
  stopping_.store(true);
  waker_.wake();
  if (thread_.joinable()) thread_.join();
}

bool WorkerThread::is_well() const { return clock_.ticks() - Ticks{well_at_us_.load()} < kWellFor; }

std::size_t WorkerThread::turn() {
  if (is_corrupt_ || clock_.ticks() < resting_until_) return 0;
  if (is_unknown_ && !recover()) return 0;
  std::size_t done = 0;
  for (Verb& verb : verbs_) {
    if (clock_.ticks() >= verb.due) done += give_turn(verb);
    if (is_unknown_ || is_corrupt_) break;
  }
  if (!is_unknown_ && !is_corrupt_) well_at_us_.store(clock_.ticks().us);
  if (hooks_.turned) hooks_.turned();
  return done;
}

std::size_t WorkerThread::give_turn(Verb& verb) {
  const auto stepped = verb.step(clock_.ticks());
  if (!stepped) {
    note(verb, stepped.error());
    return 0;
  }
  verb.was_reported = false;
  verb.due = *stepped > 0 ? clock_.ticks() : clock_.ticks() + verb.pause;
  return *stepped;
}

void WorkerThread::note(Verb& verb, const Error& error) {
  const Ticks now = clock_.ticks();
  // The same trouble comes back with every turn until it is over: it is told at once, and then from time to time.
  if (!verb.was_reported || now - verb.reported_at >= kReportEvery) {
    log::warn(
        "worker_waits",
        {{"thread", name_}, {"verb", verb.verb_name}, {"failure", name(error.failure)}, {"message", error.message}});
    verb.was_reported = true;
    verb.reported_at = now;
  }
  verb.due = now + std::max(verb.pause, kRest);
  switch (error.failure) {
    case Failure::unavailable:
    case Failure::overloaded: break;
    case Failure::timed_out: is_unknown_ = true; break;
    case Failure::unfit: verb.due = now + kUnfitRest; break;
    case Failure::corrupt:
      if (!std::exchange(is_corrupt_, true)) hooks_.corrupt(error);
      break;
  }
}

bool WorkerThread::recover() {
  const auto recovered = hooks_.recover(clock_.ticks() + Micros{kSharedWaitUs});
  if (recovered) {
    is_unknown_ = false;
    recoveries_.fetch_add(1);
    return true;
  }
  resting_until_ = clock_.ticks() + kRest;
  if (recovered.error().failure == Failure::corrupt && !std::exchange(is_corrupt_, true)) {
    hooks_.corrupt(recovered.error());
  }
  return false;
}

Micros WorkerThread::nap() const {
  if (verbs_.empty() || is_unknown_ || is_corrupt_) return kNapMax;
  const Ticks due = std::ranges::min_element(verbs_, {}, &Verb::due)->due;
  return std::clamp(due - clock_.ticks(), Micros{0}, kNapMax);
}

void WorkerThread::run() {
  while (!stopping_.load()) {
    if (turn() > 0) continue;
    waker_.prepare();
    if (stopping_.load()) {
      waker_.cancel();
      return;
    }
    waker_.wait(nap());
  }
}

}  // namespace weir
