#include "payment/sandbox_network.h"

#include "config/limits.h"
#include "payment/sandbox_event.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {1'796'036'400'000'000 + at_.us}; }
  [[nodiscard]] Ticks ticks() const override { return at_; }
  void pass(Micros span) { at_ = at_ + span; }

 private:
  Ticks at_;
};

constexpr Micros kSecond{1'000'000};
const Money kAmount{1999, *Currency::parse("EUR")};

class Network : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "network_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    open();
  }
  void TearDown() override {
    network_.reset();
    fs::remove_all(folder_);
  }

  void open() {
    network_.reset();
    auto opened = SandboxNetwork::open(folder_ + "/sandbox.db", clock_, random_);
    ASSERT_TRUE(opened) << opened.error().message;
    network_ = std::move(*opened);
  }
  /// As a crash leaves it: whatever was in memory is gone.
  void crash_and_open() { open(); }

  PaymentId started(std::uint64_t no = 1) {
    const PaymentId payment{9, no};
    EXPECT_TRUE(network_->start(payment, kAmount));
    return payment;
  }
  PaymentId captured(std::uint64_t no = 1) {
    const PaymentId payment = started(no);
    EXPECT_EQ(network_->complete(payment, {.approve = true}), SandboxOrder::taken);
    EXPECT_THAT(due(), SizeIs(1));
    EXPECT_THAT(due(), IsEmpty());
    return payment;
  }
  std::vector<SandboxDelivery> due() { return network_->take_due(clock_.ticks()); }
  SandboxStatus status(PaymentId payment) { return network_->status(payment).value().value(); }
  GatewayEvent event(const SandboxDelivery& delivery) { return parse_event(delivery.body).value(); }

  std::string folder_;
  HandClock clock_;
  SeededRandom random_{5};
  std::unique_ptr<SandboxNetwork> network_;
};

