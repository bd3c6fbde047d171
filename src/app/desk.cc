#include "app/desk.h"

#include "base/check.h"
#include "base/log.h"
#include "config/limits.h"

#include <chrono>

namespace weir {
namespace {

constexpr Micros kNapMax{20'000};            // The desk looks for late claims at least this often.
constexpr std::size_t kTurnsPerNotice = 64;  // How many busy turns may pass before counts are published.

}  // namespace

Desk::Reactor::Reactor(const RingSizes& sizes) : claims(sizes.claims), answers(sizes.answers) {}

Desk::Desk(Gate& gate, QueueProducer& queue, const std::atomic<bool>& storage_ready, const Clock& clock,
           std::size_t reactors, Hooks hooks, const RingSizes& sizes)
    : gate_(gate),
      clock_(clock),
      hooks_(std::move(hooks)),
      requests_(sizes.returns),
      admit_(gate, queue, *this, storage_ready) {
  for (std::size_t i = 0; i < reactors; ++i) reactors_.push_back(std::make_unique<Reactor>(sizes));
}

Desk::~Desk() { stop(Deadline{0}); }

void Desk::start() {
  thread_ = std::thread{[this] { run(); }};
}

void Desk::stop(Deadline deadline) {
  if (!thread_.joinable()) return;
  stop_by_us_.store(deadline.us);
  stopping_.store(true);
  waker_.wake();
  thread_.join();
  // What was posted behind the last turn is done here, and what comes later where it comes from: nobody waits in vain.
  const std::lock_guard lock{tasks_mutex_};
  is_over_ = true;
  for (const auto& task : tasks_) task(admit_, gate_);
  tasks_.clear();
}

bool Desk::offer(std::uint16_t reactor, const ClaimRequest& request) {
  return reactors_[reactor]->claims.push(request);
}

std::size_t Desk::take_answers(std::uint16_t reactor, std::span<ClaimAnswer> out) {
  return reactors_[reactor]->answers.pop(out);
}

void Desk::request(const GateRequest& request) {
  for (int tries = 0; !requests_.push(request); ++tries) {
    CHECK(tries < 100'000, "the desk has not taken an effect for ten seconds");
    waker_.wake();
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  waker_.wake();
}

void Desk::post(std::function<void(Admit&, Gate&)> task) {
  {
    const std::lock_guard lock{tasks_mutex_};
    if (is_over_) return task(admit_, gate_);
    tasks_.push_back(std::move(task));
  }
  has_tasks_.store(true, std::memory_order_release);
  waker_.wake();
}

AdmitCounts Desk::counts() const {
  const std::lock_guard lock{counts_mutex_};
  return counts_;
}

std::size_t Desk::take_requests(std::span<GateRequest> out) { return requests_.pop(out); }

std::size_t Desk::take_claims(std::span<ClaimRequest> out) {
  // Each turn starts with another reactor, so that none is served last for ever.
  std::size_t count = 0;
  for (std::size_t i = 0; i < reactors_.size() && count < out.size(); ++i) {
    count += reactors_[(next_reactor_ + i) % reactors_.size()]->claims.pop(out.subspan(count));
  }
  next_reactor_ = (next_reactor_ + 1) % reactors_.size();
  return count;
}

void Desk::answer(const ClaimAnswer& answer) {
  if (answer.ticket.source >= reactors_.size()) return;  // Nobody waits: a claim that was driven without a buyer.
  Reactor& reactor = *reactors_[answer.ticket.source];
  // A full ring means a reactor that has not run for long; its requests time out there with 503.
  if (!reactor.answers.push(answer)) log::error("answer_dropped", {{"order", answer.order.text()}});
  reactor.is_answered = true;
}

void Desk::answer_retake(PaymentId payment, bool taken) { hooks_.retake_answered(payment, taken); }

std::size_t Desk::run_tasks() {
  if (!has_tasks_.exchange(false, std::memory_order_acquire)) return 0;
  std::vector<std::function<void(Admit&, Gate&)>> tasks;
  {
    const std::lock_guard lock{tasks_mutex_};
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task(admit_, gate_);
  return tasks.size();
}

std::size_t Desk::turn() {
  std::size_t done = run_tasks();
  const auto stepped = admit_.step(clock_.ticks());
  if (stepped)
    done += *stepped;
  else
    log::error("admit_failed", {{"failure", name(stepped.error().failure)}, {"message", stepped.error().message}});
  for (std::size_t i = 0; i < reactors_.size(); ++i) {
    if (!reactors_[i]->is_answered) continue;
    reactors_[i]->is_answered = false;
    hooks_.wake_reactor(static_cast<std::uint16_t>(i));
  }
  return done;
}

void Desk::publish_counts() {
  const std::lock_guard lock{counts_mutex_};
  counts_ = admit_.counts();
}

void Desk::run() {
  std::size_t turns = 0;
  while (true) {
    if (++turns % kTurnsPerNotice == 0) publish_counts();
    if (turn() > 0) continue;
    publish_counts();
    if (stopping_.load() && (admit_.in_flight() == 0 || clock_.ticks().us >= stop_by_us_.load())) return;
    waker_.prepare();
    if (turn() > 0) {
      waker_.cancel();
      continue;
    }
    waker_.wait(kNapMax);
  }
}

}  // namespace weir
