#include "sim/cluster/fiber.h"

#include "base/check.h"

#include <cstdint>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define WEIR_FOLLOW_STACKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_FOLLOW_STACKS 1
#endif
#endif
#ifdef WEIR_FOLLOW_STACKS
#include <sanitizer/common_interface_defs.h>
#endif

namespace weir::cluster {
namespace {

void leave_for([[maybe_unused]] void** own, [[maybe_unused]] const void* stack, [[maybe_unused]] std::size_t bytes) {
#ifdef WEIR_FOLLOW_STACKS
  __sanitizer_start_switch_fiber(own, stack, bytes);
#endif
}

void arrive([[maybe_unused]] void* own, [[maybe_unused]] const void** from, [[maybe_unused]] std::size_t* bytes) {
#ifdef WEIR_FOLLOW_STACKS
  __sanitizer_finish_switch_fiber(own, from, bytes);
#endif
}

}  // namespace

Fiber::Fiber(std::function<void()> work)
    : work_(std::move(work)), stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
  CHECK(getcontext(&inside_) == 0);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  // The entry takes integers only, so the address travels in two halves.
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self & 0xffff'ffff));
}

Fiber::~Fiber() { CHECK(!has_begun_ || is_done_); }

// A context is begun with integers only, so the pointer comes in halves.
void Fiber::enter(unsigned high, unsigned low) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as said above.
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
  arrive(nullptr, &self->outside_stack_, &self->outside_bytes_);
  self->run();
}

void Fiber::run() {
  work_();
  is_done_ = true;
  leave_for(nullptr, outside_stack_, outside_bytes_);
  setcontext(&outside_);
  CHECK(false, "a fiber went on behind its end");
}

void Fiber::resume() {
  CHECK(!is_done_);
  has_begun_ = true;
  void* own = nullptr;
  leave_for(&own, stack_.get(), kStackBytes);
  CHECK(swapcontext(&outside_, &inside_) == 0);
  arrive(own, nullptr, nullptr);
}

void Fiber::pause() {
  void* own = nullptr;
  leave_for(&own, outside_stack_, outside_bytes_);
  CHECK(swapcontext(&inside_, &outside_) == 0);
  arrive(own, &outside_stack_, &outside_bytes_);
}

}  // namespace weir::cluster
