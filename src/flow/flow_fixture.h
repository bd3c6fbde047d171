#pragma once

#include "flow/admit.h"
#include "flow/record.h"
#include "gate/memory_gate.h"
#include "queue/direct_queue.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

/// A desk's surroundings as plain lists, for tests of the steps.
class ListPort final : public AdmitPort {
 public:
  [[nodiscard]] std::size_t take_requests(std::span<GateRequest> out) override { return take(requests, out); }
  [[nodiscard]] std::size_t take_claims(std::span<ClaimRequest> out) override { return take(claims, out); }
  void answer(const ClaimAnswer& answer) override { answers.push_back(answer); }
  void answer_retake(PaymentId payment, bool taken) override { retakes.emplace_back(payment, taken); }

  std::deque<GateRequest> requests;
  std::deque<ClaimRequest> claims;
  std::vector<ClaimAnswer> answers;
  std::vector<std::pair<PaymentId, bool>> retakes;

 private:
  template <typename T>
  static std::size_t take(std::deque<T>& from, std::span<T> out) {
    const std::size_t count = std::min(from.size(), out.size());
    std::copy_n(from.begin(), count, out.begin());
    from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
};

/// A ledger that records what it is told and fails when it is told to. Only `record` and `recover` are of use.
class ScriptedLedger final : public Ledger {
 public:
  Result<void> record(std::span<const Claim> claims, std::span<Outcome> outcomes, Deadline) override {
    ++record_calls;
    if (fail_with) return fail(*fail_with, "scripted");
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const auto told = script.find(claims[i].order);
      const bool is_new = rows.insert({claims[i].order, claims[i].units}).second;
      outcomes[i] = {
          .order = claims[i].order,
          .fate = Fate::durable,
          .recording = told != script.end() ? told->second : (is_new ? Recording::recorded : Recording::repeated),
          .status = OrderStatus::pending,
          .pay_by = claims[i].promised_pay_by};
    }
    if (lose_next_answer) {
      lose_next_answer = false;
      return fail(Failure::timed_out, "the answer was lost");
    }
    return {};
  }
  Result<void> settle(std::span<const SettleCommand> commands, std::span<Settlement> settlements, Deadline) override {
    ++settle_calls;
    if (fail_with) return fail(*fail_with, "scripted");
    for (std::size_t i = 0; i < commands.size(); ++i) settlements[i] = next_settlement;
    if (lose_next_answer) {
      lose_next_answer = false;
      return fail(Failure::timed_out, "the answer was lost");
    }
    return {};
  }
  Result<std::size_t> expire(std::span<Ended> ended, Deadline) override {
    if (fail_with) return fail(*fail_with, "scripted");
    const std::size_t count = std::min(ended.size(), overdue.size());
    std::copy_n(overdue.begin(), count, ended.begin());
    overdue.erase(overdue.begin(), overdue.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  Result<std::optional<Instant>> next_expiry() override { return std::optional<Instant>{}; }
  Result<ChangeResult> create_tenant(std::string_view, std::span<const std::string>) override { return ChangeResult{}; }
  Result<ChangeResult> create_sale(const SaleDraft&) override { return ChangeResult{}; }
  Result<ChangeResult> change_sale(std::string_view, std::string_view, SaleAction) override { return ChangeResult{}; }
  Result<ChangeResult> add_item(const ItemDraft&) override { return ChangeResult{}; }
  Result<ChangeResult> change_stock(std::string_view, std::string_view, std::int64_t, std::string_view) override {
    return ChangeResult{};
  }
  Result<void> recover(Deadline) override { return {}; }
  Result<void> tidy_up() override { return {}; }
  Instant now() const override { return Instant{1'000'000}; }

  std::optional<Failure> fail_with;
  bool lose_next_answer = false;
  std::map<OrderId, Recording> script;
  std::map<OrderId, std::int32_t> rows;
  std::vector<Ended> overdue;
  Settlement next_settlement;
  int record_calls = 0;
  int settle_calls = 0;
};

/// A desk and a recorder over a real memory gate and a real direct queue, stepped by hand.
class FlowTest : public ::testing::Test {
 protected:
  static constexpr SaleNo kSale{1};
  static constexpr ItemNo kItem{1};

  FlowTest() : queue(1024), record(queue, ledger), admit(gate, queue, port, record.ready()) {
    const GateItem item{kItem, 10};
    EXPECT_TRUE(gate.open({.no = kSale, .limit_per_buyer = 1, .selling = true}, {&item, 1}, {}).has_value());
  }

  static Claim claim(std::uint64_t order, std::uint64_t buyer, std::int32_t units = 1) {
    Claim made;
    made.order = {1, order};
    made.sale = kSale;
    made.item = kItem;
    made.units = units;
    made.buyer_key = {buyer};
    made.digest = purchase_digest(kItem, units);
    made.buyer = *BuyerName::from("buyer" + std::to_string(buyer));
    made.promised_pay_by = {600'000'000};
    return made;
  }
  void ask(const Claim& claim) { port.claims.push_back({claim, {static_cast<std::uint32_t>(claim.order.low), 0, 0}}); }
  void desk_step() { ASSERT_TRUE(admit.step(now).has_value()); }
  /// Both sides step until nothing is left to do.
  void settle_down() {
    for (int i = 0; i < 16; ++i) {
      desk_step();
      static_cast<void>(record.step(now));
    }
    desk_step();
  }
  [[nodiscard]] std::int64_t free_units() { return gate.shelf(kItem, {})->free; }

  MemoryGate gate;
  ScriptedLedger ledger;
  DirectQueue queue;
  Record record;
  ListPort port;
  Admit admit;
  Ticks now{1'000'000};
};

}  // namespace weir
