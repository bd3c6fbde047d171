#include "app/distributed_wiring.h"

#include "base/system_random.h"
#include "config/dsn_text.h"
#include "config/limits.h"
#include "config/secret_file.h"
#include "gate/redis_gate.h"
#include "ledger/postgres_ledger.h"
#include "ledger/postgres_reader.h"
#include "queue/kafka_audit.h"
#include "queue/kafka_consumer.h"
#include "queue/kafka_dead_letters.h"
#include "queue/kafka_producer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kGateConnectWait{5'000'000};

/// The password in the file; empty when there is no file.
Result<std::string> password_of(const std::string& path, std::string_view setting) {
  if (path.empty()) return std::string{};
  return read_password_file(path, setting);
}

std::string_view protocol(KafkaSecurity security) {
  switch (security) {
    case KafkaSecurity::plaintext: return "plaintext";
    case KafkaSecurity::ssl: return "ssl";
    case KafkaSecurity::sasl_plaintext: return "sasl_plaintext";
    case KafkaSecurity::sasl_ssl: return "sasl_ssl";
  }
  return "?";
}

std::string_view mechanism(SaslMechanism mechanism) {
  switch (mechanism) {
    case SaslMechanism::plain: return "PLAIN";
    case SaslMechanism::scram_sha_256: return "SCRAM-SHA-256";
    case SaslMechanism::scram_sha_512: return "SCRAM-SHA-512";
  }
  return "?";
}

Result<std::vector<KafkaSetting>> kafka_security(const Settings& settings) {
  std::vector<KafkaSetting> out;
  const auto add = [&](std::string_view key, std::string value) {
    if (!value.empty()) out.push_back({std::string{key}, std::move(value)});
  };
  const KafkaSecurity security = settings.kafka_security;
  const bool is_encrypted = security == KafkaSecurity::ssl || security == KafkaSecurity::sasl_ssl;
  const bool signs_in = security == KafkaSecurity::sasl_plaintext || security == KafkaSecurity::sasl_ssl;
  const auto key_password = password_of(settings.kafka_key_password_file, "kafka.key_password_file");
  if (!key_password) return std::unexpected(key_password.error());
  const auto password = password_of(settings.kafka_sasl_password_file, "kafka.sasl_password_file");
  if (!password) return std::unexpected(password.error());
  add("security.protocol", std::string{protocol(security)});
  if (is_encrypted) {
    add("ssl.ca.location", settings.kafka_ca_file);
    add("ssl.certificate.location", settings.kafka_certificate_file);
    add("ssl.key.location", settings.kafka_key_file);
    add("ssl.key.password", *key_password);
  }
  if (signs_in) {
    add("sasl.mechanism", std::string{mechanism(settings.kafka_sasl_mechanism)});
    add("sasl.username", settings.kafka_sasl_user);
    add("sasl.password", *password);
  }
  return out;
}

Result<KafkaOptions> kafka_options(const Settings& settings) {
  auto security = kafka_security(settings);
  if (!security) return std::unexpected(security.error());
  KafkaOptions options;
  options.brokers = settings.kafka_brokers;
  options.topic = settings.kafka_topic;
  options.dead_letter_topic = settings.kafka_dead_letter_topic;
  options.group = settings.kafka_group;
  options.instance_id = settings.kafka_instance_id;
  options.security = *std::move(security);
  return options;
}

}  // namespace

Result<PostgresOptions> postgres_options(const Settings& settings) {
  const auto password = password_of(settings.postgres_password_file, "postgres.password_file");
  if (!password) return std::unexpected(password.error());
  PostgresOptions options;
  options.dsn = password->empty() ? settings.postgres_dsn : dsn_with_password(settings.postgres_dsn, *password);
  options.sells_alone = settings.gate == GateKind::memory;
  return options;
}

Result<std::int64_t> migrate_ledger(const Settings& settings, const Clock& clock, Random& random) {
  const auto options = postgres_options(settings);
  if (!options) return std::unexpected(options.error());
  return PostgresLedger::migrate(*options, clock, random);
}

Result<std::unique_ptr<SharedLedger>> open_shared_ledger(const Settings& settings, const Clock& clock, Random& random) {
  return open_proving_ledger(settings, clock, random);
}

