#include "config/doctor.h"

#include "config/limits.h"
#include "config/setting_values.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::uint32_t kOthersRead = 0044;
constexpr std::uint32_t kOthersWrite = 0022;
constexpr std::int64_t kMiB = 1024 * 1024;

/// Collects what is found about one set of settings on one machine; each `look_at_…` has one subject.
class Examination {
 public:
  Examination(const Settings& settings, const Machine& machine) : settings_(settings), machine_(machine) {}

  std::vector<Finding> run() {
    look_at_listeners();
    look_at_proxies();
    look_at_public_address();
    look_at_rates();
    look_at_payments();
    look_at_times();
    look_at_tokens();
    for (const KeyFile& key : machine_.keys) look_at_key(key);
    look_at_shared_keys();
    look_at_stores();
    look_at_data();
    look_at_settings_file();
    look_at_capacity();
    look_at_process();
    return worst_first();
  }

 private:
  [[nodiscard]] bool is_production() const { return settings_.mode == Mode::production; }
  [[nodiscard]] bool has_public_https() const { return settings_.http_public_url.starts_with("https://"); }

  [[nodiscard]] std::vector<Finding> worst_first() const {
    std::vector<Finding> sorted;
    for (const Severity severity : {Severity::fatal, Severity::warning, Severity::advice}) {
      const auto is_this = [&](const Finding& finding) { return finding.severity == severity; };
      std::ranges::copy_if(findings_, std::back_inserter(sorted), is_this);
    }
    return sorted;
  }

  void add(Severity severity, std::string_view setting, std::string message) {
    findings_.push_back(Finding{severity, std::string(setting), std::move(message)});
  }
  void fatal(std::string_view setting, std::string message) { add(Severity::fatal, setting, std::move(message)); }
  void warn(std::string_view setting, std::string message) { add(Severity::warning, setting, std::move(message)); }
  void advise(std::string_view setting, std::string message) { add(Severity::advice, setting, std::move(message)); }

  void look_at_listeners() {
    const Parsed<HostPort> shop = parse_host_port(settings_.http_listen);
    const Parsed<HostPort> ops = parse_host_port(settings_.ops_listen);
    if (shop && is_any_address(shop->host) && settings_.http_trusted_proxies.empty()) {
      fatal("http.listen", fmt::format("{} listens on all addresses without a proxy in http.trusted_proxies: tokens "
                                       "cross the network in the clear",
                                       settings_.http_listen));
    }
    if (ops && !is_loopback(ops->host)) {
      fatal("ops.listen",
            fmt::format("{} shows figures and state to the network: use a loopback address", settings_.ops_listen));
    }
    if (is_production() && shop && shop->port == 0) {
      warn("http.listen", "port 0 takes another port at every start: name one");
    }
  }

  void look_at_proxies() {
    for (const std::string& text : settings_.http_trusted_proxies) {
      const Parsed<Network> network = parse_network(text);
      if (!network) continue;  // Refused when the settings were read.
      const int narrow = network->is_v6 ? 32 : 8;
      if (network->prefix_bits == 0) {
        fatal("http.trusted_proxies", fmt::format("{} is everybody: any client may write his own address and escape "
                                                  "the rate limit",
                                                  text));
      } else if (network->prefix_bits < narrow) {
        fatal("http.trusted_proxies", fmt::format("{} is wider than any private network: list the proxies", text));
      }
    }
    const Parsed<HostPort> shop = parse_host_port(settings_.http_listen);
    if (shop && is_any_address(shop->host)) return;  // Said above.
    if (has_public_https() && settings_.http_trusted_proxies.empty()) {
      fatal("http.trusted_proxies",
            "http.public_url is https, so a proxy stands in front; unless it is listed, all "
            "buyers share its address and one rate limit");
    }
  }

  void look_at_public_address() {
    const std::string& url = settings_.http_public_url;
    if (!is_production()) return;
    if (url.empty())
      warn("http.public_url", "not set: links that leave the shop cannot be made");
    else if (!has_public_https())
      fatal("http.public_url", fmt::format("{} is not https", url));
  }

  void look_at_rates() {
    if (settings_.rate_per_buyer_per_s == 0) {
      fatal("rate.per_buyer_per_s", "0 lets one buyer take the whole front door");
    } else if (settings_.rate_per_buyer_per_s > 1000) {
      warn("rate.per_buyer_per_s", fmt::format("{} is more than any person clicks", settings_.rate_per_buyer_per_s));
    }
    if (settings_.rate_per_address_per_s == 0) {
      fatal("rate.per_address_per_s", "0 lets one machine take the whole front door");
    }
    if (settings_.sale_limit_per_buyer > 100) {
      advise("sale.limit_per_buyer",
             fmt::format("{} units for one buyer: is that meant?", settings_.sale_limit_per_buyer));
    }
  }

