#include "config/doctor.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::IsEmpty;

struct Shop {
  Settings settings;
  Machine machine;
};

KeyFile key(std::string setting, std::string path, std::uint64_t inode) {
  KeyFile key;
  key.setting = std::move(setting);
  key.path = std::move(path);
  key.facts = FileFacts{true, true, 0600, 1, inode};
  key.content_hash = inode;
  return key;
}

/// A production shop about which the doctor has nothing to say but that no real gateway is built in.
Shop healthy() {
  Sources sources;
  sources.flags = {{"mode", "production"},
                   {"data", "/var/lib/weir"},
                   {"http.listen", "0.0.0.0:8080"},
                   {"http.trusted_proxies", "10.0.0.0/24"},
                   {"http.public_url", "https://shop.example"}};
  Shop shop{load_settings(sources).value(), {}};
  shop.machine.keys = {key("auth.hs256_secret_file", "/var/lib/weir/auth.secret", 11),
                       key("payment.sandbox_secret_file", "/var/lib/weir/sandbox.secret", 12)};
  shop.machine.data = FileFacts{true, true, 0700, 1, 10};
  shop.machine.data_filesystem = Filesystem::disk;
  shop.machine.data_free_bytes = 50LL << 30;
  shop.machine.settings_file = FileFacts{true, true, 0600, 1, 9};
  shop.machine.open_files_max = 1 << 20;
  shop.machine.listen_backlog_max = 4096;
  shop.machine.memory_bytes = 8LL << 30;
  shop.machine.cores = 8;
  shop.machine.clock_is_synchronised = true;
  return shop;
}

std::vector<Finding> beyond_healthy(const Shop& shop) {
  std::vector<Finding> findings = examine(shop.settings, shop.machine);
  const auto is_usual = [](const Finding& f) {
    return f.setting == "payment.sandbox" && f.severity == Severity::warning;
  };
  std::erase_if(findings, is_usual);
  return findings;
}

struct Case {
  std::string_view name;
  Severity severity;
  std::string_view setting;
  std::function<void(Shop&)> spoil;
};

