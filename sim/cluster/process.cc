#include "sim/cluster/process.h"

#include <algorithm>
#include <utility>

namespace weir::cluster {
namespace {

std::vector<Hold> holds_of(std::span<const LogClaim> claims) {
  std::vector<Hold> holds;
  for (const LogClaim& one : claims) {
    if (!one.claim) continue;
    Hold hold;
    hold.order = one.claim->order;
    hold.sale = one.claim->sale;
    holds.push_back(hold);
  }
  return holds;
}

/// A planted fault: the last state of the gates is believed for ever.
class CredulousLedger final : public ModelLedger {
 public:
  using ModelLedger::ModelLedger;
  Result<std::vector<GateState>> gate_states(Deadline deadline) override {
    auto states = ModelLedger::gate_states(deadline);
    if (states) last_ = *states;
    if (!states && last_) return *last_;
    return states;
  }

 private:
  std::optional<std::vector<GateState>> last_;
};

/// Planted faults: the gate is told before the ledger has committed.
class HastyLedger final : public ModelLedger {
 public:
  HastyLedger(const Surroundings& around, Wire& wire, ModelGate& gate)
      : ModelLedger(around.rows, wire, around.clock), around_(around), gate_(gate) {}

  Result<SliceResult> record_log(const LogSlice& slice, std::span<LogOutcome> outcomes, Deadline deadline) override {
    if (around_.mutant == Mutant::confirms_before_commit) {
      static_cast<void>(gate_.confirm(holds_of(slice.claims), deadline));
    }
    return ModelLedger::record_log(slice, outcomes, deadline);
  }
  Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) override {
    std::vector<Hold> holds;
    for (const auto& [id, row] : around_.rows.orders) {
      if (row.order.status != OrderStatus::pending || row.order.pay_by > around_.clock.now()) continue;
      Hold hold;
      hold.order = row.hold;
      hold.sale = row.order.sale;
      holds.push_back(hold);
    }
    const bool is_hasty = around_.mutant == Mutant::releases_before_commit;
    if (is_hasty) static_cast<void>(gate_.release(holds, deadline));
    return ModelLedger::expire(ended, deadline);
  }

 private:
  const Surroundings around_;
  ModelGate& gate_;
};

/// Planted faults: what is not known is taken for what is likely.
class RashProducer final : public ModelProducer {
 public:
  RashProducer(const Surroundings& around, Wire& wire, ModelGate& gate, SaleNo sale)
      : ModelProducer(around.log, wire, around.weather, true), mutant_(around.mutant), gate_(gate), sale_(sale) {}

  std::size_t outcomes(std::span<Outcome> out) override {
    const std::size_t count = ModelProducer::outcomes(out);
    for (Outcome& outcome : out.first(count)) {
      if (outcome.fate == Fate::durable) continue;
      if (mutant_ == Mutant::answers_before_the_log) outcome.fate = Fate::durable;
      if (mutant_ != Mutant::gives_back_the_unknown) continue;
      Hold hold;
      hold.order = outcome.order;
      hold.sale = sale_;
      static_cast<void>(gate_.release({&hold, 1}, {}));
    }
    return count;
  }

 private:
  Mutant mutant_;
  ModelGate& gate_;
  SaleNo sale_;
};

std::unique_ptr<ModelLedger> ledger_of_node(const Surroundings& around, Wire& wire) {
  if (around.mutant == Mutant::lease_never_ends) {
    return std::make_unique<CredulousLedger>(around.rows, wire, around.clock);
  }
  return std::make_unique<ModelLedger>(around.rows, wire, around.clock);
}

std::unique_ptr<ModelProducer> producer_of_node(const Surroundings& around, Wire& wire, ModelGate& gate) {
  const bool is_rash =
      around.mutant == Mutant::answers_before_the_log || around.mutant == Mutant::gives_back_the_unknown;
  if (is_rash) return std::make_unique<RashProducer>(around, wire, gate, around.rows.catalog.sales().front().no);
  return std::make_unique<ModelProducer>(around.log, wire, around.weather, true);
}

std::unique_ptr<ModelLedger> ledger_of_worker(const Surroundings& around, Wire& wire, ModelGate& gate) {
  const bool is_hasty =
      around.mutant == Mutant::confirms_before_commit || around.mutant == Mutant::releases_before_commit;
  if (is_hasty) return std::make_unique<HastyLedger>(around, wire, gate);
  return std::make_unique<ModelLedger>(around.rows, wire, around.clock);
}

}  // namespace

std::size_t DeskPort::take_claims(std::span<ClaimRequest> out) {
  const std::size_t count = std::min(out.size(), claims.size());
  std::copy_n(claims.begin(), count, out.begin());
  claims.erase(claims.begin(), claims.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

NodeParts::NodeParts(const Surroundings& around, Wire& wire, std::function<void(const ClaimAnswer&)> hear)
    : ledger(ledger_of_node(around, wire)),
      gate(around.gates, wire),
      lease(*ledger),
      leased(gate, lease, catalog, around.clock),
      producer(producer_of_node(around, wire, gate)),
      publisher(*producer, gate, lease, catalog, around.clock),
      port(std::move(hear)),
      admit(leased, publisher, port, is_ready) {
  catalog.set(std::make_shared<const Catalog>(around.rows.catalog));
}

WorkerParts::WorkerParts(const Surroundings& around, Wire& wire, std::size_t member, std::string builder)
    : gate(around.gates, wire),
      ledger(ledger_of_worker(around, wire, gate)),
      reader(around.rows, wire),
      consumer(around.log, wire, member),
      producer(around.log, wire, around.weather, false),
      lease(*ledger),
      record(consumer, *ledger, gate, lease, catalog, reader),
      give_back({*ledger, gate, lease, catalog}),
      redrive({*ledger, gate, lease, catalog}, producer, around.clock),
      late_money({*ledger, gate, lease, catalog}),
      build(
          {*ledger, gate, lease, catalog}, [this](Deadline deadline) { return consumer.ranges(deadline); },
          around.clock, std::move(builder)),
      expire(*ledger, port, SipKey{}) {
  catalog.set(std::make_shared<const Catalog>(around.rows.catalog));
  consumer.skips_unreadable = around.mutant == Mutant::skips_unreadable;
}

}  // namespace weir::cluster
