#include "config/settings.h"

#include "config/settings_text.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Sources flags(std::map<std::string, std::string> given) {
  Sources sources;
  sources.flags = std::move(given);
  return sources;
}
Sources file(std::string text) {
  Sources sources;
  sources.file_path = "weir.toml";
  sources.file_text = std::move(text);
  return sources;
}
Sources environment(std::vector<std::pair<std::string, std::string>> given) {
  Sources sources;
  sources.environment = std::move(given);
  return sources;
}
std::string refusal(const Sources& sources) {
  const Parsed<Settings> settings = load_settings(sources);
  return settings ? "accepted" : settings.error();
}

TEST(Settings, DefaultsAreThePromisedOnes) {
  const Parsed<Settings> settings = load_settings({});
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->mode, Mode::development);
  EXPECT_EQ(settings->data, "./weir-data");
  EXPECT_EQ(settings->http_listen, "127.0.0.1:8080");
  EXPECT_EQ(settings->http_reactors, 0);
  EXPECT_EQ(settings->ops_listen, "127.0.0.1:9090");
  EXPECT_THAT(settings->http_trusted_proxies, IsEmpty());
  EXPECT_EQ(settings->gate, GateKind::memory);
  EXPECT_EQ(settings->queue, QueueKind::direct);
  EXPECT_EQ(settings->ledger, LedgerKind::sqlite);
  EXPECT_EQ(settings->sale_pay_within_s, 600);
  EXPECT_EQ(settings->sale_limit_per_buyer, 1);
  EXPECT_EQ(settings->sale_payment_grace_s, 120);
  EXPECT_EQ(settings->rate_per_buyer_per_s, 10);
  EXPECT_EQ(settings->rate_per_address_per_s, 200);
  EXPECT_EQ(settings->auth_hs256_secret_file, "./weir-data/auth.secret");
  EXPECT_EQ(settings->payment_sandbox_secret_file, "./weir-data/sandbox.secret");
  EXPECT_TRUE(settings->payment_sandbox);
  EXPECT_EQ(settings->log_level, log::Level::info);
}

TEST(Settings, AFlagBeatsTheEnvironmentWhichBeatsTheFileWhichBeatsTheDefault) {
  Sources sources = file("sale.pay_within_s = 100\nsale.limit_per_buyer = 2\nrate.per_buyer_per_s = 5\n");
  sources.environment = {{"WEIR_SALE_PAY_WITHIN_S", "200"}, {"WEIR_SALE_LIMIT_PER_BUYER", "3"}};
  sources.flags = {{"sale.pay_within_s", "300"}};
  const Parsed<Settings> settings = load_settings(sources);
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->sale_pay_within_s, 300);
  EXPECT_EQ(settings->sale_limit_per_buyer, 3);
  EXPECT_EQ(settings->rate_per_buyer_per_s, 5);
  EXPECT_EQ(settings->rate_per_address_per_s, 200);
  std::map<std::string_view, SettingSource> from;
  for (std::size_t i = 0; i < declarations().size(); ++i) from[declarations()[i].key] = settings->sources[i];
  EXPECT_EQ(from["sale.pay_within_s"], SettingSource::flag);
  EXPECT_EQ(from["sale.limit_per_buyer"], SettingSource::environment);
  EXPECT_EQ(from["rate.per_buyer_per_s"], SettingSource::file);
  EXPECT_EQ(from["rate.per_address_per_s"], SettingSource::built_in);
}

TEST(Settings, EverySettingIsReadFromAllThreePlaces) {
  const std::map<SettingKind, std::pair<std::string, std::string>> examples{
      {SettingKind::text, {"some text", "\"some text\""}},
      {SettingKind::path, {"/var/lib/x", "\"/var/lib/x\""}},
      {SettingKind::url, {"https://shop.example/x", "\"https://shop.example/x\""}},
      {SettingKind::address, {"[::1]:7001", "\"[::1]:7001\""}},
      {SettingKind::number, {"17", "17"}},
      {SettingKind::seconds, {"61", "61"}},
      {SettingKind::truth, {"false", "false"}},
      {SettingKind::endpoints, {"a:1,b:2", "[\"a:1\", \"b:2\"]"}},
      {SettingKind::networks, {"10.0.0.0/8,::1", "[\"10.0.0.0/8\", \"::1\"]"}}};
  for (const SettingDeclaration& declaration : declarations()) {
    if (declaration.kind == SettingKind::choice) continue;  // Their second words change what else is lawful.
    const auto& [text, toml] = examples.at(declaration.kind);
    const std::string key(declaration.key);
    std::vector<Sources> all{file(key + " = " + toml), environment({{environment_name(key), text}})};
    if (!declaration.secret) all.push_back(flags({{key, text}}));
    for (const Sources& sources : all) {
      const Parsed<Settings> settings = load_settings(sources);
      ASSERT_TRUE(settings) << key << ": " << settings.error();
      EXPECT_EQ(setting_text(*settings, declaration), text) << key;
    }
  }
}

