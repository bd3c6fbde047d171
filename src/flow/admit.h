#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/catalog.h"
#include "domain/claim.h"
#include "domain/recording.h"
#include "gate/gate.h"
#include "queue/queue.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weir {

/// Who waits for an answer: an address that only the front door understands.
struct Ticket {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint16_t source = 0;
};

struct ClaimRequest {
  Claim claim;
  Ticket ticket;
};

enum class ClaimAnswerKind : std::uint8_t {
  accepted,      // Durable: 202.
  look_up,       // The ledger has the answer under this id.
  over_limit,    // `standing`, `units_held`.
  number_taken,  // `numbers`: which are not free.
  sold_out,      // `may_return`.
  not_on_sale,   // Paused or closed since the front door looked.
  key_reused,    //
  unavailable,   // Nothing was taken: try again.
  unknown,       // It may be taken: ask for `order`, or send again with the same key.
};

struct ClaimAnswer {
  Ticket ticket;
  ClaimAnswerKind kind = ClaimAnswerKind::unavailable;
  bool may_return = false;
  ItemNo item;
  std::int32_t units = 0;
  std::int32_t units_held = 0;
  NumberList numbers{};  // `accepted`: what the order has.
  NumberList asked{};    // `partial` claims: all that was asked for.
  OrderId order;         // Of the claim; `over_limit`: the standing order.
  RequestDigest digest;
  Instant pay_by;
  OrderStatus status = OrderStatus::pending;
};

/// What the ledger's side asks of the gate: effects of a commit, in their order.
struct GateRequest {
  enum class Kind : std::uint8_t { release, sell, retake } kind = Kind::release;
  Hold hold;
  PaymentId payment;  // `retake`: late money that wants the units again.
};

/// Where the desk's work comes from and where its answers go. Spans are filled from the front; 0 means none now.
class AdmitPort {
 public:
  virtual ~AdmitPort() = default;
  [[nodiscard]] virtual std::size_t take_requests(std::span<GateRequest> out) = 0;
  [[nodiscard]] virtual std::size_t take_claims(std::span<ClaimRequest> out) = 0;
  virtual void answer(const ClaimAnswer& answer) = 0;
  /// The gate's word on late money.
  virtual void answer_retake(PaymentId payment, bool taken) = 0;
};

/// What the desk has done, for metrics and the log.
struct AdmitCounts {
  std::uint64_t admitted = 0;
  std::uint64_t repeated = 0;
  std::uint64_t sold_out = 0;
  std::uint64_t over_limit = 0;
  std::uint64_t number_taken = 0;
  std::uint64_t not_on_sale = 0;
  std::uint64_t key_reused = 0;
  std::uint64_t ended = 0;
  std::uint64_t shed = 0;        // Answered 503 before the gate was asked.
  std::uint64_t given_up = 0;    // Answered 503 with the id: not durable in time.
  std::uint64_t gate_erred = 0;  // The ledger refused what the gate had admitted: an alarm.
  std::uint64_t released_units = 0;
};

/// Admits claims: first what came back, then claims through the gate into the queue, then what became of them.
///
/// A claim is answered once. A claim that the gate admitted is never given back on a guess: only an outcome that says
/// so (refused by the ledger, or certainly not persisted) releases its units.
///
/// Threads: the desk's only; `in_flight` and `counts` are glances from any. Blocking: never, beyond the gate's
/// deadline.
class Admit {
 public:
  /// `storage_ready`: false while the ledger cannot record; claims are then shed before the gate is asked.
  Admit(Gate& gate, QueueProducer& queue, AdmitPort& port, const std::atomic<bool>& storage_ready);

  /// One bounded round. Returns how many things were done; 0 means that there is nothing to do now.
  [[nodiscard]] Result<std::size_t> step(Ticks now);

  /// The claim that was admitted under this id and is not durable yet.
  [[nodiscard]] std::optional<Claim> waiting(OrderId order) const;
  /// Late money has taken the units of this order again, and the ledger has not yet said whether it keeps them.
  [[nodiscard]] bool is_retaken(OrderId order) const { return retaken_.contains(order); }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_count_.load(std::memory_order_relaxed); }
  [[nodiscard]] const AdmitCounts& counts() const { return counts_; }

 private:
  static constexpr std::size_t kWaitersMax = 4;  // Repeats of one claim that wait for the same commit.
  struct Pending {
    Claim claim;         // With what it got.
    NumberList asked{};  // `partial` claims: all that was asked for.
    std::array<Ticket, kWaitersMax> waiters;
    std::size_t waiter_count = 0;
  };

  [[nodiscard]] std::size_t take_outcomes(Ticks now);
  void conclude(const Outcome& outcome);
  void answer_waiters(const Pending& pending, ClaimAnswer answer);
  [[nodiscard]] Result<std::size_t> take_requests(Ticks now);
  [[nodiscard]] Result<void> retake(const GateRequest& request, Ticks now);
  [[nodiscard]] Result<std::size_t> take_claims(Ticks now);
  void judge(const ClaimRequest& request, const Verdict& verdict, Ticks now);
  /// Hands an admitted claim to the queue, with the numbers that it got.
  void pass_on(const ClaimRequest& request, const Verdict& verdict, Ticks now);
  void join_waiting(const ClaimRequest& request);
  [[nodiscard]] std::size_t give_up_late(Ticks now);
  void shed(std::span<const ClaimRequest> requests);

  Gate& gate_;
  QueueProducer& queue_;
  AdmitPort& port_;
  const std::atomic<bool>& storage_ready_;
  std::unordered_map<OrderId, Pending> pending_;
  std::deque<std::pair<Ticks, OrderId>> deadlines_;  // In the order of admission; at most kInFlightMax.
  std::unordered_set<OrderId> retaken_;              // Each holds units, so the totals bound them.
  std::vector<ClaimRequest> requests_;
  std::vector<Claim> claims_;
  std::vector<Verdict> verdicts_;
  std::vector<Claim> admitted_;
  std::vector<Outcome> outcomes_;
  std::vector<Hold> to_release_;
  std::vector<Hold> to_confirm_;
  std::vector<GateRequest> gate_requests_;
  AdmitCounts counts_;
  std::atomic<std::size_t> in_flight_count_{0};
};

}  // namespace weir
