#include "crowd/event_poll.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <unistd.h>

namespace weir::crowd {
namespace {

epoll_event event_of(EventPoll::Interest interest) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  if (interest.write) event.events |= EPOLLOUT;
  event.data.u32 = interest.id;
  return event;
}

}  // namespace

EventPoll::EventPoll() : file_(::epoll_create1(EPOLL_CLOEXEC)) {}

EventPoll::~EventPoll() {
  if (file_ >= 0) ::close(file_);
}

bool EventPoll::add(int socket, Interest interest) {
  epoll_event event = event_of(interest);
  return ::epoll_ctl(file_, EPOLL_CTL_ADD, socket, &event) == 0;
}

void EventPoll::change(int socket, Interest interest) {
  epoll_event event = event_of(interest);
  // It can only fail for a socket that was never added, and then its own errors close it.
  static_cast<void>(::epoll_ctl(file_, EPOLL_CTL_MOD, socket, &event));
}

std::size_t EventPoll::wait(std::span<epoll_event> out, Micros at_most) {
  const std::int64_t us = std::max<std::int64_t>(at_most.count(), 0);
  const int room = static_cast<int>(out.size());
  int count = -1;
  if (has_fine_wait_) {
    const timespec span{us / 1'000'000, us % 1'000'000 * 1'000};
    count = ::epoll_pwait2(file_, out.data(), room, &span, nullptr);
    if (count < 0 && errno != EINTR) has_fine_wait_ = false;
    if (has_fine_wait_) return static_cast<std::size_t>(std::max(count, 0));
  }
  count = ::epoll_wait(file_, out.data(), room, static_cast<int>((us + 999) / 1'000));
  return static_cast<std::size_t>(std::max(count, 0));
}

}  // namespace weir::crowd
