#pragma once

#include "base/time.h"
#include "ledger/shared_ledger.h"
#include "sim/cluster/ledger_rows.h"
#include "sim/cluster/wire.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::cluster {

/// One process's client of the model ledger: as much of the port as the verbs of a cluster use.
///
/// After an unknown commit every call is `timed_out` until `recover`, as the port allows.
/// Threads: one. Blocking: as its wire.
class ModelLedger : public SharedLedger {
 public:
  ModelLedger(LedgerRows& rows, Wire& wire, const Clock& clock) : rows_(rows), wire_(wire), clock_(clock) {}

  Result<std::vector<GateState>> gate_states(Deadline deadline) override;
  Result<std::optional<std::int64_t>> begin_build(const BuildStart& start, Deadline deadline) override;
  Result<bool> keep_building(SaleNo sale, std::int64_t epoch, std::string_view builder, Deadline deadline) override;
  Result<BuildResult> finish_build(const BuildFinish& finish, Deadline deadline) override;
  Result<std::vector<LogMark>> log_marks(std::string_view topic_id, Deadline deadline) override;
  Result<std::int64_t> start_log(const LogMark& mark, Deadline deadline) override;
  Result<SliceResult> record_log(const LogSlice& slice, std::span<LogOutcome> outcomes, Deadline deadline) override;
  Result<std::vector<Release>> releases(SaleNo sale, std::size_t count, Deadline deadline) override;
  Result<std::size_t> drop_releases(SaleNo sale, std::int64_t epoch, std::span<const std::uint64_t> ids,
                                    Deadline deadline) override;
  Result<std::vector<Retake>> undecided_retakes(std::size_t count, Deadline deadline) override;
  Result<void> decide_retakes(std::span<const RetakeDecision> decisions, std::span<RetakeEnd> ends,
                              Deadline deadline) override;
  Result<void> look_up_holds(std::span<const OrderId> holds, std::span<HoldStanding> standings,
                             Deadline deadline) override;
  Result<std::vector<ParkedMessage>> parked(std::size_t count, Deadline deadline) override;
  Result<void> mark_replayed(std::span<const LogMark>, Deadline) override { return {}; }

  Result<void> record(std::span<const Claim>, std::span<Outcome>, Deadline) override { return {}; }
  Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements,
                      Deadline deadline) override;
  Result<std::size_t> expire(std::span<Ended> ended, Deadline deadline) override;
  Result<std::optional<Instant>> next_expiry() override;
  Result<ChangeResult> create_tenant(std::string_view, std::span<const std::string>) override { return ChangeResult{}; }
  Result<ChangeResult> create_sale(const SaleDraft&) override { return ChangeResult{}; }
  Result<ChangeResult> change_sale(std::string_view, std::string_view, SaleAction) override { return ChangeResult{}; }
  Result<ChangeResult> add_item(const ItemDraft&) override { return ChangeResult{}; }
  Result<ChangeResult> change_stock(std::string_view, std::string_view, std::int64_t, std::string_view) override {
    return ChangeResult{};
  }
  Result<void> recover(Deadline deadline) override;
  Result<void> tidy_up() override { return {}; }
  Instant now() const override { return clock_.now(); }

 private:
  /// One transaction. What is read is sent back as well as what is written: either may get lost.
  template <typename R>
  [[nodiscard]] Result<R> transact(std::string_view verb, bool writes, const std::function<R()>& work);
  void note(const SliceResult& result, std::span<const LogOutcome> outcomes);

  LedgerRows& rows_;
  Wire& wire_;
  const Clock& clock_;
  bool is_unknown_ = false;
};

/// A reader of the same tables: the catalog, and single orders.
class ModelReader final : public LedgerReader {
 public:
  ModelReader(const LedgerRows& rows, Wire& wire) : rows_(rows), wire_(wire) {}

  Result<Catalog> catalog() override;
  Result<std::optional<Order>> order(OrderId id) override;
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

 private:
  [[nodiscard]] static std::unexpected<Error> none() { return fail(Failure::unavailable, "not in this model"); }

  const LedgerRows& rows_;
  Wire& wire_;
};

}  // namespace weir::cluster
