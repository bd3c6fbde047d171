#include "queue/kafka_bed.h"

#include "base/check.h"
#include "base/system_random.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr int kHandWaitMs = 20'000;

std::map<std::string, std::string>& addresses() {
  static std::map<std::string, std::string> known;
  return known;
}

void put_record(rd_kafka_t& client, const std::string& topic, std::int32_t partition, std::string_view key,
                std::string_view value, const char* version) {
  std::string key_text{key};
  std::string value_text{value};
  std::vector<rd_kafka_vu_t> parts(5);
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  parts[1].u.i32 = partition;
  parts[2].vtype = RD_KAFKA_VTYPE_KEY;
  parts[2].u.mem = {.ptr = key_text.data(), .size = key_text.size()};
  parts[3].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[3].u.mem = {.ptr = value_text.data(), .size = value_text.size()};
  parts[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[4].u.i = RD_KAFKA_MSG_F_COPY;
  if (version != nullptr) {
    parts.emplace_back();
    parts[5].vtype = RD_KAFKA_VTYPE_HEADER;
    parts[5].u.header = {.name = "v", .val = version, .size = -1};
  }
  const KafkaError error{rd_kafka_produceva(&client, parts.data(), parts.size())};
  CHECK(!error, "{}", rd_kafka_error_string(error.get()));
  CHECK(rd_kafka_flush(&client, kHandWaitMs) == RD_KAFKA_RESP_ERR_NO_ERROR, "a record of a test does not arrive");
}

KafkaHandle plain_client(const KafkaOptions& options) {
  auto conf = make_kafka_conf(options, {});
  CHECK(conf, "{}", conf ? "" : conf.error().message);
  auto client = make_kafka_client(RD_KAFKA_PRODUCER, std::move(*conf));
  CHECK(client, "{}", client ? "" : client.error().message);
  return std::move(*client);
}

template <typename T>
T made(Result<T> result) {
  CHECK(result, "{}", result ? "" : result.error().message);
  return std::move(*result);
}

}  // namespace

std::string test_address(const std::string& name) { return addresses()[name]; }

void read_test_addresses(int count, char** arguments) {
  for (const std::string argument : std::span{arguments, static_cast<std::size_t>(count)}.subspan(1)) {
    const std::size_t at = argument.find('=');
    if (at != std::string::npos) addresses()[argument.substr(0, at)] = argument.substr(at + 1);
  }
}

KafkaHand::KafkaHand(const KafkaOptions& options) : options_(options), client_(plain_client(options)) {}

void KafkaHand::wait_for(rd_kafka_queue_t* queue, const char* what) {
  const KafkaEvent event{rd_kafka_queue_poll(queue, kHandWaitMs)};
  CHECK(event, "{}: no answer", what);
  CHECK(rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR_NO_ERROR, "{}: {}", what,
        rd_kafka_event_error_string(event.get()));
}

void KafkaHand::wait_until_known(const std::string& topic, std::size_t partitions) {
  const Deadline deadline = clock_.ticks() + Micros{kHandWaitMs * 1000};
  std::size_t led = partitions + 1;
  while (led != partitions) {
    CHECK(clock_.ticks() < deadline, "the topic {} has {} partitions with a leader, not {}", topic, led, partitions);
    const struct rd_kafka_metadata* metadata = nullptr;
    if (rd_kafka_metadata(client_.get(), 1, nullptr, &metadata, kHandWaitMs) != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    const std::unique_ptr<const struct rd_kafka_metadata, KafkaDestroy<rd_kafka_metadata_destroy>> owner{metadata};
    led = 0;
    for (const auto& each : std::span{metadata->topics, static_cast<std::size_t>(metadata->topic_cnt)})
      if (topic == each.topic)
        led = static_cast<std::size_t>(
            std::ranges::count_if(std::span{each.partitions, static_cast<std::size_t>(each.partition_cnt)},
                                  [](const auto& partition) { return partition.leader >= 0; }));
  }
}

void KafkaHand::make_topic(const std::string& topic, int partitions, const Settings& settings) {
  std::array<char, 256> why{};
  const std::unique_ptr<rd_kafka_NewTopic_t, KafkaDestroy<rd_kafka_NewTopic_destroy>> wanted{
      rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, why.data(), why.size())};
  for (const KafkaSetting& setting : settings)
    rd_kafka_NewTopic_set_config(wanted.get(), setting.key.c_str(), setting.value.c_str());
  const KafkaQueue queue{rd_kafka_queue_new(client_.get())};
  std::array<rd_kafka_NewTopic_t*, 1> list{wanted.get()};
  rd_kafka_CreateTopics(client_.get(), list.data(), 1, nullptr, queue.get());
  wait_for(queue.get(), "make a topic");
  wait_until_known(topic, static_cast<std::size_t>(partitions));
}

void KafkaHand::delete_topic(const std::string& topic) {
  const std::unique_ptr<rd_kafka_DeleteTopic_t, KafkaDestroy<rd_kafka_DeleteTopic_destroy>> unwanted{
      rd_kafka_DeleteTopic_new(topic.c_str())};
  const KafkaQueue queue{rd_kafka_queue_new(client_.get())};
  std::array<rd_kafka_DeleteTopic_t*, 1> list{unwanted.get()};
  rd_kafka_DeleteTopics(client_.get(), list.data(), 1, nullptr, queue.get());
  wait_for(queue.get(), "delete a topic");
  wait_until_known(topic, 0);
}

