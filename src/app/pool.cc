#include "app/pool.h"

#include "config/limits.h"

#include <utility>

namespace weir {

Pool::Pool(std::vector<std::unique_ptr<LedgerReader>> readers) : readers_(std::move(readers)) {}

Pool::~Pool() { stop(); }

void Pool::start() {
  for (const auto& reader : readers_) {
    threads_.emplace_back([this, &reader = *reader] { run(reader); });
  }
}

bool Pool::submit(Job job) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_ || jobs_.size() >= kLookupQueueMax) return false;
    jobs_.push_back(std::move(job));
  }
  ready_.notify_one();
  return true;
}

bool Pool::turn() {
  Job job;
  {
    const std::lock_guard lock{mutex_};
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  job(*readers_.front());
  return true;
}

void Pool::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Pool::run(LedgerReader& reader) {
  while (true) {
    Job job;
    {
      std::unique_lock lock{mutex_};
      ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job(reader);
  }
}

}  // namespace weir
