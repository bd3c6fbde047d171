#pragma once

#include "app/engine.h"
#include "ledger/fault_vfs.h"
#include "ledger/sqlite_options.h"
#include "ledger/sqlite_reader.h"
#include "sim/world/book.h"
#include "sim/world/card_network.h"
#include "sim/world/chance.h"
#include "sim/world/mutants.h"
#include "sim/world/sim_clock.h"
#include "sim/world/swarm.h"
#include "sim/world/trace.h"
#include "sim/world/trouble.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace weir::sim {

struct RunOptions {
  std::uint64_t seed = 1;
  bool is_printed = false;
  Mutant mutant = Mutant::none;
};

struct RunReport {
  std::string violation;  // The rule and what broke it; empty: none.
  std::vector<std::string> last_lines;
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t paid = 0;
  std::uint64_t starts = 0;
  TroubleCounts troubles{};
};

/// One sale with its buyers, its organiser, its card network, its disk and the shipped process, on one thread under one
/// seed. Whatever happens is an event at a moment; the process dies and starts again among the others.
///
/// The process is the shipped engine: its desk, its writer and its pool are stepped here, in an order that the seed
/// chooses, over a disk in memory that fails on demand. At named points inside a step the process may die, time may
/// pass, or another of its threads may run.
///
/// One world at a time: the fail points have one hook.
class World {
 public:
  explicit World(const RunOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] RunReport run();

