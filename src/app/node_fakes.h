#pragma once

#include "base/time.h"
#include "domain/catalog.h"
#include "gate/shared_gate.h"
#include "ledger/shared_ledger.h"
#include "queue/log_queue.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Small stand-ins for what a node shares with others: a gate, a ledger and a log, each a store that any number of
/// ports look into. They obey their ports for what a node asks and know no more.
namespace weir {

class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {1'796'122'800'000'000 + passed_.count()}; }
  [[nodiscard]] Ticks ticks() const override { return {10'000'000 + passed_.count()}; }
  void pass(Micros span) { passed_ += span; }

 private:
  Micros passed_{0};
};

/// The gates of all sales, as one store has them.
struct FakeGateStore {
  struct ItemCounts {
    std::int64_t total = 0;
    std::int64_t free = 0;
    std::int64_t version = 1;
  };
  struct SaleGate {
    std::int64_t epoch = 1;
    std::string pin = "pin";
    bool is_open = true;
    GateTerms terms;
    std::map<ItemNo, ItemCounts> items;
    std::map<OrderId, SharedHold> holds;
    std::set<OrderId> ended;
    std::set<std::uint64_t> changes;
  };
  std::map<SaleNo, SaleGate> sales;
  GateTrouble trouble = GateTrouble::none;  // Of every question.
  bool loses_next_reply = false;            // The next claims are taken, and nobody hears of it.
  bool cannot_list = false;
  int reserve_calls = 0;
  int lists = 0;

  /// As another node does it.
  void take(const Claim& claim) {
    SaleGate& sale = sales.at(claim.sale);
    ItemCounts& item = sale.items.at(claim.item);
    item.free -= claim.units;
    ++item.version;
    sale.holds[claim.order] = {.claim = claim, .kind = HoldKind::claim, .sold = false, .recorded = false};
  }
  void give_back(OrderId order) {
    for (auto& [no, sale] : sales) {
      const auto found = sale.holds.find(order);
      if (found == sale.holds.end()) continue;
      ItemCounts& item = sale.items.at(found->second.claim.item);
      item.free += found->second.claim.units;
      ++item.version;
      sale.holds.erase(found);
      sale.ended.insert(order);
    }
  }
  [[nodiscard]] std::size_t held() const {
    std::size_t count = 0;
    for (const auto& [no, sale] : sales) count += sale.holds.size();
    return count;
  }
};

class FakeGate final : public SharedGate {
 public:
  explicit FakeGate(FakeGateStore& store) : store_(store) {}

  GateAnswer<void> attach(const GatePlace& place) override {
    places_[place.sale] = place;
    return {};
  }
  void detach(SaleNo sale) override { places_.erase(sale); }
  const GatePlace* place(SaleNo sale) const override {
    const auto found = places_.find(sale);
    return found == places_.end() ? nullptr : &found->second;
  }
  GateTrouble trouble(SaleNo sale) const override {
    const auto found = troubles_.find(sale);
    return found == troubles_.end() ? GateTrouble::none : found->second;
  }

  Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline) override {
    ++store_.reserve_calls;
    const auto gate = open_gate(claims.front().sale);
    if (!gate) return fail(failure_of(gate.error().trouble), gate.error().message);
    for (std::size_t i = 0; i < claims.size(); ++i) verdicts[i] = decide(**gate, claims[i]);
    if (std::exchange(store_.loses_next_reply, false)) return fail(Failure::timed_out, "the reply was lost");
    return {};
  }
  void reserve_batches(std::span<ReserveBatch>, Deadline) override {}

