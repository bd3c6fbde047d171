#include "flow/explain.h"

#include "config/limits.h"
#include "flow/lease.h"
#include "flow/log_end.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::string_view kLedger = "ledger";
constexpr std::string_view kGate = "gate";
constexpr std::string_view kLog = "log";

/// Gathers the lines of one order.
class Explaining {
 public:
  Explaining(OrderId order, const ExplainParts& parts, const Clock& clock)
      : order_(order), parts_(parts), clock_(clock) {}

  [[nodiscard]] Result<Explained> run() {
    if (const auto done = ask_ledger(); !done) return std::unexpected(done.error());
    if (const auto done = ask_gates(); !done) return std::unexpected(done.error());
    if (!traces_.epoch) ask_log();
    std::ranges::stable_sort(out_.lines, {}, &TraceLine::at);
    std::ranges::move(now_, std::back_inserter(out_.lines));
    return std::move(out_);
  }

 private:
  [[nodiscard]] Deadline soon() const { return clock_.ticks() + Micros{kSharedWaitUs}; }
  void then(Instant at, std::string_view what, std::string detail) {
    out_.lines.push_back({at, kLedger, std::string{what}, std::move(detail)});
  }
  void now(std::string_view source, std::string_view what, std::string detail) {
    now_.push_back({parts_.ledger.now(), source, std::string{what}, std::move(detail)});
  }
  void not_asked(std::string_view source, std::string why) {
    out_.is_complete = false;
    now(source, "not_asked", std::move(why));
  }

  [[nodiscard]] Result<void> ask_ledger() {
    auto catalog = parts_.reader.catalog();
    if (!catalog) return std::unexpected(catalog.error());
    catalog_ = *std::move(catalog);
    auto traces = parts_.ledger.traces_of(order_, soon());
    if (!traces) return std::unexpected(traces.error());
    traces_ = *std::move(traces);
    auto life = explain_from_ledger(order_, parts_.reader);
    if (!life) return std::unexpected(life.error());
    out_ = *std::move(life);
    if (!out_.lines.empty()) {
      // How it stands now, as the ledger's reader ends a life.
      now_.push_back(std::move(out_.lines.back()));
      out_.lines.pop_back();
    }
    add_traces();
    return {};
  }

  void add_traces() {
    for (const OrderTraces::Late& late : traces_.late) {
      const std::string_view decision = !late.is_kept ? "not decided" : *late.is_kept ? "kept" : "to be refunded";
      then(late.since, "late_money",
           fmt::format("payment {} takes a second hold {}: {}", late.payment.text(), late.hold.text(), decision));
    }
    for (const OrderTraces::Parked& parked : traces_.parked) {
      then(parked.at, "parked",
           fmt::format("partition {} offset {} of topic {}: {}; {}", parked.place.partition, parked.place.offset,
                       parked.place.topic_id, parked.problem,
                       parked.is_shown ? "shown among the dead letters" : "not shown among the dead letters yet"));
    }
    for (const OrderTraces::Repaired& repair : traces_.repairs) {
      then(repair.at, "reconciled", fmt::format("{}: {}", repair.finding, repair.detail));
    }
    if (!traces_.epoch) return now(kLedger, "not_recorded", "there is no row of this order");
    now(kLedger, "admitted",
        fmt::format("by the gate of epoch {}; the ledger does not keep where in the log it lay", *traces_.epoch));
    for (const Release& release : traces_.releases) {
      now(kLedger, "outbox", fmt::format("release {} of hold {} waits for the gate", release.id, release.hold.text()));
    }
    if (traces_.releases.empty()) now(kLedger, "outbox", "nothing waits for the gate");
  }

  [[nodiscard]] Result<void> ask_gates() {
    const auto states = parts_.ledger.gate_states(soon());
    if (!states) return std::unexpected(states.error());
    for (const GateState& state : *states) {
      if (traces_.epoch && state.sale != traces_.sale) continue;
      const Sale* const sale = catalog_.sale(state.sale);
      if (sale != nullptr) ask_gate(state, *sale);
    }
    return {};
  }

