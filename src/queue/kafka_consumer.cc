#include "queue/kafka_consumer.h"

#include "base/log.h"
#include "queue/kafka_topic_id.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

std::optional<std::string_view> version_of(const rd_kafka_message_t& message) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  const void* value = nullptr;
  std::size_t size = 0;
  const std::string name{kVersionHeader};
  if (rd_kafka_header_get_last(headers, name.c_str(), &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  return std::string_view{static_cast<const char*>(value), size};
}

std::string_view bytes_of(const void* data, std::size_t size) {
  return data == nullptr ? std::string_view{} : std::string_view{static_cast<const char*>(data), size};
}

LogEntry entry_of(const rd_kafka_message_t& message) {
  const std::string_view value = bytes_of(message.payload, message.len);
  auto read = read_claim_message(value, version_of(message));
  if (read) return {.offset = message.offset, .content = std::move(*read)};
  return {.offset = message.offset,
          .content = LogEntry::Raw{.problem = std::move(read.error()),
                                   .key = std::string{bytes_of(message.key, message.key_len)},
                                   .bytes = std::string{value}}};
}

}  // namespace

Result<std::unique_ptr<KafkaConsumer>> KafkaConsumer::create(KafkaOptions options, const Clock& clock) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private, so make_unique cannot reach it.
  std::unique_ptr<KafkaConsumer> made{new KafkaConsumer(std::move(options), clock)};
  if (const auto started = made->start(); !started) return std::unexpected(started.error());
  return made;
}

