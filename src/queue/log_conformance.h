#pragma once

#include "base/system_clock.h"
#include "queue/log_queue.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir {

/// One log with two partitions, empty at the start of each test, and what is needed to look at it from outside.
/// A bed that cannot run here says why in `skip_reason`, which is asked first.
struct LogBed {
  virtual ~LogBed() = default;
  [[nodiscard]] virtual std::string skip_reason() const { return {}; }
  [[nodiscard]] virtual std::unique_ptr<LogProducer> make_producer() = 0;
  [[nodiscard]] virtual std::unique_ptr<LogConsumer> make_consumer() = 0;
  /// Puts a record into the log past the producer, and waits until it is there. A null version: no header.
  virtual void put(std::int32_t partition, std::string_view value, const char* version) = 0;
  [[nodiscard]] virtual const Clock& clock() const = 0;
};

/// A claim of an item, told apart by its number.
[[nodiscard]] inline ClaimMessage numbered_claim(std::uint64_t number, std::string item = "shoe") {
  return {.order = {7, number},
          .tenant = "default",
          .sale = "spring",
          .item = std::move(item),
          .buyer = *BuyerName::from("anna"),
          .quantity = 1,
          .numbers = {},
          .price_version = 0,
          .epoch = 3,
          .promised_pay_by = {1'000'000},
          .digest = {number},
          .admitted_at = {2'000'000}};
}

/// What every shared log must do.
template <typename Bed>
class LogConformance : public ::testing::Test {
 protected:
  static constexpr Micros kPatience{20'000'000};
  static constexpr Micros kShort{300'000};

  void SetUp() override {
    if (const std::string why = bed.skip_reason(); !why.empty()) GTEST_SKIP() << why;
  }

  [[nodiscard]] Deadline after(Micros span) const { return bed.clock().ticks() + span; }

  /// Appends and waits for the outcomes of all.
  std::vector<Outcome> publish(LogProducer& producer, std::uint64_t from, std::uint64_t count,
                               const std::string& item = "shoe") {
    std::vector<ClaimMessage> messages;
    for (std::uint64_t i = 0; i < count; ++i) messages.push_back(numbered_claim(from + i, item));
    EXPECT_GE(producer.room(), messages.size());
    producer.append(messages);
    EXPECT_EQ(producer.drain(after(kPatience)), 0U);
    std::vector<Outcome> outcomes(count + 1);
    outcomes.resize(producer.outcomes(outcomes));
    return outcomes;
  }

  /// Waits until the consumer owns so many partitions.
  LogAssignment wait_for_partitions(LogConsumer& consumer, std::size_t count) {
    const Deadline deadline = after(kPatience);
    LogAssignment last;
    while (bed.clock().ticks() < deadline) {
      auto heard = consumer.assignment(after(kShort));
      if (heard) last = *std::move(heard);
      if (last.partitions.size() == count) return last;
    }
    ADD_FAILURE() << "owns " << last.partitions.size() << " partitions, not " << count;
    return last;
  }

  /// Everything of a partition from where the consumer stands, `count` records at least.
  std::vector<LogEntry> read(LogConsumer& consumer, std::int32_t partition, std::size_t count) {
    const Deadline deadline = after(kPatience);
    std::vector<LogEntry> entries;
    while (entries.size() < count && bed.clock().ticks() < deadline) {
      auto batch = consumer.take(partition, 100, after(kShort));
      if (!batch) continue;  // A fetch that failed is tried again; what it would have brought is not lost.
      EXPECT_EQ(batch->partition, partition);
      EXPECT_LE(batch->expected, batch->next);
      for (LogEntry& entry : batch->entries) {
        EXPECT_GE(entry.offset, batch->expected);
        EXPECT_LT(entry.offset, batch->next);
        entries.push_back(std::move(entry));
      }
    }
    return entries;
  }

  static std::uint64_t number_of(const LogEntry& entry) {
    const auto* message = std::get_if<ClaimMessage>(&entry.content);
    return message == nullptr ? 0 : message->order.low;
  }

  /// The partition that the item's claims went to: the only one that has any.
  std::int32_t only_used_partition(LogConsumer& consumer) {
    const auto ranges = consumer.ranges(after(kPatience));
    EXPECT_TRUE(ranges) << (ranges ? "" : ranges.error().message);
    if (!ranges) return 0;
    EXPECT_EQ(ranges->partitions.size(), 2U);
    const auto used = std::ranges::find_if(ranges->partitions, [](const LogRange& range) { return range.end > 0; });
    EXPECT_NE(used, ranges->partitions.end());
    return used == ranges->partitions.end() ? 0 : used->partition;
  }

  Bed bed;
};
TYPED_TEST_SUITE_P(LogConformance);

TYPED_TEST_P(LogConformance, EachAppendHasExactlyOneOutcome) {
  const auto producer = this->bed.make_producer();
  const std::size_t room = producer->room();
  ASSERT_GE(room, 8U);
  const auto outcomes = this->publish(*producer, 1, 8);
  ASSERT_EQ(outcomes.size(), 8U);
  std::vector<std::uint64_t> orders;
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.fate, Fate::durable);
    EXPECT_EQ(outcome.pay_by.us, 1'000'000) << "what was promised";
    orders.push_back(outcome.order.low);
  }
  std::ranges::sort(orders);
  EXPECT_EQ(orders, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(producer->room(), room);
}

