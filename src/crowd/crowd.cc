#include "crowd/crowd.h"

#include "config/limits.h"
#include "crowd/agenda.h"
#include "crowd/connection.h"
#include "crowd/cpu.h"
#include "crowd/event_poll.h"
#include "crowd/request.h"
#include "crowd/tally.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

constexpr std::int64_t kConnectWithinUs = 10'000'000;
constexpr std::int64_t kTickUs = 100'000;  // Deadlines, reconnects and progress.
constexpr std::int64_t kSampleEveryUs = 10'000;
constexpr std::int64_t kLastSampleWithinUs = 1'000'000;
constexpr std::int64_t kLeadUs = 20'000;  // From the last connection to the opening.
constexpr std::size_t kEventsMax = 256;
constexpr std::size_t kScratchBytes = 4 * kCrowdAnswerBytesMax;

/// A connection and what the loop has to remember about it.
struct Link {
  explicit Link(std::size_t depth) : connection(depth) {}
  Connection connection;
  bool is_blocked = false;  // The socket was full; the poll says when it is not.
  std::int64_t retry_at_us = 0;
  std::int64_t pause_us = 50'000;  // Before the next try to connect.
};

Result<void> check_options(const Options& options, const Plan& plan, const TokenSource& tokens) {
  const auto refuse = [](std::string text) { return fail(Failure::unfit, std::move(text)); };
  if (options.connections < 1 || options.connections > kCrowdConnectionsMax) {
    return refuse(fmt::format("connections is {}; possible are 1 to {}", options.connections, kCrowdConnectionsMax));
  }
  if (options.depth < 1 || options.depth > kPipelineDepthMax) {
    return refuse(fmt::format("depth is {}; possible are 1 to {}", options.depth, kPipelineDepthMax));
  }
  if (options.batch < 1 || options.in_flight_max < 1 || options.in_flight_max > kCrowdInFlightMax) {
    return refuse(fmt::format("batch {} and in-flight bound {} must be at least 1, the bound at most {}", options.batch,
                              options.in_flight_max, kCrowdInFlightMax));
  }
  if (options.retries_max > kCrowdRetriesMax) {
    return refuse(fmt::format("retries is {}; possible are 0 to {}", options.retries_max, kCrowdRetriesMax));
  }
  if (options.grace.count() < 0 || options.grace.count() > kCrowdGraceUsMax || options.answer_deadline.count() <= 0) {
    return refuse("the grace or the deadline of an answer is out of range");
  }
  if (options.units_per_claim < 1 || options.units_per_claim > kUnitsPerClaimMax) {
    return refuse(
        fmt::format("units per claim is {}; possible are 1 to {}", options.units_per_claim, kUnitsPerClaimMax));
  }
  if (!is_id_text(options.item)) return refuse(fmt::format("`{}` is no item id", options.item));
  if (tokens.count() < plan.buyers()) {
    return refuse(fmt::format("{} tokens for {} buyers; `weir token issue --count {}` writes enough", tokens.count(),
                              plan.buyers(), plan.buyers()));
  }
  return {};
}

std::string item_path(const Options& options) { return "/api/flash-sales/items/" + options.item; }

RequestText purchase_text(const Options& options) {
  const std::string path = options.purchase_path.empty() ? item_path(options) + "/purchase" : options.purchase_path;
  const std::string body =
      options.units_per_claim == 1 ? std::string{} : fmt::format("{{\"quantity\":{}}}", options.units_per_claim);
  // The seed keeps the keys of two rehearsals of one sale apart.
  const std::string tag = options.keyed ? fmt::format("crowd-{}", options.seed) : std::string{};
  return RequestText({options.target.authority, path, body, tag});
}

