#include "app/wiring.h"

#include "app/distributed_wiring.h"
#include "app/engine.h"
#include "base/log.h"
#include "base/time_text.h"
#include "config/secret_file.h"
#include "config/stores.h"
#include "http/ops_api.h"
#include "ledger/sqlite_copy.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_reader.h"
#include "web/page_files.h"

#include <algorithm>
#include <thread>

#include <sys/stat.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::size_t kPoolThreads = 2;
constexpr Micros kStopWait{9'000'000};
constexpr Micros kGuestLife{7'200'000'000};
constexpr Micros kClockStepMax{2'000'000};

SqliteOptions ledger_options(const Settings& settings) {
  SqliteOptions options;
  options.data = settings.data;
  options.reserve_bytes = settings.sqlite_reserve_bytes;
  return options;
}

/// Makes the default secret at the first start; the key files are then read as they are.
Result<void> make_secret(const Settings& settings, Random& random) {
  if (settings.auth_hs256_secret_file.empty()) return {};
  const auto secret = read_or_make_secret_file(settings.auth_hs256_secret_file, "auth.hs256_secret_file", random);
  if (!secret) return std::unexpected(secret.error());
  return {};
}

SipKey random_key(Random& random) { return {random.next(), random.next()}; }

}  // namespace

Result<std::unique_ptr<Ledger>> open_ledger(const Settings& settings, const Clock& clock, Random& random) {
  if (const auto fit = check_stores(settings, ProcessRole::tool); !fit) return std::unexpected(fit.error());
  if (settings.ledger == LedgerKind::postgres) return open_shared_ledger(settings, clock, random);
  const auto copied_at = unconfirmed_copy(settings.data);
  if (!copied_at) return std::unexpected(copied_at.error());
  if (*copied_at) {
    return fail(
        Failure::unfit,
        fmt::format("the ledger in '{}' is a copy of {}: what was sold since looks free in it. `weir audit` reads "
                    "it; `weir serve --confirm-gap` serves it, once you know what is missing (data)",
                    settings.data, iso_text(**copied_at)));
  }
  auto opened = SqliteLedger::open(ledger_options(settings), clock, random);
  if (!opened) return std::unexpected(opened.error());
  return std::unique_ptr<Ledger>{std::move(*opened)};
}

Result<void> confirm_ledger_gap(const Settings& settings) {
  if (settings.ledger == LedgerKind::postgres) return {};  // Its copies are its operators' business.
  const auto copied_at = unconfirmed_copy(settings.data);
  if (!copied_at) return std::unexpected(copied_at.error());
  if (!*copied_at) return {};
  log::warn("gap_confirmed", {{"copied_at", iso_text(**copied_at)}, {"data", settings.data}});
  return confirm_gap(settings.data);
}

Result<std::unique_ptr<LedgerReader>> open_reader(const Settings& settings, const Clock& clock) {
  if (const auto fit = check_stores(settings, ProcessRole::tool); !fit) return std::unexpected(fit.error());
  if (settings.ledger == LedgerKind::postgres) return open_shared_reader(settings, clock);
  auto opened = SqliteReader::open(ledger_options(settings), clock);
  if (!opened) return std::unexpected(opened.error());
  return std::unique_ptr<LedgerReader>{std::move(*opened)};
}

Result<std::unique_ptr<TokenIssuer>> open_issuer(const Settings& settings, Random& random) {
  if (settings.auth_hs256_secret_file.empty()) {
    return fail(Failure::unfit, "tokens are issued with an HS256 key only (auth.hs256_secret_file)");
  }
  // A token may be the first thing that is asked for: the key lies in the folder. What is wrong is said by the key's
  // file.
  static_cast<void>(::mkdir(settings.data.c_str(), 0700));
  const auto secret = read_or_make_secret_file(settings.auth_hs256_secret_file, "auth.hs256_secret_file", random);
  if (!secret) return std::unexpected(secret.error());
  return std::make_unique<TokenIssuer>(*secret, VerifierOptions{settings.auth_issuer, settings.auth_audience});
}

namespace {

Result<std::unique_ptr<Seller>> open_engine(const Settings& settings, const SystemClock& clock, SellerNeeds needs) {
  EngineParts parts;
  auto random = std::make_unique<SystemRandom>();
  auto ledger = open_ledger(settings, clock, *random);
  if (!ledger) return std::unexpected(ledger.error());
  parts.ledger = std::move(*ledger);
  parts.ledger_random = std::move(random);
  parts.gate_random = std::make_unique<SystemRandom>();
  for (std::size_t i = 0; i < kPoolThreads + 1; ++i) {
    auto reader = open_reader(settings, clock);
    if (!reader) return std::unexpected(reader.error());
    if (i == 0)
      parts.own_reader = std::move(*reader);
    else
      parts.pool_readers.push_back(std::move(*reader));
  }
  auto gateways = needs.open_gateways();
  if (!gateways) return std::unexpected(gateways.error());
  parts.gateways = std::move(*gateways);
  parts.reactors = needs.reactors;
  parts.buyer_hash = needs.buyer_hash;
  parts.refund_due = std::move(needs.refund_due);
  parts.corrupt = std::move(needs.corrupt);
  auto engine = std::make_unique<Engine>(std::move(parts), clock);
  if (const auto built = engine->build(); !built) return std::unexpected(built.error());
  return engine;
}

}  // namespace

