#pragma once

#include "base/log.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weir {

enum class Mode : std::uint8_t { development, production };
enum class GateKind : std::uint8_t { memory, redis };
enum class QueueKind : std::uint8_t { direct, kafka };
enum class LedgerKind : std::uint8_t { sqlite, postgres };
enum class OnOff : std::uint8_t { off, on };
enum class KafkaSecurity : std::uint8_t { plaintext, ssl, sasl_plaintext, sasl_ssl };
enum class SaslMechanism : std::uint8_t { plain, scram_sha_256, scram_sha_512 };

/// Where a value came from; a later one wins.
enum class SettingSource : std::uint8_t { built_in, file, environment, flag };

[[nodiscard]] constexpr std::string_view name(SettingSource source) {
  switch (source) {
    case SettingSource::built_in: return "default";
    case SettingSource::file: return "file";
    case SettingSource::environment: return "environment";
    case SettingSource::flag: return "flag";
  }
  return "?";
}

/// Every setting as a plain value that was checked by itself and against the others. Paths are as written; empty text
/// means "not set".
struct Settings {
  Mode mode = Mode::development;
  std::string data;

  std::string http_listen;
  std::int64_t http_reactors = 0;  // 0: one per core.
  std::int64_t http_connections_max = 0;
  std::vector<std::string> http_trusted_proxies;  // Addresses and networks.
  std::string http_public_url;
  std::string ops_listen;

  GateKind gate = GateKind::memory;
  QueueKind queue = QueueKind::direct;
  LedgerKind ledger = LedgerKind::sqlite;
  std::int64_t sqlite_reserve_bytes = 0;

  std::vector<std::string> redis_nodes;
  std::string redis_user;
  std::string redis_password_file;
  OnOff redis_tls = OnOff::off;
  std::string redis_ca_file;  // Empty: what the machine trusts. So below.

  std::vector<std::string> kafka_brokers;
  std::string kafka_topic;
  std::string kafka_dead_letter_topic;
  std::string kafka_group;
  std::string kafka_instance_id;  // Empty: the group forgets a worker that leaves.
  KafkaSecurity kafka_security = KafkaSecurity::plaintext;
  std::string kafka_ca_file;
  std::string kafka_certificate_file;
  std::string kafka_key_file;
  std::string kafka_key_password_file;
  SaslMechanism kafka_sasl_mechanism = SaslMechanism::scram_sha_512;
  std::string kafka_sasl_user;
  std::string kafka_sasl_password_file;

  std::string postgres_dsn;
  std::string postgres_password_file;

  std::string auth_hs256_secret_file;  // Empty only when `auth_jwks_file` is set and this is not.
  std::string auth_jwks_file;
  std::string auth_issuer;
  std::string auth_audience;

  std::int64_t sale_pay_within_s = 0;
  std::int64_t sale_limit_per_buyer = 0;
  std::int64_t sale_payment_grace_s = 0;

  std::int64_t rate_per_buyer_per_s = 0;    // 0: off.
  std::int64_t rate_per_address_per_s = 0;  // 0: off.

  bool payment_sandbox = false;
  std::string payment_sandbox_secret_file;
  std::string payment_webhook_url;  // Empty: this server's own listener.

  log::Level log_level = log::Level::info;

  std::vector<SettingSource> sources;  // By place in `declarations()`.
};

/// How the text of a setting is read.
enum class SettingKind : std::uint8_t {
  text,       // Printable text.
  path,       // A file or folder; `{data}` in a default stands for the data folder.
  url,        // http:// or https://, a host, perhaps a port and a path.
  address,    // host:port or [v6]:port.
  number,     // A whole number, digits only.
  seconds,    // Whole seconds, or a duration such as 10m.
  choice,     // One of a few words.
  truth,      // true or false.
  endpoints,  // A list of host:port.
  networks,   // A list of addresses and networks such as 10.0.0.0/8.
};

[[nodiscard]] constexpr bool is_list(SettingKind kind) {
  return kind == SettingKind::endpoints || kind == SettingKind::networks;
}

/// Where the value goes.
using SettingPlace = std::variant<std::string Settings::*, std::int64_t Settings::*, bool Settings::*,
                                  std::vector<std::string> Settings::*, Mode Settings::*, GateKind Settings::*,
                                  QueueKind Settings::*, LedgerKind Settings::*, OnOff Settings::*,
                                  KafkaSecurity Settings::*, SaslMechanism Settings::*, log::Level Settings::*>;

/// One setting, declared once: its flag, file key, variable, page in the docs and line of `--print-config` follow.
struct SettingDeclaration {
  std::string_view key;  // `http.listen`: the flag without dashes and the file key.
  SettingKind kind = SettingKind::text;
  SettingPlace place;
  std::string_view default_text = {};        // Read like any other text; empty means "not set", for a list "none".
  std::string_view production_default = {};  // In production mode, where it differs.
  std::string_view unit = {};
  std::int64_t least = 0;  // Numbers and seconds.
  std::int64_t most = 0;
  std::string_view choices = {};  // Words by enumerator, separated by `|`.
  bool secret = false;            // The value may hold a secret: never a flag, printed without it.
  std::string_view help = {};     // One sentence.
};

/// All settings, in the order in which people read them.
[[nodiscard]] std::span<const SettingDeclaration> declarations();

/// `WEIR_HTTP_LISTEN` for `http.listen`.
[[nodiscard]] std::string environment_name(std::string_view key);

/// What was written where. Handed in: nothing here reads the command line, the environment or a file.
struct Sources {
  std::map<std::string, std::string> flags;                      // By key.
  std::string file_path;                                         // For messages.
  std::string file_text;                                         // TOML; empty when there is no file.
  std::vector<std::pair<std::string, std::string>> environment;  // Names that do not begin with WEIR_ are ignored.
};

/// Reads every source: a flag beats the environment, which beats the file, which beats the default. Unknown keys, texts
/// that are not exactly right, and combinations that cannot work are refused with one sentence that names the place.
[[nodiscard]] Parsed<Settings> load_settings(const Sources& sources);

/// The text of one value as it would be written in a flag, whatever its secrecy.
[[nodiscard]] std::string setting_text(const Settings& settings, const SettingDeclaration& declaration);

}  // namespace weir
