#include "http/server.h"

#include "base/check.h"
#include "base/random.h"
#include "config/limits.h"
#include "http/reactor.h"
#include "http/room.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weir::http {
namespace {

/// The reactors with a thread each.
class ReactorServer final : public Server, public Mailbox {
 public:
  ReactorServer(ServerOptions options, const Clock& clock, const SipKey& key)
      : options_(std::move(options)),
        clock_(clock),
        room_({options_.connections_max, options_.connections_per_address_max}, key, options_.is_trusted_proxy) {}

  ~ReactorServer() override { stop(clock_.ticks()); }
  ReactorServer(const ReactorServer&) = delete;
  ReactorServer& operator=(const ReactorServer&) = delete;

  Result<void> open(const HandlerFactory& factory) {
    for (std::size_t i = 0; i < options_.reactors; ++i) {
      auto listener = Listener::open(options_.listen, i == 0 ? std::uint16_t{0} : port(), i == 0);
      if (!listener) return std::unexpected(listener.error());
      randoms_.push_back(options_.random());
      const ReactorParts parts{static_cast<std::uint16_t>(i), options_, clock_, *randoms_.back(), room_};
      reactors_.push_back(std::make_unique<Reactor>(parts, std::move(*listener)));
    }
    for (const auto& reactor : reactors_) reactor->attach(factory(*reactor));
    return {};
  }

  void start() override {
    CHECK(threads_.empty());
    for (const auto& reactor : reactors_) {
      threads_.emplace_back([&loop = *reactor] {
        while (loop.turn(Micros{kLoopWaitUs})) {
        }
      });
    }
  }

  void stop(Deadline deadline) override {
    for (const auto& reactor : reactors_) reactor->stop(deadline);
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  [[nodiscard]] std::uint16_t port() const override { return reactors_.front()->port(); }
  [[nodiscard]] Mailbox& mailbox() override { return *this; }

  [[nodiscard]] ServerCounts counts() const override {
    ServerCounts sum;
    sum.open = room_.open_count();
    for (const auto& reactor : reactors_) {
      const ReactorCounts& counts = reactor->counts();
      sum.accepted += counts.accepted.get();
      sum.requests += counts.requests.get();
      sum.malformed += counts.malformed.get();
      sum.timed_out += counts.timed_out.get();
      sum.answer_late += counts.answer_late.get();
    }
    return sum;
  }

  void post(ReplyTo to, Response response) override {
    if (to.reactor < reactors_.size()) reactors_[to.reactor]->post(to, std::move(response));
  }

 private:
  const ServerOptions options_;
  const Clock& clock_;
  Room room_;
  std::vector<std::unique_ptr<Random>> randoms_;
  std::vector<std::unique_ptr<Reactor>> reactors_;
  std::vector<std::thread> threads_;
};

std::unexpected<Error> out_of_range(std::string_view setting, std::size_t value, std::size_t max) {
  return fail(Failure::unfit, fmt::format("{} is {}: it must be from 1 to {}", setting, value, max));
}

}  // namespace

ServerOptions::ServerOptions()
    : request_deadline_us(kRequestDeadlineUs),
      idle_deadline_us(kIdleDeadlineUs),
      write_deadline_us(kWriteDeadlineUs),
      answer_deadline_us(kAnswerDeadlineUs) {}

Result<std::unique_ptr<Server>> Server::make(const ServerOptions& options, const Clock& clock, HandlerFactory factory) {
  if (options.reactors < 1 || options.reactors > kReactorsMax) {
    return out_of_range("http.reactors", options.reactors, kReactorsMax);
  }
  if (options.connections_max < 1 || options.connections_max > kConnectionsMax) {
    return out_of_range("http.connections_max", options.connections_max, kConnectionsMax);
  }
  CHECK(options.random != nullptr);
  const auto random = options.random();
  auto server = std::make_unique<ReactorServer>(options, clock, SipKey{random->next(), random->next()});
  if (auto opened = server->open(factory); !opened) return std::unexpected(opened.error());
  return server;
}

}  // namespace weir::http