SellerKind embedded_seller() { return {.role = ProcessRole::serve, .open = open_engine, .open_reader = open_reader}; }

Result<std::unique_ptr<Shop>> Shop::open(const Settings& settings, const SystemClock& clock, const SellerKind& kind) {
  if (const auto fit = check_stores(settings, kind.role); !fit) return std::unexpected(fit.error());
  std::unique_ptr<Shop> shop{new Shop{settings, clock, kind}};
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  shop->reactors_ = static_cast<std::size_t>(settings.http_reactors == 0 ? cores : settings.http_reactors);
  static_cast<void>(::mkdir(settings.data.c_str(), 0700));  // What is wrong with it, its first file will say.
  for (const auto step : {&Shop::open_seller, &Shop::open_identity, &Shop::open_payments, &Shop::open_servers}) {
    if (const auto done = (shop.get()->*step)(); !done) return std::unexpected(done.error());
  }
  return shop;
}

Shop::~Shop() { stop(); }

Result<Gateways> Shop::open_gateways() {
  Gateways gateways;
  if (!settings_.payment_sandbox) return gateways;
  const auto secret =
      read_or_make_secret_file(settings_.payment_sandbox_secret_file, "payment.sandbox_secret_file", random_);
  if (!secret) return std::unexpected(secret.error());
  auto sandbox = SandboxGateway::open(settings_.data + "/sandbox.journal", *secret, clock_, sandbox_random_);
  if (!sandbox) return std::unexpected(sandbox.error());
  sandbox_ = std::move(*sandbox);
  gateways.emplace(SandboxGateway::kName, sandbox_.get());
  return gateways;
}

Result<void> Shop::open_seller() {
  SellerNeeds needs;
  needs.reactors = reactors_;
  needs.buyer_hash = random_key(random_);
  needs.refund_due = [this] { cashier_->hurry(); };
  needs.corrupt = [this](const Error& error) {
    log::error("ledger_corrupt", {{"message", error.message}});
    is_corrupt_.store(true);
  };
  needs.open_gateways = [this] { return open_gateways(); };
  auto seller = kind_.open(settings_, clock_, std::move(needs));
  if (!seller) return std::unexpected(seller.error());
  seller_ = std::move(*seller);
  return {};
}

Result<std::shared_ptr<const KeySet>> Shop::read_keys() {
  if (const auto made = make_secret(settings_, random_); !made) return std::unexpected(made.error());
  return KeySet::load({.hs256_secret_file = settings_.auth_hs256_secret_file, .jwks_file = settings_.auth_jwks_file});
}

Result<void> Shop::open_identity() {
  auto keys = read_keys();
  if (!keys) return std::unexpected(keys.error());
  doorman_.keys.set(std::move(*keys));
  doorman_.verifier = {.issuer = settings_.auth_issuer, .audience = settings_.auth_audience};
  doorman_.token_hash = random_key(random_);
  per_buyer_ =
      std::make_unique<RateLimiter>(static_cast<std::uint32_t>(settings_.rate_per_buyer_per_s), random_key(random_));
  per_address_ =
      std::make_unique<RateLimiter>(static_cast<std::uint32_t>(settings_.rate_per_address_per_s), random_key(random_));
  doorman_.per_buyer = per_buyer_.get();
  doorman_.per_address = per_address_.get();
  std::string networks;
  for (const std::string& network : settings_.http_trusted_proxies) networks += (networks.empty() ? "" : ",") + network;
  auto proxies = TrustedProxies::parse(networks);
  if (!proxies) return fail(Failure::unfit, proxies.error());
  doorman_.proxies = std::move(*proxies);
  if (!settings_.auth_hs256_secret_file.empty()) {
    auto issuer = open_issuer(settings_, random_);
    if (!issuer) return std::unexpected(issuer.error());
    issuer_ = std::move(*issuer);
  }
  return {};
}