/// One run: the loop and its sockets. What it all meant is the tally's to say.
class Run {
 public:
  Run(const Options& options, const Plan& plan, const TokenSource& tokens, const Clock& clock)
      : options_(options),
        plan_(plan),
        tokens_(tokens),
        clock_(clock),
        end_us_(plan.span_us() + options.grace.count()),
        agenda_(plan, {options.retries_max, static_cast<std::uint32_t>(end_us_), options.seed}),
        tally_({options.keeps_history, static_cast<std::uint32_t>(options.units_per_claim), options.keyed,
                static_cast<std::uint64_t>(end_us_), plan.arrivals().size()}),
        text_(purchase_text(options)),
        sample_text_(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", item_path(options), options.target.authority)),
        scratch_(kScratchBytes) {
    const std::size_t links = options.connections + (options.samples_stock ? 1 : 0);
    links_.reserve(links);
    for (std::size_t i = 0; i < links; ++i) links_.push_back(std::make_unique<Link>(is_sampler(i) ? 1 : options.depth));
    if (options.samples_stock) tally_.result().samples.reserve(kCrowdSamplesMax);
  }

  Result<void> connect_all(std::vector<SocketAddress> addresses);
  void drive();
  void finish();
  [[nodiscard]] RunResult take() { return std::move(tally_.result()); }

 private:
  [[nodiscard]] bool is_sampler(std::size_t index) const { return index == options_.connections; }
  [[nodiscard]] std::int64_t now_us() const { return (clock_.ticks() - opening_).count(); }
  /// A moment of the run as records keep it: answers before the opening do not exist.
  [[nodiscard]] std::uint32_t mark() const {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(now_us(), 0, 4'294'967'295));
  }
  [[nodiscard]] bool is_over(std::int64_t now) const;
  [[nodiscard]] Micros wait_span(std::int64_t now) const;
  [[nodiscard]] Link* next_with_room();

  void offer_due(std::int64_t now);
  void send_press(Link& link, const Press& press, std::uint32_t now);
  void flush(std::size_t index);
  void sample(std::int64_t now);
  void poll(Micros at_most);
  void on_event(const epoll_event& event);
  void receive(std::size_t index);
  void on_answer(const InFlight& request, const Answer& answer, std::uint32_t now);
  void on_sample(const InFlight& request, const Answer& answer, std::uint32_t now);
  void lose(std::size_t index, Outcome outcome);
  void give_up(const InFlight& request, Outcome outcome);
  void tick(std::int64_t now);
  [[nodiscard]] bool start_link(std::size_t index, std::int64_t now);
  void report(std::int64_t now) const;

  const Options& options_;
  const Plan& plan_;
  const TokenSource& tokens_;
  const Clock& clock_;
  std::int64_t end_us_;
  Agenda agenda_;
  Tally tally_;
  RequestText text_;
  std::string sample_text_;
  std::vector<char> scratch_;
  std::vector<std::unique_ptr<Link>> links_;  // The buyers' connections, then the sampler's.
  std::vector<SocketAddress> addresses_;
  EventPoll poll_;
  Ticks opening_;
  std::size_t cursor_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t open_count_ = 0;
  bool is_full_ = false;  // The last look found no room.
  std::int64_t next_tick_us_ = 0;
  std::int64_t next_sample_us_ = 0;
};

bool Run::start_link(std::size_t index, std::int64_t now) {
  Link& link = *links_[index];
  link.is_blocked = false;
  link.retry_at_us = now + link.pause_us;
  link.pause_us = std::min<std::int64_t>(link.pause_us * 2, 1'000'000);
  if (!link.connection.start(addresses_[index % addresses_.size()])) return false;
  return poll_.add(link.connection.socket(), {static_cast<std::uint32_t>(index), true});
}

Result<void> Run::connect_all(std::vector<SocketAddress> addresses) {
  addresses_ = std::move(addresses);
  opening_ = clock_.ticks();
  if (!poll_.is_sound()) return fail(Failure::unfit, "epoll is not to be had; the limit of open files may be reached");
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (start_link(i, 0)) continue;
    return fail(Failure::unfit,
                fmt::format("connection {} of {} cannot be made; raise `ulimit -n` or lower --connections", i + 1,
                            links_.size()));
  }
  while (open_count_ < links_.size()) {
    const std::int64_t now = now_us();
    if (now >= kConnectWithinUs) {
      return fail(Failure::unavailable,
                  fmt::format("{} of {} connections to {} opened within {} s", open_count_, links_.size(),
                              options_.target.authority, kConnectWithinUs / 1'000'000));
    }
    poll(Micros{kTickUs});
    tick(now_us());
  }
  tally_.result().reconnects = 0;
  opening_ = options_.opening.value_or(clock_.ticks() + Micros{kLeadUs});
  next_tick_us_ = now_us();
  next_sample_us_ = std::max(next_tick_us_, -kSampleEveryUs);  // One glance before the opening is enough.
  return {};
}

bool Run::is_over(std::int64_t now) const {
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) return true;
  return now >= end_us_ || (in_flight_ == 0 && !agenda_.next_us());
}

Micros Run::wait_span(std::int64_t now) const {
  std::int64_t wake = next_tick_us_;
  if (options_.samples_stock) wake = std::min(wake, next_sample_us_);
  // A full crowd is woken by answers; its overdue presses must not make the loop spin.
  if (const auto due = agenda_.next_us(); due && !is_full_) wake = std::min<std::int64_t>(wake, *due);
  return Micros{std::max<std::int64_t>(wake - now, 0)};
}