TEST_F(Network, ApprovalCapturesAtItsMomentAndTellsOnce) {
  const PaymentId payment = started();
  ASSERT_EQ(network_->complete(payment, {.approve = true, .delay = 5 * kSecond}), SandboxOrder::taken);
  clock_.pass(5 * kSecond - Micros{1});
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(status(payment).captured, 0);
  clock_.pass(Micros{1});
  const std::vector<SandboxDelivery> deliveries = due();
  ASSERT_THAT(deliveries, SizeIs(1));
  EXPECT_EQ(status(payment).captured, 1999);
  EXPECT_EQ(event(deliveries[0]).kind, PaymentEventKind::captured);
  EXPECT_EQ(event(deliveries[0]).payment, payment);
  EXPECT_EQ(event(deliveries[0]).amount, kAmount);
  EXPECT_THAT(deliveries[0].body, HasSubstr("\"createdAt\":\"2026-11-30T11:00:05.000Z\""));
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(Network, DeclineTellsAndCapturesNothingAndAnotherTryIsLawful) {
  const PaymentId payment = started();
  ASSERT_EQ(network_->complete(payment, {.approve = false}), SandboxOrder::taken);
  ASSERT_EQ(event(due().at(0)).kind, PaymentEventKind::declined);
  EXPECT_EQ(status(payment).captured, 0);
  ASSERT_EQ(network_->complete(payment, {.approve = true}), SandboxOrder::taken);
  EXPECT_EQ(event(due().at(0)).kind, PaymentEventKind::captured);
  EXPECT_EQ(status(payment).captured, 1999);
  ASSERT_EQ(network_->complete(payment, {.approve = false}), SandboxOrder::taken);
  EXPECT_EQ(event(due().at(0)).kind, PaymentEventKind::declined);
  EXPECT_EQ(status(payment).captured, 1999) << "what is captured stays captured";
}

TEST_F(Network, ASecondApprovalIsANewEventAndNoMoreMoney) {
  const PaymentId payment = captured();
  ASSERT_EQ(network_->complete(payment, {.approve = true}), SandboxOrder::taken);
  ASSERT_EQ(network_->complete(payment, {.approve = true}), SandboxOrder::taken);
  const std::vector<SandboxDelivery> deliveries = due();
  ASSERT_THAT(deliveries, SizeIs(2));
  EXPECT_NE(deliveries[0].event_id, deliveries[1].event_id);
  EXPECT_EQ(status(payment).captured, 1999);
}

TEST_F(Network, TimesSendsTheSameEventAgain) {
  const PaymentId payment = started();
  ASSERT_EQ(network_->complete(payment, {.approve = true, .times = 20}), SandboxOrder::taken);
  const std::vector<SandboxDelivery> deliveries = due();
  ASSERT_THAT(deliveries, SizeIs(20));
  for (const SandboxDelivery& delivery : deliveries) EXPECT_EQ(delivery.body, deliveries[0].body);
}

TEST_F(Network, WhatIsOutOfRangeOrUnknownIsRefused) {
  const PaymentId payment = started();
  EXPECT_EQ(network_->complete(PaymentId{1, 1}, {.approve = true}), SandboxOrder::unknown_payment);
  EXPECT_EQ(network_->complete(payment, {.times = 0}), SandboxOrder::out_of_range);
  EXPECT_EQ(network_->complete(payment, {.times = 21}), SandboxOrder::out_of_range);
  EXPECT_EQ(network_->complete(payment, {.delay = Micros{-1}}), SandboxOrder::out_of_range);
  EXPECT_EQ(network_->complete(payment, {.delay = 901 * kSecond}), SandboxOrder::out_of_range);
  EXPECT_EQ(network_->complete(payment, {.delay = 900 * kSecond}), SandboxOrder::taken);
}

TEST_F(Network, EventsLeaveInTheOrderOfTheirMoments) {
  for (const int delay_s : {3, 1, 2, 1}) {
    ASSERT_EQ(network_->complete(started(static_cast<std::uint64_t>(delay_s)), {.delay = delay_s * kSecond}),
              SandboxOrder::taken);
  }
  EXPECT_EQ(network_->next_due(), Ticks{} + kSecond);
  clock_.pass(3 * kSecond);
  std::vector<std::uint64_t> order;
  for (const SandboxDelivery& delivery : due()) order.push_back(event(delivery).payment.low);
  EXPECT_THAT(order, testing::ElementsAre(1, 1, 2, 3));
}

TEST_F(Network, AFullQueueRefusesAndRoomComesBack) {
  const PaymentId payment = started();
  const int events = static_cast<int>(kSandboxWaitingMax) / kSandboxTimesMax;
  for (int i = 0; i < events; ++i) {
    ASSERT_EQ(network_->complete(payment, {.approve = true, .times = kSandboxTimesMax}), SandboxOrder::taken) << i;
  }
  EXPECT_EQ(network_->complete(payment, {}), SandboxOrder::full);
  std::size_t handed_out = 0;
  for (int i = 0; i < 100; ++i) {
    const std::size_t count = due().size();
    EXPECT_LE(count, kSandboxBatchMax);
    handed_out += count;
  }
  EXPECT_EQ(handed_out, kSandboxWaitingMax);
  EXPECT_EQ(network_->complete(payment, {}), SandboxOrder::taken);
}

TEST_F(Network, AWebhookThatFailsComesAgainLater) {
  ASSERT_EQ(network_->complete(started(), {.approve = true}), SandboxOrder::taken);
  SandboxDelivery delivery = due().at(0);
  Micros waited{0};
  for (int i = 1; i <= 8; ++i) {
    network_->put_back(delivery, clock_.ticks());
    EXPECT_THAT(due(), IsEmpty());
    const Micros wait = *network_->next_due() - clock_.ticks();
    EXPECT_GE(wait, std::min(waited, 30 * kSecond));
    EXPECT_LE(wait, 30 * kSecond);
    waited = wait;
    clock_.pass(wait);
    const std::vector<SandboxDelivery> again = due();
    ASSERT_THAT(again, SizeIs(1));
    EXPECT_EQ(again[0].body, delivery.body);
    EXPECT_EQ(again[0].attempts, i);
    delivery = again[0];
  }
}

TEST_F(Network, TriesEndAndTheNextStartBeginsAgain) {
  ASSERT_EQ(network_->complete(started(), {.approve = true}), SandboxOrder::taken);
  int tries = 0;
  for (int i = 0; i < 2 * kSandboxTriesMax; ++i) {
    for (const SandboxDelivery& delivery : due()) ++tries, network_->put_back(delivery, clock_.ticks());
    clock_.pass(30 * kSecond);
  }
  EXPECT_EQ(tries, kSandboxTriesMax);
  EXPECT_EQ(network_->next_due(), std::nullopt);
  crash_and_open();
  EXPECT_THAT(due(), SizeIs(1));
}

TEST_F(Network, ANoticeOfCapturedMoneySurvivesACrash) {
  const PaymentId payment = started();
  ASSERT_EQ(network_->complete(payment, {.approve = true, .times = 3}), SandboxOrder::taken);
  const std::string sent = due().at(0).body;
  crash_and_open();
  EXPECT_EQ(status(payment).captured, 1999);
  const std::vector<SandboxDelivery> again = due();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].body, sent) << "the same event under the same id";
  EXPECT_THAT(due(), IsEmpty()) << "the earlier one counts as delivered now";
  crash_and_open();
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(Network, AnEventBeforeItsMomentIsLostByACrashAndNothingIsCaptured) {
  const PaymentId payment = started();
  ASSERT_EQ(network_->complete(payment, {.approve = true, .delay = kSecond}), SandboxOrder::taken);
  crash_and_open();
  clock_.pass(kSecond);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(status(payment).captured, 0);
}

