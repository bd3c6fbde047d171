#include "sim/world/mutants.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::sim {
namespace {

class FaultyGate final : public Gate {
 public:
  FaultyGate(Mutant mutant, Gate& gate) : mutant_(mutant), gate_(gate) {}

  Result<void> open(const GateSale& sale, std::span<const GateItem> items, Deadline deadline) override {
    return gate_.open(sale, items, deadline);
  }
  Result<void> restock(ItemNo item, std::int64_t delta, std::uint64_t change_id, Deadline deadline) override {
    return gate_.restock(item, delta, change_id, deadline);
  }
  Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline deadline) override {
    auto done = gate_.reserve(claims, verdicts, deadline);
    for (std::size_t i = 0; done && i < claims.size(); ++i) spoil(claims[i], verdicts[i]);
    return done;
  }
  Result<void> adopt(std::span<const Hold> holds, Deadline deadline) override { return gate_.adopt(holds, deadline); }
  Result<void> confirm(std::span<const Hold> holds, Deadline deadline) override {
    return gate_.confirm(holds, deadline);
  }
  Result<void> sell(std::span<const Hold> holds, Deadline deadline) override {
    if (mutant_ == Mutant::forgets_to_sell && is_turn(3)) return {};
    return gate_.sell(holds, deadline);
  }
  Result<std::int64_t> release(std::span<const Hold> holds, Deadline deadline) override {
    if (mutant_ == Mutant::drops_a_release && is_turn(3)) return std::int64_t{0};
    const auto released = gate_.release(holds, deadline);
    if (mutant_ == Mutant::releases_by_count && released && *released > 0 && is_turn(3)) {
      static_cast<void>(gate_.restock(holds.front().item, holds.front().units, 1ULL << 62 | calls_, deadline));
    }
    return released;
  }
  Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) override {
    return gate_.each_hold(each, deadline);
  }
  Result<Shelf> shelf(ItemNo item, Deadline deadline) override { return gate_.shelf(item, deadline); }

 private:
  [[nodiscard]] bool is_turn(std::uint64_t every) { return ++calls_ % every == 0; }

  void spoil(const Claim& claim, Verdict& verdict) {
    if (claim.retake) return;
    const bool is_full = verdict.admission == Admission::sold_out;
    if (mutant_ == Mutant::sells_one_too_many && is_full && is_turn(3)) verdict.admission = Admission::admitted;
    const bool is_taken = verdict.admission == Admission::number_taken;
    if (mutant_ == Mutant::sells_a_number_twice && is_taken && is_turn(3)) {
      verdict.admission = Admission::admitted;
      verdict.numbers = claim.numbers;
    }
    const bool is_over = verdict.admission == Admission::over_limit;
    if (mutant_ == Mutant::forgets_the_limit && is_over && is_turn(3)) verdict.admission = Admission::admitted;
    if (mutant_ != Mutant::says_sold_out_early || verdict.admission != Admission::admitted || !is_turn(4)) return;
    const Hold hold{.order = claim.order,
                    .sale = claim.sale,
                    .item = claim.item,
                    .units = claim.units,
                    .numbers = claim.numbers,
                    .buyer_key = claim.buyer_key,
                    .sold = false,
                    .recorded = false};
    static_cast<void>(gate_.release({&hold, 1}, {}));
    verdict.admission = Admission::sold_out;
  }

  const Mutant mutant_;
  Gate& gate_;
  std::uint64_t calls_ = 0;
};

class FaultyLedger final : public Ledger {
 public:
  FaultyLedger(Mutant mutant, std::unique_ptr<Ledger> ledger) : mutant_(mutant), ledger_(std::move(ledger)) {}