KafkaConsumer::KafkaConsumer(KafkaOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

KafkaConsumer::~KafkaConsumer() {
  if (client_) leave_kafka_group(*client_);
  owned_.clear();
  topic_.reset();
  client_.reset();
}

Result<void> KafkaConsumer::start() {
  const std::array own{
      KafkaSetting{"group.id", options_.group},
      KafkaSetting{"group.instance.id", options_.instance_id},
      KafkaSetting{"partition.assignment.strategy", "cooperative-sticky"},
      KafkaSetting{"session.timeout.ms", fmt::format("{}", options_.session_timeout.count() / 1000)},
      KafkaSetting{"heartbeat.interval.ms", fmt::format("{}", options_.session_timeout.count() / 4000)},
      KafkaSetting{"max.poll.interval.ms", fmt::format("{}", kLogPollUsMax / 1000)},
      KafkaSetting{"enable.auto.commit", "false"},
      KafkaSetting{"enable.auto.offset.store", "false"},
      // Where to read is said by the ledger. A place that is not there is an alarm, not a reason to begin elsewhere.
      KafkaSetting{"auto.offset.reset", "error"},
      // There are no transactions here; one that a stranger left open must not hide what lies behind it.
      KafkaSetting{"isolation.level", "read_uncommitted"},
      KafkaSetting{"check.crcs", "true"},
      // A partition that is added during a sale is read soon.
      KafkaSetting{"topic.metadata.refresh.interval.ms", "3000"},
      KafkaSetting{"queued.max.messages.kbytes", fmt::format("{}", kLogFetchBytesMax / 1024)},
      KafkaSetting{"fetch.message.max.bytes", fmt::format("{}", kLogBatchBytesMax)},
      KafkaSetting{"fetch.wait.max.ms", "100"},
      KafkaSetting{"fetch.error.backoff.ms", "100"},
  };
  auto conf = make_kafka_conf(options_, own);
  if (!conf) return std::unexpected(conf.error());
  rd_kafka_conf_set_opaque(conf->get(), this);
  rd_kafka_conf_set_rebalance_cb(conf->get(), rebalance_callback);
  rd_kafka_conf_set_error_cb(conf->get(), error_callback);
  auto client = make_kafka_client(RD_KAFKA_CONSUMER, std::move(*conf));
  if (!client) return std::unexpected(client.error());
  client_ = std::move(*client);
  rd_kafka_poll_set_consumer(client_.get());
  topic_.reset(rd_kafka_topic_new(client_.get(), options_.topic.c_str(), nullptr));
  const KafkaPartitions wanted{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_list_add(wanted.get(), options_.topic.c_str(), RD_KAFKA_PARTITION_UA);
  const rd_kafka_resp_err_t code = rd_kafka_subscribe(client_.get(), wanted.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::unexpected(kafka_error(code, "subscribe", options_));
  return {};
}

KafkaPartitions KafkaConsumer::one(std::int32_t partition, std::int64_t offset) const {
  KafkaPartitions list{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_list_add(list.get(), options_.topic.c_str(), partition)->offset = offset;
  return list;
}

void KafkaConsumer::rebalance_callback(rd_kafka_t*, rd_kafka_resp_err_t code,
                                       rd_kafka_topic_partition_list_t* partitions, void* self) {
  static_cast<KafkaConsumer*>(self)->on_rebalance(code, *partitions);
}

void KafkaConsumer::on_rebalance(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t& partitions) {
  ++generation_;
  const std::span changed{partitions.elems, static_cast<std::size_t>(partitions.cnt)};
  // The client wants to hear that we heard. What is fetched is up to `seek`, so it gets a list without partitions, or
  // one with those that were being fetched and go.
  const KafkaPartitions heard{rd_kafka_topic_partition_list_new(partitions.cnt)};
  KafkaError error;
  if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    trouble_.reset();
    for (const auto& each : changed) owned_.try_emplace(each.partition);
    error.reset(rd_kafka_incremental_assign(client_.get(), heard.get()));
  } else {
    for (const auto& each : changed) {
      const auto found = owned_.find(each.partition);
      if (found == owned_.end()) continue;
      if (found->second.queue) rd_kafka_topic_partition_list_add(heard.get(), each.topic, each.partition);
      owned_.erase(found);
    }
    error.reset(rd_kafka_incremental_unassign(client_.get(), heard.get()));
  }
  if (error) log::error("kafka_rebalance_failed", {{"message", rd_kafka_error_string(error.get())}});
  log::info("kafka_partitions", {{"change", code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS ? "assigned" : "revoked"},
                                 {"count", static_cast<std::int64_t>(partitions.cnt)},
                                 {"owned", static_cast<std::int64_t>(owned_.size())}});
}

void KafkaConsumer::error_callback(rd_kafka_t*, int code, const char* reason, void* self) {
  static_cast<KafkaConsumer*>(self)->on_error(static_cast<rd_kafka_resp_err_t>(code), reason);
}

void KafkaConsumer::on_error(rd_kafka_resp_err_t code, const char* reason) {
  Error error = kafka_error(code, reason, options_);
  log::warn("kafka_trouble", {{"message", error.message}});
  if (error.failure == Failure::unfit) trouble_ = std::move(error);
}

/// Hears what has happened. Records on the common queue belong to a partition whose own queue was made a moment later.
void KafkaConsumer::serve_common_queue(int first_wait_ms) {
  int wait = first_wait_ms;
  for (std::size_t i = 0; i < kLedgerBatchMax; ++i) {
    KafkaMessage message{rd_kafka_consumer_poll(client_.get(), wait)};
    if (!message) return;
    wait = 0;
    const auto found = owned_.find(message->partition);
    const bool is_partitions = message->rkt != nullptr && message->partition >= 0;
    if (is_partitions && found != owned_.end() && found->second.queue) {
      found->second.early.push_back(std::move(message));
    } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      on_error(message->err, "consume");
    }
  }
}

Result<void> KafkaConsumer::check_alive() const {
  std::array<char, 512> why{};
  const rd_kafka_resp_err_t code = rd_kafka_fatal_error(client_.get(), why.data(), why.size());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::unexpected(kafka_error(code, "consume", options_));
  return {};
}

Result<void> KafkaConsumer::learn_topic_id(Deadline deadline) {
  auto id = kafka_topic_id(options_, clock_, deadline);
  if (!id) return std::unexpected(id.error());
  if (!topic_id_.empty() && *id != topic_id_)
    return fail(Failure::corrupt,
                fmt::format("the topic {} was made anew ({} is now {}): its offsets mean other records; stop, and "
                            "confirm what was lost",
                            options_.topic, topic_id_, *id));
  topic_id_ = std::move(*id);
  return {};
}

Result<LogAssignment> KafkaConsumer::assignment(Deadline deadline) {
  const std::uint64_t before = generation_;
  // The first call of a group takes a while to be answered; later ones only look.
  serve_common_queue(owned_.empty() ? wait_ms(deadline, clock_) : 0);
  if (const auto alive = check_alive(); !alive) return std::unexpected(alive.error());
  if (owned_.empty() && trouble_) return std::unexpected(*trouble_);
  if (topic_id_.empty() || generation_ != before)
    if (const auto learned = learn_topic_id(deadline); !learned) return std::unexpected(learned.error());
  LogAssignment now{.generation = generation_, .topic_id = topic_id_, .partitions = {}};
  for (const auto& [partition, owned] : owned_) now.partitions.push_back(partition);
  return now;
}

void KafkaConsumer::stop_fetching(std::int32_t partition) {
  Owned& owned = owned_.at(partition);
  if (!owned.queue) return;
  const KafkaPartitions list = one(partition, RD_KAFKA_OFFSET_INVALID);
  const KafkaError error{rd_kafka_incremental_unassign(client_.get(), list.get())};
  if (error) log::warn("kafka_unassign_failed", {{"message", rd_kafka_error_string(error.get())}});
  owned.queue.reset();
  owned.early.clear();
}

Result<void> KafkaConsumer::seek(std::int32_t partition, std::int64_t offset) {
  const auto found = owned_.find(partition);
  if (found == owned_.end()) return {};
  // Ending the fetch and beginning another at the offset is the one way that has no race with what is on its way.
  stop_fetching(partition);
  Owned& owned = found->second;
  owned.position.reset();
  const KafkaPartitions list = one(partition, offset);
  const KafkaError error{rd_kafka_incremental_assign(client_.get(), list.get())};
  if (error)
    return std::unexpected(kafka_error(rd_kafka_error_code(error.get()),
                                       fmt::format("seek {} in partition {}", offset, partition), options_));
  owned.queue.reset(rd_kafka_queue_get_partition(client_.get(), options_.topic.c_str(), partition));
  if (!owned.queue) return fail(Failure::unavailable, fmt::format("partition {} has no queue yet", partition));
  owned.position = offset;
  return {};
}

KafkaMessage KafkaConsumer::next_message(Owned& owned, int wait) {
  if (!owned.early.empty()) {
    KafkaMessage message = std::move(owned.early.front());
    owned.early.pop_front();
    return message;
  }
  return KafkaMessage{rd_kafka_consume_queue(owned.queue.get(), wait)};
}

/// The client numbers records without gaps in a topic like ours, so a gap is either lawful (a record that compaction or
/// an administrator removed) or a record that took another way through the client. The second kind would be a lost
/// order: on the first sight of a gap the partition is read again from before it.
bool KafkaConsumer::is_gap_doubtful(Owned& owned, std::int32_t partition, std::int64_t next, std::int64_t offset) {
  if (offset == next || owned.doubted == next) return false;
  owned.doubted = next;
  log::warn("kafka_gap", {{"partition", std::int64_t{partition}}, {"expected", next}, {"found", offset}});
  return true;
}

Result<LogBatch::State> KafkaConsumer::fill(LogBatch& batch, Owned& owned, std::size_t entries_max, Deadline deadline) {
  std::size_t bytes = 0;
  while (batch.entries.size() < entries_max && bytes < kLogBatchBytesMax) {
    KafkaMessage message = next_message(owned, batch.entries.empty() ? wait_ms(deadline, clock_) : 0);
    if (!message) break;
    if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
      // The client says it once and fetches no more; every later call hears it again, until a `seek`.
      owned.early.push_front(std::move(message));
      return batch.entries.empty() ? LogBatch::State::out_of_range : LogBatch::State::taken;
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (!batch.entries.empty()) break;
      return std::unexpected(
          kafka_error(message->err, fmt::format("fetch of partition {}", batch.partition), options_));
    }
    if (message->offset < batch.next) continue;  // Given before.
    if (is_gap_doubtful(owned, batch.partition, batch.next, message->offset)) {
      if (const auto again = seek(batch.partition, batch.next); !again) return std::unexpected(again.error());
      break;
    }
    bytes += message->len + message->key_len;
    batch.entries.push_back(entry_of(*message));
    batch.next = message->offset + 1;
  }
  return batch.entries.empty() ? LogBatch::State::empty : LogBatch::State::taken;
}

Result<LogBatch> KafkaConsumer::take(std::int32_t partition, std::size_t entries_max, Deadline deadline) {
  const auto begin = owned_.find(partition);
  // From the first call on, records come over the partition's own queue and leave the common one to events.
  if (begin != owned_.end() && begin->second.queue) rd_kafka_queue_forward(begin->second.queue.get(), nullptr);
  serve_common_queue(0);
  if (const auto alive = check_alive(); !alive) return std::unexpected(alive.error());
  LogBatch batch{.state = LogBatch::State::not_owned,
                 .topic_id = topic_id_,
                 .partition = partition,
                 .generation = generation_,
                 .expected = 0,
                 .next = 0,
                 .entries = {}};
  const auto found = owned_.find(partition);
  if (found == owned_.end() || !found->second.position) return batch;
  batch.expected = batch.next = *found->second.position;
  const auto state = fill(batch, found->second, entries_max, deadline);
  if (!state) return std::unexpected(state.error());
  batch.state = *state;
  found->second.position = batch.next;
  return batch;
}

Result<LogRanges> KafkaConsumer::ranges(Deadline deadline) {
  if (const auto learned = learn_topic_id(deadline); !learned) return std::unexpected(learned.error());
  const struct rd_kafka_metadata* metadata = nullptr;
  rd_kafka_resp_err_t code =
      rd_kafka_metadata(client_.get(), 0, topic_.get(), &metadata, std::max(1, wait_ms(deadline, clock_)));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::unexpected(kafka_error(code, "metadata", options_));
  const std::unique_ptr<const struct rd_kafka_metadata, KafkaDestroy<rd_kafka_metadata_destroy>> owner{metadata};
  if (metadata->topic_cnt != 1) return fail(Failure::unavailable, "metadata without our topic");
  const auto& topic = metadata->topics[0];
  if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) return std::unexpected(kafka_error(topic.err, "metadata", options_));
  LogRanges ranges{.topic_id = topic_id_, .partitions = {}};
  for (const auto& each : std::span{topic.partitions, static_cast<std::size_t>(topic.partition_cnt)}) {
    LogRange range{.partition = each.id, .first = 0, .end = 0};
    code = rd_kafka_query_watermark_offsets(client_.get(), options_.topic.c_str(), each.id, &range.first, &range.end,
                                            std::max(1, wait_ms(deadline, clock_)));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      return std::unexpected(kafka_error(code, fmt::format("ends of partition {}", each.id), options_));
    ranges.partitions.push_back(range);
  }
  std::ranges::sort(ranges.partitions, {}, &LogRange::partition);
  return ranges;
}

void KafkaConsumer::hint(std::int32_t partition, std::int64_t next_offset) {
  const KafkaPartitions list = one(partition, next_offset);
  const rd_kafka_resp_err_t code = rd_kafka_commit(client_.get(), list.get(), 1);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    log::warn("kafka_hint_failed", {{"message", kafka_error(code, "commit", options_).message}});
}

}  // namespace weir
