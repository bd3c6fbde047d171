#pragma once

#include "ledger/ledger.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace weir {

/// A few threads, each with a look at the ledger of its own, for whatever may wait: order look-ups, admin, gateways.
///
/// Bounded: a full pool refuses. Threads: `submit` from any; jobs run on the pool's, or, without `start`, where `turn`
/// is called.
class Pool {
 public:
  using Job = std::function<void(LedgerReader&)>;

  explicit Pool(std::vector<std::unique_ptr<LedgerReader>> readers);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void start();
  [[nodiscard]] bool submit(Job job);
  /// Runs the oldest job, if there is one.
  bool turn();
  /// Finishes what was submitted, then joins. Repeatable.
  void stop();

 private:
  void run(LedgerReader& reader);

  std::vector<std::unique_ptr<LedgerReader>> readers_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weir
