#pragma once

#include "base/system_clock.h"
#include "queue/kafka_client.h"
#include "queue/kafka_consumer.h"
#include "queue/kafka_producer.h"
#include "queue/log_conformance.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <librdkafka/rdkafka_mock.h>

namespace weir {

/// Topics and records from outside, for tests: an administrator's client that waits for everything it does.
class KafkaHand {
 public:
  explicit KafkaHand(const KafkaOptions& options);

  using Settings = std::vector<KafkaSetting>;
  void make_topic(const std::string& topic, int partitions, const Settings& settings = {});
  void delete_topic(const std::string& topic);
  void add_partitions(const std::string& topic, std::size_t total);
  void put(const std::string& topic, std::int32_t partition, std::string_view key, std::string_view value,
           const char* version);
  /// Removes what lies below the offset, as retention does.
  void trim(const std::string& topic, std::int32_t partition, std::int64_t offset);

 private:
  void wait_for(rd_kafka_queue_t* queue, const char* what);
  /// Waits until the brokers say that the topic has so many partitions, each with a leader. The controller knows first.
  void wait_until_known(const std::string& topic, std::size_t partitions);

  KafkaOptions options_;
  SystemClock clock_;
  KafkaHandle client_;
};

/// Brokers inside the client library that answer with whatever error they are told to.
class MockKafka {
 public:
  explicit MockKafka(int brokers = 1);
  ~MockKafka();
  MockKafka(const MockKafka&) = delete;
  MockKafka& operator=(const MockKafka&) = delete;

  [[nodiscard]] KafkaOptions options() const;
  [[nodiscard]] rd_kafka_mock_cluster_t* cluster() { return cluster_; }
  /// The next `times` requests of this kind are answered with the error.
  void fail_requests(std::int16_t api, rd_kafka_resp_err_t error, std::size_t times);
  void heal(std::int16_t api) { rd_kafka_mock_clear_request_errors(cluster_, api); }

 private:
  KafkaHandle host_;
  rd_kafka_mock_cluster_t* cluster_;
};

/// The log conformance suite on a real broker, which `e2e/services/services.py run kafka` starts. Every test has a
/// topic and a group of its own.
class BrokerLogBed final : public LogBed {
 public:
  BrokerLogBed();
  ~BrokerLogBed() override;
  std::string skip_reason() const override;
  std::unique_ptr<LogProducer> make_producer() override;
  std::unique_ptr<LogConsumer> make_consumer() override;
  void put(std::int32_t partition, std::string_view value, const char* version) override;
  const Clock& clock() const override { return clock_; }
  [[nodiscard]] const KafkaOptions& options() const { return options_; }
  [[nodiscard]] KafkaHand& hand() { return *hand_; }

 private:
  SystemClock clock_;
  KafkaOptions options_;
  std::unique_ptr<KafkaHand> hand_;
};

/// Gives orders to the proxy before a broker (`e2e/services/chaos_proxy.py`), and heals it at the end.
class ProxyControl {
 public:
  explicit ProxyControl(const std::string& address);
  ~ProxyControl();
  ProxyControl(const ProxyControl&) = delete;
  ProxyControl& operator=(const ProxyControl&) = delete;

  /// `name=value`, `heal` or `cut`; waits for the proxy's "ok".
  void say(const std::string& line);

 private:
  int socket_;
};

/// Where the servers of this run are, by the arguments `name=value` of the test program; empty when none was given.
[[nodiscard]] std::string test_address(const std::string& name);
void read_test_addresses(int count, char** arguments);

}  // namespace weir