TYPED_TEST_P(LogConformance, ClaimsOfAnItemAreReadInTheirOrder) {
  const auto producer = this->bed.make_producer();
  ASSERT_EQ(this->publish(*producer, 1, 50).size(), 50U);
  const auto consumer = this->bed.make_consumer();
  const auto owned = this->wait_for_partitions(*consumer, 2);
  EXPECT_FALSE(owned.topic_id.empty());
  const std::int32_t partition = this->only_used_partition(*consumer);
  ASSERT_TRUE(consumer->seek(partition, 0));
  const auto entries = this->read(*consumer, partition, 50);
  ASSERT_EQ(entries.size(), 50U);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(this->number_of(entries[i]), i + 1);
    EXPECT_EQ(entries[i].offset, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(std::get<ClaimMessage>(entries[0].content), numbered_claim(1));
  // What comes later comes without another seek.
  ASSERT_EQ(this->publish(*producer, 51, 5).size(), 5U);
  const auto more = this->read(*consumer, partition, 5);
  ASSERT_EQ(more.size(), 5U);
  EXPECT_EQ(this->number_of(more[0]), 51U);
}

TYPED_TEST_P(LogConformance, F31_F43_ReadingBeginsWhereTheLedgerSaysAndNowhereElse) {
  const auto producer = this->bed.make_producer();
  ASSERT_EQ(this->publish(*producer, 1, 10).size(), 10U);
  std::int32_t partition = 0;
  {
    const auto first = this->bed.make_consumer();
    static_cast<void>(this->wait_for_partitions(*first, 2));
    partition = this->only_used_partition(*first);
    const auto unsought = first->take(partition, 10, this->after(this->kShort));
    ASSERT_TRUE(unsought);
    EXPECT_EQ(unsought->state, LogBatch::State::not_owned) << "nobody has said where to begin";
    ASSERT_TRUE(first->seek(partition, 4));
    const auto entries = this->read(*first, partition, 6);
    ASSERT_EQ(entries.size(), 6U);
    EXPECT_EQ(this->number_of(entries[0]), 5U);
    ASSERT_TRUE(first->seek(partition, 8));
    EXPECT_EQ(this->number_of(this->read(*first, partition, 2).at(0)), 9U);
    ASSERT_TRUE(first->seek(partition, 2));
    EXPECT_EQ(this->number_of(this->read(*first, partition, 8).at(0)), 3U) << "and back again";
    first->hint(partition, 10);
  }
  const auto second = this->bed.make_consumer();
  static_cast<void>(this->wait_for_partitions(*second, 2));
  ASSERT_TRUE(second->seek(partition, 1));
  EXPECT_EQ(this->number_of(this->read(*second, partition, 9).at(0)), 2U) << "the hint is for people";
}

TYPED_TEST_P(LogConformance, F34_ABatchIsBounded) {
  const auto producer = this->bed.make_producer();
  ASSERT_EQ(this->publish(*producer, 1, 10).size(), 10U);
  const auto consumer = this->bed.make_consumer();
  static_cast<void>(this->wait_for_partitions(*consumer, 2));
  const std::int32_t partition = this->only_used_partition(*consumer);
  ASSERT_TRUE(consumer->seek(partition, 0));
  std::int64_t next = 0;
  while (next < 10) {
    const auto batch = consumer->take(partition, 3, this->after(this->kPatience));
    ASSERT_TRUE(batch) << batch.error().message;
    ASSERT_EQ(batch->state, LogBatch::State::taken);
    ASSERT_LE(batch->entries.size(), 3U);
    EXPECT_EQ(batch->expected, next);
    next = batch->next;
  }
  const auto end = consumer->take(partition, 3, this->after(this->kShort));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->state, LogBatch::State::empty);
  EXPECT_EQ(end->expected, 10);
  EXPECT_EQ(end->next, 10);
}

