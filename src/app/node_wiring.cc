#include "app/node_wiring.h"

#include "app/distributed_wiring.h"
#include "app/node.h"
#include "app/proof_wiring.h"
#include "base/log.h"
#include "base/system_random.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::size_t kPoolThreads = 4;
constexpr Micros kLogAskWait{5'000'000};

template <typename T>
Result<void> take(std::unique_ptr<T>& place, Result<std::unique_ptr<T>> opened) {
  if (!opened) return std::unexpected(opened.error());
  place = std::move(*opened);
  return {};
}

/// The log's client calls this from threads of its own, before there is a desk and after it has gone.
class LogWake {
 public:
  void set(std::function<void()> wake) {
    const std::lock_guard lock{mutex_};
    wake_ = std::move(wake);
  }
  void call() {
    const std::lock_guard lock{mutex_};
    if (wake_) wake_();
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
};

Result<void> look_at_log(const Settings& settings, const SystemClock& clock) {
  const auto findings = examine_log(settings, clock, clock.ticks() + kLogAskWait);
  if (!findings) return std::unexpected(findings.error());
  for (const Finding& finding : *findings) {
    log::warn("unfit",
              {{"severity", name(finding.severity)}, {"setting", finding.setting}, {"message", finding.message}});
  }
  if (!refuses_start(settings, *findings)) return {};
  return fail(Failure::unfit, fmt::format("{}: {}", findings->front().setting, findings->front().message));
}

Result<void> open_ledgers(const Settings& settings, const SystemClock& clock, NodeParts& parts) {
  for (auto* ledger : {&parts.lease_ledger, &parts.ledger}) {
    parts.randoms.push_back(std::make_unique<SystemRandom>());
    const auto opened = take(*ledger, open_shared_ledger(settings, clock, *parts.randoms.back()));
    if (!opened) return opened;
  }
  for (auto* reader : {&parts.own_reader, &parts.owner_reader}) {
    if (const auto opened = take(*reader, open_shared_reader(settings, clock)); !opened) return opened;
  }
  for (std::size_t i = 0; i < kPoolThreads; ++i) {
    if (const auto opened = take(parts.pool_readers.emplace_back(), open_shared_reader(settings, clock)); !opened)
      return opened;
  }
  return {};
}

Result<void> open_gates(const Settings& settings, const SystemClock& clock, NodeParts& parts) {
  const auto catalog = parts.own_reader->catalog();
  if (!catalog) return std::unexpected(catalog.error());
  const std::string ledger = ledger_name(*catalog);
  for (auto* gate : {&parts.desk_gate, &parts.shelf_gate, &parts.owner_gate, &parts.finder_gate}) {
    const auto opened = take(*gate, open_shared_gate(settings, ledger, parts.buyer_hash, clock));
    if (!opened) return opened;
  }
  return {};
}

Result<void> open_log(const Settings& settings, const SystemClock& clock, NodeParts& parts) {
  const auto wake = std::make_shared<LogWake>();
  parts.hear_of_log = [wake](std::function<void()> hear) { wake->set(std::move(hear)); };
  const auto opened = take(parts.log, open_log_producer(settings, [wake] { wake->call(); }, clock));
  if (!opened) return opened;
  auto ask_log_end = open_log_end(settings, clock);
  if (!ask_log_end) return std::unexpected(ask_log_end.error());
  parts.ask_log_end = *std::move(ask_log_end);
  parts.randoms.push_back(std::make_unique<SystemRandom>());
  parts.proofs = proof_stores(settings, clock, *parts.randoms.back());
  return {};
}

Result<std::unique_ptr<Seller>> open_node(const Settings& settings, const SystemClock& clock, SellerNeeds needs) {
  if (const auto fit = look_at_log(settings, clock); !fit) return std::unexpected(fit.error());
  NodeParts parts;
  auto gateways = needs.open_gateways();
  if (!gateways) return std::unexpected(gateways.error());
  parts.gateways = std::move(*gateways);
  parts.reactors = needs.reactors;
  parts.buyer_hash = needs.buyer_hash;
  parts.refund_due = std::move(needs.refund_due);
  parts.corrupt = std::move(needs.corrupt);
  for (const auto step : {&open_ledgers, &open_gates, &open_log}) {
    if (const auto done = step(settings, clock, parts); !done) return std::unexpected(done.error());
  }
  auto node = std::make_unique<Node>(std::move(parts), clock);
  if (const auto built = node->build(); !built) return std::unexpected(built.error());
  return node;
}

}  // namespace

SellerKind node_seller() { return {.role = ProcessRole::api, .open = open_node, .open_reader = open_shared_reader}; }

}  // namespace weir
