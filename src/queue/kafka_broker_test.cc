#include "queue/kafka_audit.h"
#include "queue/kafka_bed.h"
#include "queue/kafka_dead_letters.h"
#include "queue/kafka_topic_id.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace weir {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Kafka, LogConformance, BrokerLogBed);

/// A topic and a group of its own on the real broker, and the ways to ill-treat them.
class KafkaBroker : public ::testing::Test {
 protected:
  static constexpr Micros kPatience{20'000'000};
  static constexpr Micros kShort{300'000};

  void SetUp() override {
    if (const std::string why = bed.skip_reason(); !why.empty()) GTEST_SKIP() << why;
  }
  [[nodiscard]] Deadline after(Micros span) const { return bed.clock().ticks() + span; }

  /// The same log, by way of the proxy.
  [[nodiscard]] KafkaOptions proxied(Micros deadline) const {
    KafkaOptions options = bed.options();
    options.brokers = {test_address("proxied")};
    options.publish_deadline = deadline;
    return options;
  }

  std::vector<Outcome> publish(LogProducer& producer, std::uint64_t from, std::uint64_t count) {
    std::vector<ClaimMessage> messages;
    for (std::uint64_t i = 0; i < count; ++i) messages.push_back(numbered_claim(from + i));
    producer.append(messages);
    EXPECT_EQ(producer.drain(after(kPatience)), 0U);
    std::vector<Outcome> outcomes(count + 1);
    outcomes.resize(producer.outcomes(outcomes));
    EXPECT_EQ(outcomes.size(), count);
    return outcomes;
  }
  Fate fate_of_one(LogProducer& producer, std::uint64_t number) {
    const auto outcomes = publish(producer, number, 1);
    return outcomes.empty() ? Fate::decided : outcomes[0].fate;
  }

  /// Every order id that stands in the log, once for each time that it stands there.
  std::multiset<std::uint64_t> orders_in_log() {
    const auto consumer = bed.make_consumer();
    std::multiset<std::uint64_t> orders;
    const auto ranges = consumer->ranges(after(kPatience));
    EXPECT_TRUE(ranges) << (ranges ? "" : ranges.error().message);
    if (!ranges) return orders;
    wait_for(*consumer, ranges->partitions.size());
    for (const LogRange& range : ranges->partitions) {
      EXPECT_TRUE(consumer->seek(range.partition, range.first));
      for (std::int64_t next = range.first; next < range.end;) {
        const auto batch = consumer->take(range.partition, 500, after(kPatience));
        if (!batch || batch->entries.empty()) break;
        for (const LogEntry& entry : batch->entries) orders.insert(std::get<ClaimMessage>(entry.content).order.low);
        next = batch->next;
      }
    }
    return orders;
  }

  LogAssignment wait_for(LogConsumer& consumer, std::size_t partitions) {
    const Deadline deadline = after(kPatience);
    LogAssignment last;
    while (bed.clock().ticks() < deadline && last.partitions.size() != partitions)
      if (auto heard = consumer.assignment(after(kShort))) last = *std::move(heard);
    EXPECT_EQ(last.partitions.size(), partitions);
    return last;
  }

  BrokerLogBed bed;
};

TEST_F(KafkaBroker, F23_B068_B075_APublishWithoutAnAnswerIsUnknownAndMayStandInTheLog) {
  ProxyControl proxy{test_address("control")};
  auto producer = std::move(*KafkaProducer::create(proxied(Micros{1'500'000}), bed.clock()));
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  proxy.say("blackhole_down=1");
  EXPECT_EQ(fate_of_one(*producer, 2), Fate::unknown) << "the broker has it, its answer is lost";
  proxy.say("heal");
  Fate fate = Fate::unknown;
  const Deadline deadline = after(kPatience);
  std::uint64_t number = 3;
  for (; fate != Fate::durable && bed.clock().ticks() < deadline; ++number)
    if (producer->room() > 0) fate = fate_of_one(*producer, number);
  EXPECT_EQ(fate, Fate::durable) << "it goes on by itself";
  const auto orders = orders_in_log();
  EXPECT_EQ(orders.count(1), 1U);
  EXPECT_EQ(orders.count(2), 1U) << "reported without an answer, and there all the same";
}

TEST_F(KafkaBroker, F23_ARetriedPublishStandsInTheLogOnce) {
  ProxyControl proxy{test_address("control")};
  auto producer = std::move(*KafkaProducer::create(proxied(Micros{5'000'000}), bed.clock()));
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  for (std::uint64_t round = 0; round < 5; ++round) {
    // The next answers die with their connections; the client asks again on new ones.
    proxy.say("blackhole_down=1");
    std::vector<ClaimMessage> messages;
    for (std::uint64_t i = 0; i < 20; ++i) messages.push_back(numbered_claim(100 * round + 10 + i));
    if (producer->room() < messages.size()) messages.resize(producer->room());
    producer->append(messages);
    static_cast<void>(producer->drain(after(Micros{100'000})));
    proxy.say("heal");
    proxy.say("cut");
    EXPECT_EQ(producer->drain(after(kPatience)), 0U);
    std::vector<Outcome> outcomes(messages.size());
    ASSERT_EQ(producer->outcomes(outcomes), messages.size());
    const auto orders = orders_in_log();
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.fate, Fate::durable);
      EXPECT_EQ(orders.count(outcome.order.low), 1U) << outcome.order.low;
    }
  }
}

TEST_F(KafkaBroker, B017_ABrokerThatCannotBeReachedTakesOneClaimAtATimeAndCertainlyHasNone) {
  ProxyControl proxy{test_address("control")};
  auto producer = std::move(*KafkaProducer::create(proxied(Micros{1'000'000}), bed.clock()));
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  proxy.say("refuse=1");
  proxy.say("cut");
  EXPECT_NE(fate_of_one(*producer, 2), Fate::durable) << "it may have gone into the connection as that died: unknown";
  EXPECT_EQ(producer->room(), 1U);
  EXPECT_EQ(fate_of_one(*producer, 3), Fate::not_persisted) << "by now there is no connection to go into";
  proxy.say("heal");
  Fate fate = Fate::unknown;
  const Deadline deadline = after(kPatience);
  for (std::uint64_t number = 100; fate != Fate::durable && bed.clock().ticks() < deadline; ++number)
    if (producer->room() > 0) fate = fate_of_one(*producer, number);
  EXPECT_EQ(fate, Fate::durable);
  EXPECT_EQ(orders_in_log().count(3), 0U);
}

TEST_F(KafkaBroker, F26_B073_WhatWasDrainedBeforeAnExitIsInTheLog) {
  {
    const auto producer = bed.make_producer();
    std::vector<ClaimMessage> messages;
    for (std::uint64_t i = 1; i <= 500; ++i) messages.push_back(numbered_claim(i));
    producer->append(messages);
    EXPECT_EQ(producer->drain(after(kPatience)), 0U);
  }
  const auto orders = orders_in_log();
  EXPECT_EQ(orders.size(), 500U);
  EXPECT_EQ(std::set(orders.begin(), orders.end()).size(), 500U);
}

TEST_F(KafkaBroker, AnExitInTheMiddleOfPublishesIsQuick) {
  ProxyControl proxy{test_address("control")};
  auto producer = std::move(*KafkaProducer::create(proxied(Micros{3'000'000}), bed.clock()));
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  proxy.say("blackhole_down=1");
  const ClaimMessage message = numbered_claim(2);
  producer->append({&message, 1});
  EXPECT_EQ(producer->drain(after(kShort)), 1U) << "not known in time";
  const Ticks begin = bed.clock().ticks();
  producer.reset();
  EXPECT_LT(bed.clock().ticks() - begin, Micros{5'000'000});
}

TEST_F(KafkaBroker, ATopicThatIsMadeAnewIsAnotherTopic) {
  const auto& options = bed.options();
  const auto first = kafka_topic_id(options, bed.clock(), after(kPatience));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->size(), 32U);
  EXPECT_EQ(*kafka_topic_id(options, bed.clock(), after(kPatience)), *first);
  const auto consumer = bed.make_consumer();
  EXPECT_EQ(wait_for(*consumer, 2).topic_id, *first);
  bed.hand().delete_topic(options.topic);
  bed.hand().make_topic(options.topic, 2);
  const auto second = kafka_topic_id(options, bed.clock(), after(kPatience));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(*second, *first);
  const auto ranges = consumer->ranges(after(kPatience));
  ASSERT_FALSE(ranges) << "a consumer that began with the old one does not go on with the new one";
  EXPECT_EQ(ranges.error().failure, Failure::corrupt);
  EXPECT_NE(ranges.error().message.find(*first), std::string::npos);
}

TEST_F(KafkaBroker, F43_PartitionsThatAreAddedAreSeenAtOnceAndReadSoon) {
  const auto consumer = bed.make_consumer();
  wait_for(*consumer, 2);
  bed.hand().add_partitions(bed.options().topic, 3);
  bed.hand().put(bed.options().topic, 2, "shoe", *write_claim_message(numbered_claim(1)), "1");
  const auto ranges = consumer->ranges(after(kPatience));
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->partitions.size(), 3U);
  EXPECT_EQ(ranges->partitions[2].end, 1);
  wait_for(*consumer, 3);
  ASSERT_TRUE(consumer->seek(2, 0));
  const auto batch = consumer->take(2, 10, after(kPatience));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->entries.size(), 1U) << "from its first record on, not from its end";
}