  Result<void> open(const GateSale& terms, std::span<const GateItem> items, Deadline) override {
    const auto gate = open_gate(terms.no);
    if (!gate) return fail(failure_of(gate.error().trouble), gate.error().message);
    if (terms.version >= (*gate)->terms.version)
      (*gate)->terms = {.limit_per_buyer = terms.limit_per_buyer, .selling = terms.selling, .version = terms.version};
    for (const GateItem& item : items) (*gate)->items.try_emplace(item.no, item.total, item.total, 1);
    return {};
  }
  Result<void> restock(ItemNo item, std::int64_t delta, std::uint64_t change_id, Deadline) override {
    for (auto& [no, sale] : store_.sales) {
      const auto found = sale.items.find(item);
      if (found == sale.items.end() || !open_gate(no) || !sale.changes.insert(change_id).second) continue;
      found->second.total += delta;
      found->second.free += delta;
      ++found->second.version;
    }
    return {};
  }
  GateAnswer<void> shelves(SaleNo sale, std::span<const ItemNo> items, std::span<Shelf> shelves, Deadline) override {
    const auto gate = open_gate(sale);
    if (!gate) return std::unexpected(gate.error());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto found = (*gate)->items.find(items[i]);
      if (found == (*gate)->items.end()) return std::unexpected(GateError{GateTrouble::unavailable, "no such item"});
      const auto& counts = found->second;
      shelves[i] = {.total = counts.total,
                    .free = counts.free,
                    .held = counts.total - counts.free,
                    .sold = 0,
                    .version = static_cast<std::uint64_t>((*gate)->epoch * kGateVersionMax + counts.version)};
    }
    return {};
  }
  Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline) override {
    ++store_.lists;
    if (store_.cannot_list) return fail(Failure::timed_out, "the list is too long");
    for (const auto& [no, place] : places_) {
      const auto gate = open_gate(no);
      if (!gate) return fail(failure_of(gate.error().trouble), gate.error().message);
      for (const auto& [id, held] : (*gate)->holds) {
        Hold hold;
        hold.order = id;
        hold.sale = no;
        hold.item = held.claim.item;
        hold.units = held.claim.units;
        hold.buyer = held.claim.buyer;
        each(hold);
      }
    }
    return {};
  }
  GateAnswer<std::optional<SharedHold>> find_hold(SaleNo sale, OrderId hold, Deadline) override {
    const auto gate = open_gate(sale);
    if (!gate) return std::unexpected(gate.error());
    const auto found = (*gate)->holds.find(hold);
    return found == (*gate)->holds.end() ? std::optional<SharedHold>{} : std::optional{found->second};
  }

  // Nothing of a node asks for these.
  Result<void> adopt(std::span<const Hold>, Deadline) override { return no(); }
  Result<void> confirm(std::span<const Hold>, Deadline) override { return no(); }
  Result<void> sell(std::span<const Hold>, Deadline) override { return no(); }
  Result<std::int64_t> release(std::span<const Hold>, Deadline) override { return no(); }
  Result<Shelf> shelf(ItemNo, Deadline) override { return no(); }
  GateAnswer<GateLook> look(SaleNo, Deadline) override { return never(); }
  GateAnswer<void> set_terms(SaleNo, const GateTerms&, Deadline) override { return never(); }
  GateAnswer<void> adopt_stragglers(SaleNo, HoldKind, std::span<const Claim>, std::span<Adopted>, Deadline) override {
    return never();
  }
  GateAnswer<std::vector<InFlight>> in_flight(SaleNo, Micros, std::size_t, Deadline) override { return never(); }
  GateAnswer<void> close(SaleNo, Deadline) override { return never(); }
  GateAnswer<void> start_build(SaleNo, const GateTerms&, std::span<const GateItem>, Deadline) override {
    return never();
  }
  GateAnswer<void> build_holds(SaleNo, std::span<const SharedHold>, Deadline) override { return never(); }
  GateAnswer<void> build_ended(SaleNo, std::span<const OrderId>, Deadline) override { return never(); }
  GateAnswer<void> build_changes(SaleNo, std::span<const StockChange>, Deadline) override { return never(); }
  GateAnswer<void> open_epoch(SaleNo, Deadline) override { return never(); }
  GateAnswer<void> drop_older(SaleNo, Deadline) override { return never(); }

 private:
  static std::unexpected<Error> no() { return fail(Failure::unfit, "a node does not ask for this"); }
  static std::unexpected<GateError> never() {
    return std::unexpected(GateError{GateTrouble::unfit, "a node does not ask for this"});
  }

  GateAnswer<FakeGateStore::SaleGate*> open_gate(SaleNo sale) {
    const auto found = store_.sales.find(sale);
    const GatePlace* const here = place(sale);
    GateTrouble trouble = store_.trouble;
    if (trouble == GateTrouble::none) {
      if (here == nullptr)
        trouble = GateTrouble::unattached;
      else if (found == store_.sales.end())
        trouble = GateTrouble::missing;
      else if (found->second.pin != here->pin)
        trouble = GateTrouble::wrong_pin;
      else if (found->second.epoch != here->epoch)
        trouble = GateTrouble::wrong_epoch;
      else if (!found->second.is_open)
        trouble = GateTrouble::closed;
    }
    troubles_[sale] = trouble;
    if (trouble != GateTrouble::none) return std::unexpected(GateError{trouble, "the gate says no"});
    return &found->second;
  }

  Verdict decide(FakeGateStore::SaleGate& gate, const Claim& claim) {
    Verdict verdict;
    const auto held = gate.holds.find(claim.order);
    const auto item = gate.items.find(claim.item);
    if (gate.ended.contains(claim.order)) {
      verdict.admission = Admission::ended;
    } else if (held != gate.holds.end()) {
      verdict.admission = held->second.claim.digest == claim.digest ? Admission::repeated : Admission::key_reused;
      verdict.recorded = held->second.recorded;
    } else if (!gate.terms.selling || item == gate.items.end()) {
      verdict.admission = Admission::not_on_sale;
    } else {
      for (const auto& [id, one] : gate.holds) {
        if (!(one.claim.buyer == claim.buyer)) continue;
        verdict.units_held += one.claim.units;
        verdict.standing = id;
      }
      if (verdict.units_held + claim.units > gate.terms.limit_per_buyer) {
        verdict.admission = Admission::over_limit;
      } else if (item->second.free < claim.units) {
        verdict.admission = Admission::sold_out;
        verdict.may_return = true;
      } else {
        store_.take(claim);
        verdict.admission = Admission::admitted;
      }
    }
    return verdict;
  }

  FakeGateStore& store_;
  std::map<SaleNo, GatePlace> places_;
  std::map<SaleNo, GateTrouble> troubles_;
};

