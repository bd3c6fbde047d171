#include "config/stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

struct Choice {
  GateKind gate = GateKind::memory;
  QueueKind queue = QueueKind::direct;
  LedgerKind ledger = LedgerKind::sqlite;
};

constexpr Choice kEmbedded{};
constexpr Choice kRecordElsewhere{.ledger = LedgerKind::postgres};
constexpr Choice kDistributed{GateKind::redis, QueueKind::kafka, LedgerKind::postgres};

Settings complete(const Choice& choice) {
  Settings settings = load_settings({}).value();
  settings.gate = choice.gate;
  settings.queue = choice.queue;
  settings.ledger = choice.ledger;
  settings.redis_nodes = {"a:1"};
  settings.kafka_brokers = {"b:2"};
  settings.postgres_dsn = "host=c";
  return settings;
}

std::string verdict(const Settings& settings, ProcessRole role) {
  const Result<void> checked = check_stores(settings, role);
  if (checked) return "fit";
  EXPECT_EQ(checked.error().failure, Failure::unfit);
  return checked.error().message;
}

TEST(Stores, EightCombinationsOfWhichThreeWork) {
  const auto tool = [](Choice choice) { return verdict(complete(choice), ProcessRole::tool); };
  EXPECT_EQ(tool(kEmbedded), "fit");
  EXPECT_EQ(tool(kRecordElsewhere), "fit");
  EXPECT_EQ(tool(kDistributed), "fit");
  EXPECT_THAT(tool({GateKind::redis, QueueKind::direct, LedgerKind::postgres}), HasSubstr("not in this version"));
  EXPECT_THAT(tool({GateKind::memory, QueueKind::kafka, LedgerKind::postgres}), HasSubstr("use gate redis"));
  EXPECT_THAT(tool({GateKind::redis, QueueKind::kafka, LedgerKind::sqlite}), HasSubstr("one process"));
  EXPECT_THAT(tool({GateKind::redis, QueueKind::direct, LedgerKind::sqlite}), HasSubstr("one process"));
  EXPECT_THAT(tool({GateKind::memory, QueueKind::kafka, LedgerKind::sqlite}), HasSubstr("one process"));
}

TEST(Stores, EachRoleHasItsStores) {
  EXPECT_EQ(verdict(complete(kEmbedded), ProcessRole::serve), "fit");
  EXPECT_EQ(verdict(complete(kRecordElsewhere), ProcessRole::serve), "fit");
  EXPECT_THAT(verdict(complete(kDistributed), ProcessRole::serve), HasSubstr("weir api"));
  for (const ProcessRole role : {ProcessRole::api, ProcessRole::worker}) {
    EXPECT_EQ(verdict(complete(kDistributed), role), "fit");
    EXPECT_THAT(verdict(complete(kEmbedded), role), HasSubstr("memory + direct + sqlite serve one process"));
    EXPECT_THAT(verdict(complete(kRecordElsewhere), role), HasSubstr("weir serve"));
  }
}

TEST(Stores, EverythingThatIsMissingIsNamedAtOnce) {
  Settings settings = complete(kDistributed);
  settings.redis_nodes.clear();
  settings.kafka_brokers.clear();
  settings.postgres_dsn.clear();
  settings.kafka_security = KafkaSecurity::sasl_ssl;
  settings.kafka_certificate_file = "c.pem";
  const std::string said = verdict(settings, ProcessRole::api);
  for (const char* key : {"redis.nodes", "kafka.brokers", "kafka.sasl_user", "kafka.sasl_password_file",
                          "kafka.key_file", "postgres.dsn", "WEIR_POSTGRES_DSN"}) {
    EXPECT_THAT(said, HasSubstr(key));
  }
}

TEST(Stores, WhatIsNotChosenNeedsNothing) {
  Settings settings = complete(kRecordElsewhere);
  settings.redis_nodes.clear();
  settings.kafka_brokers.clear();
  settings.kafka_security = KafkaSecurity::sasl_ssl;
  EXPECT_EQ(verdict(settings, ProcessRole::serve), "fit");
}

}  // namespace
}  // namespace weir