TEST_F(KafkaBroker, RecordsThatWentBeforeTheyWereReadAreAnAlarm) {
  const auto producer = bed.make_producer();
  for (int i = 0; i < 10; ++i) bed.put(0, *write_claim_message(numbered_claim(1)), "1");
  bed.hand().trim(bed.options().topic, 0, 6);
  const auto consumer = bed.make_consumer();
  wait_for(*consumer, 2);
  ASSERT_TRUE(consumer->seek(0, 3));
  const auto batch = consumer->take(0, 10, after(kPatience));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->state, LogBatch::State::out_of_range);
  const auto ranges = consumer->ranges(after(kPatience));
  ASSERT_TRUE(ranges);
  EXPECT_EQ(ranges->partitions[0].first, 6);
  EXPECT_EQ(ranges->partitions[0].end, 10);
}

TEST_F(KafkaBroker, F33_OfTwoWorkersWithOneNameTheElderIsTold) {
  KafkaOptions options = bed.options();
  options.instance_id = "worker-1";
  const auto elder = std::move(*KafkaConsumer::create(options, bed.clock()));
  wait_for(*elder, 2);
  const auto younger = std::move(*KafkaConsumer::create(options, bed.clock()));
  wait_for(*younger, 2);
  std::string message;
  const Deadline deadline = after(kPatience);
  while (message.empty() && bed.clock().ticks() < deadline) {
    const auto heard = elder->assignment(after(kShort));
    if (!heard && heard.error().failure == Failure::unfit) message = heard.error().message;
  }
  EXPECT_NE(message.find("kafka.instance_id = worker-1"), std::string::npos) << message;
}

