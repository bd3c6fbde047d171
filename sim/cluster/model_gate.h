#pragma once

#include "base/time.h"
#include "gate/shared_gate.h"
#include "sim/cluster/gate_keys.h"
#include "sim/cluster/wire.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::cluster {

/// The store behind all clients of the model gate: processes with a pin each, one of them the master, and a copy that
/// lags behind.
///
/// Threads: one.
class GateStore {
 public:
  explicit GateStore(const Clock& clock) : clock_(clock) { add({}); }

  struct Process {
    std::string pin;
    bool is_up = true;
    std::map<std::string, SaleKeys, std::less<>> sales;
  };
  using Sales = std::map<std::string, SaleKeys, std::less<>>;

  [[nodiscard]] std::size_t master() const { return processes_.size() - 1; }
  [[nodiscard]] Process& process(std::size_t number) { return processes_[number]; }
  /// What stands under a sale's name on the process with this pin; null when there is none.
  [[nodiscard]] const SaleKeys* sale_at(std::string_view pin, std::string_view name) const;

  /// What a replica or a file has of the master as of now.
  void keep_a_copy() { copy_ = processes_.back().sales; }
  /// Another process takes over with what it has; the one before it dies, or answers on to those who know no better.
  void fail_over_to_the_copy(bool old_one_lives);
  void restart_empty() { replace({}, false); }
  /// All of it lies in another process from now on.
  void move() { replace(processes_.back().sales, false); }
  void lose_a_key();
  /// No old process answers any more.
  void end_splits();

  [[nodiscard]] Ticks now() const { return clock_.ticks(); }
  GateFaults faults;
  bool is_away = false;  // Nobody reaches anything.

 private:
  void add(Sales sales);
  void replace(Sales sales, bool old_one_lives);

  const Clock& clock_;
  std::vector<Process> processes_;
  Sales copy_;
};

/// One process's client of the model gate.
///
/// Threads: one. Blocking: as its wire.
class ModelGate final : public SharedGate {
 public:
  ModelGate(GateStore& store, Wire& wire) : store_(store), wire_(wire), process_(store.master()) {}

  /// Which process of the store this client talks to: the master, unless it was cut off on an old one's side.
  [[nodiscard]] std::size_t process() const { return process_; }
  void follow_master() { process_ = store_.master(); }

  GateAnswer<void> attach(const GatePlace& place) override;
  void detach(SaleNo sale) override { places_.erase(sale); }
  const GatePlace* place(SaleNo sale) const override;
  GateTrouble trouble(SaleNo sale) const override;
  GateAnswer<GateLook> look(SaleNo sale, Deadline deadline) override;
  void reserve_batches(std::span<ReserveBatch> batches, Deadline deadline) override;
  GateAnswer<void> set_terms(SaleNo sale, const GateTerms& terms, Deadline deadline) override;
  GateAnswer<void> adopt_stragglers(SaleNo sale, HoldKind kind, std::span<const Claim> claims,
                                    std::span<Adopted> adopted, Deadline deadline) override;
  GateAnswer<std::vector<InFlight>> in_flight(SaleNo sale, Micros age, std::size_t count, Deadline deadline) override;
  GateAnswer<std::optional<SharedHold>> find_hold(SaleNo sale, OrderId hold, Deadline deadline) override;
  GateAnswer<void> shelves(SaleNo sale, std::span<const ItemNo> items, std::span<Shelf> shelves,
                           Deadline deadline) override;
  GateAnswer<void> close(SaleNo sale, Deadline deadline) override;
  GateAnswer<void> start_build(SaleNo sale, const GateTerms& terms, std::span<const GateItem> items,
                               Deadline deadline) override;
  GateAnswer<void> build_holds(SaleNo sale, std::span<const SharedHold> holds, Deadline deadline) override;
  GateAnswer<void> build_ended(SaleNo sale, std::span<const OrderId> holds, Deadline deadline) override;
  GateAnswer<void> build_changes(SaleNo, std::span<const StockChange>, Deadline) override { return {}; }
  GateAnswer<void> open_epoch(SaleNo sale, Deadline deadline) override;
  GateAnswer<void> drop_older(SaleNo sale, Deadline deadline) override;

  Result<void> open(const GateSale&, std::span<const GateItem>, Deadline) override { return {}; }
  Result<void> restock(ItemNo, std::int64_t, std::uint64_t, Deadline) override { return {}; }
  Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts, Deadline deadline) override;
  Result<void> adopt(std::span<const Hold>, Deadline) override { return {}; }
  Result<void> confirm(std::span<const Hold> holds, Deadline deadline) override;
  Result<void> sell(std::span<const Hold>, Deadline) override { return {}; }
  Result<std::int64_t> release(std::span<const Hold> holds, Deadline deadline) override;
  Result<void> each_hold(const std::function<void(const Hold&)>&, Deadline) override { return {}; }
  Result<Shelf> shelf(ItemNo item, Deadline deadline) override;

 private:
  struct Question {
    std::string_view verb;
    bool asks_for_pin = true;
  };
  /// A script with all that it needs: it may run when its caller is gone.
  template <typename R>
  using Script = std::function<GateAnswer<R>(SaleKeys& keys, const GatePlace& place, GateStore& store)>;

  template <typename R>
  [[nodiscard]] GateAnswer<R> ask(SaleNo sale, Question question, Script<R> script);
  template <typename R>
  [[nodiscard]] static GateAnswer<R> run(GateStore& store, std::size_t process, const GatePlace& place,
                                         bool asks_for_pin, const Script<R>& script);
  void note(SaleNo sale, GateTrouble trouble);

  GateStore& store_;
  Wire& wire_;
  std::size_t process_;
  std::map<SaleNo, GatePlace> places_;
  std::map<SaleNo, GateTrouble> troubles_;
};

}  // namespace weir::cluster
