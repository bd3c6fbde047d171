#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "gate/redis_cluster.h"
#include "gate/redis_scripts.h"
#include "gate/shared_gate.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir {

struct RedisGateOptions {
  RedisServers servers;
  std::string ledger;  // Which ledger's orders these are. A gate under another ledger's name is never touched.
  /// The process's own hash of a buyer's name, for those who list holds.
  std::function<BuyerKey(TenantNo, std::string_view)> buyer_key;
};

/// The shared gate in Redis, single or cluster: every decision is one Lua script on the keys of one sale.
///
/// Keys, all inside the hash tag `{tenant:sale}` and so on one server: `meta` (which epoch stands, whether it is open,
/// the terms, the owner, the count of writes) and, with the epoch in their names, `shelf` (counts by item), `held`
/// (holds), `buyers` (live units and holds by buyer), `inflight` (holds by the time they came), `ended` and `changes`
/// (ids). None expires. Scripts check first and write last, and Redis runs them one at a time.
///
/// The server must be Redis 6.2 or newer and must not evict (`maxmemory-policy noeviction`). A server that has no
/// replica for `repl-backlog-ttl` seconds takes a new replication id, which costs a build: set it to 0.
///
/// A pin is asked for when a connection is made, after every redirect, and when the last answer is 100 ms old.
///
/// Threads: one owner thread. Blocking, failures: as the port says.
class RedisGate final : public SharedGate {
 public:
  /// Connects and sees that the servers are fit: `unfit` names the setting that is wrong, `unavailable` the node that
  /// was not reached.
  [[nodiscard]] static Result<std::unique_ptr<RedisGate>> connect(RedisGateOptions options, const Clock& clock,
                                                                  std::unique_ptr<Random> random, Deadline deadline);

