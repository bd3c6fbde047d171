#pragma once

#include "base/result.h"
#include "base/siphash.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "flow/admit.h"
#include "flow/explain.h"
#include "flow/reconcile.h"
#include "flow/settle.h"
#include "gate/known_buyers.h"
#include "gate/number_board.h"
#include "gate/shelf_board.h"
#include "http/exchange.h"
#include "ledger/ledger.h"
#include "payment/gateway.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir::http {

/// A change by an organiser: ledger first, then gate and catalog. Fewer units go the other way round: the gate gives up
/// `withdraw` free units of `item` first, so that none of them can be sold meanwhile.
struct ChangeRequest {
  std::function<Result<ChangeResult>(Ledger&)> run;
  std::function<void(const Result<ChangeResult>&)> done;
  ItemNo item;
  std::int64_t withdraw = 0;
  std::int64_t add = 0;                   // Units that an item gains by this change.
  std::function<bool(Ledger&)> was_made;  // With `withdraw`: whether this very change was made before. Changes nothing.
};

/// What the front door uses of the running process: the desk, the ledger writer, the pool and the public snapshots.
///
/// Threads: any, unless said otherwise. Blocking: never; what is full says so, and the caller answers 503.
class Services {
 public:
  virtual ~Services() = default;

  /// Grows whenever the catalog changes: a reactor compares it once a turn.
  [[nodiscard]] virtual std::uint64_t catalog_version() const = 0;
  [[nodiscard]] virtual std::shared_ptr<const Catalog> catalog() const = 0;
  [[nodiscard]] virtual const ShelfBoard& shelves() const = 0;
  /// Which numbers are free; items that this process does not have them of are not on it.
  [[nodiscard]] virtual const NumberBoard& numbers() const = 0;
  /// The clock by which `shelves().refuses_until()` is to be read.
  [[nodiscard]] virtual Ticks ticks() const = 0;
  [[nodiscard]] virtual const KnownBuyers& known_buyers() const = 0;
  [[nodiscard]] virtual const SipKey& buyer_hash() const = 0;

  /// Hands a claim to the desk. Only the reactor with this index calls it.
  [[nodiscard]] virtual bool offer_claim(std::uint16_t reactor, const ClaimRequest& request) = 0;
  /// Wakes the desk after claims were offered; once a turn.
  virtual void wake_desk() = 0;
  /// The desk's answers for this reactor.
  [[nodiscard]] virtual std::size_t take_answers(std::uint16_t reactor, std::span<ClaimAnswer> out) = 0;

  /// A command for the ledger writer.
  [[nodiscard]] virtual bool settle(SettleRequest request) = 0;
  /// A job for the pool; it may wait for storage, bounded by its own deadlines.
  [[nodiscard]] virtual bool read(std::function<void(LedgerReader&)> job) = 0;
  /// A change by an organiser. When `done` hears of success, ledger, gate and catalog have it.
  [[nodiscard]] virtual bool change(ChangeRequest request) = 0;
  /// What is heard of a claim that the ledger may not have yet. Null: nothing, and if the ledger has no row after this
  /// answer either, there is no such order. A failure: nobody knows now.
  using WaitingClaim = Result<std::optional<Claim>>;
  /// Asks whether a claim is admitted and not yet recorded. From the pool; it may wait for a shared gate, bounded by
  /// its own deadlines. `done` runs once, on any thread, perhaps before this call returns.
  virtual void find_waiting(OrderId order, std::function<void(const WaitingClaim&)> done) = 0;
  /// Compares gate and ledger and, unless `dry_run`, repairs order by order; `done` runs in the pool.
  [[nodiscard]] virtual bool reconcile(bool dry_run, std::function<void(const Result<Findings>&)> done) = 0;
  /// Everything that is known of an order. From the pool, with its reader; it may wait for shared stores, bounded by
  /// its own deadlines.
  [[nodiscard]] virtual Result<Explained> explain(OrderId order, LedgerReader& reader) = 0;

  /// Null when this gateway is not enabled.
  [[nodiscard]] virtual Gateway* gateway(std::string_view gateway_name) = 0;
  /// Told when a refund has become due, so that it is asked for soon.
  virtual void refund_due() = 0;

  [[nodiscard]] virtual Mailbox& mailbox() = 0;
  /// May the process sell: gate built, ledger writable.
  [[nodiscard]] virtual bool is_ready() const = 0;
  [[nodiscard]] virtual std::string metrics_text() = 0;
};

}  // namespace weir::http