/// What the ledger has.
struct FakeLedgerStore {
  std::vector<Tenant> tenants;
  std::vector<Sale> sales;
  std::vector<Item> items;
  std::map<SaleNo, GateState> gates;
  std::map<OrderId, Order> rows;
  std::map<ItemNo, std::int64_t> sold;
  std::vector<LogMark> marks;
  Micros clock_ahead{0};
  bool is_gone = false;  // It cannot be reached.
};

class FakeReader final : public LedgerReader {
 public:
  explicit FakeReader(FakeLedgerStore& store) : store_(store) {}
  Result<Catalog> catalog() override {
    if (store_.is_gone) return gone();
    return Catalog{store_.tenants, store_.sales, store_.items};
  }
  Result<std::optional<Order>> order(OrderId id) override {
    if (store_.is_gone) return gone();
    const auto found = store_.rows.find(id);
    return found == store_.rows.end() ? std::optional<Order>{} : std::optional{found->second};
  }
  Result<std::vector<std::pair<ItemNo, Shelf>>> shelves() override {
    if (store_.is_gone) return gone();
    std::vector<std::pair<ItemNo, Shelf>> out;
    for (const Item& item : store_.items) {
      const std::int64_t sold = store_.sold[item.no];
      out.push_back({item.no, {.total = item.total, .free = item.total - sold, .held = 0, .sold = sold}});
    }
    return out;
  }
  Result<void> ended_orders(const std::function<void(OrderId, SaleNo)>& each) override {
    if (store_.is_gone) return gone();
    for (const auto& [id, row] : store_.rows) {
      if (!is_live(row.status)) each(id, row.sale);
    }
    return {};
  }
  Result<std::vector<Order>> orders_of(TenantNo, std::string_view, std::size_t, std::string&) override {
    return std::vector<Order>{};
  }
  Result<BuyerStanding> standing(TenantNo, SaleNo, std::string_view) override { return BuyerStanding{}; }
  Result<std::optional<Payment>> payment(PaymentId) override { return std::optional<Payment>{}; }
  Result<std::optional<OrderId>> owner_of(ItemNo, std::uint32_t) override { return std::optional<OrderId>{}; }
  Result<std::vector<RefundDue>> refunds_due(std::size_t) override { return std::vector<RefundDue>{}; }
  Result<std::vector<Payment>> undecided_late(std::size_t) override { return std::vector<Payment>{}; }
  Result<void> live_orders(const std::function<void(const Ended&, bool)>&) override { return {}; }
  Result<std::vector<LifeLine>> life_of(OrderId) override { return std::vector<LifeLine>{}; }
  Result<AuditReport> audit() override { return AuditReport{}; }