const std::vector<Case>& cases() {
  using enum Severity;
  static const std::vector<Case> all{
      {"open to all without a proxy", fatal, "http.listen", [](Shop& s) { s.settings.http_trusted_proxies.clear(); }},
      {"all v6 addresses", fatal, "http.listen",
       [](Shop& s) { s.settings.http_listen = "[::]:80", s.settings.http_trusted_proxies.clear(); }},
      {"random port", warning, "http.listen", [](Shop& s) { s.settings.http_listen = "10.0.0.1:0"; }},
      {"ops for everybody", fatal, "ops.listen", [](Shop& s) { s.settings.ops_listen = "0.0.0.0:9090"; }},
      {"ops on a network", fatal, "ops.listen", [](Shop& s) { s.settings.ops_listen = "10.0.0.5:9090"; }},
      {"everybody is a proxy", fatal, "http.trusted_proxies",
       [](Shop& s) { s.settings.http_trusted_proxies = {"0.0.0.0/0"}; }},
      {"every v6 address is a proxy", fatal, "http.trusted_proxies",
       [](Shop& s) { s.settings.http_trusted_proxies = {"::/0"}; }},
      {"too many proxies", fatal, "http.trusted_proxies",
       [](Shop& s) { s.settings.http_trusted_proxies = {"64.0.0.0/2"}; }},
      {"https without a proxy", fatal, "http.trusted_proxies",
       [](Shop& s) { s.settings.http_listen = "127.0.0.1:1", s.settings.http_trusted_proxies.clear(); }},
      {"public http", fatal, "http.public_url", [](Shop& s) { s.settings.http_public_url = "http://shop.example"; }},
      {"no public address", warning, "http.public_url", [](Shop& s) { s.settings.http_public_url.clear(); }},
      {"buyers unlimited", fatal, "rate.per_buyer_per_s", [](Shop& s) { s.settings.rate_per_buyer_per_s = 0; }},
      {"buyers hardly limited", warning, "rate.per_buyer_per_s",
       [](Shop& s) { s.settings.rate_per_buyer_per_s = 1001; }},
      {"addresses unlimited", fatal, "rate.per_address_per_s", [](Shop& s) { s.settings.rate_per_address_per_s = 0; }},
      {"a generous limit", advice, "sale.limit_per_buyer", [](Shop& s) { s.settings.sale_limit_per_buyer = 101; }},
      {"pretend money", fatal, "payment.sandbox", [](Shop& s) { s.settings.payment_sandbox = true; }},
      {"webhooks in the clear", fatal, "payment.webhook_url",
       [](Shop& s) { s.settings.payment_webhook_url = "http://x.example"; }},
      {"no time to pay", fatal, "sale.pay_within_s",
       [](Shop& s) { s.settings.sale_pay_within_s = 59, s.settings.sale_payment_grace_s = 10; }},
      {"no grace", warning, "sale.payment_grace_s", [](Shop& s) { s.settings.sale_payment_grace_s = 0; }},
      {"more grace than time", warning, "sale.payment_grace_s", [](Shop& s) { s.settings.sale_payment_grace_s = 601; }},
      {"debug log", warning, "log.level", [](Shop& s) { s.settings.log_level = log::Level::debug; }},
      {"any issuer", fatal, "auth.issuer",
       [](Shop& s) { s.settings.auth_jwks_file = "k", s.settings.auth_audience = "weir"; }},
      {"any audience", fatal, "auth.audience",
       [](Shop& s) { s.settings.auth_jwks_file = "k", s.settings.auth_issuer = "idp"; }},
      {"no key", fatal, "auth.hs256_secret_file", [](Shop& s) { s.machine.keys[0].facts.exists = false; }},
      {"key for the group", fatal, "auth.hs256_secret_file",
       [](Shop& s) { s.machine.keys[0].facts.permissions = 0640; }},
      {"key for all", fatal, "auth.hs256_secret_file", [](Shop& s) { s.machine.keys[0].facts.permissions = 0604; }},
      {"key can be changed", fatal, "auth.hs256_secret_file",
       [](Shop& s) { s.machine.keys[0].facts.permissions = 0602; }},
      {"key of another", warning, "auth.hs256_secret_file", [](Shop& s) { s.machine.keys[0].facts.is_ours = false; }},
      {"short key", fatal, "auth.hs256_secret_file",
       [](Shop& s) { s.machine.keys[0].quality = SecretQuality::too_short; }},
      {"sample key", fatal, "auth.hs256_secret_file",
       [](Shop& s) { s.machine.keys[0].quality = SecretQuality::sample; }},
      {"dull key", fatal, "auth.hs256_secret_file",
       [](Shop& s) { s.machine.keys[0].quality = SecretQuality::repetitive; }},
      {"one file twice", fatal, "payment.sandbox_secret_file", [](Shop& s) { s.machine.keys[1].facts.inode = 11; }},
      {"one path twice", fatal, "payment.sandbox_secret_file",
       [](Shop& s) { s.machine.keys[1].path = s.machine.keys[0].path; }},
      {"one content twice", fatal, "payment.sandbox_secret_file", [](Shop& s) { s.machine.keys[1].content_hash = 11; }},
      {"public keys can be changed", fatal, "auth.jwks_file",
       [](Shop& s) {
         KeyFile set = key("auth.jwks_file", "/etc/weir/keys.json", 13);
         set.is_public = true;
         set.facts.permissions = 0666;
         s.machine.keys.push_back(set);
       }},
      {"a key of one node", warning, "auth.hs256_secret_file", [](Shop& s) { s.settings.gate = GateKind::redis; }},
      {"a gate in the clear", warning, "redis.tls",
       [](Shop& s) {
         s.settings.gate = GateKind::redis;
         s.settings.auth_hs256_secret_file = "/etc/weir/auth.secret";
         s.settings.redis_nodes = {"127.0.0.1:6379", "10.0.0.9:6379"};
       }},
      {"a log in the clear", warning, "kafka.security",
       [](Shop& s) { s.settings.queue = QueueKind::kafka, s.settings.kafka_brokers = {"k1.example:9092"}; }},
      {"open data", fatal, "data", [](Shop& s) { s.machine.data.permissions = 0755; }},
      {"data of another", warning, "data", [](Shop& s) { s.machine.data.is_ours = false; }},
      {"data that is cleared", warning, "data", [](Shop& s) { s.settings.data = "/tmp/weir"; }},
      {"data in memory", fatal, "data", [](Shop& s) { s.machine.data_filesystem = Filesystem::memory; }},
      {"data far away", fatal, "data", [](Shop& s) { s.machine.data_filesystem = Filesystem::network; }},
      {"data somewhere", warning, "data", [](Shop& s) { s.machine.data_filesystem = Filesystem::unknown; }},
      {"full disk", fatal, "data", [](Shop& s) { s.machine.data_free_bytes = 255LL << 20; }},
      {"nearly full disk", warning, "data", [](Shop& s) { s.machine.data_free_bytes = 1000LL << 20; }},
      {"reserve does not fit", fatal, "data", [](Shop& s) { s.settings.sqlite_reserve_bytes = 40LL << 30; }},
      {"no reserve", warning, "sqlite.reserve_bytes", [](Shop& s) { s.settings.sqlite_reserve_bytes = 0; }},
      {"settings can be changed", fatal, "config", [](Shop& s) { s.machine.settings_file->permissions = 0666; }},
      {"password can be read", fatal, "postgres.dsn",
       [](Shop& s) { s.machine.settings_file->permissions = 0644, s.settings.postgres_dsn = "x"; }},
      {"too few files", fatal, "http.connections_max", [](Shop& s) { s.machine.open_files_max = 120'255; }},
      {"short backlog", warning, "machine.backlog", [](Shop& s) { s.machine.listen_backlog_max = 128; }},
      {"little memory", warning, "http.connections_max", [](Shop& s) { s.machine.memory_bytes = 512LL << 20; }},
      {"too many reactors", warning, "http.reactors", [](Shop& s) { s.settings.http_reactors = 9; }},
      {"clock unknown", warning, "machine.clock", [](Shop& s) { s.machine.clock_is_synchronised.reset(); }},
      {"clock adrift", warning, "machine.clock", [](Shop& s) { s.machine.clock_is_synchronised = false; }},
      {"core dumps", fatal, "machine.core_dumps", [](Shop& s) { s.machine.core_dumps_on = true; }},
      {"root", warning, "machine.user", [](Shop& s) { s.machine.is_root = true; }},
      {"fail points", fatal, "machine.build", [](Shop& s) { s.machine.has_fault_points = true; }},
  };
  return all;
}

TEST(Doctor, AFitShopStartsInProduction) {
  const Shop shop = healthy();
  EXPECT_THAT(beyond_healthy(shop), IsEmpty()) << beyond_healthy(shop).front().message;
  EXPECT_FALSE(refuses_start(shop.settings, examine(shop.settings, shop.machine)));
}

TEST(Doctor, EachUnfitSettingIsFoundAndNamedAlone) {
  for (const Case& spoiled : cases()) {
    Shop shop = healthy();
    spoiled.spoil(shop);
    const std::vector<Finding> findings = beyond_healthy(shop);
    ASSERT_EQ(findings.size(), 1U) << spoiled.name;
    EXPECT_EQ(findings[0].setting, spoiled.setting) << spoiled.name;
    EXPECT_EQ(findings[0].severity, spoiled.severity) << spoiled.name;
    EXPECT_FALSE(findings[0].message.empty());
    EXPECT_EQ(refuses_start(shop.settings, findings), spoiled.severity == Severity::fatal) << spoiled.name;
  }
}

TEST(Doctor, DevelopmentStartsWhateverIsFound) {
  Shop shop = healthy();
  shop.settings.mode = Mode::development;
  shop.machine.data_filesystem = Filesystem::memory;
  const std::vector<Finding> findings = examine(shop.settings, shop.machine);
  EXPECT_FALSE(findings.empty());
  EXPECT_FALSE(refuses_start(shop.settings, findings));
}

TEST(Doctor, TheWorstComesFirst) {
  Shop shop = healthy();
  shop.settings.sale_limit_per_buyer = 1000;
  shop.settings.sale_payment_grace_s = 0;
  shop.machine.has_fault_points = true;
  const std::vector<Finding> findings = examine(shop.settings, shop.machine);
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::ranges::greater{}, &Finding::severity));
  EXPECT_EQ(findings.front().setting, "machine.build");
}

}  // namespace
}  // namespace weir
