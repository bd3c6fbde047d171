#pragma once

#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/lease.h"
#include "gate/shared_gate.h"
#include "ledger/ledger_proofs.h"
#include "queue/log_queue.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

/// The order in which the verbs ask gate, ledger and log, by the names of the calls.
using Diary = std::vector<std::string>;

/// A shared gate that answers as it is told and writes down what it was asked.
class ScriptedGate : public SharedGate {
 public:
  explicit ScriptedGate(Diary& diary) : diary_(diary) {}

  GateAnswer<void> attach(const GatePlace& place) override {
    places[place.sale] = place;
    return {};
  }
  void detach(SaleNo sale) override { places.erase(sale); }
  const GatePlace* place(SaleNo sale) const override {
    const auto found = places.find(sale);
    return found == places.end() ? nullptr : &found->second;
  }
  GateTrouble trouble(SaleNo) const override { return fail_with; }
  GateAnswer<GateLook> look(SaleNo, Deadline) override { return answer("look", seen); }
  void reserve_batches(std::span<ReserveBatch>, Deadline) override {}
  GateAnswer<void> set_terms(SaleNo, const GateTerms& terms, Deadline) override {
    last_terms = terms;
    return done("set_terms");
  }
  GateAnswer<void> adopt_stragglers(SaleNo, HoldKind, std::span<const Claim> claims, std::span<Adopted> adopted,
                                    Deadline) override {
    for (std::size_t i = 0; i < claims.size(); ++i) {
      asked_for.push_back(claims[i].order);
      adopted[i] = adoption;
    }
    return done("adopt");
  }
  GateAnswer<std::vector<InFlight>> in_flight(SaleNo, Micros age, std::size_t, Deadline) override {
    std::vector<InFlight> old;
    std::ranges::copy_if(hanging, std::back_inserter(old), [age](const InFlight& one) { return one.age >= age; });
    return answer("in_flight", std::move(old));
  }
  GateAnswer<std::optional<SharedHold>> find_hold(SaleNo, OrderId, Deadline) override {
    return answer("find_hold", std::optional<SharedHold>{});
  }
  GateAnswer<void> shelves(SaleNo, std::span<const ItemNo>, std::span<Shelf>, Deadline) override { return {}; }
  GateAnswer<void> close(SaleNo, Deadline) override { return done("close"); }
  GateAnswer<void> start_build(SaleNo, const GateTerms&, std::span<const GateItem>, Deadline) override {
    return done("start_build");
  }
  GateAnswer<void> build_holds(SaleNo, std::span<const SharedHold> holds, Deadline) override {
    built.insert(built.end(), holds.begin(), holds.end());
    return done("build_holds");
  }
  GateAnswer<void> build_ended(SaleNo, std::span<const OrderId>, Deadline) override { return done("build_ended"); }
  GateAnswer<void> build_changes(SaleNo, std::span<const StockChange>, Deadline) override { return {}; }
  GateAnswer<void> open_epoch(SaleNo, Deadline) override { return done("open_epoch"); }
  GateAnswer<void> drop_older(SaleNo, Deadline) override { return done("drop_older"); }

