#pragma once

#include "app/desk.h"
#include "app/order_finder.h"
#include "app/owner_watch.h"
#include "app/pool.h"
#include "app/proofs.h"
#include "app/rounds.h"
#include "app/row_wait.h"
#include "app/seller.h"
#include "app/shelf_watch.h"
#include "app/writer.h"
#include "base/random.h"
#include "base/snapshot.h"
#include "flow/build_gate.h"
#include "flow/lease.h"
#include "flow/leased_gate.h"
#include "flow/publisher.h"
#include "gate/shared_gate.h"
#include "gate/shelf_board.h"
#include "ledger/shared_ledger.h"
#include "queue/log_queue.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// What a node is made of; each part has one owner thread, and so there are several of a kind.
struct NodeParts {
  std::vector<std::unique_ptr<Random>> randoms;  // What the ledgers need and do not own.
  std::unique_ptr<SharedLedger> lease_ledger;
  std::unique_ptr<SharedLedger> ledger;        // The writer's.
  std::unique_ptr<LedgerReader> own_reader;    // Catalog, what was sold, rows that are waited for.
  std::unique_ptr<LedgerReader> owner_reader;  // What has ended.
  std::vector<std::unique_ptr<LedgerReader>> pool_readers;
  std::unique_ptr<SharedGate> desk_gate;
  std::unique_ptr<SharedGate> shelf_gate;
  std::unique_ptr<SharedGate> owner_gate;
  std::unique_ptr<SharedGate> finder_gate;
  std::unique_ptr<LogProducer> log;                        // The desk's.
  std::function<void(std::function<void()>)> hear_of_log;  // Told what to call when outcomes of the log have arrived.
  AskMarks ask_log_end;
  ProofStores proofs;
  std::map<std::string, Gateway*, std::less<>> gateways;
  std::size_t reactors = 1;
  SipKey buyer_hash;
  RingSizes rings;
  std::function<void()> refund_due;           // Told that a refund should be asked for.
  std::function<void(const Error&)> corrupt;  // Stop the process: a person is needed.
};

/// A selling process of several, without its front door: desk, ledger writer and their helpers on a gate, a log and a
/// ledger that others use as well, as the services that the front door and the cashier use.
///
/// It sells only while it has read in the ledger, less than a lease ago, at which epoch the sale's gate is OPEN. What
/// it admits goes to the log, and the log's acknowledgement is the 202; workers record. It gives nothing back and ends
/// nothing by itself: that leaves the ledger by its outbox. Whatever it does not know for sure is 503.
///
/// Life: `build`, `start`, serve, `stop`. With `start_by_hand` there are no threads, and who calls the turns of desk,
/// writer and pool, and the `…_turn`s below, on one thread drives the same steps in the order of his choice.
class Node final : public Seller {
 public:
  Node(NodeParts parts, const Clock& clock);
  ~Node() override;

  /// Reads what is for sale, where the gates stand and what has ended.
  [[nodiscard]] Result<void> build();
  void start_by_hand(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor);

  // One bounded turn of each helper, which then may rest as long as it says.
  Micros lease_turn();
  Micros shelf_turn();
  Micros owner_turn();
  Micros follow_turn();

  [[nodiscard]] Writer& writer() { return *writer_; }
  [[nodiscard]] Desk& desk() { return *desk_; }
  [[nodiscard]] Pool& pool() { return *pool_; }
  [[nodiscard]] const Lease& lease() const { return lease_; }
  [[nodiscard]] std::size_t in_flight() const { return desk_->in_flight(); }

  // Seller.
  void start(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) override;
  void look_around() override;
  void stop(Deadline deadline) override;
  void set_metrics(std::function<std::string()> metrics) override { metrics_ = std::move(metrics); }
  void add_metrics(TextExposition& out) override;

