#pragma once

#include "sim/cluster/fiber.h"
#include "sim/cluster/process.h"
#include "sim/cluster/swarm.h"
#include "sim/cluster/trouble.h"
#include "sim/world/chance.h"
#include "sim/world/sim_clock.h"
#include "sim/world/trace.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cluster {

struct RunOptions {
  std::uint64_t seed = 1;
  bool is_printed = false;
  Mutant mutant = Mutant::none;
};

struct RunReport {
  std::string violation;  // Empty: every rule held.
  std::vector<std::string> last_lines;
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  std::uint64_t accepted = 0;
  std::uint64_t builds = 0;
  std::uint64_t starts = 0;
  Micros rest_took{0};  // From the end of all trouble until everything was whole.
  TroubleCounts troubles{};
};

/// Runs one whole sale of a cluster, with everything that its seed brings.
[[nodiscard]] RunReport run_cluster(const RunOptions& options);

/// Two nodes and two workers of the shipped flow over model stores, and buyers who press, pay and wait, on one thread
/// with a clock of their own.
///
/// A process runs until a call of a store; there others may go on, it may sleep, or it dies. At some moment the trouble
/// ends, and within kRestUs everything has to be whole.
class Cluster final : LogWeather {
 public:
  explicit Cluster(const RunOptions& options);
  ~Cluster() override;
  [[nodiscard]] RunReport run();

 private:
  static constexpr std::size_t kNodes = 2;
  static constexpr std::size_t kWorkers = 2;
  static constexpr std::int64_t kRestUs = 30'000'000;
  static constexpr Ticks kStormAt{2'500'000};
  static constexpr SaleNo kSale{1};
  static constexpr std::string_view kGateName = "default:drop";

  /// Thrown in a process at the moment of its death.
  struct Death {};

  struct Process;
  /// One thread of a process.
  struct Agent {
    Process* process = nullptr;
    std::function<Micros()> round;  // One round of its loop; how long it then rests.
    std::unique_ptr<Fiber> fiber;
    std::uint64_t wake = 0;  // Wakes of older numbers are void.
    std::string_view verb;   // What it asks at this moment.
    bool is_idle = false;
    bool is_dying = false;
  };
  /// The way from a process to the stores.
  class ProcessWire final : public Wire {
   public:
    ProcessWire(Cluster& cluster, Process& process) : cluster_(cluster), process_(process) {}
    Passage send(Peer peer, std::string_view verb) override { return cluster_.send(process_, peer, verb); }
    void receive(Peer peer) override { cluster_.receive(process_, peer); }
    void run_late(std::function<void()> effect) override { cluster_.run_late(std::move(effect)); }
    void met(Trouble trouble) override { cluster_.met(trouble); }

   private:
    Cluster& cluster_;
    Process& process_;
  };
  struct Process {
    std::string name;
    bool is_node = false;
    std::size_t number = 0;
    bool is_up = false;
    bool has_died = false;  // In the middle of something: its remains are cleared away by the world.
    std::uint64_t starts = 0;
    std::size_t member = 0;  // Of the group that reads the log.
    Ticks frozen_until;
    Ticks cut_off_until;    // From the ledger.
    bool nods_off = false;  // Before its next question about work.
    std::unique_ptr<ProcessWire> wire;
    std::unique_ptr<NodeParts> node;
    std::vector<std::unique_ptr<WorkerParts>> threads;
    std::vector<std::unique_ptr<Agent>> agents;
  };

