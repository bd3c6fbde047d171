#include "queue/kafka_bed.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <span>
#include <vector>

namespace weir {
namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LogConformance);  // It runs on a real broker.

// Requests by their numbers in the protocol.
constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kInitProducerId = 22;
constexpr std::size_t kMany = 10'000;

class KafkaProducerOnMock : public ::testing::Test {
 protected:
  static constexpr Micros kPatience{20'000'000};

  std::unique_ptr<KafkaProducer> make(Micros deadline = Micros{1'000'000}) {
    KafkaOptions options = mock.options();
    options.publish_deadline = deadline;
    auto made = KafkaProducer::create(options, clock);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return std::move(*made);
  }

  std::vector<Outcome> publish(KafkaProducer& producer, std::uint64_t from, std::uint64_t count) {
    std::vector<ClaimMessage> messages;
    for (std::uint64_t i = 0; i < count; ++i) messages.push_back(numbered_claim(from + i));
    producer.append(messages);
    EXPECT_EQ(producer.drain(clock.ticks() + kPatience), 0U);
    std::vector<Outcome> outcomes(count + 1);
    outcomes.resize(producer.outcomes(outcomes));
    EXPECT_EQ(outcomes.size(), count);
    return outcomes;
  }

  Fate fate_of_one(KafkaProducer& producer, std::uint64_t number) {
    const auto outcomes = publish(producer, number, 1);
    return outcomes.empty() ? Fate::decided : outcomes[0].fate;
  }

  SystemClock clock;
  MockKafka mock;
};

TEST_F(KafkaProducerOnMock, F23_NotEnoughReplicasIsCertainlyNotThere) {
  const auto producer = make();
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  mock.fail_requests(kProduce, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, kMany);
  EXPECT_EQ(fate_of_one(*producer, 2), Fate::not_persisted);
}

TEST_F(KafkaProducerOnMock, F23_TooFewReplicasAfterTheAppendIsUnknown) {
  const auto producer = make();
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  mock.fail_requests(kProduce, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, kMany);
  EXPECT_EQ(fate_of_one(*producer, 2), Fate::unknown);
}

TEST_F(KafkaProducerOnMock, F23_B068_ALostAnswerIsUnknown) {
  const auto producer = make();
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  mock.fail_requests(kProduce, RD_KAFKA_RESP_ERR__TRANSPORT, kMany);
  EXPECT_EQ(fate_of_one(*producer, 2), Fate::unknown);
}

TEST_F(KafkaProducerOnMock, F23_B068_AnAnswerAfterTheDeadlineIsUnknown) {
  const auto producer = make();
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  rd_kafka_mock_broker_set_rtt(mock.cluster(), -1, 3000);
  EXPECT_EQ(fate_of_one(*producer, 2), Fate::unknown);
}

TEST_F(KafkaProducerOnMock, F23_WhatNeverLeftIsCertainlyNotThere) {
  const auto producer = make();
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  rd_kafka_mock_broker_set_down(mock.cluster(), -1);
  EXPECT_EQ(fate_of_one(*producer, 2), Fate::not_persisted);
}

TEST_F(KafkaProducerOnMock, F23_AnAmbiguousTryThatSucceedsIsDurable) {
  const auto producer = make(Micros{5'000'000});
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  mock.fail_requests(kProduce, RD_KAFKA_RESP_ERR__TRANSPORT, 1);
  EXPECT_EQ(fate_of_one(*producer, 2), Fate::durable);
}

TEST_F(KafkaProducerOnMock, F25_B017_ALogThatFailsIsTriedByOneClaimAtATime) {
  const auto producer = make();
  const std::size_t room = producer->room();
  EXPECT_EQ(room, kPublishInFlightMax);
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  mock.fail_requests(kProduce, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, kMany);
  ASSERT_NE(fate_of_one(*producer, 2), Fate::durable);
  EXPECT_EQ(producer->room(), 1U);
  const ClaimMessage one = numbered_claim(3);
  producer->append({&one, 1});
  EXPECT_EQ(producer->room(), 0U) << "felt before the gate is asked";
  EXPECT_EQ(producer->drain(clock.ticks() + kPatience), 0U);
  mock.heal(kProduce);
  std::vector<Outcome> outcomes(4);
  ASSERT_EQ(producer->outcomes(outcomes), 1U);
  for (std::uint64_t number = 4; number < 20; ++number) ASSERT_EQ(fate_of_one(*producer, number), Fate::durable);
  EXPECT_EQ(producer->room(), room) << "room comes back with success";
}

TEST_F(KafkaProducerOnMock, F25_RoomIsTakenUntilTheOutcomeIs) {
  const auto producer = make(Micros{5'000'000});
  std::vector<ClaimMessage> messages(10, numbered_claim(1));
  producer->append(messages);
  EXPECT_EQ(producer->drain(clock.ticks() + kPatience), 0U);
  EXPECT_EQ(producer->room(), kPublishInFlightMax - 10);
  std::vector<Outcome> outcomes(4);
  EXPECT_EQ(producer->outcomes(outcomes), 4U);
  EXPECT_EQ(producer->room(), kPublishInFlightMax - 6);
}

