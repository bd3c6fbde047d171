#include "app/waker.h"

#include "base/check.h"

#include <cerrno>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace weir {

Waker::Waker() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { CHECK(event_ >= 0, "eventfd: errno {}", errno); }

Waker::~Waker() { ::close(event_); }

void Waker::wait(Micros most) {
  pollfd descriptor{.fd = event_, .events = POLLIN, .revents = 0};
  static_cast<void>(::poll(&descriptor, 1, static_cast<int>((most.count() + 999) / 1000)));
  sleeping_.store(false, std::memory_order_relaxed);
  std::uint64_t count = 0;
  static_cast<void>(::read(event_, &count, sizeof count));  // Nothing to read is fine: the time was up.
}

void Waker::wake() {
  // A read-modify-write is ordered against the store in `prepare`: either we see that it sleeps, or it sees our work.
  if (!sleeping_.exchange(false, std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  CHECK(::write(event_, &one, sizeof one) == sizeof one || errno == EAGAIN, "eventfd write: errno {}", errno);
}

}  // namespace weir
