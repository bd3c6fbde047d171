#include "config/stores.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir {
namespace {

Result<void> unfit(std::string sentence) { return fail(Failure::unfit, std::move(sentence)); }

Result<void> check_together(const Settings& settings) {
  const bool memory = settings.gate == GateKind::memory;
  const bool direct = settings.queue == QueueKind::direct;
  const bool sqlite = settings.ledger == LedgerKind::sqlite;
  if (sqlite && memory && direct) return {};
  if (sqlite) return unfit("ledger sqlite belongs to one process: it goes with gate memory and queue direct only");
  if (memory && !direct)
    return unfit("gate memory knows one process, queue kafka serves several: use gate redis, or queue direct");
  if (!memory && direct)
    return unfit("gate redis with queue direct is not in this version: use queue kafka, or gate memory");
  return {};
}

/// What the chosen stores cannot be reached without. All at once, so that nobody starts three times to learn it.
Result<void> check_reachable(const Settings& settings) {
  std::vector<std::string> missing;
  const auto need = [&](bool is_missing, std::string_view key, std::string_view because) {
    if (is_missing) missing.push_back(fmt::format("{} ({}; or {})", key, because, environment_name(key)));
  };
  const bool sasl =
      settings.kafka_security == KafkaSecurity::sasl_plaintext || settings.kafka_security == KafkaSecurity::sasl_ssl;
  const bool kafka = settings.queue == QueueKind::kafka;
  need(settings.gate == GateKind::redis && settings.redis_nodes.empty(), "redis.nodes", "needed by gate = redis");
  need(kafka && settings.kafka_brokers.empty(), "kafka.brokers", "needed by queue = kafka");
  need(kafka && sasl && settings.kafka_sasl_user.empty(), "kafka.sasl_user", "needed by kafka.security");
  need(kafka && sasl && settings.kafka_sasl_password_file.empty(), "kafka.sasl_password_file",
       "needed by kafka.security");
  need(kafka && !settings.kafka_certificate_file.empty() && settings.kafka_key_file.empty(), "kafka.key_file",
       "needed by kafka.certificate_file");
  need(settings.ledger == LedgerKind::postgres && settings.postgres_dsn.empty(), "postgres.dsn",
       "needed by ledger = postgres");
  if (missing.empty()) return {};
  return unfit(fmt::format("not set: {}", fmt::join(missing, ", ")));
}

Result<void> check_role(const Settings& settings, ProcessRole role) {
  const bool is_shared = settings.gate == GateKind::redis;
  switch (role) {
    case ProcessRole::tool: return {};
    case ProcessRole::serve:
      if (!is_shared) return {};
      return unfit("gate redis is shared by several processes: run `weir api` and `weir worker` in place of serve");
    case ProcessRole::api:
    case ProcessRole::worker:
      if (is_shared) return {};
      return unfit(
          fmt::format("{} serve one process: run `weir serve`, or set gate = redis, queue = kafka and ledger "
                      "= postgres",
                      stores_text(settings)));
  }
  return {};
}

}  // namespace

std::string stores_text(const Settings& settings) {
  return fmt::format("{} + {} + {}", settings.gate == GateKind::memory ? "memory" : "redis",
                     settings.queue == QueueKind::direct ? "direct" : "kafka",
                     settings.ledger == LedgerKind::sqlite ? "sqlite" : "postgres");
}

Result<void> check_stores(const Settings& settings, ProcessRole role) {
  if (Result<void> together = check_together(settings); !together) return together;
  if (Result<void> reachable = check_reachable(settings); !reachable) return reachable;
  return check_role(settings, role);
}

}  // namespace weir
