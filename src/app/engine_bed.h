#pragma once

#include "app/engine.h"
#include "domain/catalog.h"
#include "ledger/sqlite_bed.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

/// An engine over a SQLite ledger, its desk, writer and pool stepped by hand: the process of a shop without its front
/// door, for tests.
class EngineBed {
 public:
  explicit EngineBed(SqliteOptions options_in) : options(std::move(options_in)) {}

  /// Null, or why the process did not start.
  [[nodiscard]] std::optional<Error> start() {
    auto ledger = SqliteLedger::open(options, clock, random);
    if (!ledger) return ledger.error();
    EngineParts parts;
    parts.ledger = std::move(*ledger);
    for (int i = 0; i < 2; ++i) {
      auto reader = SqliteReader::open(options, clock);
      if (!reader) return reader.error();
      if (i == 0)
        parts.own_reader = std::move(*reader);
      else
        parts.pool_readers.push_back(std::move(*reader));
    }
    parts.gate_random = std::make_unique<SeededRandom>(1);
    parts.buyer_hash = {1, 2};
    parts.rings = {.claims = 256, .answers = 1024, .returns = 256};
    parts.refund_due = [] {};
    parts.corrupt = [this](const Error& error) { corrupt = error.message; };
    engine = std::make_unique<Engine>(std::move(parts), clock);
    if (const auto built = engine->build(); !built) return built.error();
    engine->start_by_hand(mailbox, [](std::uint16_t) {});
    return std::nullopt;
  }
  void stop() { engine.reset(); }

  /// Every part goes on until none has anything to do.
  void run() {
    constexpr int kTurnsMax = 10'000;
    for (int i = 0; i < kTurnsMax; ++i) {
      const std::size_t done = engine->desk().turn() + engine->writer().turn() + (engine->pool().turn() ? 1U : 0U);
      if (done == 0) return;
    }
    FAIL() << "the engine does not come to rest";
  }

  [[nodiscard]] Claim claim(std::string_view buyer, std::string_view key) const {
    const auto catalog = engine->catalog();
    const Item& item = catalog->items().front();
    Claim made;
    made.keyed = true;
    made.order = derived_order_id(catalog->tenants().front(), buyer, key);
    made.tenant = catalog->tenants().front().no;
    made.sale = item.sale;
    made.item = item.no;
    made.units = 1;
    made.buyer = *BuyerName::from(buyer);
    made.buyer_key = buyer_key(engine->buyer_hash(), made.tenant, buyer);
    made.digest = purchase_digest(item.no, 1);
    made.promised_pay_by = clock.now() + catalog->sale(item.sale)->pay_within;
    return made;
  }
  /// Offers a claim, lets the engine come to rest, and gives its answer; null: there was none.
  [[nodiscard]] std::optional<ClaimAnswer> buy(std::string_view buyer, std::string_view key = "k") {
    if (!engine->offer_claim(0, {claim(buyer, key), {}})) return std::nullopt;
    run();
    std::array<ClaimAnswer, 8> answers;
    if (engine->take_answers(0, answers) == 0) return std::nullopt;
    return answers[0];
  }
  [[nodiscard]] std::optional<ClaimAnswerKind> buy_kind(std::string_view buyer) {
    const auto answer = buy(buyer);
    return answer ? std::optional{answer->kind} : std::nullopt;
  }

  /// Settles a command; nothing when no answer came or it was a failure.
  [[nodiscard]] std::optional<Settled> settle(SettleCommand command) {
    std::optional<Settled> settled;
    const bool is_taken = engine->settle({std::move(command), [&](const Result<Settlement>& done) {
                                            if (done) settled = done->settled;
                                          }});
    if (is_taken) run();
    return settled;
  }
  [[nodiscard]] std::optional<Changed> change(std::function<Result<ChangeResult>(Ledger&)> job) {
    std::optional<Changed> changed;
    http::ChangeRequest request;
    request.run = std::move(job);
    request.done = [&](const Result<ChangeResult>& done) {
      if (done) changed = done->changed;
    };
    if (engine->change(std::move(request))) run();
    return changed;
  }

  /// A sale `drop` that is open, and its items `item0`, `item1`, … of `units` each; before the start.
  void make_sale(std::int64_t units, int items = 1) {
    const auto ledger = SqliteLedger::open(options, clock, random);
    ASSERT_TRUE(ledger) << ledger.error().message;
    ASSERT_TRUE((*ledger)->create_sale({.tenant = "default",
                                        .id = "drop",
                                        .title = "Drop",
                                        .opens_at = clock.now(),
                                        .closes_at = clock.now() + Micros{86'400'000'000},
                                        .limit_per_buyer = 1,
                                        .pay_within = kPayWithin,
                                        .secret_url = false}));
    for (int i = 0; i < items; ++i) {
      ASSERT_TRUE((*ledger)->add_item({.tenant = "default",
                                       .sale = "drop",
                                       .id = "item" + std::to_string(i),
                                       .title = "Thing",
                                       .price = {1999, *Currency::parse("EUR")},
                                       .units = units}));
    }
  }

  [[nodiscard]] Shelf shelf() const { return engine->shelves().read(engine->catalog()->items().front().no); }
  [[nodiscard]] OrderStatus status(OrderId id) const {
    const auto reader = SqliteReader::open(options, clock);
    const auto order = reader ? (*reader)->order(id) : Result<std::optional<Order>>{};
    EXPECT_TRUE(order && *order);
    return order && *order ? (*order)->status : OrderStatus::rejected;
  }
  /// The violations that an audit finds; empty when all is well.
  [[nodiscard]] std::string audit() const {
    const auto reader = SqliteReader::open(options, clock);
    if (!reader) return reader.error().message;
    const auto report = (*reader)->audit();
    if (!report) return report.error().message;
    std::string text;
    for (const AuditInvariant& invariant : report->invariants) {
      for (const std::string& violation : invariant.violations) text += invariant.id + ": " + violation + "\n";
    }
    return text;
  }

  static constexpr Micros kPayWithin{600'000'000};

  class NoMailbox final : public http::Mailbox {
    void post(http::ReplyTo, http::Response) override {}
  };

  SqliteOptions options;
  ManualClock clock;
  SeededRandom random{20261130};
  NoMailbox mailbox;
  std::string corrupt;
  std::unique_ptr<Engine> engine;
};

}  // namespace weir