void Run::drive() {
  for (std::int64_t now = now_us(); !is_over(now); now = now_us()) {
    offer_due(now);
    sample(now);
    poll(wait_span(now_us()));
    if (const std::int64_t after = now_us(); after >= next_tick_us_) {
      tick(after);
      if (options_.on_progress) report(after);
    }
  }
}

Link* Run::next_with_room() {
  for (std::size_t tried = 0; tried < options_.connections; ++tried) {
    cursor_ = cursor_ + 1 < options_.connections ? cursor_ + 1 : 0;
    Link& link = *links_[cursor_];
    if (link.connection.room() > 0 && !link.is_blocked) return &link;
  }
  return nullptr;
}

void Run::offer_due(std::int64_t now) {
  is_full_ = false;
  while (true) {  // Ends with the presses that are due or with the room, whichever is less.
    if (const auto due = agenda_.next_us(); !due || *due > now) return;
    Link* link = in_flight_ < options_.in_flight_max ? next_with_room() : nullptr;
    if (link == nullptr) {
      is_full_ = true;
      return;
    }
    const std::size_t room = std::min(link->connection.room(), options_.in_flight_max - in_flight_);
    const std::uint32_t sent = mark();
    for (std::size_t i = 0; i < std::min(options_.batch, room); ++i) {
      const auto press = agenda_.take(now);
      if (!press) break;
      send_press(*link, *press, sent);
    }
    flush(cursor_);
  }
}

void Run::send_press(Link& link, const Press& press, std::uint32_t now) {
  if (!press.is_again) tally_.offer(press.at_us);
  tally_.send(press.at_us, now);
  text_.append(press.buyer, tokens_.token(press.buyer), link.connection.output());
  link.connection.push({press.buyer, press.at_us, now, press.click, press.retry, press.impatient, 0});
  ++in_flight_;
}

void Run::flush(std::size_t index) {
  Link& link = *links_[index];
  const Connection::Io flushed = link.connection.flush();
  if (flushed == Connection::Io::broken) {
    lose(index, Outcome::connection_lost);
    return;
  }
  const bool is_blocked = flushed == Connection::Io::blocked;
  if (is_blocked != link.is_blocked)
    poll_.change(link.connection.socket(), {static_cast<std::uint32_t>(index), is_blocked});
  link.is_blocked = is_blocked;
}

void Run::sample(std::int64_t now) {
  if (!options_.samples_stock || now < next_sample_us_) return;
  next_sample_us_ = now + kSampleEveryUs;
  Link& link = *links_[options_.connections];
  if (link.connection.room() == 0 || tally_.result().samples.size() >= kCrowdSamplesMax) return;
  link.connection.output().append(sample_text_);
  InFlight request;
  request.sent_us = mark();
  link.connection.push(request);
  flush(options_.connections);
}

void Run::poll(Micros at_most) {
  std::array<epoll_event, kEventsMax> events;
  const std::size_t count = poll_.wait(events, at_most);
  for (std::size_t i = 0; i < count; ++i) on_event(events[i]);
}

void Run::on_event(const epoll_event& event) {
  const std::size_t index = event.data.u32;
  Link& link = *links_[index];
  if (link.connection.state() == Connection::State::closed) return;  // By an earlier event of the same look.
  if (link.connection.state() == Connection::State::connecting) {
    if (!link.connection.finish_start()) {
      lose(index, Outcome::connection_lost);
      return;
    }
    ++open_count_;
    link.pause_us = 50'000;
    poll_.change(link.connection.socket(), {static_cast<std::uint32_t>(index), false});
    return;
  }
  if ((event.events & EPOLLOUT) != 0) flush(index);
  if (link.connection.state() == Connection::State::open && (event.events & ~EPOLLOUT) != 0) receive(index);
}

void Run::receive(std::size_t index) {
  const bool samples = is_sampler(index);
  std::uint32_t now = 0;  // All answers of one read came by the same moment, read after it.
  const Connection::Io io =
      links_[index]->connection.receive(scratch_, [&](const InFlight& request, const Answer& answer) {
        if (now == 0) now = mark();
        if (samples)
          on_sample(request, answer, now);
        else
          on_answer(request, answer, now);
      });
  switch (io) {
    case Connection::Io::fine:
    case Connection::Io::blocked: return;
    case Connection::Io::broken:
    case Connection::Io::closing: lose(index, Outcome::connection_lost); return;
    case Connection::Io::malformed: lose(index, Outcome::malformed); return;
  }
}

void Run::on_answer(const InFlight& request, const Answer& answer, std::uint32_t now) {
  --in_flight_;
  const Outcome outcome = tally_.answer(request, answer, now);
  if (!is_worth_a_retry(outcome) || tally_.has_order(request.buyer)) return;
  const Press press{request.planned_us, request.buyer, request.click, request.retry, request.impatient, false};
  if (agenda_.retry(press, now, answer.retry_after_s)) ++tally_.result().retries;
}