TEST_F(KafkaBroker, F36_DeadLettersSayWhereTheyLayAndMissingTopicsAreSaid) {
  KafkaDeadLetters letters{bed.options(), bed.clock()};
  const std::vector<DeadLetter> two{
      {.topic_id = "t", .partition = 1, .offset = 7, .key = "shoe", .bytes = std::string{"\0x", 2}, .reason = "empty"},
      {.topic_id = "t",
       .partition = 0,
       .offset = 9,
       .key = "",
       .bytes = "{}",
       .reason = "malformed: `item` is missing"}};
  const auto missing = letters.publish(two, after(Micros{3'000'000}));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find(bed.options().dead_letter_topic), std::string::npos);
  bed.hand().make_topic(bed.options().dead_letter_topic, 1);
  Result<void> done = letters.publish(two, after(kPatience));
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(letters.publish(two, after(kPatience))) << "the same ones again";
  KafkaOptions options = bed.options();
  options.topic = options.dead_letter_topic;
  options.group += "-dlq";
  auto reader = std::move(*KafkaConsumer::create(options, bed.clock()));
  wait_for(*reader, 1);
  ASSERT_TRUE(reader->seek(0, 0));
  std::vector<LogEntry> entries;
  while (entries.size() < 4) {
    const auto batch = reader->take(0, 10, after(kPatience));
    ASSERT_TRUE(batch && !batch->entries.empty());
    std::ranges::copy(batch->entries, std::back_inserter(entries));
  }
  EXPECT_EQ(std::get<LogEntry::Raw>(entries[0].content).bytes, two[0].bytes) << "as they were";
  EXPECT_EQ(std::get<LogEntry::Raw>(entries[0].content).key, "shoe");
  reader.reset();
  bed.hand().delete_topic(options.topic);
}