  Result<void> open(const GateSale&, std::span<const GateItem>, Deadline) override { return {}; }
  Result<void> restock(ItemNo, std::int64_t, std::uint64_t, Deadline) override { return plain("restock"); }
  Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline) override {
    if (fail_with == GateTrouble::none) std::fill_n(verdicts.begin(), claims.size(), verdict);
    return plain("reserve");
  }
  Result<void> adopt(std::span<const Hold>, Deadline) override { return {}; }
  Result<void> confirm(std::span<const Hold> holds, Deadline) override {
    for (const Hold& hold : holds) confirmed.push_back(hold.order);
    return plain("confirm");
  }
  Result<void> sell(std::span<const Hold>, Deadline) override { return {}; }
  Result<std::int64_t> release(std::span<const Hold> holds, Deadline) override {
    for (const Hold& hold : holds) released.push_back(hold.order);
    if (const auto said = plain("release"); !said) return std::unexpected(said.error());
    return static_cast<std::int64_t>(holds.size());
  }
  Result<void> each_hold(const std::function<void(const Hold&)>&, Deadline) override { return {}; }
  Result<Shelf> shelf(ItemNo, Deadline) override { return Shelf{}; }

  GateTrouble fail_with = GateTrouble::none;
  std::string fails_at;  // Only calls of this name fail; empty: all.
  std::map<SaleNo, GatePlace> places;
  Verdict verdict{.admission = Admission::admitted, .standing = {}};
  Adopted adoption;
  GateLook seen;
  std::vector<InFlight> hanging;
  std::vector<OrderId> asked_for;
  std::vector<OrderId> confirmed;
  std::vector<OrderId> released;
  std::vector<SharedHold> built;
  std::optional<GateTerms> last_terms;

 private:
  [[nodiscard]] GateTrouble met(const std::string& call) {
    diary_.push_back(call);
    return fails_at.empty() || fails_at == call ? fail_with : GateTrouble::none;
  }
  template <typename T>
  GateAnswer<T> answer(const std::string& call, T value) {
    const GateTrouble trouble = met(call);
    if (trouble != GateTrouble::none) return std::unexpected(GateError{trouble, "scripted"});
    return value;
  }
  GateAnswer<void> done(const std::string& call) {
    const GateTrouble trouble = met(call);
    if (trouble != GateTrouble::none) return std::unexpected(GateError{trouble, "scripted"});
    return {};
  }
  Result<void> plain(const std::string& call) {
    const GateTrouble trouble = met(call);
    if (trouble != GateTrouble::none) return fail(failure_of(trouble), "scripted");
    return {};
  }

  Diary& diary_;
};

/// A shared ledger that answers as it is told and writes down what it was asked.
class ScriptedSharedLedger : public ProvingLedger {
 public:
  explicit ScriptedSharedLedger(Diary& diary) : diary_(diary) {}

  Result<std::vector<GateState>> gate_states(Deadline) override { return answer("gate_states", states); }
  Result<std::optional<std::int64_t>> begin_build(const BuildStart& start, Deadline) override {
    started = start;
    return answer("begin_build", new_epoch);
  }
  Result<bool> keep_building(SaleNo, std::int64_t, std::string_view, Deadline) override {
    return answer("keep_building", is_mine);
  }
  Result<BuildResult> finish_build(const BuildFinish& finish, Deadline) override {
    finished = finish;
    return answer("finish_build", build);
  }
  Result<std::vector<LogMark>> log_marks(std::string_view, Deadline) override { return std::vector<LogMark>{}; }
  Result<std::int64_t> start_log(const LogMark&, Deadline) override { return answer("start_log", offset); }
  Result<SliceResult> record_log(const LogSlice& slice, std::span<LogOutcome> outcomes, Deadline) override {
    slice_claims.assign(slice.claims.begin(), slice.claims.end());
    slice_expected = slice.expected;
    for (std::size_t i = 0; i < outcomes.size() && i < fates.size(); ++i) outcomes[i] = fates[i];
    SliceResult said = slice_result;
    if (said.end == SliceEnd::recorded && said.next == 0) said.next = slice.next;
    return answer("record_log", std::move(said));
  }
  Result<std::vector<Release>> releases(SaleNo, std::size_t, Deadline) override { return answer("releases", outbox); }
  Result<std::size_t> drop_releases(SaleNo, std::int64_t epoch, std::span<const std::uint64_t> ids, Deadline) override {
    dropped_at = epoch;
    dropped.assign(ids.begin(), ids.end());
    return answer("drop_releases", ids.size());
  }
  Result<std::vector<Retake>> undecided_retakes(std::size_t, Deadline) override { return answer("retakes", late); }
  Result<void> decide_retakes(std::span<const RetakeDecision> decisions, std::span<RetakeEnd> ends, Deadline) override {
    decided.assign(decisions.begin(), decisions.end());
    std::ranges::fill(ends, retake_end);
    return done("decide_retakes");
  }
  Result<void> look_up_holds(std::span<const OrderId> holds, std::span<HoldStanding> found, Deadline) override {
    for (std::size_t i = 0; i < holds.size(); ++i) {
      const auto known = standings.find(holds[i]);
      found[i] = known == standings.end() ? HoldStanding::unknown : known->second;
    }
    return done("look_up_holds");
  }
  Result<std::vector<ParkedMessage>> parked(std::size_t, Deadline) override {
    return answer("parked", parked_messages);
  }
  Result<void> mark_replayed(std::span<const LogMark> places, Deadline) override {
    replayed += places.size();
    return done("mark_replayed");
  }

