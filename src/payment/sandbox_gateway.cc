#include "payment/sandbox_gateway.h"

#include "base/encoding.h"
#include "base/time_text.h"
#include "config/limits.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

namespace weir {
namespace {

constexpr std::int64_t kToleranceS = 300;
constexpr Micros kRetryStep{500'000};

std::string mac(std::string_view secret, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::optional<std::string> text_member(const boost::json::object& object, std::string_view member) {
  const auto* value = object.if_contains(member);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string{value->as_string()};
}

std::optional<Money> money_member(const boost::json::object& object) {
  const auto* value = object.if_contains("amount");
  if (value == nullptr || !value->is_object()) return std::nullopt;
  const auto& amount = value->as_object();
  const auto* minor = amount.if_contains("value");
  const auto currency = Currency::parse(text_member(amount, "currency").value_or(""));
  if (minor == nullptr || !minor->is_int64() || minor->as_int64() < 0 || !currency) return std::nullopt;
  return Money{minor->as_int64(), *currency};
}

PaymentEventKind kind_of(std::string_view type) {
  if (type == "payment.captured") return PaymentEventKind::captured;
  if (type == "payment.declined") return PaymentEventKind::declined;
  if (type == "refund.done") return PaymentEventKind::refund_done;
  return PaymentEventKind::other;
}

std::string money_text(Money money) { return fmt::format("{} {}", money.value, money.currency.view()); }

}  // namespace

SandboxGateway::SandboxGateway(int journal, std::string secret, const Clock& clock, Random& random)
    : journal_(journal), secret_(std::move(secret)), clock_(clock), random_(random) {}

SandboxGateway::~SandboxGateway() { ::close(journal_); }

Result<std::unique_ptr<SandboxGateway>> SandboxGateway::open(const std::string& journal, std::string secret, const Clock& clock, Random& random) {
  std::ostringstream text;
  if (std::ifstream file{journal}; file) text << file.rdbuf();
  const int descriptor = ::open(journal.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail(Failure::unfit, fmt::format("cannot open '{}': {} (data)", journal, std::strerror(errno)));
  std::unique_ptr<SandboxGateway> made{new SandboxGateway{descriptor, std::move(secret), clock, random}};
  if (!made->replay(text.str())) return fail(Failure::unfit, fmt::format("'{}' is not a journal of the sandbox (data)", journal));
  return made;
}

bool SandboxGateway::replay(std::string_view text) {
  // Lines: `start ID VALUE CUR`, `capture ID`, `refund REFUND ID VALUE CUR`. A last line without its end was torn by a
  // crash and never happened.
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return true;
    std::istringstream line{std::string{text.substr(0, end)}};
    text.remove_prefix(end + 1);
    std::string what, first, second, currency;
    std::int64_t value = 0;
    line >> what >> first;
    if (what == "refund") line >> second;
    if (what != "capture") line >> value >> currency;
    const auto payment = PaymentId::parse(what == "refund" ? second : first);
    if (!line || !payment) return false;
    SandboxStatus& status = payments_[*payment];
    if (what == "start") status.amount = {value, Currency::parse(currency).value_or(Currency{})};
    if (what == "capture") status.captured = status.amount.value;
    if (what == "refund") {
      status.refunded += value;
      status.refunds.push_back({RefundId::parse(first).value_or(RefundId{}), RefundState::done, {value, status.amount.currency}});
    }
  }
}

bool SandboxGateway::append(const std::string& line) {
  return ::write(journal_, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fdatasync(journal_) == 0;
}

Result<GatewayStarted> SandboxGateway::start(const GatewayStart& payment, Deadline) {
  const std::lock_guard lock{mutex_};
  if (!payments_.contains(payment.payment)) {
    if (!append(fmt::format("start {} {}\n", payment.payment.text(), money_text(payment.amount)))) {
      return fail(Failure::unavailable, "the sandbox cannot write its journal (data)");
    }
    payments_[payment.payment].amount = payment.amount;
  }
  return GatewayStarted{.client_secret = {}, .redirect_url = "/?pay=" + payment.payment.text()};
}

std::string SandboxGateway::event_body(std::string_view type, PaymentId payment, const RefundId* refund, Money amount) {
  const Id128<struct EventTag> id = Id128<struct EventTag>::random(random_);
  std::string body = fmt::format("{{\"id\":\"evt_{}\",\"type\":\"{}\",\"paymentId\":\"{}\"", id.text(), type, payment.text());
  if (refund != nullptr) body += fmt::format(",\"refundId\":\"{}\"", refund->text());
  return body + fmt::format(",\"amount\":{{\"value\":{},\"currency\":\"{}\"}},\"createdAt\":\"{}\"}}", amount.value, amount.currency.view(), iso_text(clock_.now()));
}

bool SandboxGateway::complete(PaymentId payment, bool approve, Micros delay, int times) {
  const std::lock_guard lock{mutex_};
  const auto found = payments_.find(payment);
  if (found == payments_.end() || waiting_.size() >= kWaitingMax) return false;
  const std::string body = event_body(approve ? "payment.captured" : "payment.declined", payment, nullptr, found->second.amount);
  waiting_.push_back({.delivery = {.due = clock_.ticks() + delay, .body = body, .attempts = 0}, .payment = payment, .captures = approve, .times = times});
  return true;
}

Result<void> SandboxGateway::refund(PaymentId payment, RefundId refund, Money amount, Deadline) {
  const std::lock_guard lock{mutex_};
  const auto found = payments_.find(payment);
  if (found == payments_.end()) return fail(Failure::unavailable, "the sandbox knows no such payment");
  SandboxStatus& status = found->second;
  const bool is_done = std::ranges::any_of(status.refunds, [&](const Refund& done) { return done.id == refund; });
  if (!is_done) {
    if (status.refunded + amount.value > status.captured) return fail(Failure::unavailable, "more would be refunded than was captured");
    if (!append(fmt::format("refund {} {} {}\n", refund.text(), payment.text(), money_text(amount)))) {
      return fail(Failure::unavailable, "the sandbox cannot write its journal (data)");
    }
    status.refunded += amount.value;
    status.refunds.push_back({refund, RefundState::done, amount});
  }
  if (waiting_.size() >= kWaitingMax) return fail(Failure::overloaded, "too many events of the sandbox wait");
  waiting_.push_back({.delivery = {.due = clock_.ticks(), .body = event_body("refund.done", payment, &refund, amount), .attempts = 0}, .payment = payment, .captures = false, .times = 1});
  return {};
}

std::optional<SandboxStatus> SandboxGateway::status(PaymentId payment) const {
  const std::lock_guard lock{mutex_};
  const auto found = payments_.find(payment);
  if (found == payments_.end()) return std::nullopt;
  return found->second;
}

std::vector<SandboxDelivery> SandboxGateway::take_due(Ticks now) {
  const std::lock_guard lock{mutex_};
  std::vector<SandboxDelivery> due;
  const auto is_later = [&](const Waiting& one) { return one.delivery.due > now; };
  const auto end = std::stable_partition(waiting_.begin(), waiting_.end(), is_later);
  for (auto one = end; one != waiting_.end(); ++one) {
    if (one->captures) {
      SandboxStatus& status = payments_[one->payment];
      if (status.captured == 0 && append(fmt::format("capture {}\n", one->payment.text()))) status.captured = status.amount.value;
      if (status.captured == 0 && status.amount.value > 0) continue;  // The network could not do it: no event.
    }
    for (int i = 0; i < one->times; ++i) due.push_back(one->delivery);
  }
  waiting_.erase(end, waiting_.end());
  return due;
}

void SandboxGateway::put_back(SandboxDelivery delivery, Ticks now) {
  if (++delivery.attempts >= kAttemptsMax) return;
  delivery.due = now + kRetryStep * (1 << delivery.attempts);
  const std::lock_guard lock{mutex_};
  if (waiting_.size() < kWaitingMax) waiting_.push_back({.delivery = std::move(delivery), .payment = {}, .captures = false, .times = 1});
}

std::string SandboxGateway::sign(std::string_view body, Instant now) const {
  const std::string seconds = std::to_string(now.us / 1'000'000);
  return fmt::format("t={},v1={}", seconds, hex_text(mac(secret_, seconds + "." + std::string{body})));
}

Parsed<GatewayEvent> SandboxGateway::verify(const Webhook& webhook, Instant now) {
  const std::string_view signature = webhook.signature;
  const std::size_t comma = signature.find(',');
  if (!signature.starts_with("t=") || comma == std::string_view::npos || !signature.substr(comma).starts_with(",v1=")) {
    return std::unexpected("the signature is not t=SECONDS,v1=HEX");
  }
  const std::string_view seconds = signature.substr(2, comma - 2);
  const std::string_view digits = signature.substr(comma + 4);
  std::int64_t at = 0;
  const auto [end, error] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), at);
  if (error != std::errc{} || end != seconds.data() + seconds.size() || seconds.empty() || seconds.front() == '-' || seconds.size() > 12) {
    return std::unexpected("the signature's time is not a number of seconds");
  }
  const std::int64_t age = now.us / 1'000'000 - at;
  if (age > kToleranceS || age < -kToleranceS) return std::unexpected("the signature is too old or from the future");
  const std::string own = hex_text(mac(secret_, std::string{seconds} + "." + std::string{webhook.body}));
  if (digits.size() != own.size() || CRYPTO_memcmp(own.data(), digits.data(), own.size()) != 0) {
    return std::unexpected("the signature does not match");
  }
  boost::system::error_code parse_error;
  const boost::json::value value = boost::json::parse(webhook.body, parse_error, {}, {.max_depth = kJsonDepthMax});
  if (parse_error || !value.is_object()) return std::unexpected("the body is not a JSON object");
  const auto& object = value.as_object();
  const auto id = text_member(object, "id");
  const auto type = text_member(object, "type");
  if (!id || id->empty() || id->size() > kIdempotencyKeyBytesMax || !type) return std::unexpected("the event has no id or type");
  GatewayEvent event;
  event.id = *id;
  event.kind = kind_of(*type);
  const auto payment = PaymentId::parse(text_member(object, "paymentId").value_or(""));
  if (payment) event.payment = *payment;
  const auto refund = RefundId::parse(text_member(object, "refundId").value_or(""));
  if (refund) event.refund = *refund;
  if (const auto amount = money_member(object)) event.amount = *amount;
  return event;
}

}  // namespace weir