TEST(Settings, EveryChoiceHasOneWordForEachEnumerator) {
  EXPECT_EQ(load_settings(flags({{"log.level", "debug"}}))->log_level, log::Level::debug);
  EXPECT_EQ(load_settings(flags({{"log.level", "warn"}}))->log_level, log::Level::warn);
  EXPECT_EQ(load_settings(flags({{"log.level", "error"}}))->log_level, log::Level::error);
  EXPECT_EQ(load_settings(flags({{"mode", "production"}}))->mode, Mode::production);
  EXPECT_EQ(load_settings(flags({{"gate", "redis"}}))->gate, GateKind::redis);
  EXPECT_EQ(load_settings(flags({{"queue", "kafka"}}))->queue, QueueKind::kafka);
  EXPECT_EQ(load_settings(flags({{"ledger", "postgres"}}))->ledger, LedgerKind::postgres);
  EXPECT_EQ(load_settings(flags({{"redis.tls", "on"}}))->redis_tls, OnOff::on);
  EXPECT_EQ(load_settings(flags({{"kafka.security", "ssl"}}))->kafka_security, KafkaSecurity::ssl);
  EXPECT_EQ(load_settings(flags({{"kafka.security", "sasl_plaintext"}}))->kafka_security,
            KafkaSecurity::sasl_plaintext);
  EXPECT_EQ(load_settings(flags({{"kafka.security", "sasl_ssl"}}))->kafka_security, KafkaSecurity::sasl_ssl);
  EXPECT_EQ(load_settings(flags({{"kafka.sasl_mechanism", "plain"}}))->kafka_sasl_mechanism, SaslMechanism::plain);
  EXPECT_EQ(load_settings(flags({{"kafka.sasl_mechanism", "scram-sha-256"}}))->kafka_sasl_mechanism,
            SaslMechanism::scram_sha_256);
}

TEST(Settings, UnknownNamesAreRefusedWithTheNearestKnownOne) {
  EXPECT_THAT(refusal(flags({{"http.lissten", "127.0.0.1:1"}})), HasSubstr("did you mean http.listen?"));
  EXPECT_THAT(refusal(file("[http]\nreactor = 3\n")), HasSubstr("http.reactor; did you mean http.reactors?"));
  EXPECT_THAT(refusal(environment({{"WEIR_SALE_PAY_WITHIN", "5"}})), HasSubstr("WEIR_SALE_PAY_WITHIN_S"));
  EXPECT_THAT(refusal(environment({{"WEIR_CONFIG", "x"}})), HasSubstr("WEIR_CONFIG is no setting"));
  EXPECT_THAT(refusal(environment({{"WEIR_", "x"}})), HasSubstr("is no setting"));
  EXPECT_THAT(refusal(file("zebra = 1")), HasSubstr("unknown setting zebra"));
  EXPECT_THAT(refusal(file("zebra = 1")), Not(HasSubstr("did you mean")));
}

TEST(Settings, OtherProgramsVariablesAreIgnored) {
  EXPECT_EQ(refusal(environment({{"PATH", "/bin"}, {"WEIRD", "x"}, {"weir_data", "x"}})), "accepted");
}

