#include "queue/kafka_audit.h"

#include "queue/kafka_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

/// The facts of one topic against the rules; each finding names the setting and the command's part that mends it.
class Examiner {
 public:
  explicit Examiner(const KafkaTopicFacts& facts) : facts_(facts) {}

  void find(Severity severity, std::string_view setting, std::string message) {
    findings_.push_back({severity, fmt::format("{} of the topic {}", setting, facts_.name), std::move(message)});
  }

  [[nodiscard]] std::optional<std::string> text(const std::string& key) {
    const auto found = facts_.settings.find(key);
    if (found != facts_.settings.end()) return found->second;
    find(Severity::fatal, key, "it could not be read: allow this user DESCRIBE_CONFIGS on the topic");
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& key) {
    const auto value = text(key);
    if (!value) return std::nullopt;
    std::int64_t number = 0;
    const auto [end, wrong] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (wrong == std::errc{} && end == value->data() + value->size()) return number;
    find(Severity::fatal, key, fmt::format("it is `{}`, which is no number", *value));
    return std::nullopt;
  }

  [[nodiscard]] std::vector<Finding> worst_first() const {
    std::vector<Finding> sorted;
    for (const Severity severity : {Severity::fatal, Severity::warning, Severity::advice})
      std::ranges::copy_if(findings_, std::back_inserter(sorted),
                           [severity](const Finding& finding) { return finding.severity == severity; });
    return sorted;
  }

 private:
  const KafkaTopicFacts& facts_;
  std::vector<Finding> findings_;
};

void examine_copies(Examiner& examiner, const KafkaTopicFacts& facts) {
  const auto replicas = static_cast<std::int64_t>(facts.replicas);
  if (replicas < kTopicReplicasMin)
    examiner.find(Severity::fatal, "replication.factor",
                  fmt::format("{} copies of each message; with fewer than {} one lost disk and one restart lose claims "
                              "that were answered 202: assign more replicas",
                              replicas, kTopicReplicasMin));
  const auto in_sync_min = examiner.number("min.insync.replicas");
  if (in_sync_min && *in_sync_min < kTopicInSyncMin)
    examiner.find(
        Severity::fatal, "min.insync.replicas",
        fmt::format("it is {}: a 202 may rest on one disk; set min.insync.replicas={}", *in_sync_min, kTopicInSyncMin));
  if (in_sync_min && *in_sync_min >= replicas && replicas >= kTopicReplicasMin)
    examiner.find(Severity::warning, "min.insync.replicas",
                  fmt::format("it is {} of {} copies: one broker that restarts stops selling; set it lower",
                              *in_sync_min, replicas));
  if (in_sync_min && static_cast<std::int64_t>(facts.in_sync) < *in_sync_min)
    examiner.find(Severity::warning, "min.insync.replicas",
                  fmt::format("at this moment a partition has {} copies in sync and takes nothing: bring its brokers "
                              "back",
                              facts.in_sync));
  if (examiner.text("unclean.leader.election.enable") == "true")
    examiner.find(Severity::fatal, "unclean.leader.election.enable",
                  "it is true: a copy that lacks acknowledged claims may become the leader; set it to false");
}

void examine_keeping(Examiner& examiner) {
  if (const auto policy = examiner.text("cleanup.policy"); policy && policy->find("compact") != std::string::npos)
    examiner.find(
        Severity::fatal, "cleanup.policy",
        fmt::format("it is `{}`: of all claims for an item only the last would be kept; set it to delete", *policy));
  const auto retention_ms = examiner.number("retention.ms");
  if (retention_ms && *retention_ms >= 0 && *retention_ms < kTopicRetentionUsMin / 1000)
    examiner.find(Severity::fatal, "retention.ms",
                  fmt::format("it is {}: claims vanish if recording stands still for longer; set at least {}",
                              *retention_ms, kTopicRetentionUsMin / 1000));
  if (const auto bytes = examiner.number("retention.bytes"); bytes && *bytes >= 0)
    examiner.find(Severity::warning, "retention.bytes",
                  fmt::format("it is {}: a rush may push out claims that are not recorded yet; set it to -1", *bytes));
  const auto message_bytes = examiner.number("max.message.bytes");
  if (message_bytes && *message_bytes < kTopicMessageBytesMin)
    examiner.find(Severity::fatal, "max.message.bytes",
                  fmt::format("it is {}: the largest claims are refused; set at least {}", *message_bytes,
                              kTopicMessageBytesMin));
}