  void ask_gate(const GateState& state, const Sale& sale) {
    const std::string gate = fmt::format("of sale {} at epoch {}", sale.id, state.epoch);
    if (parts_.gate == nullptr) return not_asked(kGate, fmt::format("the gate {}: {}", gate, parts_.no_gate));
    if (state.phase != GatePhase::open) return not_asked(kGate, fmt::format("the gate {} is being built", gate));
    if (!attach_at(*parts_.gate, state, catalog_)) {
      return not_asked(kGate, fmt::format("the gate {} cannot be asked", gate));
    }
    bool is_held = look_for(state.sale, order_, gate);
    for (const OrderTraces::Late& late : traces_.late) is_held = look_for(state.sale, late.hold, gate) || is_held;
    if (!is_held) now(kGate, "not_held", fmt::format("the gate {} does not hold it", gate));
    parts_.gate->detach(sale.no);
  }

  /// Whether there was something to say of this hold.
  bool look_for(SaleNo sale, OrderId id, const std::string& gate) {
    const auto held = parts_.gate->find_hold(sale, id, soon());
    if (!held) {
      not_asked(kGate, fmt::format("the gate {}: {} ({})", gate, name(held.error().trouble), held.error().message));
      return true;
    }
    if (!*held) return false;
    const Claim& claim = (*held)->claim;
    out_.tenant = claim.tenant;
    const Item* const item = catalog_.item(claim.item);
    now(kGate, "held",
        fmt::format("by the gate {} as {}: {} units of item {} for {}, {}{}", gate, id.text(), claim.units,
                    item == nullptr ? "?" : item->id, claim.buyer.view(), (*held)->recorded ? "recorded" : "in flight",
                    shelf_text(claim)));
    return true;
  }

  [[nodiscard]] std::string shelf_text(const Claim& claim) {
    std::array<Shelf, 1> shelf;
    const std::array item{claim.item};
    if (!parts_.gate->shelves(claim.sale, item, shelf, soon())) return {};
    return fmt::format("; its shelf has {} free, {} held, {} sold of {}", shelf[0].free, shelf[0].held, shelf[0].sold,
                       shelf[0].total);
  }

  void ask_log() {
    if (!parts_.ask_log_end) return not_asked(kLog, parts_.no_log);
    const auto ends = parts_.ask_log_end(clock_.ticks() + Micros{kPublishDeadlineUs});  // It may have to connect.
    if (!ends) return not_asked(kLog, ends.error().message);
    const auto marks = parts_.ledger.log_marks(ends->topic_id, soon());
    if (!marks) return not_asked(kLog, marks.error().message);
    const std::int64_t unread = unread_below(*ends, *marks);
    if (unread == 0) return now(kLog, "recorded_to_its_end", "no message of it is waiting in the log");
    out_.is_complete = false;
    now(kLog, "not_recorded_yet",
        fmt::format("{} messages of the log are not recorded yet, its own may be among them", unread));
  }

  const OrderId order_;
  const ExplainParts& parts_;
  const Clock& clock_;
  Catalog catalog_;
  OrderTraces traces_;
  Explained out_;
  std::vector<TraceLine> now_;
};

}  // namespace

Result<Explained> explain_from_ledger(OrderId order, LedgerReader& reader) {
  Explained out;
  const auto row = reader.order(order);
  if (!row) return std::unexpected(row.error());
  if (!*row) return out;
  auto life = reader.life_of(order);
  if (!life) return std::unexpected(life.error());
  out.tenant = (*row)->tenant;
  for (LifeLine& line : *life) out.lines.push_back({line.at, kLedger, std::move(line.what), std::move(line.detail)});
  return out;
}

Result<Explained> explain(OrderId order, const ExplainParts& parts, const Clock& clock) {
  return Explaining{order, parts, clock}.run();
}

}  // namespace weir