TEST(Settings, ValuesThatAreNotExactlyRightAreRefusedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> wrong{{"http.reactors", "65"},
                                                               {"http.reactors", "-1"},
                                                               {"http.reactors", "+1"},
                                                               {"http.reactors", " 1"},
                                                               {"http.reactors", "1 "},
                                                               {"http.reactors", "1e1"},
                                                               {"http.reactors", "1.0"},
                                                               {"http.reactors", "01"},
                                                               {"http.reactors", ""},
                                                               {"http.reactors", "0x4"},
                                                               {"http.reactors", "99999999999999999999"},
                                                               {"sale.pay_within_s", "0"},
                                                               {"sale.pay_within_s", "86401"},
                                                               {"sale.pay_within_s", "0s"},
                                                               {"sale.pay_within_s", "1500ms"},
                                                               {"sale.pay_within_s", "2d"},
                                                               {"sale.pay_within_s", "ten"},
                                                               {"sale.limit_per_buyer", "0"},
                                                               {"sale.limit_per_buyer", "1001"},
                                                               {"sale.payment_grace_s", "3601"},
                                                               {"rate.per_buyer_per_s", "100001"},
                                                               {"http.listen", "8080"},
                                                               {"http.listen", ":8080"},
                                                               {"http.listen", "127.0.0.1"},
                                                               {"http.listen", "127.0.0.1:65536"},
                                                               {"http.listen", "::1:8080"},
                                                               {"http.listen", "127.0.0.256:1"},
                                                               {"http.listen", "[127.0.0.1]:1"},
                                                               {"http.listen", ""},
                                                               {"payment.sandbox", "yes"},
                                                               {"payment.sandbox", "True"},
                                                               {"payment.sandbox", "1"},
                                                               {"payment.sandbox", ""},
                                                               {"gate", "Memory"},
                                                               {"gate", "mem"},
                                                               {"mode", ""},
                                                               {"mode", "prod"},
                                                               {"log.level", "trace"},
                                                               {"http.trusted_proxies", "10.0.0.1,"},
                                                               {"http.trusted_proxies", "10.0.0.1, 10.0.0.2"},
                                                               {"http.trusted_proxies", "proxy.example"},
                                                               {"http.trusted_proxies", "10.0.0.1/8"},
                                                               {"http.trusted_proxies", "10.0.0.0/33"},
                                                               {"http.trusted_proxies", "10.0.0.1,10.0.0.1"},
                                                               {"redis.nodes", "a:0"},
                                                               {"redis.nodes", "a"},
                                                               {"kafka.brokers", "a:1,,b:2"},
                                                               {"http.public_url", "shop.example"},
                                                               {"http.public_url", "ftp://shop.example"},
                                                               {"http.public_url", "https://user@shop.example"},
                                                               {"http.public_url", "https://"},
                                                               {"http.public_url", "https://shop.example/?a"},
                                                               {"data", ""},
                                                               {"data", "a\nb"},
                                                               {"auth.issuer", " x"}};
  for (const auto& [key, text] : wrong) {
    EXPECT_THAT(refusal(flags({{key, text}})), HasSubstr(key + " (--" + key + "): ")) << key << "=" << text;
    EXPECT_THAT(refusal(environment({{environment_name(key), text}})), HasSubstr(environment_name(key)));
  }
}

TEST(Settings, TheFileKeepsTypesApart) {
  EXPECT_THAT(refusal(file("http.reactors = \"3\"")), HasSubstr("without quotes"));
  EXPECT_THAT(refusal(file("http.reactors = 3.0")), HasSubstr("whole number"));
  EXPECT_THAT(refusal(file("payment.sandbox = \"true\"")), HasSubstr("without quotes"));
  EXPECT_THAT(refusal(file("data = 3")), HasSubstr("in quotes"));
  EXPECT_THAT(refusal(file("http.trusted_proxies = \"10.0.0.1\"")), HasSubstr("list"));
  EXPECT_THAT(refusal(file("http.trusted_proxies = [1]")), HasSubstr("text without commas"));
  EXPECT_THAT(refusal(file("http.trusted_proxies = [\"10.0.0.1,10.0.0.2\"]")), HasSubstr("text without commas"));
  EXPECT_THAT(refusal(file("[gate]\nkind = 1")), HasSubstr("in quotes"));
  EXPECT_EQ(load_settings(file("sale.pay_within_s = \"10m\""))->sale_pay_within_s, 600);
}

TEST(Settings, AFileThatIsNoTomlIsRefusedWithItsLine) {
  EXPECT_THAT(refusal(file("data = \"x\"\nhttp.listen = \n")), HasSubstr("weir.toml, line 2"));
  EXPECT_THAT(refusal(file("data = \"x\"\ndata = \"y\"\n")), HasSubstr("weir.toml, line 2"));
  EXPECT_THAT(refusal(file("\"http.reactors\" = 1\n[http]\nreactors = 2\n")), HasSubstr("given twice"));
}