TEST_F(Network, ACopyThatFailsKeepsTheNoticeUntilItIsDelivered) {
  ASSERT_EQ(network_->complete(started(), {.approve = true, .times = 2}), SandboxOrder::taken);
  network_->put_back(due().at(1), clock_.ticks());
  EXPECT_THAT(due(), IsEmpty());
  crash_and_open();
  EXPECT_THAT(due(), SizeIs(1));
}

TEST_F(Network, AStartIsRepeatableWithTheSameAmountOnly) {
  const PaymentId payment = started();
  EXPECT_TRUE(network_->start(payment, kAmount));
  EXPECT_EQ(network_->start(payment, {2000, kAmount.currency}).error().failure, Failure::unfit);
  EXPECT_EQ(network_->start(payment, {1999, *Currency::parse("USD")}).error().failure, Failure::unfit);
  EXPECT_EQ(status(payment).amount, kAmount);
  EXPECT_EQ(network_->status(PaymentId{1, 1}).value(), std::nullopt);
}

TEST_F(Network, ARefundGivesTheMoneyBackOnceHoweverOftenItIsAskedFor) {
  const PaymentId payment = captured();
  const RefundId refund{3, 4};
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(network_->refund(payment, refund, kAmount));
  EXPECT_EQ(status(payment).refunded, 1999);
  ASSERT_THAT(status(payment).refunds, SizeIs(1));
  EXPECT_EQ(status(payment).refunds[0].id, refund);
  const std::vector<SandboxDelivery> deliveries = due();
  ASSERT_THAT(deliveries, SizeIs(1));
  EXPECT_EQ(event(deliveries[0]).kind, PaymentEventKind::refund_done);
  EXPECT_EQ(event(deliveries[0]).refund, refund);
  EXPECT_EQ(event(deliveries[0]).amount, kAmount);
  EXPECT_THAT(due(), IsEmpty());
  ASSERT_TRUE(network_->refund(payment, refund, kAmount)) << "its notice was delivered: whoever asks is told again";
  EXPECT_THAT(due(), SizeIs(1));
  crash_and_open();
  ASSERT_TRUE(network_->refund(payment, refund, kAmount));
  EXPECT_EQ(status(payment).refunded, 1999);
}

