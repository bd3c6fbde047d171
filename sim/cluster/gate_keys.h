#pragma once

#include "base/time.h"
#include "domain/claim.h"
#include "gate/gate.h"
#include "gate/shared_gate.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace weir::cluster {

/// Faults that can be planted in a model gate, to see that they are found.
struct GateFaults {
  bool has_no_pin = false;              // P3: whoever answers is believed.
  bool forgets_ended = false;           // No tombstones.
  bool adopts_blindly = false;          // A straggler is taken up whatever is free.
  bool adopts_out_of_flight = false;    // P2, of stragglers.
  bool reserves_out_of_flight = false;  // P2, of claims.
  bool releases_by_count = false;       // Units come back whether the hold is there or not.
  bool retakes_without_asking = false;  // Late money is told that it has the units.
  bool repeats_as_recorded = false;     // What is held counts as recorded.
};

/// What one epoch of a sale's gate holds.
struct EpochKeys {
  struct Item {
    std::int64_t total = 0;
    std::int64_t free = 0;
  };
  struct Buyer {
    std::int32_t units = 0;
    OrderId newest;
  };
  std::map<ItemNo, Item> items;
  std::map<OrderId, SharedHold> holds;
  std::map<std::string, Buyer, std::less<>> buyers;
  std::map<OrderId, Ticks> in_flight;  // Since when.
  std::set<OrderId> ended;
  bool has_lost_a_key = false;
};

/// The scripts of PROTOCOL 3, each one step that nothing interrupts, on all that stands under one sale's name.
///
/// Every call but `close` and `look` is refused unless it is of the epoch that stands.
/// Threads: one.
class SaleKeys {
 public:
  [[nodiscard]] GateAnswer<void> reserve(std::int64_t epoch, std::span<const Claim> claims, std::span<Verdict> verdicts,
                                         Ticks now, const GateFaults& faults);
  [[nodiscard]] GateAnswer<void> adopt(std::int64_t epoch, HoldKind kind, std::span<const Claim> claims,
                                       std::span<Adopted> adopted, Ticks now, const GateFaults& faults);
  [[nodiscard]] GateAnswer<std::int64_t> release(std::int64_t epoch, std::span<const OrderId> holds,
                                                 const GateFaults& faults);
  [[nodiscard]] GateAnswer<void> confirm(std::int64_t epoch, std::span<const OrderId> holds);
  [[nodiscard]] GateAnswer<std::vector<InFlight>> in_flight(std::int64_t epoch, Micros age, std::size_t count,
                                                            Ticks now) const;
  [[nodiscard]] GateAnswer<std::optional<SharedHold>> find(std::int64_t epoch, OrderId hold) const;
  [[nodiscard]] GateAnswer<Shelf> shelf(std::int64_t epoch, ItemNo item) const;
  [[nodiscard]] GateAnswer<void> set_terms(std::int64_t epoch, const GateTerms& terms);

  [[nodiscard]] GateAnswer<void> close(std::int64_t epoch);
  [[nodiscard]] GateAnswer<void> start(std::int64_t epoch, const GateTerms& terms, std::span<const GateItem> items);
  [[nodiscard]] GateAnswer<void> put_holds(std::int64_t epoch, std::span<const SharedHold> holds);
  [[nodiscard]] GateAnswer<void> put_ended(std::int64_t epoch, std::span<const OrderId> holds,
                                           const GateFaults& faults);
  [[nodiscard]] GateAnswer<void> open(std::int64_t epoch);
  [[nodiscard]] GateAnswer<void> drop_older(std::int64_t epoch);
  [[nodiscard]] GateLook look(std::int64_t attached) const;

  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] bool is_open() const { return is_open_; }
  /// What stands at the present epoch; null when it is lost.
  [[nodiscard]] const EpochKeys* keys() const;
  void lose_a_key();

 private:
  [[nodiscard]] GateTrouble guard(std::int64_t epoch, bool needs_open) const;
  [[nodiscard]] Verdict decide(EpochKeys& keys, const Claim& claim, Ticks now, const GateFaults& faults);
  [[nodiscard]] Adopted take_up(EpochKeys& keys, HoldKind kind, const Claim& claim, Ticks now,
                                const GateFaults& faults);

  std::int64_t epoch_ = 0;  // 0: nothing was ever here.
  bool is_open_ = false;
  bool is_selling_ = false;
  std::int32_t limit_ = 1;
  std::uint64_t terms_ = 0;
  std::uint64_t writes_ = 0;
  std::map<std::int64_t, EpochKeys> epochs_;
};

}  // namespace weir::cluster
