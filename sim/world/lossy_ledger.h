#pragma once

#include "ledger/ledger.h"

#include <functional>
#include <memory>
#include <utility>

namespace weir::sim {

/// A ledger whose commits happen and whose answers get lost: the other half of "it may have happened". A failed sync is
/// mostly found not to have happened; here it always has.
class LossyLedger final : public Ledger {
 public:
  /// `loses` is asked after each commit whether its answer is lost.
  LossyLedger(std::unique_ptr<Ledger> ledger, std::function<bool()> loses)
      : ledger_(std::move(ledger)), loses_(std::move(loses)) {}

  Result<void> record(std::span<const Claim> claims, std::span<Outcome> outcomes, Deadline deadline) override {
    return lossy([&] { return ledger_->record(claims, outcomes, deadline); }, !claims.empty());
  }
  Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                      Deadline deadline) override {
    return lossy([&] { return ledger_->settle(commands, settlements, deadline); }, true);
  }
  Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) override {
    if (is_unknown_) return lost();
    auto count = ledger_->expire(ended, deadline);
    const bool has_ended = count && *count > 0;
    return lossy([&] { return count; }, has_ended);
  }
  Result<std::optional<Instant>> next_expiry() override {
    if (is_unknown_) return lost();
    return ledger_->next_expiry();
  }
  Result<ChangeResult> create_tenant(std::string_view id, std::span<const std::string> domains) override {
    return lossy([&] { return ledger_->create_tenant(id, domains); }, true);
  }
  Result<ChangeResult> create_sale(const SaleDraft& draft) override {
    return lossy([&] { return ledger_->create_sale(draft); }, true);
  }
  Result<ChangeResult> change_sale(std::string_view tenant, std::string_view sale, SaleAction action) override {
    return lossy([&] { return ledger_->change_sale(tenant, sale, action); }, true);
  }
  Result<ChangeResult> add_item(const ItemDraft& draft) override {
    return lossy([&] { return ledger_->add_item(draft); }, true);
  }
  Result<ChangeResult> change_stock(std::string_view tenant, std::string_view item, std::int64_t delta,
                                    std::string_view key) override {
    return lossy([&] { return ledger_->change_stock(tenant, item, delta, key); }, true);
  }
  Result<void> recover(Deadline deadline) override {
    auto done = ledger_->recover(deadline);
    if (done) is_unknown_ = false;
    return done;
  }
  Result<void> tidy_up() override { return is_unknown_ ? Result<void>{lost()} : ledger_->tidy_up(); }
  Instant now() const override { return ledger_->now(); }

 private:
  [[nodiscard]] static std::unexpected<Error> lost() { return fail(Failure::timed_out, "the answer was lost"); }

  template <typename Ask>
  auto lossy(const Ask& ask, bool commits) -> decltype(ask()) {
    if (is_unknown_) return lost();
    auto answer = ask();
    if (!answer || !commits || !loses_()) return answer;
    is_unknown_ = true;
    return lost();
  }

  std::unique_ptr<Ledger> ledger_;
  std::function<bool()> loses_;
  bool is_unknown_ = false;  // Until `recover`, as the port wants it.
};

}  // namespace weir::sim