void Run::on_sample(const InFlight& request, const Answer& answer, std::uint32_t now) {
  auto read = answer.status == 200 ? read_stock(answer.body) : std::nullopt;
  if (!read) return;
  read->sent_us = request.sent_us;
  read->answered_us = now;
  tally_.result().samples.push_back(*read);
}

void Run::give_up(const InFlight& request, Outcome outcome) {
  const std::uint32_t now = mark();
  tally_.give_up(request, outcome, now);
  if (!is_worth_a_retry(outcome) || tally_.has_order(request.buyer)) return;
  const Press press{request.planned_us, request.buyer, request.click, request.retry, request.impatient, false};
  if (agenda_.retry(press, now, 0)) ++tally_.result().retries;
}

void Run::lose(std::size_t index, Outcome outcome) {
  Link& link = *links_[index];
  if (link.connection.state() == Connection::State::open) {
    --open_count_;
    ++tally_.result().reconnects;
    link.retry_at_us = 0;  // It worked a moment ago: the first new try is made at the next tick.
  }
  link.connection.close([&](const InFlight& request, bool was_sent) {
    if (is_sampler(index)) return;
    --in_flight_;
    if (was_sent) {
      give_up(request, outcome);
    } else {
      agenda_.put_back({request.planned_us, request.buyer, request.click, request.retry, request.impatient, true});
    }
  });
}

void Run::tick(std::int64_t now) {
  next_tick_us_ = now + kTickUs;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Connection& connection = links_[i]->connection;
    if (connection.in_flight() > 0 && now - connection.oldest().sent_us > options_.answer_deadline.count()) {
      lose(i, Outcome::timed_out);
    }
    // A failed start closes again or never comes back from the poll; either way the pause has grown.
    if (connection.state() == Connection::State::closed && now >= links_[i]->retry_at_us && !start_link(i, now)) {
      lose(i, Outcome::connection_lost);
    }
  }
}

void Run::report(std::int64_t now) const {
  const RunResult& result = tally_.result();
  Progress progress{now, plan_.arrivals().size(), result.offered, result.answered, {}, result.outcomes};
  if (!result.samples.empty()) progress.stock = result.samples.back();
  options_.on_progress(progress);
}

void Run::finish() {
  RunResult& result = tally_.result();
  result.was_stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  result.ran_out_of_time = !result.was_stopped && (in_flight_ > 0 || agenda_.next_us().has_value());
  const std::uint32_t now = mark();
  for (std::size_t i = 0; i < options_.connections; ++i) {
    links_[i]->connection.close(
        [&](const InFlight& request, bool) { tally_.give_up(request, Outcome::timed_out, now); });
  }
  while (const auto press = agenda_.take(4'294'967'295)) {  // As many as plan and retries still hold.
    if (!press->is_again) tally_.offer(press->at_us);
    tally_.give_up({press->buyer, press->at_us, now, press->click, press->retry, press->impatient, 0},
                   Outcome::not_sent, now);
  }
  // One glance behind the last answer shows what was left over.
  const std::size_t samples = result.samples.size();
  const std::int64_t until = now_us() + kLastSampleWithinUs;
  const auto is_late = [&] { return !result.samples.empty() && result.samples.back().sent_us >= now; };
  while (options_.samples_stock && samples < kCrowdSamplesMax && !is_late() && now_us() < until) {
    sample(now_us());
    poll(Micros{kSampleEveryUs});
  }
  result.timeline.trim();
  if (options_.on_progress) report(now_us());
}

}  // namespace

Result<RunResult> run_crowd(const Options& options, const Plan& plan, const TokenSource& tokens, const Clock& clock) {
  if (auto checked = check_options(options, plan, tokens); !checked) return std::unexpected(std::move(checked.error()));
  std::vector<SocketAddress> addresses;
  std::vector<Target> targets{options.target};
  targets.insert(targets.end(), options.more_targets.begin(), options.more_targets.end());
  for (const Target& target : targets) {
    const auto address = resolve(target);
    if (!address) return std::unexpected(address.error());
    addresses.push_back(*address);
  }
  const double cpu_before_s = thread_cpu_s();
  Run run(options, plan, tokens, clock);
  if (auto connected = run.connect_all(std::move(addresses)); !connected)
    return std::unexpected(std::move(connected.error()));
  run.drive();
  run.finish();
  RunResult result = run.take();
  result.cpu_s = thread_cpu_s() - cpu_before_s;
  return result;
}

}  // namespace weir::crowd