TYPED_TEST_P(LogConformance, F43_AnOffsetThatTheLogDoesNotHaveIsSaidAndNotJumpedOver) {
  const auto producer = this->bed.make_producer();
  ASSERT_EQ(this->publish(*producer, 1, 3).size(), 3U);
  const auto consumer = this->bed.make_consumer();
  static_cast<void>(this->wait_for_partitions(*consumer, 2));
  const std::int32_t partition = this->only_used_partition(*consumer);
  ASSERT_TRUE(consumer->seek(partition, 1000));
  auto state = LogBatch::State::empty;
  const Deadline deadline = this->after(this->kPatience);
  while (state == LogBatch::State::empty && this->bed.clock().ticks() < deadline) {
    const auto batch = consumer->take(partition, 10, this->after(this->kShort));
    ASSERT_TRUE(batch) << batch.error().message;
    state = batch->state;
    EXPECT_EQ(batch->next, 1000);
  }
  EXPECT_EQ(state, LogBatch::State::out_of_range);
  EXPECT_EQ(consumer->take(partition, 10, this->after(this->kShort))->state, LogBatch::State::out_of_range)
      << "until somebody says where to go on";
  ASSERT_TRUE(consumer->seek(partition, 2));
  EXPECT_EQ(this->number_of(this->read(*consumer, partition, 1).at(0)), 3U);
}

