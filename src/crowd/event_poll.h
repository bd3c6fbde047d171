#pragma once

#include "base/time.h"

#include <cstdint>
#include <span>

#include <sys/epoll.h>

namespace weir::crowd {

/// One epoll instance: which of many sockets can be read or written now.
///
/// Threads: one. Blocking: only `wait`, up to its deadline.
class EventPoll {
 public:
  EventPoll();
  ~EventPoll();
  EventPoll(const EventPoll&) = delete;
  EventPoll& operator=(const EventPoll&) = delete;

  struct Interest {
    std::uint32_t id = 0;  // Comes back in `epoll_event::data.u32`.
    bool write = false;    // Reading is always of interest.
  };
  [[nodiscard]] bool is_sound() const { return file_ >= 0; }
  [[nodiscard]] bool add(int socket, Interest interest);
  void change(int socket, Interest interest);
  /// How many events came; 0 after the time is over or when a signal came.
  [[nodiscard]] std::size_t wait(std::span<epoll_event> out, Micros at_most);

 private:
  int file_;
  bool has_fine_wait_ = true;  // epoll_pwait2 exists; else milliseconds must do.
};

}  // namespace weir::crowd