  Result<void> record(std::span<const Claim> claims, std::span<Outcome> outcomes, Deadline deadline) override {
    if (mutant_ == Mutant::answers_before_commit && !claims.empty()) {
      auto done = flush(deadline);
      if (!done) return done;
      waiting_.assign(claims.begin(), claims.end());
      for (std::size_t i = 0; i < claims.size(); ++i) {
        outcomes[i] = {.order = claims[i].order,
                       .fate = Fate::durable,
                       .recording = Recording::recorded,
                       .status = OrderStatus::pending,
                       .pay_by = claims[i].promised_pay_by};
      }
      return {};
    }
    auto done = ledger_->record(claims, outcomes, deadline);
    if (mutant_ == Mutant::gives_back_the_unknown && done && !claims.empty() && is_turn(5)) {
      for (Outcome& outcome : outcomes) outcome.recording = Recording::ended;
    }
    return done;
  }
  Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                      Deadline deadline) override {
    if (const auto done = flush(deadline); !done) return done;
    const auto* event = std::get_if<PaymentEvent>(&commands.front());
    const bool is_capture = event != nullptr && event->kind == PaymentEventKind::captured;
    if (mutant_ == Mutant::loses_a_capture && is_capture && is_turn(3)) {
      auto done = ledger_->settle(commands.subspan(1), settlements.subspan(1), deadline);
      settlements.front().settled = Settled::repeated;
      return done;
    }
    return ledger_->settle(commands, settlements, deadline);
  }
  Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) override {
    if (const auto done = flush(deadline); !done) return std::unexpected(done.error());
    auto count = ledger_->expire(ended, deadline);
    if (mutant_ == Mutant::forgets_an_expired_order && count && *count > 0 && is_turn(2)) --*count;
    return count;
  }
  Result<std::optional<Instant>> next_expiry() override { return ledger_->next_expiry(); }
  Result<ChangeResult> create_tenant(std::string_view id, std::span<const std::string> domains) override {
    return ledger_->create_tenant(id, domains);
  }
  Result<ChangeResult> create_sale(const SaleDraft& draft) override { return ledger_->create_sale(draft); }
  Result<ChangeResult> change_sale(std::string_view tenant, std::string_view sale, SaleAction action) override {
    return ledger_->change_sale(tenant, sale, action);
  }
  Result<ChangeResult> add_item(const ItemDraft& draft) override { return ledger_->add_item(draft); }
  Result<ChangeResult> change_stock(std::string_view tenant, std::string_view item, std::int64_t delta,
                                    std::string_view key) override {
    if (mutant_ == Mutant::loses_a_stock_change && delta > 0) {
      return ChangeResult{.changed = Changed::done, .minimum = 0, .total = 0, .change_id = 1, .item = {1}};
    }
    return ledger_->change_stock(tenant, item, delta, key);
  }
  Result<void> recover(Deadline deadline) override { return ledger_->recover(deadline); }
  Result<void> tidy_up() override { return ledger_->tidy_up(); }
  Instant now() const override { return ledger_->now(); }

 private:
  [[nodiscard]] bool is_turn(std::uint64_t every) { return ++calls_ % every == 0; }

  Result<void> flush(Deadline deadline) {
    if (waiting_.empty()) return {};
    std::vector<Outcome> outcomes(waiting_.size());
    auto done = ledger_->record(waiting_, outcomes, deadline);
    if (done) waiting_.clear();
    return done;
  }

  const Mutant mutant_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<Claim> waiting_;
  std::uint64_t calls_ = 0;
};

}  // namespace

std::string_view name(Mutant mutant) {
  switch (mutant) {
    case Mutant::none: return "none";
    case Mutant::sells_one_too_many: return "sells_one_too_many";
    case Mutant::forgets_the_limit: return "forgets_the_limit";
    case Mutant::drops_a_release: return "drops_a_release";
    case Mutant::releases_by_count: return "releases_by_count";
    case Mutant::forgets_to_sell: return "forgets_to_sell";
    case Mutant::sells_a_number_twice: return "sells_a_number_twice";
    case Mutant::says_sold_out_early: return "says_sold_out_early";
    case Mutant::answers_before_commit: return "answers_before_commit";
    case Mutant::gives_back_the_unknown: return "gives_back_the_unknown";
    case Mutant::forgets_an_expired_order: return "forgets_an_expired_order";
    case Mutant::loses_a_capture: return "loses_a_capture";
    case Mutant::runs_ahead: return "runs_ahead";
    case Mutant::loses_a_stock_change: return "loses_a_stock_change";
    case Mutant::disk_lies: return "disk_lies";
  }
  return "?";
}

std::optional<Mutant> mutant_of(std::string_view text) {
  const auto* const found = std::ranges::find_if(kMutants, [&](Mutant mutant) { return name(mutant) == text; });
  return found == kMutants.end() ? std::nullopt : std::optional{*found};
}

std::unique_ptr<Gate> faulty_gate(Mutant mutant, Gate& gate) {
  if (mutant == Mutant::none || mutant > Mutant::says_sold_out_early) return nullptr;
  return std::make_unique<FaultyGate>(mutant, gate);
}

std::unique_ptr<Ledger> faulty_ledger(Mutant mutant, std::unique_ptr<Ledger> ledger) {
  if (mutant < Mutant::answers_before_commit || mutant > Mutant::loses_a_stock_change) return ledger;
  return std::make_unique<FaultyLedger>(mutant, std::move(ledger));
}

}  // namespace weir::sim