  void look_at_payments() {
    if (is_production() && settings_.payment_sandbox) {
      fatal("payment.sandbox", "the sandbox gives goods for pretend money: false in production");
    }
    if (is_production() && !settings_.payment_sandbox) {
      warn("payment.sandbox",
           "no gateway that moves money is part of this version: orders can only be paid by "
           "webhooks of a gateway that is added to it");
    }
    const std::string& url = settings_.payment_webhook_url;
    if (is_production() && url.starts_with("http://")) {
      fatal("payment.webhook_url", fmt::format("{} is not https", url));
    }
  }

  void look_at_times() {
    constexpr std::int64_t kPayWithinLeast = 60;
    if (settings_.sale_pay_within_s < kPayWithinLeast) {
      fatal("sale.pay_within_s", fmt::format("{} s is too short to type a card number: at least {}",
                                             settings_.sale_pay_within_s, kPayWithinLeast));
    }
    if (settings_.sale_payment_grace_s == 0) {
      warn("sale.payment_grace_s", "0 loses the payment that a bank confirms a moment after the time to pay");
    } else if (settings_.sale_payment_grace_s > settings_.sale_pay_within_s) {
      warn("sale.payment_grace_s", "longer than the time to pay: held units stay away from others twice as long");
    }
    if (is_production() && settings_.log_level == log::Level::debug) {
      warn("log.level", "debug writes a line a request: it fills the disk during the sale");
    }
  }

  void look_at_tokens() {
    if (settings_.auth_jwks_file.empty()) return;
    if (settings_.auth_issuer.empty()) {
      fatal("auth.issuer", "not set: a token of any service that signs with the keys of auth.jwks_file is taken");
    }
    if (settings_.auth_audience.empty()) {
      fatal("auth.audience", "not set: a token that was made for another service is taken");
    }
  }

  void look_at_key(const KeyFile& key) {
    if (!key.facts.exists) return fatal(key.setting, fmt::format("{} does not exist", key.path));
    if ((key.facts.permissions & kOthersWrite) != 0) {
      fatal(key.setting, fmt::format("{} can be changed by others: chmod 600", key.path));
    }
    if (!key.facts.is_ours) warn(key.setting, fmt::format("{} belongs to another user", key.path));
    if (key.is_public) return;
    if ((key.facts.permissions & kOthersRead) != 0) {
      fatal(key.setting, fmt::format("{} can be read by others: chmod 600", key.path));
    }
    look_at_quality(key);
  }

  void look_at_quality(const KeyFile& key) {
    switch (key.quality) {
      case SecretQuality::good: return;
      case SecretQuality::too_short:
        return fatal(key.setting, fmt::format("{} holds fewer than {} bytes", key.path, kSecretBytesMin));
      case SecretQuality::sample:
        return fatal(key.setting,
                     fmt::format("{} holds a sample from some documentation: make a random one", key.path));
      case SecretQuality::repetitive:
        return fatal(key.setting, fmt::format("{} repeats a few characters: make a random one", key.path));
    }
  }

