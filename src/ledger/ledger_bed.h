#pragma once

#include "base/random.h"
#include "base/time.h"
#include "config/limits.h"
#include "ledger/ledger.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {

/// A clock that moves when told.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] Ticks ticks() const override { return {now_.us}; }
  void pass(Micros span) { now_ = now_ + span; }

 private:
  Instant now_{1'800'000'000'000'000};
};

/// What the conformance suite needs of an adapter: a fresh ledger, a reader beside it, and a restart of both.
class LedgerBed {
 public:
  virtual ~LedgerBed() = default;
  virtual Ledger& ledger() = 0;
  virtual LedgerReader& reader() = 0;
  virtual ManualClock& clock() = 0;
  /// Closes both and opens them again on what was stored.
  virtual void restart() = 0;
};

using LedgerMaker = std::function<std::unique_ptr<LedgerBed>()>;

/// Short words for what tests of a ledger say all the time. A sale `drop` of the tenant `default` is open: items `hat`
/// (`units` of them at 19.99 EUR) and `scarf` (10 at 5.00 EUR).
class LedgerScene {
 public:
  static constexpr Micros kPayWithin{600'000'000};
  static constexpr Micros kLong{3'600'000'000};

  explicit LedgerScene(LedgerBed& bed_in) : bed(bed_in) {}

  void open_sale(std::int64_t units, std::int32_t limit = 1) {
    ASSERT_EQ(changed(ledger().create_sale(sale_draft("drop", limit))), Changed::done);
    ASSERT_EQ(changed(ledger().add_item(item_draft("hat", units, 1999))), Changed::done);
    ASSERT_EQ(changed(ledger().add_item(item_draft("scarf", 10, 500))), Changed::done);
  }

  [[nodiscard]] SaleDraft sale_draft(std::string id, std::int32_t limit = 1) const {
    return {.tenant = "default",
            .id = std::move(id),
            .title = "Spring drop",
            .opens_at = bed.clock().now(),
            .closes_at = bed.clock().now() + Micros{86'400'000'000},
            .limit_per_buyer = limit,
            .pay_within = kPayWithin,
            .secret_url = false};
  }
  [[nodiscard]] static ItemDraft item_draft(std::string id, std::int64_t units, std::int64_t price) {
    return {.tenant = "default",
            .sale = "drop",
            .id = id,
            .title = "A " + id,
            .price = {price, *Currency::parse("EUR")},
            .units = units,
            .numbered = false,
            .first_number = 0,
            .labels = ""};
  }
  [[nodiscard]] static ItemDraft numbered_draft(std::string id, std::int64_t units, std::uint32_t first) {
    ItemDraft draft = item_draft(std::move(id), units, 1999);
    draft.numbered = true;
    draft.first_number = first;
    return draft;
  }

  [[nodiscard]] Claim claim(std::string_view buyer, std::int32_t units = 1, ItemNo item = {1}) {
    const std::uint64_t number = ++made;
    // Spread over the whole range, as random ids are.
    return claim_as({number * 0x9e3779b97f4a7c15U, number}, buyer, units, item);
  }
  [[nodiscard]] static Claim claim_as(OrderId id, std::string_view buyer, std::int32_t units = 1, ItemNo item = {1}) {
    Claim made_claim;
    made_claim.order = id;
    made_claim.tenant = {1};
    made_claim.sale = {1};
    made_claim.item = item;
    made_claim.units = units;
    made_claim.digest = purchase_digest(item, units);
    made_claim.buyer = *BuyerName::from(buyer);
    return made_claim;
  }

  /// A claim that was admitted with these numbers.
  [[nodiscard]] Claim claim_numbers(std::string_view buyer, std::initializer_list<std::uint32_t> numbers,
                                    ItemNo item = {1}) {
    return claim_numbers(buyer, std::span{numbers.begin(), numbers.size()}, item);
  }
  [[nodiscard]] Claim claim_numbers(std::string_view buyer, std::span<const std::uint32_t> numbers, ItemNo item = {1}) {
    Claim one = claim(buyer, static_cast<std::int32_t>(numbers.size()), item);
    one.wish = Wish::named;
    one.numbers = NumberList::from(numbers).value();
    one.digest = purchase_digest(one);
    return one;
  }

  [[nodiscard]] std::vector<Outcome> record(const std::vector<Claim>& claims) {
    std::vector<Outcome> outcomes(claims.size());
    const auto done = ledger().record(claims, outcomes, deadline());
    EXPECT_TRUE(done) << done.error().message;
    return outcomes;
  }
  [[nodiscard]] Outcome record(const Claim& one) { return record(std::vector{one}).front(); }
  /// Records an order and gives its id.
  [[nodiscard]] OrderId buy(std::string_view buyer, std::int32_t units = 1, ItemNo item = {1}) {
    const Claim one = claim(buyer, units, item);
    EXPECT_EQ(record(one).recording, Recording::recorded);
    return one.order;
  }

  [[nodiscard]] std::vector<Settlement> settle(const std::vector<SettleCommand>& commands) {
    std::vector<Settlement> settlements(commands.size());
    const auto done = ledger().settle(commands, settlements, deadline());
    EXPECT_TRUE(done) << done.error().message;
    return settlements;
  }
  [[nodiscard]] Settlement settle(const SettleCommand& command) { return settle(std::vector{command}).front(); }

  [[nodiscard]] static StartPayment start(OrderId order, std::string_view buyer, std::uint64_t payment) {
    return {.tenant = {1},
            .buyer = *BuyerName::from(buyer),
            .order = order,
            .gateway = "sandbox",
            .payment = {7, payment},
            .grace = Micros{0},
            .key = std::nullopt};
  }
  [[nodiscard]] static PaymentEvent event(std::string id, PaymentEventKind kind, std::uint64_t payment,
                                          std::int64_t amount = 1999) {
    return {.gateway = "sandbox",
            .event_id = std::move(id),
            .kind = kind,
            .payment = {7, payment},
            .refund = {},
            .amount = {amount, *Currency::parse("EUR")},
            .body = "{}"};
  }
  [[nodiscard]] static PaymentEvent captured(std::uint64_t payment, std::int64_t amount = 1999) {
    return event("captured-" + std::to_string(payment), PaymentEventKind::captured, payment, amount);
  }
  [[nodiscard]] static CancelOrder cancel(OrderId order, std::string_view buyer) {
    return {.tenant = {1}, .buyer = *BuyerName::from(buyer), .order = order, .key = std::nullopt};
  }
  [[nodiscard]] static RefundOrder refund(OrderId order, std::uint64_t id) {
    return {.tenant = {1},
            .order = order,
            .refund = {9, id},
            .amount = std::nullopt,
            .restock = true,
            .reason = "asked",
            .key = std::nullopt};
  }
  [[nodiscard]] static PaymentEvent refunded(std::uint64_t payment, const Refund& refund) {
    PaymentEvent done =
        event("refunded-" + refund.id.text(), PaymentEventKind::refund_done, payment, refund.amount.value);
    done.refund = refund.id;
    done.amount = refund.amount;
    return done;
  }
  /// Starts the payment and captures it.
  [[nodiscard]] Settlement pay(OrderId order, std::string_view buyer, std::uint64_t payment,
                               std::int64_t amount = 1999) {
    EXPECT_EQ(settle(start(order, buyer, payment)).settled, Settled::done);
    return settle(captured(payment, amount));
  }

  [[nodiscard]] std::vector<Ended> expire(std::size_t most = 1024) {
    std::vector<Ended> ended(most);
    const auto count = ledger().expire(ended, deadline());
    EXPECT_TRUE(count) << count.error().message;
    ended.resize(count.value_or(0));
    return ended;
  }
  void let_pass(Micros span) { bed.clock().pass(span); }

  [[nodiscard]] Order order(OrderId id) {
    const auto found = bed.reader().order(id);
    EXPECT_TRUE(found && found->has_value());
    return found && *found ? **found : Order{};
  }
  [[nodiscard]] OrderStatus status(OrderId id) { return order(id).status; }
  [[nodiscard]] Shelf shelf(ItemNo item = {1}) {
    const auto all = bed.reader().shelves();
    EXPECT_TRUE(all);
    for (const auto& [no, shelf] : *all) {
      if (no == item) return shelf;
    }
    return {};
  }
  [[nodiscard]] std::int32_t units_of(std::string_view buyer) {
    return bed.reader().standing({1}, {1}, buyer).value_or(BuyerStanding{}).units;
  }
  /// The violations that an audit finds, joined; empty when all is well.
  [[nodiscard]] std::string audit() {
    const auto report = bed.reader().audit();
    if (!report) return report.error().message;
    std::string text;
    for (const AuditInvariant& invariant : report->invariants) {
      for (const std::string& violation : invariant.violations) text += invariant.id + ": " + violation + "\n";
    }
    EXPECT_EQ(report->ok, text.empty());
    return text;
  }

  [[nodiscard]] Ledger& ledger() { return bed.ledger(); }
  [[nodiscard]] Deadline deadline() { return bed.clock().ticks() + Micros{2'000'000}; }
  [[nodiscard]] static Changed changed(const Result<ChangeResult>& result) {
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->changed : Changed::refused;
  }

  LedgerBed& bed;
  std::uint64_t made = 0;
};

/// The base of every test of the suite: `GetParam()` makes the ledger.
class LedgerConformance : public testing::TestWithParam<LedgerMaker> {
 protected:
  void TearDown() override { EXPECT_EQ(scene.audit(), ""); }

  const std::unique_ptr<LedgerBed> bed = GetParam()();
  LedgerScene scene{*bed};
};

inline Shelf counts(std::int64_t total, std::int64_t held, std::int64_t sold) {
  return {.total = total, .free = total - held - sold, .held = held, .sold = sold, .version = 0};
}

}  // namespace weir