void KafkaHand::add_partitions(const std::string& topic, std::size_t total) {
  std::array<char, 256> why{};
  const std::unique_ptr<rd_kafka_NewPartitions_t, KafkaDestroy<rd_kafka_NewPartitions_destroy>> wanted{
      rd_kafka_NewPartitions_new(topic.c_str(), total, why.data(), why.size())};
  const KafkaQueue queue{rd_kafka_queue_new(client_.get())};
  std::array<rd_kafka_NewPartitions_t*, 1> list{wanted.get()};
  rd_kafka_CreatePartitions(client_.get(), list.data(), 1, nullptr, queue.get());
  wait_for(queue.get(), "add partitions");
  wait_until_known(topic, total);
}

void KafkaHand::trim(const std::string& topic, std::int32_t partition, std::int64_t offset) {
  const KafkaPartitions upto{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_list_add(upto.get(), topic.c_str(), partition)->offset = offset;
  const std::unique_ptr<rd_kafka_DeleteRecords_t, KafkaDestroy<rd_kafka_DeleteRecords_destroy>> unwanted{
      rd_kafka_DeleteRecords_new(upto.get())};
  const KafkaQueue queue{rd_kafka_queue_new(client_.get())};
  std::array<rd_kafka_DeleteRecords_t*, 1> list{unwanted.get()};
  rd_kafka_DeleteRecords(client_.get(), list.data(), 1, nullptr, queue.get());
  wait_for(queue.get(), "remove records");
}

void KafkaHand::put(const std::string& topic, std::int32_t partition, std::string_view key, std::string_view value,
                    const char* version) {
  put_record(*client_, topic, partition, key, value, version);
}

ProxyControl::ProxyControl(const std::string& address) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  const std::size_t at = address.rfind(':');
  CHECK(socket_ >= 0 && at != std::string::npos, "no control port `{}`", address);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(at + 1))));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr generic{};
  static_assert(sizeof(generic) == sizeof(where));
  std::memcpy(&generic, &where, sizeof(generic));
  CHECK(connect(socket_, &generic, sizeof(generic)) == 0, "the proxy does not answer at {}", address);
}

ProxyControl::~ProxyControl() {
  say("heal");
  close(socket_);
}

void ProxyControl::say(const std::string& line) {
  const std::string text = line + "\n";
  CHECK(send(socket_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "{}", line);
  std::array<char, 200> answer{};
  const ssize_t size = recv(socket_, answer.data(), answer.size(), 0);
  CHECK(size > 0 && std::string_view(answer.data(), static_cast<std::size_t>(size)) == "ok\n", "{}: {}", line,
        answer.data());
}

MockKafka::MockKafka(int brokers) {
  auto conf = KafkaConf{rd_kafka_conf_new()};
  host_ = made(make_kafka_client(RD_KAFKA_PRODUCER, std::move(conf)));
  cluster_ = rd_kafka_mock_cluster_new(host_.get(), brokers);
  CHECK(cluster_ != nullptr, "no mock cluster");
  CHECK(rd_kafka_mock_topic_create(cluster_, options().topic.c_str(), 2, 1) == RD_KAFKA_RESP_ERR_NO_ERROR);
}

MockKafka::~MockKafka() { rd_kafka_mock_cluster_destroy(cluster_); }

KafkaOptions MockKafka::options() const {
  KafkaOptions options;
  options.brokers = {rd_kafka_mock_cluster_bootstraps(cluster_)};
  return options;
}

void MockKafka::fail_requests(std::int16_t api, rd_kafka_resp_err_t error, std::size_t times) {
  const std::vector<rd_kafka_resp_err_t> errors(times, error);
  rd_kafka_mock_push_request_errors_array(cluster_, api, errors.size(), errors.data());
}

BrokerLogBed::BrokerLogBed() {
  if (!skip_reason().empty()) return;
  SystemRandom random;
  options_.brokers = {test_address("kafka")};
  options_.topic = fmt::format("orders-{:016x}", random.next());
  options_.dead_letter_topic = options_.topic + ".dlq";
  options_.group = options_.topic;
  options_.session_timeout = Micros{3'000'000};  // Partitions change hands at the pace of heartbeats.
  hand_ = std::make_unique<KafkaHand>(options_);
  hand_->make_topic(options_.topic, 2);
}

BrokerLogBed::~BrokerLogBed() {
  if (hand_) hand_->delete_topic(options_.topic);
}

std::string BrokerLogBed::skip_reason() const {
  return test_address("kafka").empty() ? "no address kafka=… (e2e/services/services.py run kafka)" : "";
}

std::unique_ptr<LogProducer> BrokerLogBed::make_producer() { return made(KafkaProducer::create(options_, clock_)); }

std::unique_ptr<LogConsumer> BrokerLogBed::make_consumer() { return made(KafkaConsumer::create(options_, clock_)); }

void BrokerLogBed::put(std::int32_t partition, std::string_view value, const char* version) {
  hand_->put(options_.topic, partition, "shoe", value, version);
}

}  // namespace weir
