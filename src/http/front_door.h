#pragma once

#include "base/random.h"
#include "domain/catalog.h"
#include "http/answers.h"
#include "http/codes.h"
#include "http/doorman.h"
#include "http/exchange.h"
#include "http/json_body.h"
#include "http/purchase_wish.h"
#include "http/routes.h"
#include "http/services.h"
#include "http/static_files.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::http {

/// Requests by outcome, written by one reactor and read by the metrics.
struct OutcomeCounts {
  std::array<std::atomic<std::uint64_t>, kCodes.size()> by_code{};
  void count(Code code) {
    auto& cell = by_code[static_cast<std::size_t>(code)];
    cell.store(cell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

class SandboxDesk;

/// What every reactor's front door is made with; it outlives them.
struct FrontDoorParts {
  Services* services = nullptr;
  const DoormanParts* doorman = nullptr;
  const StaticFiles* page = nullptr;
  SandboxDesk* sandbox = nullptr;  // Null: the sandbox is off, and so is guest sign-in.
  RandomFactory random;            // Of ids: nobody may guess them.
  Instant started_at;              // Of the process: shelves count their versions from there.
  Micros payment_grace{120'000'000};
  bool is_development = true;
};

/// The pretend card network's buttons and the guest's token: development only.
class SandboxDesk {
 public:
  virtual ~SandboxDesk() = default;
  /// Null when done, else what is wrong (`UNKNOWN_PAYMENT`, or a sentence).
  struct Completion {
    bool approve = false;
    Micros delay{0};
    int times = 1;
  };
  [[nodiscard]] virtual bool complete(PaymentId payment, const Completion& completion) = 0;
  /// JSON, or empty when there is no such payment.
  [[nodiscard]] virtual std::string status_json(PaymentId payment) = 0;
  struct GuestToken {
    std::string token;
    Instant expires_at;
  };
  [[nodiscard]] virtual GuestToken guest_token(std::string_view tenant) = 0;
};

/// One reactor's front door: finds the route, checks who asks, and answers or hands on.
///
/// Refusals that need no I/O are answered from snapshots and prepared bytes: no lock, no allocation, no system call of
/// its own. A refusal SOLD_OUT is sent only while the shelf says that too few units are free, and only to buyers who
/// cannot hold an order of the sale; possible owners go to the desk.
///
/// Threads: its reactor's only; `outcomes` may be read by any. Blocking: never.
class FrontDoor final : public Handler {
 public:
  FrontDoor(ReactorPort& reactor, const FrontDoorParts& parts);
  ~FrontDoor() override;

  void handle(const Request& request, Exchange& exchange) override;
  void on_loop(Instant now, Ticks ticks) override;

  [[nodiscard]] const OutcomeCounts& outcomes() const { return outcomes_; }

 private:
  struct SaleReplies {
    FixedReply not_open;
  };
  struct CachedState {
    Ticks made_at;
    FixedReply reply;
    std::string etag;
  };

  // front_door.cc: routes and common answers.
  void dispatch(const Route& route, std::string_view parameter, const Request& request, Exchange& exchange);
  void refuse(Exchange& exchange, Code code);
  void answer(Exchange& exchange, Code code, const Response& response);
  void refresh_catalog();
  void take_answers();
  [[nodiscard]] const Tenant* tenant_of(const Request& request) const;
  [[nodiscard]] const Identity* identify(const Request& request, const Tenant& tenant);
  [[nodiscard]] bool may_call(Audience audience, const Identity& identity) const;

  // purchase.cc: the hot path.
  void purchase(std::string_view item_id, const Request& request, Exchange& exchange);
  [[nodiscard]] bool read_purchase(const Request& request, Exchange& exchange);
  [[nodiscard]] bool names_taken(const Item& item);
  [[nodiscard]] const FixedReply* sold_out_reply(ItemNo item, std::int32_t units) const;
  void claim(const Sale& sale, const Item& item, const Request& request, Exchange& exchange, const Tenant& tenant,
             const Identity& identity);
  void conclude(const ClaimAnswer& answer);
  void look_up(const ClaimAnswer& answer, ReplyTo to);

  // buyer_reads.cc: public snapshots and a buyer's own orders.
  void get_time(Exchange& exchange);
  void answer_shared(std::string content, const Request& request, Exchange& exchange);
  void get_sales(const Tenant& tenant, const Request& request, Exchange& exchange);
  void get_sale(const Tenant& tenant, std::string_view sale_id, const Request& request, Exchange& exchange);
  void get_item(const Tenant& tenant, std::string_view item_id, const Request& request, Exchange& exchange);
  void get_numbers(const Tenant& tenant, std::string_view item_id, const Request& request, Exchange& exchange);
  void get_state(const Tenant& tenant, std::string_view sale_id, const Request& request, Exchange& exchange);
  [[nodiscard]] std::string state_body(const Sale& sale, std::string& etag) const;
  void get_me(const Tenant& tenant, const Identity& identity, std::string_view sale_id, Exchange& exchange);
  void get_order(const Tenant& tenant, const Identity& identity, std::string_view order_id, Exchange& exchange);
  void get_orders(const Tenant& tenant, const Identity& identity, std::string_view query, Exchange& exchange);

  // payments_api.cc: payments, cancels, webhooks, the sandbox.
  void start_payment(const Tenant& tenant, const Identity& identity, std::string_view order_id, const Request& request,
                     Exchange& exchange);
  void cancel(const Tenant& tenant, const Identity& identity, std::string_view order_id, const Request& request,
              Exchange& exchange);
  void webhook(std::string_view gateway_name, const Request& request, Exchange& exchange);
  void sandbox_status(std::string_view payment_id, Exchange& exchange);
  void sandbox_complete(std::string_view payment_id, const Request& request, Exchange& exchange);
  void guest(const Tenant& tenant, const Request& request, Exchange& exchange);
  [[nodiscard]] bool read_key(const Tenant& tenant, const Identity& identity, const Request& request,
                              std::string_view what, Exchange& exchange, std::optional<RequestKey>& key);
  [[nodiscard]] bool read_body(const Request& request, Exchange& exchange,
                               std::initializer_list<std::string_view> members, JsonBody& body);

  // admin_api.cc: what organisers and staff may do.
  void admin(const Route& route, const Tenant& tenant, const Identity& identity, std::string_view parameter,
             const Request& request, Exchange& exchange);
  void admin_create_sale(const Tenant& tenant, const Request& request, Exchange& exchange);
  void admin_change_sale(const Tenant& tenant, std::string_view sale, SaleAction action, Exchange& exchange);
  void admin_add_item(const Tenant& tenant, const Request& request, Exchange& exchange);
  void admin_stock(const Tenant& tenant, std::string_view item, const Request& request, Exchange& exchange);
  void admin_draw(const Tenant& tenant, std::string_view item, const Request& request, Exchange& exchange);
  void admin_refund(const Tenant& tenant, const Identity& identity, std::string_view order, const Request& request,
                    Exchange& exchange);
  void admin_reads(const Route& route, const Tenant& tenant, std::string_view parameter, Exchange& exchange);
  void admin_lists(bool is_sales, const Tenant& tenant, bool sees_all, Exchange& exchange);
  void admin_reconcile(const Request& request, Exchange& exchange);
  void admin_create_tenant(const Request& request, Exchange& exchange);
  void change(Exchange& exchange, ChangeRequest request, std::function<Response(const ChangeResult&)> answer);

  /// Runs `job` in the pool and sends what it makes; 503 at once when the pool is full.
  void in_pool(Exchange& exchange, std::function<Response(LedgerReader&)> job);
  /// Settles a command and sends what `answer` makes of it.
  void in_ledger(Exchange& exchange, SettleCommand command, std::function<Response(const Settlement&)> answer);

  ReactorPort& reactor_;
  Services& services_;
  FrontDoorParts parts_;
  Doorman doorman_;
  std::unique_ptr<Random> random_;
  Instant now_;
  Ticks ticks_;
  std::uint64_t catalog_version_ = 0;
  std::shared_ptr<const Catalog> catalog_;
  std::vector<std::unique_ptr<SaleReplies>> sale_replies_;  // By sale number.
  std::unordered_map<std::uint32_t, CachedState> states_;   // By sale number.
  std::array<FixedReply, kCodes.size()> replies_;
  FixedReply sold_out_may_return_;
  FixedReply sold_out_final_;
  std::vector<ClaimAnswer> answers_;
  PurchaseWish wish_;                 // Of the request that is read now.
  std::vector<std::uint32_t> taken_;  // Its numbers that are not free.
  std::vector<std::uint64_t> page_;   // Bits of one page of numbers.
  bool has_offered_ = false;
  OutcomeCounts outcomes_;
};

/// The order id of an attempt: what a page sends as Idempotency-Key, the same on every device of the buyer.
[[nodiscard]] std::string attempt_id(const Tenant& tenant, const Sale& sale, std::string_view buyer,
                                     std::size_t attempts);

}  // namespace weir::http
