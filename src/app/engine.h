#pragma once

#include "app/desk.h"
#include "app/pool.h"
#include "app/seller.h"
#include "app/writer.h"
#include "base/random.h"
#include "base/snapshot.h"
#include "gate/memory_gate.h"
#include "http/server.h"
#include "queue/direct_queue.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// What an engine is made of; each part was opened by `wiring`.
struct EngineParts {
  std::unique_ptr<Random> gate_random;    // Required. Draws numbers: nobody may guess them.
  std::unique_ptr<Random> ledger_random;  // The ledger's, if it needs one that lives as long.
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<LedgerReader> own_reader;  // Catalog and rebuild; the writer's thread.
  std::vector<std::unique_ptr<LedgerReader>> pool_readers;
  std::map<std::string, Gateway*, std::less<>> gateways;
  std::size_t reactors = 1;
  SipKey buyer_hash;
  RingSizes rings;
  std::size_t queue_size = kQueueRingSize;
  std::function<std::unique_ptr<Gate>(Gate&)>
      front_gate;                             // Empty but in tests: what the desk asks in place of the gate.
  std::function<void()> refund_due;           // Told that a refund should be asked for.
  std::function<void(const Error&)> corrupt;  // Stop the process: a person is needed.
};

/// The embedded selling process without its front door: gate, queue, ledger and their threads, as the services that the
/// front door and the cashier use.
///
/// Life: `build` (the gate from the ledger), `start`, serve, `stop`. With `start_by_hand` there are no threads, and who
/// calls the `turn`s of desk, writer and pool on one thread drives the same steps in the order of his choice.
class Engine final : public Seller {
 public:
  Engine(EngineParts parts, const Clock& clock);
  ~Engine() override;

  /// Builds the gate from the ledger. `corrupt` when the ledger's live orders do not fit its totals.
  [[nodiscard]] Result<void> build();
  void start_by_hand(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor);

  [[nodiscard]] DirectQueue& queue() { return queue_; }
  [[nodiscard]] Writer& writer() { return *writer_; }
  [[nodiscard]] Desk& desk() { return *desk_; }
  [[nodiscard]] Pool& pool() { return *pool_; }
  [[nodiscard]] std::size_t in_flight() const { return desk_->in_flight(); }

  // Seller.
  void start(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor) override;
  /// Takes up what a full queue had no room for.
  void look_around() override;
  void stop(Deadline deadline) override;
  void set_metrics(std::function<std::string()> metrics) override { metrics_ = std::move(metrics); }
  void add_metrics(TextExposition& out) override;

  // Services.
  [[nodiscard]] std::uint64_t catalog_version() const override { return catalog_.version(); }
  [[nodiscard]] std::shared_ptr<const Catalog> catalog() const override { return catalog_.get(); }
  [[nodiscard]] const ShelfBoard& shelves() const override { return gate_.shelves(); }
  [[nodiscard]] Ticks ticks() const override { return clock_.ticks(); }
  [[nodiscard]] const KnownBuyers& known_buyers() const override { return gate_.known_buyers(); }
  [[nodiscard]] const SipKey& buyer_hash() const override { return parts_.buyer_hash; }
  [[nodiscard]] bool offer_claim(std::uint16_t reactor, const ClaimRequest& request) override;
  void wake_desk() override { desk_->wake(); }
  [[nodiscard]] std::size_t take_answers(std::uint16_t reactor, std::span<ClaimAnswer> out) override;
  [[nodiscard]] bool settle(SettleRequest request) override { return writer_->submit(std::move(request)); }
  [[nodiscard]] bool read(std::function<void(LedgerReader&)> job) override { return pool_->submit(std::move(job)); }
  [[nodiscard]] bool change(http::ChangeRequest request) override;
  void find_waiting(OrderId order, std::function<void(const WaitingClaim&)> done) override;
  [[nodiscard]] bool reconcile(bool dry_run, std::function<void(const Result<Findings>&)> done) override;
  [[nodiscard]] Result<Explained> explain(OrderId order, LedgerReader& reader) override {
    return explain_from_ledger(order, reader);
  }
  [[nodiscard]] Gateway* gateway(std::string_view gateway_name) override;
  void refund_due() override { parts_.refund_due(); }
  [[nodiscard]] http::Mailbox& mailbox() override { return *mailbox_; }
  [[nodiscard]] bool is_ready() const override;
  [[nodiscard]] std::string metrics_text() override { return metrics_ ? metrics_() : std::string{}; }

 private:
  void prepare(http::Mailbox& mailbox, std::function<void(std::uint16_t)> wake_reactor);
  [[nodiscard]] Result<void> open_catalog(Gate& gate, const Catalog& catalog,
                                          const std::vector<std::pair<ItemNo, Shelf>>& shelves);
  [[nodiscard]] Result<void> adopt_live();
  void answer_late(PaymentId payment, bool taken);
  void ask_for_late();
  [[nodiscard]] Result<ChangeResult> run_change(const http::ChangeRequest& request, Ledger& ledger);
  [[nodiscard]] Result<void> follow(ItemNo only = {});
  [[nodiscard]] Result<void> on_desk(std::function<Result<void>(Gate&)> task);
  void repair(const Findings& findings);
  void compare_after_recovery();

  EngineParts parts_;
  const Clock& clock_;
  MemoryGate gate_;
  std::unique_ptr<Gate> front_gate_;
  DirectQueue queue_;
  Snapshot<Catalog> catalog_;
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Pool> pool_;
  http::Mailbox* mailbox_ = nullptr;
  std::function<void(std::uint16_t)> wake_reactor_;
  std::function<std::string()> metrics_;
  std::atomic<bool> is_running_{false};
  bool is_by_hand_ = false;
  std::atomic<bool> is_corrupt_{false};
  std::uint64_t withdrawals_ = 0;
  std::mutex undecided_mutex_;
  std::vector<std::pair<PaymentId, bool>> undecided_;  // Late money, and whether its units were taken; the next start
                                                       // asks for those beyond kReturnRingSize.
};

}  // namespace weir