/// The topic may go in every moment of the reader: what it has fetched, and what it is fetching, are then of no topic.
TEST_F(KafkaBroker, AReaderOfADeletedTopicClosesWithinItsDeadline) {
  KafkaOptions options = bed.options();
  for (int round = 0; round < 6; ++round) {
    options.topic = fmt::format("{}-{}", bed.options().topic, round);
    options.group = options.topic;
    bed.hand().make_topic(options.topic, 2);
    for (const std::int32_t partition : {0, 1})
      for (std::uint64_t i = 0; i < 20; ++i)
        bed.hand().put(options.topic, partition, "shoe", *write_claim_message(numbered_claim(i)), "1");
    auto reader = std::move(*KafkaConsumer::create(options, bed.clock()));
    wait_for(*reader, 2);
    ASSERT_TRUE(reader->seek(0, 0));
    ASSERT_TRUE(reader->seek(1, 0));
    const auto batch = reader->take(0, round % 2 == 0 ? 1 : 20, after(kPatience));
    ASSERT_TRUE(batch && !batch->entries.empty());
    bed.hand().delete_topic(options.topic);
    if (round >= 2) static_cast<void>(reader->take(0, 1, after(kShort)));
    if (round >= 4) static_cast<void>(reader->take(1, 20, after(Micros{3'500'000})));
    const Ticks begin = bed.clock().ticks();
    reader.reset();
    EXPECT_LT(bed.clock().ticks() - begin, Micros{2 * kKafkaEndUsMax + 2'000'000}) << "round " << round;
  }
}

TEST_F(KafkaBroker, F27_TheAuditNamesEverySettingThatLosesClaims) {
  const std::string topic = bed.options().topic + "-weak";
  bed.hand().make_topic(topic, 1,
                        {{"min.insync.replicas", "1"},
                         {"unclean.leader.election.enable", "true"},
                         {"cleanup.policy", "compact"},
                         {"retention.ms", "60000"},
                         {"retention.bytes", "1000000"},
                         {"max.message.bytes", "1000"}});
  KafkaOptions options = bed.options();
  options.topic = topic;
  const auto findings = audit_kafka(options, bed.clock(), after(kPatience));
  ASSERT_TRUE(findings) << findings.error().message;
  std::string text;
  for (const Finding& finding : *findings)
    text += fmt::format("{} {}: {}\n", name(finding.severity), finding.setting, finding.message);
  for (const char* wanted :
       {"fatal replication.factor", "fatal min.insync.replicas", "fatal unclean.leader.election.enable",
        "fatal cleanup.policy", "fatal retention.ms", "warning retention.bytes", "fatal max.message.bytes",
        "advice partitions", "warning existence"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << " is not in\n" << text;
  bed.hand().delete_topic(topic);
}

TEST_F(KafkaBroker, AMissingTopicIsSaidByEverybody) {
  KafkaOptions options = bed.options();
  options.topic = "no-such-topic";
  const auto id = kafka_topic_id(options, bed.clock(), after(kPatience));
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().failure, Failure::unfit);
  EXPECT_NE(id.error().message.find("no-such-topic"), std::string::npos);
  const auto findings = audit_kafka(options, bed.clock(), after(kPatience));
  ASSERT_TRUE(findings) << findings.error().message;
  EXPECT_EQ(findings->front().severity, Severity::fatal);
  EXPECT_EQ(findings->front().setting, "existence of the topic no-such-topic");
  const auto consumer = std::move(*KafkaConsumer::create(options, bed.clock()));
  const auto ranges = consumer->ranges(after(kPatience));
  ASSERT_FALSE(ranges);
  EXPECT_EQ(ranges.error().failure, Failure::unfit);
  options.publish_deadline = Micros{1'000'000};
  const auto producer = std::move(*KafkaProducer::create(options, bed.clock()));
  EXPECT_EQ(fate_of_one(*producer, 1), Fate::not_persisted);
}

TEST_F(KafkaBroker, AUserWithoutPermissionIsToldWhichOneIsMissing) {
  KafkaOptions options = bed.options();
  options.brokers = {test_address("sasl")};
  options.security = {{"security.protocol", "sasl_plaintext"},
                      {"sasl.mechanism", "PLAIN"},
                      {"sasl.username", "guest"},
                      {"sasl.password", test_address("secret")}};
  const auto id = kafka_topic_id(options, bed.clock(), after(kPatience));
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().failure, Failure::unfit) << id.error().message;
  const auto audit = audit_kafka(options, bed.clock(), after(kPatience));
  ASSERT_FALSE(audit);
  EXPECT_EQ(audit.error().failure, Failure::unfit);
  EXPECT_NE(audit.error().message.find("DESCRIBE"), std::string::npos) << audit.error().message;
  const auto consumer = std::move(*KafkaConsumer::create(options, bed.clock()));
  Failure failure = Failure::unavailable;
  std::string message;
  const Deadline deadline = after(kPatience);
  while (failure != Failure::unfit && bed.clock().ticks() < deadline) {
    const auto heard = consumer->assignment(after(kShort));
    if (heard) continue;
    failure = heard.error().failure;
    message = heard.error().message;
  }
  EXPECT_EQ(failure, Failure::unfit) << message;
  options.security.back().value = "wrong";
  const auto refused = kafka_topic_id(options, bed.clock(), after(kPatience));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().failure, Failure::unfit) << refused.error().message;
  EXPECT_NE(refused.error().message.find("kafka.sasl.username"), std::string::npos) << refused.error().message;
}