  /// Somebody who wants to buy once, in one or several presses.
  struct Buyer {
    std::string name;
    ItemNo item;
    std::int32_t units = 1;
    std::int64_t presses_left = 0;
    OrderId last_id;
    bool is_done = false;
  };
  struct Press {
    std::size_t buyer = 0;
    Claim claim;
    bool is_answered = false;
  };
  /// What a buyer was told with a 202.
  struct Told {
    std::size_t buyer = 0;
    ItemNo item;
    std::int32_t units = 0;
  };
  struct Event {
    Ticks at;
    std::uint64_t order = 0;  // Among those of one moment: by chance.
    std::function<void()> happen;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  // Time and processes: cluster.cc.
  void at(Micros from_now, std::function<void()> happening);
  void go_on();
  void start(Process& process);
  void start_node(Process& process);
  void start_worker(Process& process);
  void add_agent(Process& process, std::function<Micros()> round);
  void stop(Process& process);
  void restart_later(Process& process);
  void live(Agent& agent);
  void wake_in(Agent& agent, Micros span);
  void resume(Agent& agent);
  void pause(Micros span);
  [[nodiscard]] Micros rest_after(const Result<std::size_t>& done, WorkerParts& parts);
  [[nodiscard]] Micros work(WorkerParts& parts, std::uint64_t verbs);

  // What happens on the wires: cluster_wire.cc.
  /// The shop opens in fair weather, and closes in it.
  [[nodiscard]] bool is_stormy() const { return !is_calm_ && clock_.ticks() >= kStormAt; }
  [[nodiscard]] Passage send(Process& process, Peer peer, std::string_view verb);
  void receive(Process& process, Peer peer);
  void run_late(std::function<void()> effect);
  [[nodiscard]] Passage passage_of(const Process& process, Peer peer, std::string_view verb);
  [[nodiscard]] Micros travel(Process& process, Peer peer, std::string_view verb);
  void reach_point(std::string_view point);
  void put_to_sleep(Process& process, Micros span);
  void met(Trouble trouble) { ++report_.troubles[static_cast<std::size_t>(trouble)]; }
  [[nodiscard]] Landing landing() override;
  void hunt_late_one();
  [[nodiscard]] Micros flight() override;
  [[nodiscard]] Micros lateness() override;
  void in(Micros span, std::function<void()> happening) override { at(span, std::move(happening)); }

  // What befalls the cluster: cluster_trouble.cc.
  void plan_trouble();
  void strike();
  void strike_process(bool kills);
  void strike_gate(std::int64_t kind);
  void strike_log(std::int64_t kind);
  void strike_ledger();
  void change_sale();
  void cut_off_some_clients(Ticks until);
  void become_calm();

  // Buyers: cluster_buyers.cc.
  void open_shop();
  void press(std::size_t buyer, bool with_same_key);
  void deliver(std::size_t press, std::size_t node);
  void hear(std::size_t press, const ClaimAnswer& answer);
  void answer_press(std::size_t press, const ClaimAnswer& answer);
  void accept(std::size_t buyer, const Claim& claim);
  void try_again(std::size_t buyer, bool with_same_key);
  void plan_money(OrderId order);
  void pay(OrderId order, PaymentId payment, Micros capture_in, int tries);
  void capture(PaymentId payment, int times);
  void cancel(OrderId order, int tries);
  void refund(OrderId order);

  // The rules: cluster_checks.cc.
  void check_stores();
  void check_gate(const SaleKeys& keys);
  [[nodiscard]] std::string what_is_not_whole() const;
  [[nodiscard]] std::string what_the_gate_lacks() const;
  void audit();
  void audit_orders();
  void audit_told();
  void audit_money();
  void violate(std::string what);

  RunOptions options_;
  sim::Chance chance_;
  sim::Trace trace_;
  Swarm swarm_;
  sim::SimClock clock_;
  GateStore gates_;
  LogStore log_;
  LedgerRows rows_;
  RunReport report_;

  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Process>> processes_;
  Agent* current_ = nullptr;
  bool is_calm_ = false;
  bool is_ledger_away_ = false;
  bool is_over_ = false;
  Ticks calm_at_;
  Ticks hunted_at_;

  std::vector<Buyer> buyers_;
  std::vector<Press> presses_;
  std::map<OrderId, Told> told_;
  std::map<OrderId, Claim> claimed_;
  std::map<OrderId, OrderStatus> seen_;  // The status of every order when it was last looked at.
  std::size_t garbage_ = 0;
  std::size_t member_next_ = 1;
};

}  // namespace weir::cluster