Result<std::unique_ptr<ProvingLedger>> open_proving_ledger(const Settings& settings, const Clock& clock,
                                                           Random& random) {
  auto options = postgres_options(settings);
  if (!options) return std::unexpected(options.error());
  auto opened = PostgresLedger::open(*std::move(options), clock, random);
  if (!opened) return std::unexpected(opened.error());
  return std::unique_ptr<ProvingLedger>{std::move(*opened)};
}

Result<std::unique_ptr<LedgerReader>> open_shared_reader(const Settings& settings, const Clock& clock) {
  auto options = postgres_options(settings);
  if (!options) return std::unexpected(options.error());
  auto opened = PostgresReader::open(*std::move(options), clock);
  if (!opened) return std::unexpected(opened.error());
  return std::unique_ptr<LedgerReader>{std::move(*opened)};
}

std::string ledger_name(const Catalog& catalog) {
  // The first tenant's keys are made with the ledger and never change. Their hash tells nothing of them.
  const auto first = std::ranges::min_element(catalog.tenants(), {}, &Tenant::no);
  if (first == catalog.tenants().end()) return "empty";
  return fmt::format("{:016x}{:016x}", siphash(first->order_id_key_0, "ledger"),
                     siphash(first->order_id_key_1, "ledger"));
}

Result<std::unique_ptr<SharedGate>> open_shared_gate(const Settings& settings, std::string ledger,
                                                     const SipKey& buyer_hash, const Clock& clock) {
  auto password = password_of(settings.redis_password_file, "redis.password_file");
  if (!password) return std::unexpected(password.error());
  RedisGateOptions options;
  options.servers.nodes = settings.redis_nodes;
  options.servers.login = {.user = settings.redis_user, .password = *std::move(password)};
  options.servers.tls = settings.redis_tls == OnOff::on;
  options.servers.tls_ca_file = settings.redis_ca_file;
  options.ledger = std::move(ledger);
  options.buyer_key = [buyer_hash](TenantNo tenant, std::string_view buyer) {
    return buyer_key(buyer_hash, tenant, buyer);
  };
  auto gate =
      RedisGate::connect(std::move(options), clock, std::make_unique<SystemRandom>(), clock.ticks() + kGateConnectWait);
  if (!gate) return std::unexpected(gate.error());
  return std::unique_ptr<SharedGate>{std::move(*gate)};
}

Result<std::unique_ptr<LogProducer>> open_log_producer(const Settings& settings, std::function<void()> wake,
                                                       const Clock& clock) {
  auto options = kafka_options(settings);
  if (!options) return std::unexpected(options.error());
  auto producer = KafkaProducer::create(*std::move(options), clock);
  if (!producer) return std::unexpected(producer.error());
  if (wake) (*producer)->set_wake(std::move(wake));
  return std::unique_ptr<LogProducer>{std::move(*producer)};
}

Result<std::unique_ptr<LogConsumer>> open_log_consumer(const Settings& settings, const Clock& clock) {
  auto options = kafka_options(settings);
  if (!options) return std::unexpected(options.error());
  auto consumer = KafkaConsumer::create(*std::move(options), clock);
  if (!consumer) return std::unexpected(consumer.error());
  return std::unique_ptr<LogConsumer>{std::move(*consumer)};
}

Result<AskMarks> open_log_end(const Settings& settings, const Clock& clock) {
  // In a group of its own, so that it takes no partition from a worker.
  Settings as_looker = settings;
  as_looker.kafka_group += "-look";
  as_looker.kafka_instance_id.clear();
  auto consumer = open_log_consumer(as_looker, clock);
  if (!consumer) return std::unexpected(consumer.error());
  return [looker = std::shared_ptr<LogConsumer>{std::move(*consumer)}](Deadline deadline) {
    return looker->ranges(deadline);
  };
}

Result<std::unique_ptr<DeadLetters>> open_dead_letters(const Settings& settings, const Clock& clock) {
  auto options = kafka_options(settings);
  if (!options) return std::unexpected(options.error());
  return std::unique_ptr<DeadLetters>{std::make_unique<KafkaDeadLetters>(*std::move(options), clock)};
}

Result<std::vector<Finding>> examine_log(const Settings& settings, const Clock& clock, Deadline deadline) {
  const auto options = kafka_options(settings);
  if (!options) return std::unexpected(options.error());
  return audit_kafka(*options, clock, deadline);
}

}  // namespace weir