Result<void> Shop::open_payments() {
  std::vector<http::StaticFile> files;
  for (const PageFile& file : page_files()) files.push_back({file.path, file.content_type, file.bytes});
  page_ = std::make_unique<http::StaticFiles>(files);
  front_.services = seller_.get();
  front_.doorman = &doorman_;
  front_.page = page_.get();
  front_.sandbox = sandbox_ ? this : nullptr;
  front_.random = [] { return std::make_unique<SystemRandom>(); };
  front_.started_at = started_at_;
  front_.payment_grace = Micros{settings_.sale_payment_grace_s * 1'000'000};
  front_.is_development = settings_.mode == Mode::development;
  return {};
}

Result<void> Shop::open_servers() {
  http::ServerOptions options;
  options.listen = settings_.http_listen;
  options.reactors = reactors_;
  options.random = front_.random;
  options.connections_max = static_cast<std::size_t>(settings_.http_connections_max);
  if (sandbox_) options.signature_header = sandbox_->signature_header();
  ports_.resize(reactors_);
  auto server = http::Server::make(options, clock_, [this](http::ReactorPort& port) {
    auto door = std::make_unique<http::FrontDoor>(port, front_);
    const std::lock_guard lock{ports_mutex_};
    ports_[port.index()] = &port;
    doors_.push_back(door.get());
    return door;
  });
  if (!server) return std::unexpected(server.error());
  server_ = std::move(*server);
  http::ServerOptions operations;
  operations.random = front_.random;
  operations.listen = settings_.ops_listen;
  operations.connections_max = 64;
  auto ops = http::Server::make(operations, clock_,
                                [this](http::ReactorPort&) { return std::make_unique<http::OpsApi>(*seller_); });
  if (!ops) return std::unexpected(ops.error());
  ops_ = std::move(*ops);
  const std::string url = settings_.payment_webhook_url.empty()
                              ? fmt::format("http://127.0.0.1:{}/api/payments/sandbox/webhook", server_->port())
                              : settings_.payment_webhook_url;
  auto reader = kind_.open_reader(settings_, clock_);
  if (!reader) return std::unexpected(reader.error());
  cashier_ = std::make_unique<Cashier>(*seller_, std::move(*reader), sandbox_.get(), url, clock_);
  seller_->set_metrics([this] { return metrics_text(); });
  return {};
}

Result<void> Shop::start() {
  seller_->start(server_->mailbox(), [this](std::uint16_t reactor) { ports_[reactor]->wake(); });
  cashier_->start();
  server_->start();
  ops_->start();
  return {};
}

void Shop::stop() {
  const Deadline deadline = clock_.ticks() + kStopWait;
  // The front door first: what it has let in still finds desk, writer and pool at work.
  if (server_) server_->stop(deadline);
  if (cashier_) cashier_->stop();
  if (seller_) seller_->stop(deadline);
  if (ops_) ops_->stop(deadline);
}

void Shop::reload_keys() {
  auto keys = read_keys();
  if (!keys) {
    log::error("keys_not_reloaded", {{"message", keys.error().message}});
    return;
  }
  // Guests' tokens are signed with the key that is good from now on.
  const std::lock_guard lock{issuer_mutex_};
  if (issuer_) {
    auto issuer = open_issuer(settings_, guest_random_);
    if (!issuer) {
      log::error("keys_not_reloaded", {{"message", issuer.error().message}});
      return;
    }
    issuer_ = std::move(*issuer);
  }
  doorman_.keys.set(std::move(*keys));
  log::info("keys_reloaded");
}

void Shop::look_around() {
  seller_->look_around();
  const Micros step = clock_.step();
  if (step > kClockStepMax || step < -kClockStepMax) {
    log::warn("clock_stepped", {{"by_ms", std::int64_t{step.count() / 1000}}});
  }
}

bool Shop::complete(PaymentId payment, const Completion& completion) {
  return sandbox_->complete(payment, completion.approve, completion.delay, completion.times);
}

std::string Shop::status_json(PaymentId payment) {
  const auto status = sandbox_->status(payment);
  if (!status) return {};
  std::string json = fmt::format("{{\"captured\":{},\"refunded\":{},\"refunds\":[", status->captured, status->refunded);
  for (std::size_t i = 0; i < status->refunds.size(); ++i) {
    json += fmt::format("{}{{\"refundId\":\"{}\",\"amount\":", i == 0 ? "" : ",", status->refunds[i].id.text());
    http::append_money(json, status->refunds[i].amount);
    json += '}';
  }
  return json + "]}";
}

Shop::GuestToken Shop::guest_token(std::string_view tenant) {
  const std::lock_guard lock{issuer_mutex_};
  const Instant now = clock_.now();
  const OrderId name = OrderId::random(guest_random_);
  return {issuer_->issue("guest-" + name.text(), Role::buyer, tenant, now + kGuestLife, now), now + kGuestLife};
}

}  // namespace weir