/// The settings of a topic, by an administrator's request of the client.
Result<std::map<std::string, std::string>> settings_of(rd_kafka_t& client, const KafkaOptions& options,
                                                       const std::string& topic, int wait) {
  const std::unique_ptr<rd_kafka_ConfigResource_t, KafkaDestroy<rd_kafka_ConfigResource_destroy>> resource{
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str())};
  const std::unique_ptr<rd_kafka_AdminOptions_t, KafkaDestroy<rd_kafka_AdminOptions_destroy>> limits{
      rd_kafka_AdminOptions_new(&client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)};
  std::array<char, 256> why{};
  rd_kafka_AdminOptions_set_request_timeout(limits.get(), std::max(wait, 1), why.data(), why.size());
  const KafkaQueue queue{rd_kafka_queue_new(&client)};
  std::array<rd_kafka_ConfigResource_t*, 1> resources{resource.get()};
  rd_kafka_DescribeConfigs(&client, resources.data(), resources.size(), limits.get(), queue.get());
  // The request ends by itself at its own limit; a little more is for its way back.
  const KafkaEvent event{rd_kafka_queue_poll(queue.get(), wait + 1000)};
  const std::string what = fmt::format("the settings of the topic {}", topic);
  if (!event) return fail(Failure::timed_out, what + ": no answer");
  if (const auto code = rd_kafka_event_error(event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return std::unexpected(kafka_error(code, what, options));
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DescribeConfigs_result(event.get());
  const rd_kafka_ConfigResource_t** described = rd_kafka_DescribeConfigs_result_resources(result, &count);
  if (count != 1) return fail(Failure::unavailable, what + ": no answer about it");
  if (const auto code = rd_kafka_ConfigResource_error(*described); code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return std::unexpected(kafka_error(code, what, options));
  std::map<std::string, std::string> settings;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(*described, &count);
  for (const auto* entry : std::span{entries, count})
    if (const char* value = rd_kafka_ConfigEntry_value(entry)) settings[rd_kafka_ConfigEntry_name(entry)] = value;
  return settings;
}

}  // namespace

std::vector<Finding> examine_orders_topic(const KafkaTopicFacts& facts) {
  Examiner examiner{facts};
  if (!facts.exists) {
    examiner.find(Severity::fatal, "existence",
                  fmt::format("there is no such topic: make it with {} replicas and min.insync.replicas={}, or name "
                              "another by kafka.topic",
                              kTopicReplicasMin, kTopicInSyncMin));
    return examiner.worst_first();
  }
  examine_copies(examiner, facts);
  examine_keeping(examiner);
  if (facts.partitions > kLogPartitionsMax)
    examiner.find(Severity::fatal, "partitions",
                  fmt::format("{} partitions, {} at most", facts.partitions, kLogPartitionsMax));
  if (facts.partitions == 1)
    examiner.find(Severity::advice, "partitions", "there is one: only one worker records at a time; add some");
  return examiner.worst_first();
}

std::vector<Finding> examine_dead_letter_topic(const KafkaTopicFacts& facts) {
  Examiner examiner{facts};
  if (!facts.exists)
    examiner.find(Severity::warning, "existence",
                  "there is no such topic: messages that nobody could record stay in the ledger and are shown nowhere "
                  "else; make it, or name another by kafka.dead_letter_topic");
  const auto policy = facts.settings.find("cleanup.policy");
  if (policy != facts.settings.end() && policy->second.find("compact") != std::string::npos)
    examiner.find(
        Severity::warning, "cleanup.policy",
        fmt::format("it is `{}`: dead letters of one item push each other out; set it to delete", policy->second));
  return examiner.worst_first();
}

Result<KafkaTopicFacts> describe_kafka_topic(const KafkaOptions& options, const std::string& topic, const Clock& clock,
                                             Deadline deadline) {
  auto conf = make_kafka_conf(options, {});
  if (!conf) return std::unexpected(conf.error());
  const auto client = make_kafka_client(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!client) return std::unexpected(client.error());
  const KafkaTopic handle{rd_kafka_topic_new(client->get(), topic.c_str(), nullptr)};
  const struct rd_kafka_metadata* metadata = nullptr;
  const rd_kafka_resp_err_t code =
      rd_kafka_metadata(client->get(), 0, handle.get(), &metadata, std::max(1, wait_ms(deadline, clock)));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return std::unexpected(kafka_error(code, fmt::format("the topic {}", topic), options));
  const std::unique_ptr<const struct rd_kafka_metadata, KafkaDestroy<rd_kafka_metadata_destroy>> owner{metadata};
  KafkaTopicFacts facts{.name = topic, .exists = false, .partitions = 0, .replicas = 0, .in_sync = 0, .settings = {}};
  if (metadata->topic_cnt != 1) return fail(Failure::unavailable, "metadata without our topic");
  const auto& found = metadata->topics[0];
  if (found.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return facts;
  if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return std::unexpected(kafka_error(found.err, fmt::format("the topic {}", topic), options));
  facts.exists = true;
  facts.partitions = static_cast<std::size_t>(found.partition_cnt);
  facts.replicas = facts.in_sync = std::numeric_limits<std::size_t>::max();
  for (const auto& each : std::span{found.partitions, facts.partitions}) {
    facts.replicas = std::min(facts.replicas, static_cast<std::size_t>(each.replica_cnt));
    facts.in_sync = std::min(facts.in_sync, static_cast<std::size_t>(each.isr_cnt));
  }
  auto settings = settings_of(**client, options, topic, wait_ms(deadline, clock));
  if (!settings) return std::unexpected(settings.error());
  facts.settings = std::move(*settings);
  return facts;
}

Result<std::vector<Finding>> audit_kafka(const KafkaOptions& options, const Clock& clock, Deadline deadline) {
  const auto orders = describe_kafka_topic(options, options.topic, clock, deadline);
  if (!orders) return std::unexpected(orders.error());
  std::vector<Finding> findings = examine_orders_topic(*orders);
  const auto letters = describe_kafka_topic(options, options.dead_letter_topic, clock, deadline);
  if (!letters) return std::unexpected(letters.error());
  std::ranges::move(examine_dead_letter_topic(*letters), std::back_inserter(findings));
  return findings;
}

}  // namespace weir
