#include "queue/kafka_client.h"

#include "base/log.h"
#include "config/limits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <initializer_list>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir {
namespace {

constexpr std::int64_t kWaitMsMax = 60'000;
constexpr std::int64_t kLeaveStepUs = 100'000;
constexpr int kSyslogError = 3;
constexpr int kSyslogWarning = 4;

void write_log(const rd_kafka_t* client, int level, const char* facility, const char* text) {
  const log::Level ours = level <= kSyslogError     ? log::Level::error
                          : level <= kSyslogWarning ? log::Level::warn
                                                    : log::Level::debug;
  log::write(ours, "kafka_client", {{"client", rd_kafka_name(client)}, {"about", facility}, {"message", text}});
}

Result<void> set(rd_kafka_conf_t* conf, const KafkaSetting& setting) {
  std::array<char, 512> why{};
  if (rd_kafka_conf_set(conf, setting.key.c_str(), setting.value.c_str(), why.data(), why.size()) == RD_KAFKA_CONF_OK)
    return {};
  // The client's own sentence may repeat the value, which may be a secret.
  return fail(Failure::unfit, fmt::format("kafka.{} is not a setting that the Kafka client takes, or has a value that "
                                          "it does not take",
                                          setting.key));
}

bool is_passed_on(std::string_view key) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"security.", "ssl.", "sasl.", "enable.ssl."},
                             [key](std::string_view prefix) { return key.starts_with(prefix); });
}

Failure failure_of(rd_kafka_resp_err_t code) {
  // Only a few of the hundreds of codes mean something else than "try again".
  // NOLINTNEXTLINE(clang-diagnostic-switch-enum): the list of codes belongs to the library and grows.
  switch (static_cast<int>(code)) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID: return Failure::unfit;
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT: return Failure::timed_out;
    default: return Failure::unavailable;
  }
}

std::string advice(rd_kafka_resp_err_t code, const KafkaOptions& options) {
  // NOLINTNEXTLINE(clang-diagnostic-switch-enum): as above.
  switch (static_cast<int>(code)) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
      return fmt::format("make the topic {}, or name another by kafka.topic; weir does not make topics", options.topic);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return fmt::format("allow this user READ, WRITE, DESCRIBE and DESCRIBE_CONFIGS on the topic {}", options.topic);
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
      return fmt::format("allow this user READ on the group {}", options.group);
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED: return "allow this user IDEMPOTENT_WRITE on the cluster";
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION: return "look at kafka.sasl.username and its password";
    case RD_KAFKA_RESP_ERR__SSL: return "look at kafka.ssl.ca.location and kafka.security.protocol";
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
      return fmt::format("another worker bears the name kafka.instance_id = {}", options.instance_id);
    default: return fmt::format("kafka.brokers = {}", fmt::join(options.brokers, ","));
  }
}

}  // namespace

Result<KafkaConf> make_kafka_conf(const KafkaOptions& options, std::span<const KafkaSetting> own) {
  if (options.brokers.empty()) return fail(Failure::unfit, "kafka.brokers is empty; name at least one host:port");
  KafkaConf conf{rd_kafka_conf_new()};
  rd_kafka_conf_set_log_cb(conf.get(), write_log);
  const KafkaSetting common[] = {
      {"bootstrap.servers", fmt::format("{}", fmt::join(options.brokers, ","))},
      {"client.id", options.client_id},
      {"allow.auto.create.topics", "false"},
      {"socket.nagle.disable", "true"},
      {"socket.timeout.ms", "5000"},
      {"socket.connection.setup.timeout.ms", "5000"},
      {"reconnect.backoff.ms", "50"},
      {"reconnect.backoff.max.ms", "1000"},
      // Our own sentence says it once; the client would say it with every try.
      {"log.connection.close", "false"},
  };
  for (const KafkaSetting& setting : common)
    if (const auto done = set(conf.get(), setting); !done) return std::unexpected(done.error());
  for (const KafkaSetting& setting : own)
    if (const auto done = set(conf.get(), setting); !done) return std::unexpected(done.error());
  for (const KafkaSetting& setting : options.security) {
    if (!is_passed_on(setting.key))
      return fail(Failure::unfit, fmt::format("kafka.{} cannot be set: only security, ssl and sasl settings are handed "
                                              "on, the rest decides whether claims are safe",
                                              setting.key));
    if (const auto done = set(conf.get(), setting); !done) return std::unexpected(done.error());
  }
  return conf;
}

void KafkaEnd::operator()(rd_kafka_t* client) const {
  // What the thread and the one who waits for it share outlives both.
  const auto ended = std::make_shared<std::promise<void>>();
  std::future<void> end = ended->get_future();
  std::thread thread{[client, ended] {
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    ended->set_value();
  }};
  if (end.wait_for(std::chrono::microseconds{kKafkaEndUsMax}) == std::future_status::ready) {
    thread.join();
    return;
  }
  thread.detach();
  log::error("kafka_client_left_behind", {{"waited_us", kKafkaEndUsMax}});
}

void leave_kafka_group(rd_kafka_t& client) {
  const KafkaQueue answers{rd_kafka_queue_new(&client)};
  const KafkaError error{rd_kafka_consumer_close_queue(&client, answers.get())};
  if (error) return;  // It never joined one.
  for (std::int64_t waited = 0; waited < kKafkaEndUsMax && rd_kafka_consumer_closed(&client) == 0;
       waited += kLeaveStepUs) {
    const KafkaMessage rest{rd_kafka_consume_queue(answers.get(), static_cast<int>(kLeaveStepUs / 1000))};
  }
  if (rd_kafka_consumer_closed(&client) == 0) log::warn("kafka_group_not_left", {{"waited_us", kKafkaEndUsMax}});
}

Result<KafkaHandle> make_kafka_client(rd_kafka_type_t type, KafkaConf conf) {
  std::array<char, 512> why{};
  rd_kafka_t* client = rd_kafka_new(type, conf.get(), why.data(), why.size());
  if (client == nullptr) return fail(Failure::unfit, fmt::format("the Kafka client does not start: {}", why.data()));
  static_cast<void>(conf.release());  // The client owns it now.
  return KafkaHandle{client};
}

Error kafka_error(rd_kafka_resp_err_t code, std::string_view what, const KafkaOptions& options) {
  return {failure_of(code),
          fmt::format("{}: {} ({}); {}", what, rd_kafka_err2str(code), rd_kafka_err2name(code), advice(code, options))};
}

int wait_ms(Deadline deadline, const Clock& clock) {
  const std::int64_t left = (deadline - clock.ticks()).count();
  return static_cast<int>(std::clamp<std::int64_t>((left + 999) / 1000, 0, kWaitMsMax));
}

}  // namespace weir