 private:
  /// The process died in the middle of something.
  struct Death {
    bool loses_power = false;
  };
  struct Event {
    Ticks at;
    std::uint64_t number = 0;
    std::function<void()> act;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;  // The earliest is the largest.
    }
  };
  struct Buyer {
    BuyerName name;
    std::uint64_t visits = 0;
    std::set<OrderId> orders;  // All that he may have.
  };
  enum class Reply : std::uint8_t {
    accepted,
    sold_out,
    number_taken,
    over_limit,
    not_open,
    key_reused,
    unavailable,
    lost
  };
  struct Visit {
    std::size_t buyer = 0;
    std::size_t item = 0;
    std::int32_t units = 1;
    Wish wish = Wish::units;
    NumberList numbers{};
    std::string key;  // Empty: none.
    std::int64_t retries_left = 0;
    bool is_last_test = false;
  };
  struct Request {
    Visit visit;
    OrderId order;
    std::uint64_t generation = 0;
    Ticks arrived;
    bool is_answered = false;
  };
  class NoMailbox final : public http::Mailbox {
    void post(http::ReplyTo, http::Response) override {}
  };

  // world.cc: time, events, the end.
  void at(Micros after, std::function<void()> act);
  void in_process(Micros after, std::function<void()> act);
  void step(Event event);
  void run_events(Ticks until, std::uint64_t most);
  void go_on(Ticks until);
  void settle_down();
  void violate(std::string_view rule, const std::string& what);
  void count(Trouble trouble) { ++report_.troubles[static_cast<std::size_t>(trouble)]; }
  [[nodiscard]] bool is_up() const { return engine_ != nullptr; }

  // world_process.cc: the process, its life and its threads.
  void boot();
  [[nodiscard]] bool try_boot();
  void boot_later();
  void die(const Death& death);
  void restart_in_order();
  void run_desk();
  void run_writer();
  void run_pool();
  void run_reactor(std::uint16_t reactor);
  void run_cashier();
  void wake_all();
  void open_shop();
  static void reach_point(std::string_view point, void* world);
  void pass_point(std::string_view point);

  // world_buyers.cc
  void plan_buyers();
  void visit(std::size_t buyer);
  void send(const Visit& visit);
  void arrive(const Visit& visit);
  void offer(const Visit& visit, std::uint16_t reactor);
  void conclude(const ClaimAnswer& answer);
  void look_up(std::size_t request, OrderId order, RequestDigest digest);
  void answer(std::size_t request, Reply reply, const ClaimAnswer* from);
  void hear(const Visit& visit, Reply reply, OrderId order);
  void acknowledge(const Request& request, const ClaimAnswer& given);
  void refuse(OrderId order);
  void wish_for_numbers(Visit& visit);
  void check_taken(const Visit& visit, const NumberList& taken);
  [[nodiscard]] bool is_refused_by_the_bits(const Visit& visit) const;
  void check_sold_out(const Visit& visit, Ticks arrived);
  void use_order(std::size_t buyer, OrderId order);
  void pay(std::size_t buyer, OrderId order, std::int64_t tries);
  void cancel(std::size_t buyer, OrderId order);
  void ask_for_order(std::size_t buyer, OrderId order);

  // world_money.cc
  void send_notices();
  void deliver(const PaymentEvent& event, std::int64_t tries);
  void hear_settled(const PaymentEvent& event, const Result<Settlement>& settled, std::int64_t tries);

  // world_trouble.cc
  void plan_trouble();
  void make_trouble();
  void kill_at_point();
  void fail_disk();
  void fill_disk();
  void let_stranger_in();
  void let_stranger_go();
  void organise();
  void change_stock(std::size_t item, std::int64_t delta, const std::string& key);
  void change_sale(SaleAction action);
  void refund_somebody();
  void heal();

  // world_checks.cc
  void note_shelves();
  void check_board();
  void check_orders();
  void check_audit(std::string_view when);
  void check_end();
  void check_money();
  void check_gate();
  void check_numbers(std::string_view when);
  void check_in_a_quiet_moment();
  void check_reconciled();
  void check_buying_goes_on();

  RunOptions options_;
  RunReport report_;
  Chance chance_;
  Swarm swarm_;
  Trace trace_;
  SimClock clock_;
  SimClock ledger_clock_;  // The same, unless a planted fault makes it run ahead.
  FaultDisk disk_;
  SqliteOptions place_;
  CardNetwork network_;
  Book book_;

  std::priority_queue<Event> events_;
  std::uint64_t event_count_ = 0;
  bool is_violated_ = false;
  bool is_healed_ = false;
  bool is_closing_ = false;  // The last checks: no new visits.

  // The process.
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<SqliteReader> spy_;  // Of the world, not of the process.
  std::uint64_t generation_ = 0;
  NoMailbox mailbox_;
  std::unique_ptr<Random> process_random_;
  Ledger* ledger_ = nullptr;
  std::map<RefundId, Ticks> asked_;  // The cashier's memory.
  bool is_refund_hurried_ = false;
  std::uint64_t recoveries_ = 0;
  Ticks desk_due_, writer_due_, pool_due_;
  bool is_desk_running_ = false;
  bool is_writer_running_ = false;
  bool is_booting_ = false;
  std::vector<Ticks> stalled_until_;  // Of each reactor.
  std::string armed_point_;
  std::uint64_t armed_left_ = 0;
  Trouble armed_kind_ = Trouble::killed_between_steps;
  Micros slow_next_{0};
  sqlite3* stranger_ = nullptr;
  std::int64_t storm_left_ = 0;

  // The sale.
  std::vector<ItemNo> items_;
  std::vector<std::int64_t> totals_;                         // As the organiser was told.
  std::vector<std::optional<std::uint32_t>> first_numbers_;  // Null: counted stock.
  std::set<std::string> changes_made_;                       // By their keys.
  bool is_closed_ = false;
  bool is_pause_wanted_ = false;
  std::vector<Buyer> buyers_;
  std::vector<Request> requests_;
  std::set<OrderId> refunds_asked_;
  std::uint64_t keys_ = 0;

  // For the rule on false refusals.
  std::vector<std::deque<std::pair<Ticks, std::int64_t>>> free_seen_;  // The ledger's free units of each item.
  Ticks disturbed_at_;
  std::int64_t last_tests_open_ = 0;
};

[[nodiscard]] RunReport run_world(const RunOptions& options);

}  // namespace weir::sim
