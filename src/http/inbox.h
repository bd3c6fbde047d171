#pragma once

#include "config/limits.h"
#include "http/exchange.h"

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::http {

/// Answers that other threads have for one reactor.
///
/// Invariant: at most kMailboxMax. Threads: `put` from any, `take` from the reactor. Blocking: a short lock.
class Inbox {
 public:
  struct Letter {
    ReplyTo to;
    Response response;
  };

  /// False if it is full: the letter is dropped, and the answer's deadline answers in its place.
  [[nodiscard]] bool put(ReplyTo to, Response&& response) {
    const std::scoped_lock lock(mutex_);
    if (letters_.size() >= kMailboxMax) return false;
    letters_.push_back({to, std::move(response)});
    return true;
  }

  /// Swaps everything into `letters`, which is empty; its memory is used for the next ones.
  void take(std::vector<Letter>& letters) {
    const std::scoped_lock lock(mutex_);
    letters_.swap(letters);
  }

 private:
  std::mutex mutex_;
  std::vector<Letter> letters_;  // Guarded by mutex_.
};

}  // namespace weir::http