/// The errors after which an idempotent producer may be lost for good. Whatever the client makes of each, every publish
/// has one outcome, and later ones succeed without a restart.
TEST_F(KafkaProducerOnMock, F24_AfterEveryErrorOfTheSequenceItPublishesAgainByItself) {
  for (const auto error : {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
                           RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER}) {
    SCOPED_TRACE(rd_kafka_err2name(error));
    const auto producer = make(Micros{2'000'000});
    ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
    mock.fail_requests(kProduce, error, 1);
    const auto outcomes = publish(*producer, 2, 20);
    std::set<std::uint64_t> orders;
    for (const Outcome& outcome : outcomes) orders.insert(outcome.order.low);
    EXPECT_EQ(orders.size(), 20U);
    mock.heal(kProduce);
    Fate fate = Fate::unknown;
    const Deadline deadline = clock.ticks() + kPatience;
    for (std::uint64_t number = 100; fate != Fate::durable && clock.ticks() < deadline; ++number)
      if (producer->room() > 0) fate = fate_of_one(*producer, number);
    EXPECT_EQ(fate, Fate::durable);
  }
}

TEST_F(KafkaProducerOnMock, F24_AProducerThatBrokeForGoodIsReplacedAndWhatItHadIsUnknown) {
  mock.fail_requests(kInitProducerId, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, 1);
  const auto producer = make(Micros{4'000'000});
  std::vector<ClaimMessage> messages;
  for (std::uint64_t i = 1; i <= 5; ++i) messages.push_back(numbered_claim(i));
  producer->append(messages);
  EXPECT_EQ(producer->drain(clock.ticks() + kPatience), 0U);
  std::vector<Outcome> outcomes(10);
  ASSERT_EQ(producer->outcomes(outcomes), 5U);
  for (const Outcome& outcome : std::span{outcomes}.first(5)) EXPECT_NE(outcome.fate, Fate::durable);
  EXPECT_EQ(producer->counts().recreated, 1U);
  const Deadline deadline = clock.ticks() + kPatience;
  Fate fate = Fate::unknown;
  for (std::uint64_t number = 6; fate != Fate::durable && clock.ticks() < deadline; ++number)
    if (producer->room() > 0) fate = fate_of_one(*producer, number);
  EXPECT_EQ(fate, Fate::durable);
}

TEST_F(KafkaProducerOnMock, AClaimThatNoReaderWouldTakeIsNotPublished) {
  const auto producer = make();
  ClaimMessage message = numbered_claim(1);
  message.buyer = *BuyerName::from("\xff");
  producer->append({&message, 1});
  std::vector<Outcome> outcomes(2);
  ASSERT_EQ(producer->outcomes(outcomes), 1U);
  EXPECT_EQ(outcomes[0].fate, Fate::not_persisted);
}

TEST_F(KafkaProducerOnMock, TheOwnerIsWokenWhenAnOutcomeArrives) {
  std::mutex mutex;
  std::condition_variable changed;
  int woken = 0;
  const auto producer = make();
  producer->set_wake([&] {
    const std::scoped_lock lock{mutex};
    ++woken;
    changed.notify_one();
  });
  const ClaimMessage message = numbered_claim(1);
  producer->append({&message, 1});
  std::vector<Outcome> outcomes(1);
  const Deadline deadline = clock.ticks() + kPatience;
  while (producer->outcomes(outcomes) == 0 && clock.ticks() < deadline) {
    std::unique_lock lock{mutex};
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds{10}, [&] { return woken > 0; }));
    woken = 0;
  }
  EXPECT_EQ(outcomes[0].fate, Fate::durable);
}

TEST(KafkaSettings, OnlySettingsThatCannotHarmAreHandedOn) {
  const SystemClock clock;
  KafkaOptions options;
  EXPECT_EQ(KafkaProducer::create(options, clock).error().failure, Failure::unfit) << "no brokers";
  options.brokers = {"127.0.0.1:1"};
  options.security = {{"acks", "1"}};
  const auto weak = KafkaProducer::create(options, clock);
  ASSERT_FALSE(weak);
  EXPECT_EQ(weak.error().failure, Failure::unfit);
  EXPECT_NE(weak.error().message.find("kafka.acks"), std::string::npos) << weak.error().message;
  options.security = {{"ssl.ca.location", "/nowhere/my-secret"}, {"security.protocol", "ssl"}};
  EXPECT_FALSE(KafkaProducer::create(options, clock));
  options.security = {{"security.protocol", "my-secret"}};
  const auto wrong = KafkaProducer::create(options, clock);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.find("my-secret"), std::string::npos) << "values may be secrets";
  options.security = {{"sasl.username", "guest"},
                      {"sasl.password", "x"},
                      {"security.protocol", "sasl_plaintext"},
                      {"sasl.mechanism", "PLAIN"}};
  EXPECT_TRUE(KafkaProducer::create(options, clock));
}

}  // namespace
}  // namespace weir