TEST_F(Network, NoMoreIsGivenBackThanWasCaptured) {
  const PaymentId unpaid = started(2);
  EXPECT_FALSE(network_->refund(unpaid, {3, 1}, {1, kAmount.currency}));
  const PaymentId payment = captured();
  EXPECT_FALSE(network_->refund(payment, {3, 2}, {2000, kAmount.currency}));
  ASSERT_TRUE(network_->refund(payment, {3, 3}, {1500, kAmount.currency}));
  const Result<void> beyond = network_->refund(payment, {3, 4}, {500, kAmount.currency});
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("more would be given back")) << "the rule, not the schema behind it";
  ASSERT_TRUE(network_->refund(payment, {3, 5}, {499, kAmount.currency}));
  EXPECT_FALSE(network_->refund(payment, {3, 6}, {INT64_MAX, kAmount.currency}));
  EXPECT_FALSE(network_->refund(payment, {3, 7}, {-1, kAmount.currency}));
  EXPECT_EQ(status(payment).refunded, 1999);
  EXPECT_THAT(status(payment).refunds, SizeIs(2));
}

TEST_F(Network, ARefundIdStandsForOneRefund) {
  const PaymentId payment = captured(1);
  const PaymentId other = captured(2);
  ASSERT_TRUE(network_->refund(payment, {3, 4}, {100, kAmount.currency}));
  EXPECT_FALSE(network_->refund(payment, {3, 4}, {200, kAmount.currency}));
  EXPECT_FALSE(network_->refund(other, {3, 4}, {100, kAmount.currency}));
  EXPECT_FALSE(network_->refund(other, {3, 5}, {100, *Currency::parse("USD")}));
  EXPECT_FALSE(network_->refund(PaymentId{1, 1}, {3, 6}, {100, kAmount.currency}));
  EXPECT_EQ(status(payment).refunded, 100);
  EXPECT_EQ(status(other).refunded, 0);
}

TEST_F(Network, AFullQueueTakesNoRefundItCouldNotTellOf) {
  const PaymentId payment = captured();
  const int events = static_cast<int>(kSandboxWaitingMax) / kSandboxTimesMax;
  for (int i = 0; i < events; ++i) {
    ASSERT_EQ(network_->complete(payment, {.delay = kSecond, .times = kSandboxTimesMax}), SandboxOrder::taken);
  }
  EXPECT_EQ(network_->refund(payment, {3, 4}, kAmount).error().failure, Failure::overloaded);
  EXPECT_EQ(status(payment).refunded, 0);
}

TEST_F(Network, ItsFileIsReadByThisUserOnly) {
  struct stat facts{};
  ASSERT_EQ(::stat((folder_ + "/sandbox.db").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(Network, AFileThatIsNoneOfItsOwnIsRefused) {
  const std::string path = folder_ + "/other";
  std::ofstream(path) << std::string(4096, 'x');
  EXPECT_EQ(SandboxNetwork::open(path, clock_, random_).error().failure, Failure::unfit);
  EXPECT_EQ(SandboxNetwork::open(folder_ + "/no/folder", clock_, random_).error().failure, Failure::unfit);
}

TEST_F(Network, WhatCannotBeWrittenHasNotHappened) {
  const PaymentId payment = started();
  ASSERT_EQ(network_->complete(payment, {.approve = true}), SandboxOrder::taken);
  sqlite3* other = nullptr;  // Another connection holds the write lock: every write of the network fails.
  ASSERT_EQ(sqlite3_open((folder_ + "/sandbox.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_FALSE(network_->start(PaymentId{1, 1}, kAmount));
  EXPECT_EQ(status(payment).captured, 0);
  sqlite3_close(other);
  EXPECT_THAT(due(), SizeIs(1)) << "nothing was lost: the next call does it";
  EXPECT_EQ(status(payment).captured, 1999);
}

}  // namespace
}  // namespace weir