  void look_at_shared_keys() {
    const std::vector<KeyFile>& keys = machine_.keys;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t j = i + 1; j < keys.size(); ++j) {
        if (keys[i].is_public || keys[j].is_public) continue;
        const bool one_file = keys[i].facts.exists && keys[j].facts.exists && keys[i].facts.inode != 0 &&
                              keys[i].facts.device == keys[j].facts.device &&
                              keys[i].facts.inode == keys[j].facts.inode;
        const bool one_content = keys[i].content_hash != 0 && keys[i].content_hash == keys[j].content_hash;
        if (!one_file && !one_content && keys[i].path != keys[j].path) continue;
        fatal(keys[j].setting, fmt::format("the same secret as {}: whoever learns one has both", keys[i].setting));
      }
    }
  }

  /// Whether any of these servers is reached over a network.
  static bool is_remote(const std::vector<std::string>& endpoints) {
    return std::ranges::any_of(endpoints, [](const std::string& text) {
      const Parsed<HostPort> endpoint = parse_host_port(text);
      return endpoint && !is_loopback(endpoint->host);
    });
  }

  [[nodiscard]] bool is_from_data(const std::string& path) const { return path.starts_with(settings_.data + "/"); }

  void look_at_stores() {
    if (settings_.gate == GateKind::redis) {
      if (settings_.redis_tls == OnOff::off && is_remote(settings_.redis_nodes)) {
        warn("redis.tls", "off: buyers' names and the password cross the network in the clear");
      }
      if (is_from_data(settings_.auth_hs256_secret_file)) {
        warn("auth.hs256_secret_file",
             "in the data folder: every node needs the same key, or a buyer's token is good at one of them only");
      }
    }
    const bool is_plain = settings_.kafka_security == KafkaSecurity::plaintext ||
                          settings_.kafka_security == KafkaSecurity::sasl_plaintext;
    if (settings_.queue == QueueKind::kafka && is_plain && is_remote(settings_.kafka_brokers)) {
      warn("kafka.security", "not encrypted: buyers' names cross the network in the clear");
    }
  }

  void look_at_data() {
    const FileFacts& data = machine_.data;
    if (data.exists && (data.permissions & 0077) != 0) {
      fatal("data", fmt::format("{} is open to others ({:o}): chmod 700", settings_.data, data.permissions));
    }
    if (data.exists && !data.is_ours) warn("data", fmt::format("{} belongs to another user", settings_.data));
    if (settings_.data.starts_with("/tmp/") || settings_.data.starts_with("/var/tmp/")) {
      warn("data", fmt::format("{} is cleared by the system", settings_.data));
    }
    switch (machine_.data_filesystem) {
      case Filesystem::disk: break;
      case Filesystem::memory:
        fatal("data", fmt::format("{} lies in memory: a restart loses all orders", settings_.data));
        break;
      case Filesystem::network:
        fatal("data",
              fmt::format("{} lies on a network file system, which does not keep locks and syncs", settings_.data));
        break;
      case Filesystem::unknown: warn("data", "the kind of its file system is not known"); break;
    }
    look_at_space();
  }

  void look_at_space() {
    const std::int64_t least = std::max(256 * kMiB, 2 * settings_.sqlite_reserve_bytes);
    if (machine_.data_free_bytes < least) {
      fatal("data", fmt::format("{} MiB free: selling stops when the disk is full; at least {}",
                                machine_.data_free_bytes / kMiB, least / kMiB));
    } else if (machine_.data_free_bytes < 1024 * kMiB) {
      warn("data", fmt::format("only {} MiB free", machine_.data_free_bytes / kMiB));
    }
    if (settings_.sqlite_reserve_bytes < kMiB) {
      warn("sqlite.reserve_bytes", "under 1 MiB: payments cannot be recorded once the disk is full");
    }
  }

  void look_at_settings_file() {
    if (!machine_.settings_file || !machine_.settings_file->exists) return;
    const std::uint32_t permissions = machine_.settings_file->permissions;
    if ((permissions & kOthersWrite) != 0) fatal("config", "the settings file can be changed by others: chmod 600");
    if ((permissions & kOthersRead) != 0 && !settings_.postgres_dsn.empty()) {
      fatal("postgres.dsn", "the settings file can be read by others and postgres.dsn may hold a password: chmod 600");
    }
  }

  void look_at_capacity() {
    constexpr std::int64_t kOwnFiles = 256;  // Listeners, the ledger, outgoing requests, logs.
    constexpr std::int64_t kConnectionBytes = 4096;
    const std::int64_t connections = settings_.http_connections_max;
    if (machine_.open_files_max < connections + kOwnFiles) {
      fatal("http.connections_max", fmt::format("{} connections need {} open files, the limit is {}: raise LimitNOFILE",
                                                connections, connections + kOwnFiles, machine_.open_files_max));
    }
    if (machine_.listen_backlog_max != 0 && machine_.listen_backlog_max < 4096) {
      warn("machine.backlog", fmt::format("net.core.somaxconn is {}: a burst of arrivals is dropped; at least 4096",
                                          machine_.listen_backlog_max));
    }
    if (machine_.memory_bytes != 0 && connections > machine_.memory_bytes / 2 / kConnectionBytes) {
      warn("http.connections_max",
           fmt::format("{} connections may not fit {} MiB of memory", connections, machine_.memory_bytes / kMiB));
    }
    if (settings_.http_reactors > machine_.cores) {
      warn("http.reactors",
           fmt::format("{} reactors on {} cores only take turns", settings_.http_reactors, machine_.cores));
    }
  }

  void look_at_process() {
    if (!machine_.clock_is_synchronised) {
      warn("machine.clock", "whether the clock is synchronised is not known: opening times and tokens depend on it");
    } else if (!*machine_.clock_is_synchronised) {
      warn("machine.clock", "the clock is not synchronised: opening times and tokens depend on it");
    }
    if (machine_.core_dumps_on) fatal("machine.core_dumps", "on: a crash writes keys and tokens to disk; ulimit -c 0");
    if (machine_.is_root) warn("machine.user", "weir needs no rights of root: run it as a user of its own");
    if (machine_.has_fault_points) fatal("machine.build", "built with fail points: use the release build");
  }

  const Settings& settings_;
  const Machine& machine_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> examine(const Settings& settings, const Machine& machine) {
  return Examination(settings, machine).run();
}

bool refuses_start(const Settings& settings, std::span<const Finding> findings) {
  const auto is_fatal = [](const Finding& finding) { return finding.severity == Severity::fatal; };
  return settings.mode == Mode::production && std::ranges::any_of(findings, is_fatal);
}

}  // namespace weir