TEST_F(KafkaBroker, TlsIsSpokenAndAStrangersCertificateIsRefused) {
  KafkaOptions options = bed.options();
  options.brokers = {test_address("tls")};
  options.publish_deadline = Micros{2'000'000};
  options.security = {{"security.protocol", "ssl"}, {"ssl.ca.location", test_address("ca")}};
  const auto id = kafka_topic_id(options, bed.clock(), after(kPatience));
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(*id, *kafka_topic_id(bed.options(), bed.clock(), after(kPatience)));
  EXPECT_EQ(fate_of_one(*std::move(*KafkaProducer::create(options, bed.clock())), 1), Fate::durable);
  options.security.pop_back();  // Nobody has said whom to trust.
  EXPECT_FALSE(kafka_topic_id(options, bed.clock(), after(kPatience)));
  EXPECT_EQ(fate_of_one(*std::move(*KafkaProducer::create(options, bed.clock())), 2), Fate::not_persisted);
  EXPECT_EQ(orders_in_log().size(), 1U);
}

TEST_F(KafkaBroker, ABrokerThatSwallowsEverythingIsGivenUpInTime) {
  ProxyControl proxy{test_address("control")};
  proxy.say("blackhole_down=1");
  const KafkaOptions options = proxied(Micros{1'000'000});
  const Ticks begin = bed.clock().ticks();
  const auto id = kafka_topic_id(options, bed.clock(), after(Micros{500'000}));
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().failure, Failure::timed_out) << id.error().message;
  EXPECT_FALSE(audit_kafka(options, bed.clock(), after(Micros{1'000'000})));
  const auto consumer = std::move(*KafkaConsumer::create(options, bed.clock()));
  EXPECT_FALSE(consumer->ranges(after(Micros{500'000})));
  const auto heard = consumer->assignment(after(kShort));
  EXPECT_TRUE(!heard || heard->partitions.empty());
  EXPECT_LT(bed.clock().ticks() - begin, Micros{12'000'000});
}

/// Two figures for people; a machine under load changes them, so nothing here depends on them.
TEST_F(KafkaBroker, FiguresOfAPublish) {
  const auto producer = bed.make_producer();
  ASSERT_EQ(fate_of_one(*producer, 1), Fate::durable);
  std::vector<std::int64_t> latencies;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Ticks begin = bed.clock().ticks();
    ASSERT_EQ(fate_of_one(*producer, 2 + i), Fate::durable);
    latencies.push_back((bed.clock().ticks() - begin).count());
  }
  std::ranges::sort(latencies);
  const Ticks begin = bed.clock().ticks();
  std::vector<Outcome> outcomes(kPublishInFlightMax);
  std::size_t sent = 0;
  std::size_t heard = 0;
  constexpr std::size_t kTotal = 20'000;
  std::vector<ClaimMessage> batch;
  while (heard < kTotal && bed.clock().ticks() - begin < kPatience) {
    const std::size_t count = std::min({producer->room(), std::size_t{200}, kTotal - sent});
    batch.clear();
    for (std::size_t i = 0; i < count; ++i)
      batch.push_back(numbered_claim(1000 + sent + i, fmt::format("item-{}", i % 8)));
    producer->append(batch);
    sent += count;
    if (count == 0) static_cast<void>(producer->drain(after(Micros{1000})));
    heard += producer->outcomes(outcomes);
  }
  const double seconds = static_cast<double>((bed.clock().ticks() - begin).count()) / 1e6;
  fmt::print("one publish at a time: p50 {} us, p99 {} us; with {} under way: {:.0f} a second\n", latencies[150],
             latencies[297], kPublishInFlightMax, static_cast<double>(heard) / seconds);
  EXPECT_EQ(heard, kTotal);
}

}  // namespace
}  // namespace weir

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  weir::read_test_addresses(count, arguments);
  return RUN_ALL_TESTS();
}
