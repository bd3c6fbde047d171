#include "app/engine.h"

#include "base/check.h"
#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <future>
#include <unordered_map>
#include <utility>

namespace weir {
namespace {

constexpr Micros kGateWait{1'000'000};
constexpr std::size_t kAdoptBatch = 4096;
constexpr std::size_t kLateMax = 1000;
constexpr std::uint64_t kWithdrawalIds = 1ULL << 63;  // Apart from the ledger's numbers of stock changes.

GateSale gate_sale(const Sale& sale) {
  return {.no = sale.no, .limit_per_buyer = sale.limit_per_buyer, .selling = !sale.paused && !sale.closed};
}

}  // namespace

Engine::Engine(EngineParts parts, const Clock& clock)
    : parts_(std::move(parts)), clock_(clock), gate_(*parts_.gate_random), queue_(parts_.queue_size) {
  if (parts_.front_gate) front_gate_ = parts_.front_gate(gate_);
  Gate& gate = front_gate_ ? *front_gate_ : gate_;
  writer_ =
      std::make_unique<Writer>(*parts_.ledger, queue_, clock_, parts_.buyer_hash,
                               Writer::Hooks{.to_gate = [this](const GateRequest& request) { desk_->request(request); },
                                             .recovered = [this] { compare_after_recovery(); },
                                             .corrupt =
                                                 [this](const Error& error) {
                                                   is_corrupt_.store(true);
                                                   parts_.corrupt(error);
                                                 }});
  desk_ = std::make_unique<Desk>(
      gate, queue_, writer_->ready(), clock_, parts_.reactors,
      Desk::Hooks{.wake_reactor = [this](std::uint16_t reactor) { wake_reactor_(reactor); },
                  .retake_answered = [this](PaymentId payment, bool taken) { answer_late(payment, taken); }},
      parts_.rings);
}

Engine::~Engine() { stop(Deadline{0}); }

Result<void> Engine::open_catalog(Gate& gate, const Catalog& catalog,
                                  const std::vector<std::pair<ItemNo, Shelf>>& shelves) {
  std::unordered_map<ItemNo, std::int64_t> totals;
  for (const auto& [item, shelf] : shelves) totals.emplace(item, shelf.total);
  std::unordered_map<SaleNo, std::vector<GateItem>> items;
  for (const Item& item : catalog.items()) {
    const auto found = totals.find(item.no);
    items[item.sale].push_back({item.no, found == totals.end() ? item.total : found->second});
  }
  for (const Sale& sale : catalog.sales()) {
    const auto opened = gate.open(gate_sale(sale), items[sale.no], clock_.ticks() + kGateWait);
    if (!opened) return opened;
  }
  return {};
}

Result<void> Engine::adopt_live() {
  std::vector<Hold> holds;
  holds.reserve(kAdoptBatch);
  Result<void> adopted;
  const auto flush = [&] {
    if (adopted && !holds.empty()) adopted = gate_.adopt(holds, clock_.ticks() + kGateWait);
    holds.clear();
  };
  const auto read = parts_.own_reader->live_orders([&](const Ended& live, bool sold) {
    holds.push_back({.order = live.order,
                     .sale = live.sale,
                     .item = live.item,
                     .units = live.units,
                     .buyer_key = buyer_key(parts_.buyer_hash, live.tenant, live.buyer),
                     .sold = sold,
                     .recorded = true});
    if (holds.size() == kAdoptBatch) flush();
  });
  if (!read) return read;
  flush();
  return adopted;
}

Result<void> Engine::build() {
  auto catalog = parts_.own_reader->catalog();
  if (!catalog) return std::unexpected(catalog.error());
  const auto shelves = parts_.own_reader->shelves();
  if (!shelves) return std::unexpected(shelves.error());
  catalog_.set(std::make_shared<const Catalog>(std::move(*catalog)));
  if (const auto opened = open_catalog(gate_, *catalog_.get(), *shelves); !opened) return opened;
  if (const auto adopted = adopt_live(); !adopted) return adopted;
  std::vector<OrderId> ended;
  const auto read = parts_.own_reader->ended_orders([&](OrderId order, SaleNo) { ended.push_back(order); });
  if (!read) return read;
  gate_.remember_ended(ended);
  return {};
}

void Engine::prepare(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) {
  mailbox_ = &mailbox;
  wake_reactor_ = std::move(wake_reactor);
  queue_.set_wakes([this] { writer_->wake(); }, [this] { desk_->wake(); });
  pool_ = std::make_unique<Pool>(std::move(parts_.pool_readers));
}

void Engine::start(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) {
  prepare(mailbox, std::move(wake_reactor));
  pool_->start();
  desk_->start();
  writer_->start();
  is_running_.store(true);
  ask_for_late();
}

void Engine::start_by_hand(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) {
  prepare(mailbox, std::move(wake_reactor));
  is_by_hand_ = true;
  is_running_.store(true);
  ask_for_late();
}

void Engine::stop(Deadline deadline) {
  if (!is_running_.exchange(false)) return;
  // The writer finishes what the desk has appended; the desk waits for those outcomes; the pool may still answer.
  desk_->stop(deadline);
  writer_->stop(deadline);
  pool_->stop();
}

bool Engine::offer_claim(std::uint16_t reactor, const ClaimRequest& request) { return desk_->offer(reactor, request); }

std::size_t Engine::take_answers(std::uint16_t reactor, std::span<ClaimAnswer> out) {
  return desk_->take_answers(reactor, out);
}

void Engine::answer_late(PaymentId payment, bool taken) {
  SettleRequest request;
  request.command = DecideLate{.payment = payment, .units_taken = taken};
  request.done = [this, payment, taken](const Result<Settlement>& settled) {
    // Storage did not take the decision, and the gate keeps what it took for it: the writer rests, then tries again.
    if (!settled) return answer_late(payment, taken);
    if (settled->settled == Settled::refund_due) refund_due();
  };
  if (writer_->submit(std::move(request))) return;
  // A full queue leaves the payment undecided in the ledger: `look_around` offers the decision again.
  log::warn("late_payment_waits", {{"payment", payment.text()}});
  const std::lock_guard lock{undecided_mutex_};
  if (undecided_.size() < kReturnRingSize) undecided_.emplace_back(payment, taken);
}

void Engine::look_around() {
  std::vector<std::pair<PaymentId, bool>> undecided;
  {
    const std::lock_guard lock{undecided_mutex_};
    undecided.swap(undecided_);
  }
  for (const auto& [payment, taken] : undecided) answer_late(payment, taken);
}

void Engine::ask_for_late() {
  const bool is_asked = read([this](LedgerReader& ledger) {
    const auto late = ledger.undecided_late(kLateMax);
    if (!late) return;
    for (const Payment& payment : *late) {
      const auto order = ledger.order(payment.order);
      if (!order || !*order) continue;
      const Hold hold = hold_of(**order, parts_.buyer_hash);
      const bool is_posted = writer_->post([this, hold, id = payment.id](Ledger&) {
        desk_->request({.kind = GateRequest::Kind::retake, .hold = hold, .payment = id});
      });
      if (!is_posted) return;
    }
  });
  if (!is_asked) log::warn("late_payments_wait");
}

void Engine::find_waiting(OrderId order, std::function<void(const WaitingClaim&)> done) {
  desk_->post([order, done = std::move(done)](Admit& admit, Gate&) { done(admit.waiting(order)); });
}

Gateway* Engine::gateway(std::string_view gateway_name) {
  const auto found = parts_.gateways.find(gateway_name);
  return found == parts_.gateways.end() ? nullptr : found->second;
}

bool Engine::is_ready() const { return is_running_.load() && !is_corrupt_.load() && writer_->ready().load(); }

bool Engine::change(http::ChangeRequest request) {
  return writer_->post([this, request = std::move(request)](Ledger& ledger) {
    const auto result = run_change(request, ledger);
    if (!result) log::error("change_failed", {{"message", result.error().message}});
    request.done(result);
  });
}

Result<void> Engine::on_desk(std::function<Result<void>(Gate&)> task) {
  // The desk never waits for the ledger writer, which is who waits here, so this always ends.
  std::promise<Result<void>> promise;
  auto future = promise.get_future();
  desk_->post([&promise, &task](Admit&, Gate& gate) { promise.set_value(task(gate)); });
  if (is_by_hand_) static_cast<void>(desk_->turn());
  return future.get();
}

Result<ChangeResult> Engine::run_change(const http::ChangeRequest& request, Ledger& ledger) {
  const Ticks deadline = clock_.ticks() + kGateWait;
  const std::uint64_t withdrawal = kWithdrawalIds + ++withdrawals_;
  if (request.withdraw > 0) {
    const auto taken =
        on_desk([&](Gate& gate) { return gate.restock(request.item, -request.withdraw, withdrawal, deadline); });
    if (!taken) {
      // The units are not free, perhaps because this very change has taken them: then it is only repeated.
      if (request.was_made && request.was_made(ledger)) return request.run(ledger);
      const Shelf shelf = gate_.shelves().read(request.item);
      return ChangeResult{.changed = Changed::below_committed,
                          .minimum = shelf.total - shelf.free,
                          .total = shelf.total,
                          .item = request.item};
    }
  }
  const auto result = request.run(ledger);
  const bool is_done = result && result->changed == Changed::done;
  // What may have happened keeps its units: `recovered` learns the total.
  const bool is_unknown = !result && result.error().failure == Failure::timed_out;
  if (request.withdraw > 0 && !is_done && !is_unknown) {
    const std::uint64_t give_back = kWithdrawalIds + ++withdrawals_;
    const auto given =
        on_desk([&](Gate& gate) { return gate.restock(request.item, request.withdraw, give_back, deadline); });
    CHECK(given.has_value(), "{}", given.error().message);
  }
  // A repeat is followed too: the first time the ledger's answer, or what came after it, may have been lost.
  if (is_done || (result && result->changed == Changed::repeated)) {
    if (const auto followed = follow(result->item); !followed) return std::unexpected(followed.error());
  }
  return result;
}

/// Gate and catalog take over what the ledger has. Totals change on the writer's thread alone, which is this one, so a
/// difference of totals is a change that the gate has not heard of.
Result<void> Engine::follow(ItemNo only) {
  auto catalog = parts_.own_reader->catalog();
  if (!catalog) return std::unexpected(catalog.error());
  const auto shelves = parts_.own_reader->shelves();
  if (!shelves) return std::unexpected(shelves.error());
  auto fresh = std::make_shared<const Catalog>(std::move(*catalog));
  const Ticks deadline = clock_.ticks() + kGateWait;
  const auto followed = on_desk([&](Gate& gate) -> Result<void> {
    if (const auto opened = open_catalog(gate, *fresh, *shelves); !opened) return opened;
    for (const auto& [item, shelf] : *shelves) {
      if (only != ItemNo{} && item != only) continue;
      const auto now = gate.shelf(item, deadline);
      if (!now) return std::unexpected(now.error());
      if (shelf.total == now->total) continue;
      const auto done = gate.restock(item, shelf.total - now->total, kWithdrawalIds + ++withdrawals_, deadline);
      if (!done) return done;
    }
    return {};
  });
  catalog_.set(std::move(fresh));
  return followed;
}

bool Engine::reconcile(bool dry_run, std::function<void(const Result<Findings>&)> done) {
  if (!is_running_.load()) return false;
  desk_->post([this, dry_run, done = std::move(done)](Admit& admit, Gate& gate) {
    auto view = std::make_shared<GateView>();
    const auto read =
        gate.each_hold([&](const Hold& hold) { view->holds.push_back(hold); }, clock_.ticks() + kGateWait);
    for (const Hold& hold : view->holds) {
      if (admit.waiting(hold.order) || admit.is_retaken(hold.order)) view->in_flight.insert(hold.order);
    }
    const auto catalog = catalog_.get();
    for (const Item& item : catalog->items()) {
      const auto shelf = gate.shelf(item.no, clock_.ticks() + kGateWait);
      if (shelf) view->shelves.emplace_back(item.no, *shelf);
    }
    const bool is_read = read.has_value() && this->read([this, view, dry_run, done](LedgerReader& ledger) {
      const auto findings = compare(*view, ledger, parts_.buyer_hash);
      if (findings && !dry_run) repair(*findings);
      done(findings);
    });
    if (!is_read) done(fail(Failure::overloaded, "the pool is full: try again"));
  });
  return true;
}

void Engine::repair(const Findings& findings) {
  for (const Hold& hold : findings.gate_only)
    log::warn("reconciled", {{"finding", "gate_only"}, {"order", hold.order.text()}});
  for (const Hold& hold : findings.ledger_only)
    log::warn("reconciled", {{"finding", "ledger_only"}, {"order", hold.order.text()}});
  for (const Hold& hold : findings.unsold)
    log::warn("reconciled", {{"finding", "unsold"}, {"order", hold.order.text()}});
  if (findings.is_clean()) return;
  desk_->post([this, findings](Admit& admit, Gate& gate) {
    const Ticks deadline = clock_.ticks() + kGateWait;
    std::vector<Hold> gate_only = findings.gate_only;
    // Its units came back since the view was taken, and late money has taken them again.
    std::erase_if(gate_only, [&admit](const Hold& hold) { return admit.is_retaken(hold.order); });
    const auto released = gate.release(gate_only, deadline);
    const auto adopted = gate.adopt(findings.ledger_only, deadline);
    const auto sold = gate.sell(findings.unsold, deadline);
    if (!released || !adopted || !sold) log::error("repair_failed");
  });
}

void Engine::compare_after_recovery() {
  if (const auto followed = follow(); !followed) log::error("follow_failed", {{"message", followed.error().message}});
  if (!reconcile(false, [](const Result<Findings>& findings) {
        if (!findings) log::error("reconcile_failed", {{"message", findings.error().message}});
      })) {
    log::warn("reconcile_waits");
  }
}

}  // namespace weir