  [[nodiscard]] Result<void> open(const GateSale& sale, std::span<const GateItem> items, Deadline deadline) override;
  [[nodiscard]] Result<void> restock(ItemNo item, std::int64_t delta, std::uint64_t change_id,
                                     Deadline deadline) override;
  [[nodiscard]] Result<void> reserve(std::span<const Claim> claims, std::span<Verdict> verdicts,
                                     Deadline deadline) override;
  [[nodiscard]] Result<void> adopt(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<void> confirm(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<void> sell(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<std::int64_t> release(std::span<const Hold> holds, Deadline deadline) override;
  [[nodiscard]] Result<void> each_hold(const std::function<void(const Hold&)>& each, Deadline deadline) override;
  [[nodiscard]] Result<Shelf> shelf(ItemNo item, Deadline deadline) override;

  [[nodiscard]] GateAnswer<void> attach(const GatePlace& place) override;
  void detach(SaleNo sale) override;
  [[nodiscard]] const GatePlace* place(SaleNo sale) const override;
  [[nodiscard]] GateTrouble trouble(SaleNo sale) const override;
  [[nodiscard]] GateAnswer<GateLook> look(SaleNo sale, Deadline deadline) override;
  void reserve_batches(std::span<ReserveBatch> batches, Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> set_terms(SaleNo sale, const GateTerms& terms, Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> adopt_stragglers(SaleNo sale, HoldKind kind, std::span<const Claim> claims,
                                                  std::span<Adopted> adopted, Deadline deadline) override;
  [[nodiscard]] GateAnswer<std::vector<InFlight>> in_flight(SaleNo sale, Micros age, std::size_t count,
                                                            Deadline deadline) override;
  [[nodiscard]] GateAnswer<std::optional<SharedHold>> find_hold(SaleNo sale, OrderId hold, Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> shelves(SaleNo sale, std::span<const ItemNo> items, std::span<Shelf> shelves,
                                         Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> close(SaleNo sale, Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> start_build(SaleNo sale, const GateTerms& terms, std::span<const GateItem> items,
                                             Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> build_holds(SaleNo sale, std::span<const SharedHold> holds,
                                             Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> build_ended(SaleNo sale, std::span<const OrderId> holds, Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> build_changes(SaleNo sale, std::span<const StockChange> changes,
                                               Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> open_epoch(SaleNo sale, Deadline deadline) override;
  [[nodiscard]] GateAnswer<void> drop_older(SaleNo sale, Deadline deadline) override;

 private:
  struct Sale {
    GatePlace place;
    std::string prefix;  // `{tenant:sale}:`
    int slot = 0;
    RedisCommand keys;        // `meta` and those of the epoch.
    std::int64_t writes = 0;  // As the gate counted them when it last answered at this place.
    GateTrouble trouble = GateTrouble::none;
  };
  enum class Pin : std::uint8_t { wanted, anew, any };            // `anew`: asked for just now.
  enum class Count : std::uint8_t { never_back, anew, ignored };  // What the count of writes may do.

  RedisGate(RedisGateOptions options, const Clock& clock, std::unique_ptr<Random> random);

  [[nodiscard]] Sale* find(SaleNo no);
  [[nodiscard]] GateAnswer<Sale*> attached(SaleNo no);
  [[nodiscard]] GateAnswer<Sale*> sale_of(ItemNo item);
  static void add_epoch_keys(RedisCommand& to, std::string_view prefix, std::int64_t epoch);

  // Asking: a request is made, run with others, and its answer judged.
  [[nodiscard]] RedisRequest request(const Sale& sale, const RedisScript& script, const RedisCommand& arguments,
                                     Pin pin = Pin::wanted, const RedisCommand& more_keys = RedisCommand()) const;
  [[nodiscard]] static GateAnswer<RedisReply> judge(Sale& sale, RedisRequest& answered,
                                                    Count count = Count::never_back);
  [[nodiscard]] GateAnswer<RedisReply> ask(Sale& sale, const RedisScript& script, const RedisCommand& arguments,
                                           Deadline deadline, Pin pin = Pin::wanted, Count count = Count::never_back);
  /// Several calls of a script, sent together; the first that failed is the answer.
  [[nodiscard]] GateAnswer<void> ask_all(Sale& sale, const RedisScript& script, std::span<const RedisCommand> arguments,
                                         Deadline deadline);
  [[nodiscard]] static std::unexpected<GateError> trouble_of(Sale& sale, GateTrouble trouble, std::string_view why);

  static void take_verdicts(ReserveBatch& batch, Sale& sale, RedisRequest& answered);
  [[nodiscard]] Result<void> reserve_mixed(std::span<const Claim> claims, std::span<Verdict> verdicts,
                                           Deadline deadline);
  [[nodiscard]] Result<std::int64_t> end_holds(std::span<const Hold> holds, const RedisScript& script,
                                               bool with_recorded, Deadline deadline);
  [[nodiscard]] GateAnswer<void> put_terms(SaleNo sale, const GateTerms& terms, std::span<const GateItem> items,
                                           Deadline deadline);
  [[nodiscard]] GateAnswer<void> restore(Sale& sale, std::string_view state, std::span<const SharedHold> holds,
                                         Deadline deadline);
  [[nodiscard]] GateAnswer<RedisReply> look_at(Sale& sale, Deadline deadline, std::string* pin);
  [[nodiscard]] GateAnswer<void> list_holds(Sale& sale, const std::function<void(const Hold&)>& each,
                                            Deadline deadline);
  [[nodiscard]] GateAnswer<void> list_page(Sale& sale, std::span<const SharedHold> page,
                                           const std::function<void(const Hold&)>& each, Deadline deadline);
  [[nodiscard]] GateAnswer<RedisReply> ask_plainly(
      Sale& sale, const std::function<void(RedisCommand&, const std::string& prefix)>& write, Deadline deadline);
  [[nodiscard]] std::optional<SharedHold> hold_of(const Sale& sale, std::string_view id, std::string_view record) const;

  RedisGateOptions options_;
  std::unique_ptr<Random> random_;
  RedisScripts scripts_;
  RedisCluster cluster_;
  std::unordered_map<SaleNo, Sale> sales_;
  std::unordered_map<ItemNo, SaleNo> sale_of_item_;
};

}  // namespace weir
