#pragma once

#include "base/snapshot.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/lease.h"
#include "gate/gate.h"
#include "gate/shared_gate.h"

#include <functional>
#include <span>
#include <vector>

namespace weir {

/// A shared gate as the desk of one node uses it: asked only about sales whose gate the ledger calls OPEN, within the
/// lease, and never as a whole in trouble. What one sale's gate does not answer is `closed` or `unknown` for the claims
/// of that sale alone.
///
/// The desk's other wishes are not this node's to grant: what the log has, the recorders confirm after their commit;
/// what ended, the ledger's outbox releases. Here they do nothing.
/// Threads: the desk's. Blocking: one round trip a sale, never beyond `deadline`.
class LeasedGate final : public Gate {
 public:
  LeasedGate(SharedGate& gate, const Lease& lease, const Snapshot<Catalog>& catalog, const Clock& clock)
      : gate_(gate), lease_(lease), catalog_(catalog), clock_(clock) {}

  Result<void> open(const GateSale&, std::span<const GateItem>, Deadline) override { return {}; }
  /// At the epoch that is open now. A gate that was built anew meanwhile was built from totals that may or may not
  /// contain the change; workers compare totals.
  Result<void> restock(ItemNo item, std::int64_t delta, std::uint64_t change_id, Deadline deadline) override;
  Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline deadline) override;
  Result<void> adopt(std::span<const Hold>, Deadline) override { return {}; }
  Result<void> confirm(std::span<const Hold>, Deadline) override { return {}; }
  Result<void> sell(std::span<const Hold>, Deadline) override { return {}; }
  Result<std::int64_t> release(std::span<const Hold>, Deadline) override { return 0; }
  Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) override;
  Result<Shelf> shelf(ItemNo item, Deadline deadline) override;

  /// What the gates hold under an order id, among the sales that can be asked. `unavailable` when one of them could not
  /// be and none of the others holds it: then nobody knows.
  [[nodiscard]] Result<std::optional<Claim>> find(OrderId order, Deadline deadline);

 private:
  void reserve_of_sale(SaleNo sale, std::span<const std::size_t> places, std::span<const Claim> claims,
                       std::span<Verdict> verdicts, Deadline deadline);
  [[nodiscard]] bool attach(SaleNo sale);

  SharedGate& gate_;
  const Lease& lease_;
  const Snapshot<Catalog>& catalog_;
  const Clock& clock_;
  std::vector<std::size_t> places_;
  std::vector<Claim> claims_;
  std::vector<Verdict> verdicts_;
};

}  // namespace weir