 private:
  static std::unexpected<Error> gone() { return fail(Failure::unavailable, "the ledger cannot be reached"); }
  FakeLedgerStore& store_;
};

class FakeLedger final : public SharedLedger {
 public:
  FakeLedger(FakeLedgerStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  Result<std::vector<GateState>> gate_states(Deadline) override {
    if (store_.is_gone) return gone();
    std::vector<GateState> out;
    for (const auto& [sale, state] : store_.gates) out.push_back(state);
    return out;
  }
  Result<std::vector<LogMark>> log_marks(std::string_view, Deadline) override {
    if (store_.is_gone) return gone();
    return store_.marks;
  }
  Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements, Deadline) override {
    if (store_.is_gone) return gone();
    for (std::size_t i = 0; i < commands.size(); ++i) settlements[i] = settle_one(commands[i]);
    return {};
  }
  Result<ChangeResult> change_sale(std::string_view, std::string_view sale, SaleAction action) override {
    if (store_.is_gone) return gone();
    for (Sale& one : store_.sales) {
      if (one.id == sale) one.paused = action == SaleAction::pause;
    }
    ChangeResult result;
    result.changed = Changed::done;
    return result;
  }
  Result<ChangeResult> add_item(const ItemDraft& draft) override {
    if (store_.is_gone) return gone();
    const ItemNo no{static_cast<std::uint32_t>(store_.items.size() + 1)};
    store_.items.push_back({.no = no,
                            .sale = store_.sales.front().no,
                            .id = draft.id,
                            .title = draft.title,
                            .price = draft.price,
                            .total = draft.units});
    return ChangeResult{.changed = Changed::done, .item = no};
  }
  Result<ChangeResult> change_stock(std::string_view, std::string_view item, std::int64_t delta,
                                    std::string_view key) override {
    if (store_.is_gone) return gone();
    for (Item& one : store_.items) {
      if (one.id != item) continue;
      const bool is_new = changes_.try_emplace(std::string{key}, changes_.size() + 1).second;
      if (is_new) one.total += delta;
      return ChangeResult{.changed = is_new ? Changed::done : Changed::repeated,
                          .total = one.total,
                          .change_id = changes_.at(std::string{key}),
                          .item = one.no};
    }
    ChangeResult result;
    result.changed = Changed::unknown;
    return result;
  }
  Result<void> recover(Deadline) override { return store_.is_gone ? Result<void>{gone()} : Result<void>{}; }
  Result<std::optional<Instant>> next_expiry() override {
    if (store_.is_gone) return gone();
    return std::optional<Instant>{};
  }
  Result<void> tidy_up() override { return {}; }
  Instant now() const override { return clock_.now() + store_.clock_ahead; }