  // Services.
  [[nodiscard]] std::uint64_t catalog_version() const override { return catalog_.version(); }
  [[nodiscard]] std::shared_ptr<const Catalog> catalog() const override { return catalog_.get(); }
  [[nodiscard]] const ShelfBoard& shelves() const override { return board_; }
  [[nodiscard]] const NumberBoard& numbers() const override { return numbers_; }
  [[nodiscard]] Ticks ticks() const override { return clock_.ticks(); }
  [[nodiscard]] const KnownBuyers& known_buyers() const override { return owners_.known(); }
  [[nodiscard]] const SipKey& buyer_hash() const override { return parts_.buyer_hash; }
  [[nodiscard]] bool offer_claim(std::uint16_t reactor, const ClaimRequest& request) override;
  void wake_desk() override { desk_->wake(); }
  [[nodiscard]] std::size_t take_answers(std::uint16_t reactor, std::span<ClaimAnswer> out) override;
  [[nodiscard]] bool settle(SettleRequest request) override;
  [[nodiscard]] bool read(std::function<void(LedgerReader&)> job) override { return pool_->submit(std::move(job)); }
  [[nodiscard]] bool change(http::ChangeRequest request) override;
  void find_waiting(OrderId order, std::function<void(const WaitingClaim&)> done) override;
  [[nodiscard]] bool reconcile(bool dry_run, std::function<void(const Result<Findings>&)> done) override;
  [[nodiscard]] Result<Explained> explain(OrderId order, LedgerReader& reader) override;
  [[nodiscard]] Gateway* gateway(std::string_view gateway_name) override;
  void refund_due() override { parts_.refund_due(); }
  [[nodiscard]] http::Mailbox& mailbox() override { return *mailbox_; }
  [[nodiscard]] bool is_ready() const override;
  [[nodiscard]] std::string metrics_text() override { return metrics_ ? metrics_() : std::string{}; }

 private:
  /// There is no queue in this process: workers record from the log.
  class NothingToRecord final : public QueueConsumer {
   public:
    [[nodiscard]] std::size_t peek(std::span<Claim>) override { return 0; }
    void finish(std::span<const Outcome>) override {}
  };

  /// Notes who was admitted before it goes to the log, so that he is known from then on.
  class NotedPublisher final : public QueueProducer {
   public:
    NotedPublisher(Publisher& publisher, OwnerWatch& owners) : publisher_(publisher), owners_(owners) {}
    [[nodiscard]] std::size_t room() override { return publisher_.room(); }
    void append(std::span<const Claim> claims) override {
      owners_.note(claims);
      publisher_.append(claims);
    }
    [[nodiscard]] std::size_t outcomes(std::span<Outcome> out) override { return publisher_.outcomes(out); }

   private:
    Publisher& publisher_;
    OwnerWatch& owners_;
  };

  void prepare(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor);
  [[nodiscard]] Result<void> refresh_catalog();
  [[nodiscard]] Result<void> refresh_sold();
  void wait_for_row(SettleRequest request, const Settlement& settlement);
  [[nodiscard]] Result<ChangeResult> run_change(const http::ChangeRequest& request, Ledger& ledger);
  [[nodiscard]] Result<void> follow(const ChangeResult& result, std::int64_t add);
  [[nodiscard]] Result<void> tell_gate(const Sale& sale, const Catalog& catalog);
  [[nodiscard]] Result<void> add_units(const ChangeResult& result, std::int64_t add);
  [[nodiscard]] Result<void> on_desk(const std::function<Result<void>()>& task);

  NodeParts parts_;
  const Clock& clock_;
  Snapshot<Catalog> catalog_;
  Lease lease_;
  ShelfBoard board_;
  NumberBoard numbers_;  // Empty: shared stores keep no numbered stock yet.
  OwnerWatch owners_;
  ShelfWatch shelves_;
  OrderFinder finder_;
  Proofs proofs_;
  LeasedGate gate_;
  Publisher publisher_;
  NotedPublisher producer_;
  NothingToRecord nothing_;
  std::atomic<bool> may_promise_{false};  // The lease holds, and the ledger's clock is near ours.
  bool was_near_ = true;                  // The clock to the ledger's, at the last look. Of the lease's thread.
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<Pool> pool_;
  RowWait rows_;
  Rounds lease_rounds_;
  Rounds shelf_rounds_;
  Rounds owner_rounds_;
  Rounds follow_rounds_;
  http::Mailbox* mailbox_ = nullptr;
  std::function<void(std::uint16_t)> wake_reactor_;
  std::function<std::string()> metrics_;
  std::mutex catalog_mutex_;  // Guards `own_reader`, and keeps newer catalogs from being replaced by older ones.
  Ticks catalog_read_at_;     // These two belong to the thread of `follow_turn`.
  Ticks sold_read_at_;
  std::atomic<bool> is_running_{false};
  bool is_by_hand_ = false;
  std::atomic<bool> is_corrupt_{false};
  std::atomic<bool> has_log_room_{true};
  std::mutex published_mutex_;
  PublisherCounts published_;  // Under `published_mutex_`: a copy made by the desk about once a second.
};

}  // namespace weir