  Result<void> live_holds(SaleNo, const std::function<void(const LiveHold&)>&) override { return {}; }
  Result<OrderTraces> traces_of(OrderId, Deadline) override { return OrderTraces{}; }
  Result<void> note_repairs(std::span<const Repair>, Deadline) override { return {}; }

  Result<void> record(std::span<const Claim>, std::span<Outcome>, Deadline) override { return {}; }
  Result<void> settle(std::span<const SettleCommand>, std::span<Settlement>, Deadline) override { return {}; }
  Result<std::size_t> expire(std::span<Ended>, Deadline) override { return 0; }
  Result<std::optional<Instant>> next_expiry() override { return std::optional<Instant>{}; }
  Result<ChangeResult> create_tenant(std::string_view, std::span<const std::string>) override { return ChangeResult{}; }
  Result<ChangeResult> create_sale(const SaleDraft&) override { return ChangeResult{}; }
  Result<ChangeResult> change_sale(std::string_view, std::string_view, SaleAction) override { return ChangeResult{}; }
  Result<ChangeResult> add_item(const ItemDraft&) override { return ChangeResult{}; }
  Result<ChangeResult> change_stock(std::string_view, std::string_view, std::int64_t, std::string_view) override {
    return ChangeResult{};
  }
  Result<void> recover(Deadline) override { return {}; }
  Result<void> tidy_up() override { return {}; }
  Instant now() const override { return time; }

