#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "payment/gateway.h"
#include "payment/sandbox_store.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir {

/// One webhook that is handed out to be posted. It is signed when it is sent, so that its age is the age of the post.
struct SandboxDelivery {
  std::string event_id;
  std::string body;
  int attempts = 0;  // Failed ones.
};

/// What became of an order to the network.
enum class SandboxOrder : std::uint8_t {
  taken,
  unknown_payment,
  out_of_range,  // A delay or a number of times beyond the limits.
  full,          // kSandboxWaitingMax webhooks are on their way.
};

/// A pretend card network: it remembers payments and refunds, decides when it is told to, and sends notices.
///
/// Invariants, per payment: captured is 0 or the whole amount; 0 <= refunded <= captured; each refund id counts once.
/// A payment is captured at the moment at which its event is due, in one transaction with the event: from then on the
/// notice is sent until somebody takes it, also after a crash. An event whose moment has not come is lost by a crash,
/// as a real buyer's click is, and then nothing was captured.
/// Bounds: kSandboxWaitingMax webhooks wait, each repeat counted.
/// Threads: any; one mutex guards all. Blocking: short writes to a file of its own, never a sync; not from a reactor.
class SandboxNetwork {
 public:
  /// Notices that an earlier process could not deliver are due at once.
  [[nodiscard]] static Result<std::unique_ptr<SandboxNetwork>> open(const std::string& path, const Clock& clock,
                                                                    Random& random);

  /// Makes the payment known. Repeatable with the same amount; with another one `unfit`.
  [[nodiscard]] Result<void> start(PaymentId payment, Money amount);

  struct Completion {
    bool approve = false;
    Micros delay{0};
    int times = 1;
  };
  /// The buyer's bank decides: one event with an id of its own, sent `times` times, after `delay`. Every call makes a
  /// new event; a second approval is told again and captures nothing more.
  [[nodiscard]] SandboxOrder complete(PaymentId payment, const Completion& completion);

  /// Gives money back, once per refund id. A repeat sends the notice again unless one is on its way. `unavailable` when
  /// the payment is not known, the amount is in another currency or passes what was captured, or the id stands for
  /// another refund; `overloaded` when too many webhooks wait.
  [[nodiscard]] Result<void> refund(PaymentId payment, RefundId refund, Money amount);

  [[nodiscard]] Result<std::optional<SandboxStatus>> status(PaymentId payment);

  /// Captures what is due and hands out at most kSandboxBatchMax webhooks. What an earlier call handed out and nobody
  /// has put back since counts as delivered.
  [[nodiscard]] std::vector<SandboxDelivery> take_due(Ticks now);

  /// A webhook that could not be delivered: it comes again, backing off, kSandboxTriesMax times; then at the next
  /// start.
  void put_back(const SandboxDelivery& delivery, Ticks now);

  /// When the next webhook is due; null when none waits.
  [[nodiscard]] std::optional<Ticks> next_due() const;

 private:
  /// A webhook on its way, or an event that will become some.
  struct Waiting {
    GatewayEvent event;
    std::string body;  // Empty until the event is made.
    int times = 1;
    int attempts = 0;
  };
  using Waitings = std::multimap<Ticks, Waiting>;
  /// A made event of which webhooks are waiting or handed out.
  struct Notice {
    int webhooks = 0;
    RefundId refund;  // None unless it tells of one.
  };

  SandboxNetwork(std::unique_ptr<SandboxStore> store, const Clock& clock, Random& random);
  [[nodiscard]] Result<void> take_up_stored_events();
  [[nodiscard]] bool has_room(int webhooks) const;
  void let_wait(Ticks due, Waiting waiting);
  [[nodiscard]] Result<bool> is_repeat(PaymentId payment, RefundId refund, Money amount);
  [[nodiscard]] Result<void> record_refund(const GatewayEvent& event, const std::string& body, bool is_new);
  [[nodiscard]] std::vector<Waitings::iterator> find_due(Ticks now);
  [[nodiscard]] Result<void> write_due(const std::vector<Waitings::iterator>& due);
  void forget_handed_out();
  void forget_webhook(const std::string& event_id);

  const std::unique_ptr<SandboxStore> store_;
  const Clock& clock_;
  Random& random_;
  mutable std::mutex mutex_;               // Guards what follows, the store and the random source.
  Waitings waiting_;                       // By due time, then in order of arrival.
  std::map<std::string, Notice> notices_;  // By event id.
  std::set<RefundId> refunds_told_;        // Refunds whose notice is on its way.
  std::vector<std::string> handed_out_;    // Event ids, one a webhook, since the last `take_due`.
  std::size_t webhooks_ = 0;               // Waiting and handed out, each repeat counted.
};

}  // namespace weir
