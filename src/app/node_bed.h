#pragma once

#include "app/node.h"
#include "app/node_fakes.h"
#include "base/random.h"
#include "http/answer_writer.h"
#include "http/front_door.h"
#include "http/http_testing.h"
#include "identity/token_issuer.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

/// A node behind its front door, on stores of the test, every part stepped by hand on one thread.
class NodeBed : public http::ReactorPort, public http::Mailbox {
 public:
  static constexpr SaleNo kSale{1};
  static constexpr ItemNo kItem{1};
  static constexpr Micros kPayWithin{600'000'000};

  explicit NodeBed(std::int64_t units = 2) {
    ledger.tenants.push_back(
        {.no = {1}, .id = "default", .domains = {}, .order_id_key_0 = {1, 2}, .order_id_key_1 = {3, 4}});
    ledger.sales.push_back({.no = kSale,
                            .tenant = {1},
                            .id = "drop",
                            .title = "Drop",
                            .opens_at = clock.now(),
                            .closes_at = clock.now() + Micros{86'400'000'000},
                            .limit_per_buyer = 1,
                            .pay_within = kPayWithin,
                            .secret = {}});
    ledger.items.push_back({.no = kItem,
                            .sale = kSale,
                            .id = "item0",
                            .title = "Item",
                            .price = {1999, *Currency::parse("EUR")},
                            .total = units});
    ledger.gates[kSale] = {.sale = kSale,
                           .epoch = 1,
                           .phase = GatePhase::open,
                           .last_open = 1,
                           .pin = "pin",
                           .builder = {},
                           .builder_seen_at = {}};
    gate.sales[kSale].items[kItem] = {.total = units, .free = units, .version = 1};
    start();
  }

  /// What waits in the node is answered while there is somebody to hear it.
  ~NodeBed() override { node->stop({}); }
  NodeBed(const NodeBed&) = delete;
  NodeBed& operator=(const NodeBed&) = delete;

  // Requests. Each goes in, the node comes to rest, and the answer is read; null: there is none yet.

  std::optional<http::testing::Answer> buy(std::string_view buyer, std::string_view key = {},
                                           std::string_view item = "item0") {
    http::Request request = request_of(http::Method::post, buyer);
    path_ = "/api/flash-sales/items/" + std::string{item} + "/purchase";
    request.path = path_;
    request.idempotency_key = key;
    request.has_idempotency_key = !key.empty();
    return ask(request);
  }
  std::optional<http::testing::Answer> get(std::string_view buyer, OrderId order) {
    return on_order(http::Method::get, buyer, order);
  }
  std::optional<http::testing::Answer> cancel(std::string_view buyer, OrderId order) {
    return on_order(http::Method::delete_, buyer, order);
  }
  /// The answer to the last request, if it has come since.
  std::optional<http::testing::Answer> late_answer() {
    run();
    return take_answer();
  }
  /// 0: no answer yet.
  int status(const std::optional<http::testing::Answer>& answer) { return answer ? answer->status : 0; }

  /// Everything goes on until nothing has anything to do.
  void run() {
    for (int i = 0; i < 1000; ++i) {
      door_->on_loop(clock.now(), clock.ticks());
      const std::size_t done = node->desk().turn() + node->writer().turn() + (node->pool().turn() ? 1U : 0U);
      if (done == 0) break;
    }
    door_->on_loop(clock.now(), clock.ticks());
  }
  /// The helpers' turns, once each: what a running node does every few milliseconds.
  void look() {
    node->lease_turn();
    node->follow_turn();
    node->shelf_turn();
    node->owner_turn();
    node->shelf_turn();
  }
  /// Time passes and the helpers keep up with it.
  void live(Micros span) {
    for (Micros passed{0}; passed < span; passed += Micros{50'000}) {
      clock.pass(Micros{50'000});
      look();
      run();
    }
  }

  [[nodiscard]] OrderId id_of(std::string_view buyer, std::string_view key) const {
    return derived_order_id(ledger.tenants.front(), buyer, key);
  }
  [[nodiscard]] Claim claim_of(std::string_view buyer, std::string_view key) const {
    Claim claim;
    claim.keyed = true;
    claim.order = id_of(buyer, key);
    claim.tenant = {1};
    claim.sale = kSale;
    claim.item = kItem;
    claim.buyer = *BuyerName::from(buyer);
    claim.digest = purchase_digest(kItem, 1);
    claim.promised_pay_by = clock.now() + kPayWithin;
    return claim;
  }
  /// A worker records what stands in the log under this id.
  void record(std::string_view buyer, std::string_view key, OrderStatus status = OrderStatus::pending) {
    const Claim claim = claim_of(buyer, key);
    Order& row = ledger.rows[claim.order];
    row.id = claim.order;
    row.tenant = claim.tenant;
    row.sale = claim.sale;
    row.item = claim.item;
    row.buyer = buyer;
    row.units = 1;
    row.amount = ledger.items.front().price;
    row.status = status;
    row.digest = claim.digest;
    row.created_at = clock.now();
    row.pay_by = clock.now() + 2 * kPayWithin;
    const auto held = gate.sales[kSale].holds.find(claim.order);
    if (held != gate.sales[kSale].holds.end()) held->second.recorded = true;
  }

  // ReactorPort and Mailbox.
  std::uint16_t index() const override { return 0; }
  void complete(http::ReplyTo to, const http::FixedReply& reply) override { keep(to.slot, reply); }
  void complete(http::ReplyTo to, const http::Response& response) override { keep(to.slot, response); }
  void wake() override {}
  void post(http::ReplyTo to, http::Response response) override { keep(to.slot, response); }

  HandClock clock;
  FakeGateStore gate;
  FakeLedgerStore ledger;
  FakeLogStore log;
  std::unique_ptr<Node> node;
  std::vector<Error> corrupt;

 private:
  class OneExchange final : public http::Exchange {
   public:
    OneExchange(NodeBed& bed, std::uint32_t slot) : bed_(bed), slot_(slot) {}
    void send(const http::FixedReply& reply) override { bed_.keep(slot_, reply); }
    void send(const http::Response& response) override { bed_.keep(slot_, response); }
    http::ReplyTo defer() override { return {.slot = slot_, .generation = 1, .reactor = 0}; }
    std::string_view request_id() const override { return http::kBlankRequestId; }

   private:
    NodeBed& bed_;
    std::uint32_t slot_;
  };

  void start() {
    NodeParts parts;
    parts.lease_ledger = std::make_unique<FakeLedger>(ledger, clock);
    parts.ledger = std::make_unique<FakeLedger>(ledger, clock);
    parts.own_reader = std::make_unique<FakeReader>(ledger);
    parts.owner_reader = std::make_unique<FakeReader>(ledger);
    parts.pool_readers.push_back(std::make_unique<FakeReader>(ledger));
    for (auto* port : {&parts.desk_gate, &parts.shelf_gate, &parts.owner_gate, &parts.finder_gate})
      *port = std::make_unique<FakeGate>(gate);
    parts.log = std::make_unique<FakeLog>(log);
    parts.hear_of_log = [](const std::function<void()>&) {};
    parts.ask_log_end = [this](Deadline) -> Result<LogRanges> {
      if (log.cannot_tell_ends) return fail(Failure::unavailable, "the log cannot be reached");
      return log.ends;
    };
    parts.buyer_hash = {5, 6};
    parts.rings = {.claims = 64, .answers = 256, .returns = 64};
    parts.refund_due = [] {};
    parts.corrupt = [this](const Error& error) { corrupt.push_back(error); };
    node = std::make_unique<Node>(std::move(parts), clock);
    const auto built = node->build();
    ASSERT_TRUE(built) << built.error().message;
    node->start_by_hand(*this, [](std::uint16_t) {});
    const auto keys = KeySet::from(kSecret, {});
    ASSERT_TRUE(keys);
    doorman_.keys.set(*keys);
    doorman_.per_buyer = &unlimited_;
    doorman_.per_address = &unlimited_;
    front_.services = node.get();
    front_.doorman = &doorman_;
    front_.random = [] { return std::make_unique<SeededRandom>(7); };
    door_ = std::make_unique<http::FrontDoor>(*this, front_);
    look();
    run();
  }

  http::Request request_of(http::Method method, std::string_view buyer) {
    bearer_ = "Bearer " + issuer_.issue(buyer, Role::buyer, "", clock.now() + Micros{3'600'000'000}, clock.now());
    http::Request request;
    request.method = method;
    request.authorization = bearer_;
    return request;
  }
  std::optional<http::testing::Answer> on_order(http::Method method, std::string_view buyer, OrderId order) {
    http::Request request = request_of(method, buyer);
    path_ = "/api/flash-sales/orders/" + order.text();
    request.path = path_;
    return ask(request);
  }
  std::optional<http::testing::Answer> ask(const http::Request& request) {
    door_->on_loop(clock.now(), clock.ticks());
    OneExchange exchange{*this, ++slots_};
    door_->handle(request, exchange);
    run();
    return take_answer();
  }
  std::optional<http::testing::Answer> take_answer() {
    const auto found = answers_.find(slots_);
    return found == answers_.end() ? std::nullopt : http::testing::take_answer(found->second);
  }
  template <typename Reply>
  void keep(std::uint32_t slot, const Reply& reply) {
    http::ByteBuffer bytes;
    writer_.append(bytes, reply, {.request_id = http::kBlankRequestId});
    EXPECT_TRUE(answers_[slot].empty()) << "a second answer to one request";
    answers_[slot] = bytes.view();
  }

  static constexpr const char* kSecret = "a secret of the tests, 32 bytes long";
  std::map<std::uint32_t, std::string> answers_;
  std::uint32_t slots_ = 0;
  std::string bearer_;
  std::string path_;
  http::AnswerWriter writer_;
  TokenIssuer issuer_{kSecret, {}};
  RateLimiter unlimited_{0, {}};
  http::DoormanParts doorman_;
  http::FrontDoorParts front_;
  std::unique_ptr<http::FrontDoor> door_;
};

}  // namespace weir