  // Nothing of a node asks for these.
  Result<void> record(std::span<const Claim>, std::span<Outcome>, Deadline) override { return no(); }
  Result<std::size_t> expire(std::span<Ended>, Deadline) override { return no(); }
  Result<ChangeResult> create_tenant(std::string_view, std::span<const std::string>) override { return no(); }
  Result<ChangeResult> create_sale(const SaleDraft&) override { return no(); }
  Result<std::optional<std::int64_t>> begin_build(const BuildStart&, Deadline) override { return no(); }
  Result<bool> keep_building(SaleNo, std::int64_t, std::string_view, Deadline) override { return no(); }
  Result<BuildResult> finish_build(const BuildFinish&, Deadline) override { return no(); }
  Result<std::int64_t> start_log(const LogMark&, Deadline) override { return no(); }
  Result<SliceResult> record_log(const LogSlice&, std::span<LogOutcome>, Deadline) override { return no(); }
  Result<std::vector<Release>> releases(SaleNo, std::size_t, Deadline) override { return no(); }
  Result<std::size_t> drop_releases(SaleNo, std::int64_t, std::span<const std::uint64_t>, Deadline) override {
    return no();
  }
  Result<std::vector<Retake>> undecided_retakes(std::size_t, Deadline) override { return no(); }
  Result<void> decide_retakes(std::span<const RetakeDecision>, std::span<RetakeEnd>, Deadline) override { return no(); }
  Result<void> look_up_holds(std::span<const OrderId>, std::span<HoldStanding>, Deadline) override { return no(); }
  Result<std::vector<ParkedMessage>> parked(std::size_t, Deadline) override { return no(); }
  Result<void> mark_replayed(std::span<const LogMark>, Deadline) override { return no(); }

 private:
  static std::unexpected<Error> gone() { return fail(Failure::unavailable, "the ledger cannot be reached"); }
  static std::unexpected<Error> no() { return fail(Failure::unfit, "a node does not ask for this"); }

  Settlement settle_one(const SettleCommand& command) {
    Settlement settlement;
    settlement.settled = Settled::unknown_order;
    const auto* const cancel = std::get_if<CancelOrder>(&command);
    if (cancel == nullptr) return settlement;
    const auto found = store_.rows.find(cancel->order);
    if (found == store_.rows.end() || found->second.buyer != cancel->buyer.view()) return settlement;
    const bool is_pending = found->second.status == OrderStatus::pending;
    if (is_pending) found->second.status = OrderStatus::cancelled;
    settlement.settled = is_pending ? Settled::done : Settled::repeated;
    settlement.order = found->second;
    return settlement;
  }

  FakeLedgerStore& store_;
  const Clock& clock_;
  std::map<std::string, std::uint64_t> changes_;
};

/// A log that acknowledges when it is told to.
struct FakeLogStore {
  std::vector<ClaimMessage> messages;
  std::deque<OrderId> under_way;
  std::deque<Outcome> outcomes;
  std::size_t room = 100;
  LogRanges ends{.topic_id = "topic", .partitions = {{.partition = 0, .first = 0, .end = 0}}};
  bool cannot_tell_ends = false;

  void acknowledge(Fate fate = Fate::durable) {
    for (; !under_way.empty(); under_way.pop_front()) {
      Outcome outcome;
      outcome.order = under_way.front();
      outcome.fate = fate;
      outcomes.push_back(outcome);
    }
  }
};

class FakeLog final : public LogProducer {
 public:
  explicit FakeLog(FakeLogStore& store) : store_(store) {}
  std::size_t room() override { return store_.room; }
  void append(std::span<const ClaimMessage> messages) override {
    for (const ClaimMessage& message : messages) {
      store_.messages.push_back(message);
      store_.under_way.push_back(message.order);
    }
  }
  std::size_t outcomes(std::span<Outcome> out) override {
    std::size_t count = 0;
    for (; count < out.size() && !store_.outcomes.empty(); ++count) {
      out[count] = store_.outcomes.front();
      store_.outcomes.pop_front();
    }
    return count;
  }
  std::size_t drain(Deadline) override { return store_.under_way.size(); }

 private:
  FakeLogStore& store_;
};

}  // namespace weir
