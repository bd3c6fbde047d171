#include "app/node.h"

#include "base/log.h"
#include "config/limits.h"
#include "flow/log_end.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weir {
namespace {

constexpr Micros kLeaseNap{20'000};  // The lease itself knows when it is time to read.
constexpr Micros kOwnerNap{20'000};

bool is_other(const GateStates& a, const GateStates& b) {
  if (a.of_sale.size() != b.of_sale.size()) return true;
  return !std::ranges::all_of(a.of_sale, [&](const auto& entry) {
    const auto found = b.of_sale.find(entry.first);
    return found != b.of_sale.end() && found->second.epoch == entry.second.epoch &&
           found->second.phase == entry.second.phase && found->second.pin == entry.second.pin;
  });
}

bool is_same(const Catalog& a, const Catalog& b) {
  return a.tenants() == b.tenants() && a.sales() == b.sales() && a.items() == b.items();
}

}  // namespace

Node::Node(NodeParts parts, const Clock& clock)
    : parts_(std::move(parts)),
      clock_(clock),
      lease_(*parts_.lease_ledger),
      owners_({.gate = *parts_.owner_gate,
               .ledger = *parts_.owner_reader,
               .lease = lease_,
               .catalog = catalog_,
               .clock = clock_,
               .buyer_hash = parts_.buyer_hash}),
      shelves_({.gate = *parts_.shelf_gate,
                .lease = lease_,
                .catalog = catalog_,
                .board = board_,
                .clock = clock_,
                .knows_owners = [this](SaleNo sale, std::int64_t epoch) { return owners_.is_listed(sale, epoch); }}),
      finder_(*parts_.finder_gate, lease_, catalog_, clock_, parts_.ask_log_end),
      proofs_(parts_.proofs, clock_),
      gate_(*parts_.desk_gate, lease_, catalog_, clock_),
      publisher_(*parts_.log, *parts_.desk_gate, lease_, catalog_, clock_),
      producer_(publisher_, owners_),
      rows_([this](SettleRequest request) { return writer_->submit(std::move(request)); }, clock_),
      lease_rounds_([this] { return lease_turn(); }),
      shelf_rounds_([this] { return shelf_turn(); }),
      owner_rounds_([this] { return owner_turn(); }),
      follow_rounds_([this] { return follow_turn(); }) {
  board_.refuse_until({});  // Nobody, before the first look at the gate.
  writer_ = std::make_unique<Writer>(*parts_.ledger, nothing_, clock_, parts_.buyer_hash,
                                     Writer::Hooks{.to_gate = [](const GateRequest&) {},
                                                   .recovered = [] {},
                                                   .corrupt =
                                                       [this](const Error& error) {
                                                         is_corrupt_.store(true);
                                                         parts_.corrupt(error);
                                                       }},
                                     Writer::Expiry::elsewhere);
  desk_ = std::make_unique<Desk>(gate_, producer_, may_promise_, clock_, parts_.reactors,
                                 Desk::Hooks{.wake_reactor = [this](std::uint16_t reactor) { wake_reactor_(reactor); },
                                             .retake_answered = [](PaymentId, bool) {}},
                                 parts_.rings);
}

Node::~Node() { stop(Deadline{0}); }

Result<void> Node::build() {
  if (const auto read = refresh_catalog(); !read) return read;
  const auto shelves = parts_.own_reader->shelves();
  if (!shelves) return std::unexpected(shelves.error());
  for (const auto& [item, shelf] : *shelves) board_.show(item, shelf);
  if (const auto read = refresh_sold(); !read) return read;
  if (const auto noted = owners_.note_ended(); !noted) return noted;
  lease_turn();
  return {};
}

void Node::prepare(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) {
  mailbox_ = &mailbox;
  wake_reactor_ = std::move(wake_reactor);
  parts_.hear_of_log([this] { desk_->wake(); });
  pool_ = std::make_unique<Pool>(std::move(parts_.pool_readers));
}

void Node::start(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) {
  prepare(mailbox, std::move(wake_reactor));
  pool_->start();
  writer_->start();
  desk_->start();
  for (Rounds* const rounds : {&lease_rounds_, &shelf_rounds_, &owner_rounds_, &follow_rounds_}) rounds->start();
  is_running_.store(true);
}

void Node::start_by_hand(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) {
  prepare(mailbox, std::move(wake_reactor));
  is_by_hand_ = true;
  is_running_.store(true);
}

void Node::stop(Deadline deadline) {
  if (!is_running_.exchange(false)) return;
  // The desk waits for what is on its way to the log; its lease must live as long.
  desk_->stop(deadline);
  parts_.hear_of_log([] {});
  const std::size_t left = parts_.log->drain(deadline);
  if (left > 0) log::warn("claims_left_to_workers", {{"claims", static_cast<std::int64_t>(left)}});
  for (Rounds* const rounds : {&lease_rounds_, &shelf_rounds_, &owner_rounds_, &follow_rounds_}) rounds->stop();
  rows_.stop();
  writer_->stop(deadline);
  pool_->stop();
}

Micros Node::lease_turn() {
  const auto before = lease_.states();
  if (const auto read = lease_.step(clock_.ticks()); !read) {
    log::warn("lease_not_renewed", {{"message", read.error().message}});
    static_cast<void>(parts_.lease_ledger->recover(clock_.ticks() + Micros{kSharedWaitUs}));
  }
  const auto after = lease_.states();
  if (before != nullptr && after != before && is_other(*before, *after)) shelves_.drop();
  const Micros skew = parts_.lease_ledger->now() - clock_.now();
  const bool is_near = skew <= Micros{kClockSkewUsMax} && skew >= -Micros{kClockSkewUsMax};
  const bool is_held = after != nullptr && clock_.ticks() - after->asked_at < Micros{kLeaseUs};
  may_promise_.store(is_held && is_near);
  // Told when it becomes so, also if it was so from the start.
  if (std::exchange(was_near_, is_near) && !is_near) {
    log::error("clock_far_from_ledger", {{"by_ms", std::int64_t{skew.count() / 1000}}});
  }
  return kLeaseNap;
}

Micros Node::shelf_turn() {
  shelves_.step();
  return Micros{kShelfLookUs};
}

Micros Node::owner_turn() {
  owners_.step(shelves_.short_sales());
  return kOwnerNap;
}

Micros Node::follow_turn() {
  const Ticks now = clock_.ticks();
  if (now - catalog_read_at_ >= Micros{kCatalogLookUs}) {
    catalog_read_at_ = now;
    if (const auto read = refresh_catalog(); !read) log::warn("catalog_not_read", {{"message", read.error().message}});
  }
  if (now - sold_read_at_ >= Micros{kSoldLookUs}) {
    sold_read_at_ = now;
    if (const auto read = refresh_sold(); !read) log::warn("shelves_not_read", {{"message", read.error().message}});
  }
  const std::lock_guard lock{catalog_mutex_};
  rows_.step(*parts_.own_reader);
  return Micros{kRowLookUs};
}

Result<void> Node::refresh_catalog() {
  const std::lock_guard lock{catalog_mutex_};
  auto read = parts_.own_reader->catalog();
  if (!read) return std::unexpected(read.error());
  const auto known = catalog_.get();
  if (known == nullptr || !is_same(*known, *read)) catalog_.set(std::make_shared<const Catalog>(std::move(*read)));
  return {};
}

Result<void> Node::refresh_sold() {
  const std::lock_guard lock{catalog_mutex_};
  const auto shelves = parts_.own_reader->shelves();
  if (!shelves) return std::unexpected(shelves.error());
  std::unordered_map<ItemNo, std::int64_t> sold;
  for (const auto& [item, shelf] : *shelves) sold.emplace(item, shelf.sold);
  shelves_.set_sold(std::move(sold));
  return {};
}

void Node::look_around() {
  desk_->post([this](Admit&, Gate&) {
    has_log_room_.store(parts_.log->room() > 0);
    const std::lock_guard lock{published_mutex_};
    published_ = publisher_.counts();
  });
}

bool Node::offer_claim(std::uint16_t reactor, const ClaimRequest& request) { return desk_->offer(reactor, request); }

std::size_t Node::take_answers(std::uint16_t reactor, std::span<ClaimAnswer> out) {
  return desk_->take_answers(reactor, out);
}

bool Node::settle(SettleRequest request) {
  if (!order_of(request.command)) return writer_->submit(std::move(request));
  SettleRequest watched;
  watched.command = request.command;
  watched.done = [this, request = std::move(request)](const Result<Settlement>& settled) {
    // An order that the ledger does not know may be one that it does not know yet.
    if (settled && settled->settled == Settled::unknown_order) return wait_for_row(request, *settled);
    request.done(settled);
  };
  return writer_->submit(std::move(watched));
}

void Node::wait_for_row(SettleRequest request, const Settlement& settlement) {
  const OrderId order = order_of(request.command).value_or(OrderId{});
  const auto done = request.done;
  const bool is_read = read([this, request = std::move(request), settlement, order](LedgerReader&) {
    find_waiting(order, [this, request, settlement](const WaitingClaim& found) {
      if (!found) return request.done(std::unexpected(found.error()));
      if (*found && !is_of_buyer(**found, request.command)) return request.done(settlement);
      if (*found) return rows_.add(request);
      // Nobody has heard of it. Its row may have come between the two looks: so once more, and that is the answer.
      if (!writer_->submit(request)) request.done(fail(Failure::overloaded, "the ledger writer is full"));
    });
  });
  if (!is_read) done(fail(Failure::overloaded, "the pool is full"));
}

void Node::find_waiting(OrderId order, std::function<void(const WaitingClaim&)> done) {
  const WaitingClaim held = finder_.held(order);
  if (!held || *held) return done(held);
  // No gate holds it, and all could be asked. It may still lie in the log, if its gate was lost since.
  const auto ends = finder_.log_end();
  if (!ends) return done(std::unexpected(ends.error()));
  const bool is_posted = writer_->post([this, ends = *ends, done](Ledger&) {
    const auto marks = parts_.ledger->log_marks(ends.topic_id, clock_.ticks() + Micros{kSharedWaitUs});
    if (!marks) return done(std::unexpected(marks.error()));
    if (!is_read_up_to(ends, *marks)) return done(fail(Failure::unavailable, "the log is not read up to its end"));
    done(std::optional<Claim>{});
  });
  if (!is_posted) done(fail(Failure::overloaded, "the ledger writer is full"));
}

bool Node::reconcile(bool dry_run, std::function<void(const Result<Findings>&)> done) {
  return read([this, dry_run, done = std::move(done)](LedgerReader&) { done(proofs_.reconcile(dry_run)); });
}

Result<Explained> Node::explain(OrderId order, LedgerReader&) { return proofs_.explain(order); }

Gateway* Node::gateway(std::string_view gateway_name) {
  const auto found = parts_.gateways.find(gateway_name);
  return found == parts_.gateways.end() ? nullptr : found->second;
}

bool Node::is_ready() const {
  if (!is_running_.load() || is_corrupt_.load() || !may_promise_.load() || !has_log_room_.load()) return false;
  if (!writer_->ready().load()) return false;
  const auto catalog = catalog_.get();
  return std::ranges::all_of(catalog->sales(), [&](const Sale& sale) {
    return phase(sale, clock_.now()) != SalePhase::open || lease_.open_at(sale.no, clock_.ticks()).has_value();
  });
}

}  // namespace weir
