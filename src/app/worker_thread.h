#pragma once

#include "app/waker.h"
#include "base/result.h"
#include "base/time.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weir {

/// One thread of a worker: gives its verbs their turns, lets each rest after trouble, and recovers their ledger after
/// an answer that is unknown.
///
/// Verbs of one thread share one ledger connection. A verb in trouble stops no other one; a ledger whose last commit is
/// unknown stops all until it has recovered. What it does can be cut off at any moment: every step is safe to repeat.
/// Without `start` there is no thread, and whoever calls `turn` is it.
/// Threads: `start` and `stop` from the owner, `is_well` from any.
class WorkerThread {
 public:
  using Step = std::function<Result<std::size_t>(Ticks now)>;
  struct Hooks {
    std::function<Result<void>(Deadline)> recover;  // The ledger.
    std::function<void()> turned;                   // After each turn: publish counts.
    std::function<void(const Error&)> corrupt;      // Once: stop the process and call a person.
  };

  WorkerThread(std::string_view thread_name, const Clock& clock, Hooks hooks);
  ~WorkerThread();

  /// Before `start`. A step that did something is followed by the next at once, one that did not by a pause.
  void add(std::string_view verb, Micros pause, Step step);

  void start();
  /// Ends after the turn under way, then joins.
  void stop();
  /// One turn of every verb that is due; how many things were done.
  [[nodiscard]] std::size_t turn();

  /// The last turn is not long ago, and the ledger answered in it.
  [[nodiscard]] bool is_well() const;
  [[nodiscard]] std::uint64_t recoveries() const { return recoveries_.load(); }

 private:
  struct Verb {
    std::string_view verb_name;
    Micros pause{0};
    Step step;
    Ticks due;
    Ticks reported_at;  // When its trouble was last told.
    bool was_reported = false;
  };

  void run();
  [[nodiscard]] std::size_t give_turn(Verb& verb);
  void note(Verb& verb, const Error& error);
  [[nodiscard]] bool recover();
  [[nodiscard]] Micros nap() const;

  const std::string name_;
  const Clock& clock_;
  const Hooks hooks_;
  std::vector<Verb> verbs_;
  bool is_unknown_ = false;
  bool is_corrupt_ = false;
  Ticks resting_until_;
  std::atomic<std::int64_t> well_at_us_{0};
  std::atomic<std::uint64_t> recoveries_{0};
  std::atomic<bool> stopping_{false};
  Waker waker_;
  std::thread thread_;
};

}  // namespace weir