  Instant time{1'800'000'010'000'000};
  std::optional<Failure> fail_with;
  std::string fails_at;  // Only calls of this name fail; empty: all.
  std::vector<GateState> states;
  std::optional<std::int64_t> new_epoch = 2;
  std::optional<BuildStart> started;
  bool is_mine = true;
  BuildResult build{.end = BuildEnd::open, .snapshot = {}};
  std::optional<BuildFinish> finished;
  std::int64_t offset = 0;
  std::vector<LogClaim> slice_claims;
  std::int64_t slice_expected = 0;
  std::vector<LogOutcome> fates;
  SliceResult slice_result{.end = SliceEnd::recorded, .next = 0, .epoch_seen = 0, .gates = {}};
  std::vector<Release> outbox;
  std::int64_t dropped_at = 0;
  std::vector<std::uint64_t> dropped;
  std::vector<Retake> late;
  std::vector<RetakeDecision> decided;
  RetakeEnd retake_end = RetakeEnd::kept;
  std::map<OrderId, HoldStanding> standings;
  std::vector<ParkedMessage> parked_messages;
  std::size_t replayed = 0;

 private:
  [[nodiscard]] bool fails(const std::string& call) {
    diary_.push_back(call);
    return fail_with && (fails_at.empty() || fails_at == call);
  }
  template <typename T>
  Result<T> answer(const std::string& call, T value) {
    if (fails(call)) return fail(*fail_with, "scripted");
    return value;
  }
  Result<void> done(const std::string& call) {
    if (fails(call)) return fail(*fail_with, "scripted");
    return {};
  }

  Diary& diary_;
};

/// A producer that keeps what it is given and says what it is told to.
class ScriptedProducer final : public LogProducer {
 public:
  explicit ScriptedProducer(Diary& diary) : diary_(diary) {}
  std::size_t room() override { return room_left; }
  void append(std::span<const ClaimMessage> some) override {
    diary_.emplace_back("append");
    messages.insert(messages.end(), some.begin(), some.end());
  }
  std::size_t outcomes(std::span<Outcome> out) override {
    const std::size_t count = std::min(out.size(), heard.size());
    std::copy_n(heard.begin(), count, out.begin());
    heard.erase(heard.begin(), heard.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  std::size_t drain(Deadline) override { return 0; }

  std::size_t room_left = 100;
  std::vector<ClaimMessage> messages;
  std::deque<Outcome> heard;

 private:
  Diary& diary_;
};

/// A reader that knows what is for sale and nothing else.
class CatalogReader final : public LedgerReader {
 public:
  Result<Catalog> catalog() override {
    ++asked;
    return fresh;
  }
  Result<std::optional<Order>> order(OrderId) override { return none(); }
  Result<std::vector<Order>> orders_of(TenantNo, std::string_view, std::size_t, std::string&) override {
    return none();
  }
  Result<BuyerStanding> standing(TenantNo, SaleNo, std::string_view) override { return none(); }
  Result<std::optional<Payment>> payment(PaymentId) override { return none(); }
  Result<std::optional<OrderId>> owner_of(ItemNo, std::uint32_t) override { return none(); }
  Result<std::vector<RefundDue>> refunds_due(std::size_t) override { return none(); }
  Result<std::vector<Payment>> undecided_late(std::size_t) override { return none(); }
  Result<void> live_orders(const std::function<void(const Ended&, bool)>&) override { return none(); }
  Result<void> ended_orders(const std::function<void(OrderId, SaleNo)>&) override { return none(); }
  Result<std::vector<std::pair<ItemNo, Shelf>>> shelves() override { return none(); }
  Result<std::vector<LifeLine>> life_of(OrderId) override { return none(); }
  Result<AuditReport> audit() override { return none(); }

  Catalog fresh;
  int asked = 0;

 private:
  [[nodiscard]] static std::unexpected<Error> none() { return fail(Failure::unavailable, "not asked here"); }
};

class HandClock final : public Clock {
 public:
  Instant now() const override { return {1'800'000'000'000'000 + at.us + ahead.count()}; }
  Ticks ticks() const override { return at; }
  Ticks at{10'000'000};
  Micros ahead{0};  // Of the ledger's clock.
};

/// One sale with one item, over a gate, a ledger and a log that do as they are told; the ledger calls epoch 1 OPEN.
class SharedFlowTest : public ::testing::Test {
 protected:
  static constexpr SaleNo kSale{1};
  static constexpr ItemNo kItem{1};

  SharedFlowTest() {
    Tenant tenant{.no = {1}, .id = "default", .domains = {}, .order_id_key_0 = {}, .order_id_key_1 = {}};
    Sale sale;
    sale.no = kSale;
    sale.tenant = {1};
    sale.id = "drop";
    Item item;
    item.no = kItem;
    item.sale = kSale;
    item.id = "tee";
    item.total = 10;
    catalog.set(std::make_shared<const Catalog>(
        Catalog{std::vector{std::move(tenant)}, std::vector{std::move(sale)}, std::vector{std::move(item)}}));
    ledger.states = {state(1, GatePhase::open)};
  }

  static GateState state(std::int64_t epoch, GatePhase phase) {
    return {.sale = kSale,
            .epoch = epoch,
            .phase = phase,
            .last_open = phase == GatePhase::open ? epoch : epoch - 1,
            .pin = "pin",
            .builder = "another",
            .builder_seen_at = {}};
  }
  static Claim claim(std::uint64_t order) {
    Claim made;
    made.order = {1, order};
    made.tenant = {1};
    made.sale = kSale;
    made.item = kItem;
    made.digest = purchase_digest(kItem, 1);
    made.buyer = *BuyerName::from("buyer" + std::to_string(order));
    return made;
  }
  /// The lease is as fresh as can be.
  void read_lease() { ASSERT_TRUE(lease.step(clock.at).has_value()); }
  void pass(Micros span) {
    clock.at = clock.at + span;
    ledger.time = ledger.time + span;
  }
  [[nodiscard]] bool has_asked(const std::string& call) const { return std::ranges::find(diary, call) != diary.end(); }
  [[nodiscard]] std::ptrdiff_t asked_at(const std::string& call) const {
    return std::ranges::find(diary, call) - diary.begin();
  }

  Diary diary;
  HandClock clock;
  Snapshot<Catalog> catalog;
  ScriptedGate gate{diary};
  ScriptedSharedLedger ledger{diary};
  ScriptedProducer producer{diary};
  Lease lease{ledger};
};

}  // namespace weir
