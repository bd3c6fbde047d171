#include "app/worker_wiring.h"

#include "app/distributed_wiring.h"
#include "base/log.h"
#include "config/stores.h"
#include "http/ops_api.h"

#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kLogAskWait{5'000'000};
constexpr Micros kOpsStopWait{1'000'000};

/// Takes what was opened, or says why it was not.
template <typename T>
Result<void> take(std::unique_ptr<T>& place, Result<std::unique_ptr<T>> opened) {
  if (!opened) return std::unexpected(opened.error());
  place = std::move(*opened);
  return {};
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::open(const Settings& settings, const SystemClock& clock) {
  if (const auto fit = check_stores(settings, ProcessRole::worker); !fit) return std::unexpected(fit.error());
  std::unique_ptr<WorkerProcess> process{new WorkerProcess{settings, clock}};
  if (const auto fit = process->look_at_log(); !fit) return std::unexpected(fit.error());
  if (const auto opened = process->open_worker(); !opened) return std::unexpected(opened.error());
  if (const auto opened = process->open_operations(); !opened) return std::unexpected(opened.error());
  return process;
}

WorkerProcess::~WorkerProcess() { stop(); }

Result<void> WorkerProcess::look_at_log() const {
  const auto findings = examine_log(settings_, clock_, clock_.ticks() + kLogAskWait);
  if (!findings) return std::unexpected(findings.error());
  for (const Finding& finding : *findings) {
    log::warn("unfit",
              {{"severity", name(finding.severity)}, {"setting", finding.setting}, {"message", finding.message}});
  }
  if (!refuses_start(settings_, *findings)) return {};
  return fail(Failure::unfit, fmt::format("{}: {}", findings->front().setting, findings->front().message));
}

Result<void> WorkerProcess::open_ledgers(WorkerParts& parts) {
  std::size_t next = 0;
  for (auto* ledger : {&parts.record.ledger, &parts.upkeep.ledger, &parts.expire_ledger, &parts.errands_ledger}) {
    const auto opened = take(*ledger, open_shared_ledger(settings_, clock_, random_.at(next++)));
    if (!opened) return opened;
  }
  for (auto* reader : {&parts.record.reader, &parts.upkeep.reader}) {
    if (const auto opened = take(*reader, open_shared_reader(settings_, clock_)); !opened) return opened;
  }
  return {};
}

Result<void> WorkerProcess::open_gates(WorkerParts& parts) {
  const auto catalog = parts.upkeep.reader->catalog();
  if (!catalog) return std::unexpected(catalog.error());
  const std::string ledger = ledger_name(*catalog);
  const SipKey buyer_hash{random_[0].next(), random_[0].next()};
  for (auto* gate : {&parts.record.gate, &parts.upkeep.gate}) {
    const auto opened = take(*gate, open_shared_gate(settings_, ledger, buyer_hash, clock_));
    if (!opened) return opened;
  }
  return {};
}

Result<void> WorkerProcess::open_log(WorkerParts& parts) {
  if (const auto opened = take(parts.log, open_log_consumer(settings_, clock_)); !opened) return opened;
  if (const auto opened = take(parts.producer, open_log_producer(settings_, {}, clock_)); !opened) return opened;
  return take(parts.letters, open_dead_letters(settings_, clock_));
}

Result<void> WorkerProcess::open_worker() {
  WorkerParts parts;
  for (const auto step : {&WorkerProcess::open_ledgers, &WorkerProcess::open_gates, &WorkerProcess::open_log}) {
    if (const auto done = (this->*step)(parts); !done) return done;
  }
  parts.builder = fmt::format("worker-{}-{:016x}", ::getpid(), random_[0].next());
  parts.corrupt = [this](const Error& error) {
    log::error("worker_needs_a_person", {{"message", error.message}});
    is_corrupt_.store(true);
  };
  worker_ = std::make_unique<Worker>(std::move(parts), clock_);
  return worker_->prepare();
}

Result<void> WorkerProcess::open_operations() {
  http::ServerOptions options;
  options.listen = settings_.ops_listen;
  options.connections_max = 64;
  options.random = [] { return std::make_unique<SystemRandom>(); };
  return take(
      ops_, http::Server::make(options, clock_, [this](http::ReactorPort&) {
        return std::make_unique<http::OpsApi>(http::OpsApi::Questions{
            .is_ready = [this] { return worker_->is_ready(); }, .metrics_text = [this] { return metrics_text(); }});
      }));
}

void WorkerProcess::start() {
  worker_->start();
  ops_->start();
}

void WorkerProcess::stop() {
  if (worker_) worker_->stop();
  if (ops_) ops_->stop(clock_.ticks() + kOpsStopWait);
}

}  // namespace weir
