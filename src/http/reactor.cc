#include "http/reactor.h"

#include "base/check.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::http {
namespace {

constexpr std::uint64_t kListenerMark = ~std::uint64_t{0};
constexpr std::uint64_t kWakerMark = kListenerMark - 1;
constexpr Micros kAcceptPause{100'000};

bool watch(int epoll, int fd, std::uint32_t events, std::uint64_t mark) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = mark;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Reactor::Reactor(const ReactorParts& parts, Listener listener)
    : index_(parts.index),
      clock_(parts.clock),
      random_(parts.random),
      room_(parts.room),
      spans_{Micros{kNever},
             Micros{parts.options.idle_deadline_us},
             Micros{parts.options.request_deadline_us},
             Micros{parts.options.answer_deadline_us},
             Micros{parts.options.write_deadline_us},
             Micros{kLingerDeadlineUs}},
      listener_(std::move(listener)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      input_(std::make_unique_for_overwrite<char[]>(kReadBytesMax)),
      parser_(parts.options.signature_header) {
  CHECK(epoll_.is_open() && waker_.is_open(), "errno={}", errno);
  // Edge-triggered: every write to it wakes, so nobody has to read it.
  CHECK(watch(epoll_.get(), waker_.get(), EPOLLIN | EPOLLET, kWakerMark), "errno={}", errno);
  watch_listener();
  (void)output_.room(kFlushBytes);
  take_time();
}

Reactor::~Reactor() {
  connections_.each([this](Connection& connection) { close(connection); });
}

void Reactor::attach(std::unique_ptr<Handler> handler) {
  CHECK(handler != nullptr && handler_ == nullptr);
  handler_ = std::move(handler);
}

bool Reactor::turn(Micros wait_max) {
  std::array<epoll_event, kEventsPerTurnMax> events;  // Filled by the kernel up to the count it returns.
  const int count = wait_for_events(wait_max, events);
  take_time();
  take_posted();
  handler_->on_loop(now_, ticks_);
  flush_completions();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kListenerMark) {
      is_listener_ready_ = true;
    } else if (event.data.u64 != kWakerMark) {
      on_event(*connections_.at(static_cast<std::uint32_t>(event.data.u64)), event.events);
    }
  }
  run_queued();
  flush_completions();
  expire();
  flush_completions();
  // Last, so that a place that became free in this turn has no events left of its former guest.
  accept_some();
  if (!is_stopping()) return true;
  wind_down();
  return connections_.open_count() > 0;
}

int Reactor::wait_for_events(Micros wait_max, std::span<epoll_event> events) {
  const bool has_work = !queued_.empty() || !completions_.empty();
  const Micros wait = has_work ? Micros{0} : std::min(wait_max, time_to_next_due());
  auto timeout_ms = static_cast<int>((wait.count() + 999) / 1000);
  if (timeout_ms > 0) {
    is_sleeping_.store(true);
    if (is_woken_.load()) timeout_ms = 0;  // Whoever woke us before that store did not see us asleep.
  }
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  is_sleeping_.store(false, std::memory_order_relaxed);
  CHECK(count >= 0 || errno == EINTR, "epoll_wait: errno={}", errno);
  return std::max(count, 0);
}

Micros Reactor::time_to_next_due() const {
  std::int64_t due_us = ticks_.us + kLoopWaitUs;
  for (std::size_t i = 0; i < kWaitCount; ++i) {
    const Connection* oldest = lists_[i].oldest();
    if (oldest != nullptr) due_us = std::min(due_us, oldest->placed.us + spans_[i].count());
  }
  due_us = std::min({due_us, accept_again_.us, stop_at_us_.load(std::memory_order_relaxed)});
  return Micros{std::max<std::int64_t>(due_us - ticks_.us, 0)};
}

void Reactor::take_time() {
  now_ = clock_.now();
  ticks_ = std::max(ticks_, clock_.ticks());
  writer_.set_time(now_);
}

void Reactor::wake() {
  if (is_woken_.exchange(true)) return;  // The loop has not looked since the last call; it will see this one's too.
  if (!is_sleeping_.load()) return;
  const std::uint64_t one = 1;
  // It fails only when the count is full, and then the loop is awake anyway.
  [[maybe_unused]] const ssize_t written = ::write(waker_.get(), &one, sizeof one);
}

void Reactor::post(ReplyTo to, Response&& response) {
  if (!inbox_.put(to, std::move(response))) {
    const std::uint64_t count = letters_lost_.fetch_add(1, std::memory_order_relaxed) + 1;
    // Each doubling once: a flood of letters must not become a flood of lines.
    if (std::has_single_bit(count)) log::warn("mailbox_full", {{"lost", static_cast<std::int64_t>(count)}});
  }
  wake();
}

void Reactor::take_posted() {
  if (!is_woken_.load(std::memory_order_relaxed)) return;
  is_woken_.exchange(false);  // Reads what the last waker wrote, and so sees all that it did before.
  inbox_.take(letters_);
  for (const Inbox::Letter& letter : letters_) complete(letter.to, letter.response);
  letters_.clear();
}

void Reactor::on_event(Connection& connection, std::uint32_t flags) {
  if (!connection.is_open()) return;
  constexpr std::uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((flags & (EPOLLIN | kEnd)) != 0) connection.is_readable = true;
  if ((flags & kEnd) != 0) connection.is_ending = true;
  if (connection.unsent != nullptr && (flags & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) flush_unsent(connection);
  if (!connection.is_readable) return;
  if (connection.wait == Wait::linger) return drain(connection);
  if (connection.is_free()) serve(connection);
}

void Reactor::run_queued() {
  queued_.swap(running_);
  for (const std::uint32_t slot : running_) {
    Connection& connection = *connections_.at(slot);
    connection.is_queued = false;
    if (!connection.is_open() || !connection.is_readable) continue;
    if (connection.wait == Wait::linger) {
      drain(connection);
    } else if (connection.is_free()) {
      serve(connection);
    }
  }
  running_.clear();
}

void Reactor::expire() {
  for (std::size_t i = 0; i < kWaitCount; ++i) {
    for (std::size_t count = 0; count < kExpiriesPerTurnMax && !lists_[i].empty(); ++count) {
      Connection& oldest = *lists_[i].oldest();
      if (ticks_ - oldest.placed < spans_[i]) break;
      expire_one(oldest);
    }
  }
}

void Reactor::expire_one(Connection& connection) {
  switch (connection.wait) {
    case Wait::request:
      counts_.timed_out.add();
      unplace(connection);
      release_held(connection);
      refuse(connection, Refusal::timeout);
      send_output(connection);
      settle(connection, false);
      return;
    case Wait::answer:
      counts_.answer_late.add();
      complete({connection.slot, connection.generation, index_}, reply_of(Refusal::answer_late));
      return;
    case Wait::idle: counts_.timed_out.add(); return close(connection);
    case Wait::write:
      // The kernel tells of room only when a third of a buffer of megabytes is free. A peer that reads slowly may not
      // get that far in time, so ask the socket before giving it up.
      flush_unsent(connection);
      if (connection.is_open() && connection.wait == Wait::write && connection.placed < ticks_) close(connection);
      return;
    case Wait::none:
    case Wait::linger: return close(connection);
  }
}

void Reactor::watch_listener() {
  accept_again_.us = kNever;
  is_listening_ = watch(epoll_.get(), listener_.fd(), EPOLLIN, kListenerMark);
  if (!is_listening_) accept_again_ = ticks_ + kAcceptPause;
}

void Reactor::pause_accepting() {
  is_listener_ready_ = false;
  is_listening_ = false;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
  accept_again_ = ticks_ + kAcceptPause;
}

void Reactor::accept_some() {
  if (is_stopping()) return;
  if (!is_listening_ && ticks_ >= accept_again_) watch_listener();
  for (std::size_t i = 0; i < kAcceptsPerTurnMax && is_listener_ready_; ++i) {
    if (!accept_one()) break;
  }
  is_listener_ready_ = false;  // Level-triggered: what is left there is reported again.
}

bool Reactor::accept_one() {
  auto accepted = listener_.accept();
  if (accepted) {
    admit(std::move(*accepted));
    return true;
  }
  switch (accepted.error()) {
    case Listener::Trouble::nothing_there: return false;
    case Listener::Trouble::try_again: return true;
    case Listener::Trouble::out_of_files:
      if (make_room()) return true;
      listener_.turn_one_away();
      counts_.turned_away.add();
      pause_accepting();
      return false;
    case Listener::Trouble::out_of_resources: pause_accepting(); return false;
  }
  return false;
}

bool Reactor::make_room() {
  Connection* oldest = list(Wait::idle).oldest();
  if (oldest == nullptr) return false;
  close(*oldest);
  return true;
}

void Reactor::admit(Listener::Accepted accepted) {
  if (!room_.enter_from(accepted.peer)) return turn_away(accepted.socket);
  const bool has_place = room_.enter() || (make_room() && room_.enter());
  if (!has_place) {
    room_.leave_from(accepted.peer);
    return turn_away(accepted.socket);
  }
  Connection& connection = connections_.take();
  connection.fd = accepted.socket.release();
  connection.peer = accepted.peer;
  counts_.accepted.add();
  place(connection, Wait::idle);
  // Edge-triggered for both directions once and for all: no further call is needed to pause or resume.
  if (!watch(epoll_.get(), connection.fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, connection.slot)) {
    close(connection);
  }
}

/// Says 503 if the socket takes it at once, and hangs up.
void Reactor::turn_away(const Descriptor& socket) {
  counts_.turned_away.add();
  ByteBuffer bytes;
  writer_.append(bytes, reply_of(Refusal::server_full), {next_request_id(), Ending::close, false});
  [[maybe_unused]] const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(socket.get(), SHUT_WR);
}

void Reactor::stop(Deadline deadline) {
  stop_at_us_.store(std::min(deadline.us, kNever - 1), std::memory_order_release);
  wake();
}

void Reactor::wind_down() {
  if (is_listening_) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
  is_listening_ = false;
  accept_again_.us = kNever;
  listener_.close();
  while (!list(Wait::idle).empty()) close(*list(Wait::idle).oldest());
  if (ticks_.us < stop_at_us_.load(std::memory_order_acquire)) return;
  while (!list(Wait::answer).empty()) expire_one(*list(Wait::answer).oldest());
  flush_completions();
  connections_.each([this](Connection& connection) { close(connection); });
}

}  // namespace weir::http