TYPED_TEST_P(LogConformance, B072_BytesThatAreNoClaimComeAsTheyLieAndNeighboursAreRead) {
  const std::string claim = *write_claim_message(numbered_claim(1));
  const std::string binary{"\0\xff\n{", 4};
  this->bed.put(1, claim, "1");
  this->bed.put(1, "", "1");
  this->bed.put(1, binary, "1");
  this->bed.put(1, claim, "2");
  this->bed.put(1, claim, nullptr);
  this->bed.put(1, std::string(20'000, '['), "1");
  this->bed.put(1, claim, "1");
  const auto consumer = this->bed.make_consumer();
  static_cast<void>(this->wait_for_partitions(*consumer, 2));
  ASSERT_TRUE(consumer->seek(1, 0));
  const auto entries = this->read(*consumer, 1, 7);
  ASSERT_EQ(entries.size(), 7U);
  EXPECT_EQ(this->number_of(entries[0]), 1U);
  EXPECT_EQ(this->number_of(entries[6]), 1U);
  const std::pair<Unreadable, std::string> wanted[] = {{Unreadable::empty, ""},
                                                       {Unreadable::malformed, binary},
                                                       {Unreadable::unknown_version, claim},
                                                       {Unreadable::unknown_version, claim},
                                                       {Unreadable::too_large, std::string(20'000, '[')}};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto* raw = std::get_if<LogEntry::Raw>(&entries[i + 1].content);
    ASSERT_NE(raw, nullptr) << i;
    EXPECT_EQ(raw->problem.why, wanted[i].first) << i;
    EXPECT_EQ(raw->bytes, wanted[i].second) << i;
  }
}

TYPED_TEST_P(LogConformance, RangesCoverWhatWasAcknowledged) {
  const auto producer = this->bed.make_producer();
  const auto consumer = this->bed.make_consumer();
  const auto sum = [&] {
    const auto ranges = consumer->ranges(this->after(this->kPatience));
    EXPECT_TRUE(ranges) << (ranges ? "" : ranges.error().message);
    std::int64_t total = 0;
    for (const LogRange& range : ranges ? ranges->partitions : std::vector<LogRange>{}) {
      EXPECT_EQ(range.first, 0);
      total += range.end;
    }
    return total;
  };
  EXPECT_EQ(sum(), 0);
  for (std::int64_t round = 1; round <= 5; ++round) {
    ASSERT_EQ(this->publish(*producer, 1, 4, "shoe").size(), 4U);
    ASSERT_EQ(this->publish(*producer, 1, 4, "hat").size(), 4U);
    EXPECT_EQ(sum(), round * 8) << "at the moment of the acknowledgement, not some time after";
  }
}

TYPED_TEST_P(LogConformance, B070_PartitionsMoveBetweenWorkersAndNoneIsReadByNobody) {
  const auto producer = this->bed.make_producer();
  ASSERT_EQ(this->publish(*producer, 1, 6, "shoe").size(), 6U);
  auto first = this->bed.make_consumer();
  const auto alone = this->wait_for_partitions(*first, 2);
  const std::int32_t partition = this->only_used_partition(*first);
  auto second = this->bed.make_consumer();
  const Deadline deadline = this->after(this->kPatience);
  LogAssignment of_first = alone;
  LogAssignment of_second;
  while (this->bed.clock().ticks() < deadline &&
         (of_first.partitions.size() != 1 || of_second.partitions.size() != 1)) {
    if (auto heard = first->assignment(this->after(this->kShort))) of_first = *std::move(heard);
    if (auto heard = second->assignment(this->after(this->kShort))) of_second = *std::move(heard);
  }
  ASSERT_EQ(of_first.partitions.size(), 1U);
  ASSERT_EQ(of_second.partitions.size(), 1U);
  EXPECT_NE(of_first.partitions, of_second.partitions);
  EXPECT_GT(of_first.generation, alone.generation);
  EXPECT_EQ(of_first.topic_id, of_second.topic_id);
  auto& owner = of_first.partitions[0] == partition ? first : second;
  auto& other = of_first.partitions[0] == partition ? second : first;
  ASSERT_TRUE(other->seek(partition, 0)) << "has no effect";
  EXPECT_EQ(other->take(partition, 10, this->after(this->kShort))->state, LogBatch::State::not_owned);
  ASSERT_TRUE(owner->seek(partition, 3));
  EXPECT_EQ(this->number_of(this->read(*owner, partition, 3).at(0)), 4U);
  owner.reset();  // It leaves in good order; the other one takes over.
  static_cast<void>(this->wait_for_partitions(*other, 2));
  ASSERT_TRUE(other->seek(partition, 3));
  EXPECT_EQ(this->number_of(this->read(*other, partition, 3).at(0)), 4U);
}

REGISTER_TYPED_TEST_SUITE_P(LogConformance, EachAppendHasExactlyOneOutcome, ClaimsOfAnItemAreReadInTheirOrder,
                            F31_F43_ReadingBeginsWhereTheLedgerSaysAndNowhereElse, F34_ABatchIsBounded,
                            F43_AnOffsetThatTheLogDoesNotHaveIsSaidAndNotJumpedOver,
                            B072_BytesThatAreNoClaimComeAsTheyLieAndNeighboursAreRead, RangesCoverWhatWasAcknowledged,
                            B070_PartitionsMoveBetweenWorkersAndNoneIsReadByNobody);

}  // namespace weir
