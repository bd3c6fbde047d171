#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <ucontext.h>

namespace weir::cluster {

/// A piece of work with a stack of its own, which can stop in the middle of any call and go on later.
///
/// So a process of the simulated cluster can sleep between two lines of shipped code while others go on, all on one
/// thread. An exception may be thrown inside and has to be caught inside. Nothing is paused while an exception is
/// under way.
/// Threads: the one that made it.
class Fiber {
 public:
  explicit Fiber(std::function<void()> work);
  /// Requires: it was never resumed, or `is_done`.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// From outside: runs until it pauses or ends.
  void resume();
  /// From inside: back to who resumed.
  void pause();
  [[nodiscard]] bool is_done() const { return is_done_; }
  [[nodiscard]] bool has_begun() const { return has_begun_; }

 private:
  static constexpr std::size_t kStackBytes = 256 * 1024;

  static void enter(unsigned high, unsigned low);
  void run();

  std::function<void()> work_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  const void* outside_stack_ = nullptr;  // For the address sanitizer, which follows every change of stacks.
  std::size_t outside_bytes_ = 0;
  bool has_begun_ = false;
  bool is_done_ = false;
};

}  // namespace weir::cluster