TEST(Settings, SectionsAndDottedKeysMeanTheSame) {
  const Parsed<Settings> settings =
      load_settings(file("[http]\nlisten = \"127.0.0.1:1\"\ntrusted_proxies = [\"10.1.2.3\"]\n"));
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->http_listen, "127.0.0.1:1");
  EXPECT_THAT(settings->http_trusted_proxies, ElementsAre("10.1.2.3"));
}

TEST(Settings, SecretsAreNeverFlags) {
  EXPECT_THAT(refusal(flags({{"postgres.dsn", "password=x"}})), HasSubstr("WEIR_POSTGRES_DSN"));
  EXPECT_THAT(refusal(flags({{"postgres.dsn", "password=x"}})), Not(HasSubstr("password")));
}

TEST(Settings, TheTwoListenersNeverShareAnAddress) {
  EXPECT_THAT(refusal(flags({{"ops.listen", "127.0.0.1:8080"}})), HasSubstr("own address"));
  EXPECT_EQ(refusal(flags({{"ops.listen", "127.0.0.1:0"}, {"http.listen", "127.0.0.1:0"}})), "accepted");
}

TEST(Settings, TheSandboxIsOffInProductionUnlessSomebodyInsists) {
  EXPECT_FALSE(load_settings(flags({{"mode", "production"}}))->payment_sandbox);
  EXPECT_TRUE(load_settings(flags({{"mode", "production"}, {"payment.sandbox", "true"}}))->payment_sandbox);
}

TEST(Settings, WhoBringsPublicKeysGetsNoSecondKey) {
  EXPECT_EQ(load_settings(flags({{"auth.jwks_file", "k.json"}}))->auth_hs256_secret_file, "");
  EXPECT_EQ(
      load_settings(flags({{"auth.jwks_file", "k.json"}, {"auth.hs256_secret_file", "s"}}))->auth_hs256_secret_file,
      "s");
}

TEST(Settings, NamesAreUniqueInEverySpelling) {
  std::set<std::string> keys;
  std::set<std::string> variables;
  for (const SettingDeclaration& declaration : declarations()) {
    EXPECT_TRUE(keys.insert(std::string(declaration.key)).second) << declaration.key;
    EXPECT_TRUE(variables.insert(environment_name(declaration.key)).second) << declaration.key;
    EXPECT_FALSE(declaration.help.empty());
  }
  for (const std::string& key : keys) {  // TOML cannot hold both `ledger = …` and `ledger.path = …`.
    for (const std::string& other : keys) EXPECT_FALSE(other.starts_with(key + ".")) << key << " and " << other;
  }
}

TEST(Settings, PrintedSettingsReadBackAsTheSameAndHideSecrets) {
  Sources sources = environment({{"WEIR_POSTGRES_DSN", "host=db password=hunter2"}});
  sources.flags = {{"http.trusted_proxies", "10.0.0.0/8,::1"}, {"auth.issuer", "a \"quoted\" \\ name"}};
  const Parsed<Settings> settings = load_settings(sources);
  ASSERT_TRUE(settings) << settings.error();
  const std::string printed = print_config(*settings);
  EXPECT_THAT(printed, Not(HasSubstr("hunter2")));
  EXPECT_THAT(printed, HasSubstr("postgres.dsn = \"host=db password=(hidden)\""));
  EXPECT_THAT(printed, HasSubstr("sale.pay_within_s = 600  # s, 1 to 86400; default\n"));
  EXPECT_THAT(printed, HasSubstr("http.trusted_proxies = [\"10.0.0.0/8\", \"::1\"]"));
  EXPECT_THAT(printed, HasSubstr("; flag\n"));
  const Parsed<Settings> again = load_settings(file(printed));
  ASSERT_TRUE(again) << again.error() << "\n" << printed;
  for (const SettingDeclaration& declaration : declarations()) {
    if (declaration.secret) continue;
    EXPECT_EQ(setting_text(*again, declaration), setting_text(*settings, declaration)) << declaration.key;
  }
}

TEST(Settings, ThePageInTheDocsIsMadeFromTheDeclarations) {
  std::ifstream in(WEIR_DOCS_FOLDER "/settings.md");
  std::ostringstream page;
  page << in.rdbuf();
  const std::string made = testing::TempDir() + "settings.md";
  std::ofstream(made) << settings_page();
  EXPECT_EQ(page.str(), settings_page()) << "the page as it should be lies in " << made;
}

}  // namespace
}  // namespace weir
