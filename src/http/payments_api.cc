#include "base/json_text.h"
#include "base/log.h"
#include "config/limits.h"
#include "http/front_door.h"

#include <fmt/format.h>

namespace weir::http {
namespace {

constexpr std::int64_t kSandboxDelayMaxMs = 15 * 60 * 1000;
constexpr std::int64_t kSandboxTimesMax = 20;

/// A digest of a request that is not a purchase: what was asked for, of which thing.
RequestDigest digest_of(std::string_view what) { return {siphash({0x72657175, 0x65737473}, what)}; }

bool is_json(std::string_view content_type) {
  return content_type.empty() || content_type.starts_with("application/json");
}

Response payment_answer(const Settlement& settlement, Gateway& gateway, Ticks deadline) {
  switch (settlement.settled) {
    case Settled::done:
    case Settled::repeated: break;
    case Settled::unknown_order: return error_response(Code::unknown_order);
    case Settled::key_reused: return error_response(Code::key_reused);
    case Settled::refused:
    case Settled::late:
    case Settled::refund_due: return error_response(Code::not_payable);
  }
  if (!settlement.payment) return error_response(Code::not_payable);
  const auto started = gateway.start({settlement.payment->id, settlement.payment->amount}, deadline);
  if (!started) return error_response(Code::unavailable);
  return personal(payment_json(*settlement.payment, started->client_secret, started->redirect_url), 201);
}

}  // namespace

bool FrontDoor::read_body(const Request& request, Exchange& exchange, std::initializer_list<std::string_view> members,
                          JsonBody& body) {
  if (!request.body.empty() && !is_json(request.content_type)) {
    refuse(exchange, Code::unsupported_media_type);
    return false;
  }
  auto parsed = JsonBody::parse(request.body);
  if (!parsed) {
    answer(exchange, Code::invalid_request, invalid("body", parsed.error()));
    return false;
  }
  if (const std::string* unknown = parsed->unknown(members)) {
    answer(exchange, Code::invalid_request, invalid(*unknown, "This member is not known here."));
    return false;
  }
  body = std::move(*parsed);
  return true;
}

bool FrontDoor::read_key(const Tenant& tenant, const Identity& identity, const Request& request, std::string_view what,
                         Exchange& exchange, std::optional<RequestKey>& key) {
  if (!request.has_idempotency_key) return true;
  if (request.repeated_idempotency_key || request.idempotency_key.empty() ||
      request.idempotency_key.size() > kIdempotencyKeyBytesMax) {
    answer(exchange, Code::invalid_request, invalid("Idempotency-Key", "The key must have 1 to 255 characters, once."));
    return false;
  }
  key = RequestKey{derived_order_id(tenant, identity.subject.view(), request.idempotency_key), digest_of(what)};
  return true;
}

void FrontDoor::start_payment(const Tenant& tenant, const Identity& identity, std::string_view order_id,
                              const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange, {"gateway"}, body)) return;
  const JsonMember* member = body.find("gateway");
  const auto gateway_name = member == nullptr ? std::optional<std::string>{"sandbox"} : member->text();
  if (!gateway_name) return answer(exchange, Code::invalid_request, invalid("gateway", "The gateway must be a name."));
  Gateway* gateway = services_.gateway(*gateway_name);
  if (gateway == nullptr) {
    return answer(exchange, Code::invalid_request, invalid("gateway", "This gateway is not enabled."));
  }
  const auto id = OrderId::parse(order_id);
  if (!id) return refuse(exchange, Code::unknown_order);
  StartPayment command{.tenant = tenant.no,
                       .buyer = identity.subject,
                       .order = *id,
                       .gateway = *gateway_name,
                       .payment = PaymentId::random(*random_),
                       .grace = parts_.payment_grace,
                       .key = std::nullopt};
  const std::string what = fmt::format("payment/{}/{}", order_id, *gateway_name);
  if (!read_key(tenant, identity, request, what, exchange, command.key)) return;
  // The gateway may take its time: it is asked in the pool, never on the ledger writer.
  const ReplyTo to = exchange.defer();
  Services& services = services_;
  const Ticks deadline = ticks_ + Micros{kAnswerDeadlineUs};
  const bool is_taken =
      services_.settle({command, [to, &services, gateway, deadline](const Result<Settlement>& settled) {
                          if (!settled) return services.mailbox().post(to, error_response(Code::unavailable));
                          const bool is_read =
                              services.read([to, &services, gateway, deadline, settlement = *settled](LedgerReader&) {
                                services.mailbox().post(to, payment_answer(settlement, *gateway, deadline));
                              });
                          if (!is_read) services.mailbox().post(to, error_response(Code::unavailable));
                        }});
  outcomes_.count(is_taken ? Code::ok : Code::unavailable);
  if (!is_taken) reactor_.complete(to, replies_[static_cast<std::size_t>(Code::unavailable)]);
}

void FrontDoor::cancel(const Tenant& tenant, const Identity& identity, std::string_view order_id,
                       const Request& request, Exchange& exchange) {
  const auto id = OrderId::parse(order_id);
  if (!id) return refuse(exchange, Code::unknown_order);
  CancelOrder command{.tenant = tenant.no, .buyer = identity.subject, .order = *id, .key = std::nullopt};
  if (!read_key(tenant, identity, request, fmt::format("cancel/{}", order_id), exchange, command.key)) return;
  in_ledger(exchange, command, [catalog = catalog_](const Settlement& settlement) -> Response {
    switch (settlement.settled) {
      case Settled::done:
      case Settled::repeated:
        return settlement.order ? personal(order_json(*settlement.order, *catalog)) : error_response(Code::unavailable);
      case Settled::unknown_order: return error_response(Code::unknown_order);
      case Settled::key_reused: return error_response(Code::key_reused);
      case Settled::refused:
      case Settled::late:
      case Settled::refund_due: break;
    }
    return error_response(Code::not_cancellable);
  });
}

void FrontDoor::webhook(std::string_view gateway_name, const Request& request, Exchange& exchange) {
  Gateway* gateway = services_.gateway(gateway_name);
  if (gateway == nullptr) return refuse(exchange, Code::unknown_gateway);
  if (request.repeated_signature) return refuse(exchange, Code::bad_signature);
  const auto event = gateway->verify({.body = request.body, .signature = request.signature}, now_);
  if (!event) {
    log::warn("webhook_refused",
              {{"gateway", gateway_name}, {"why", event.error()}, {"request", exchange.request_id()}});
    return refuse(exchange, Code::bad_signature);
  }
  PaymentEvent command{.gateway = std::string{gateway_name},
                       .event_id = event->id,
                       .kind = event->kind,
                       .payment = event->payment,
                       .refund = event->refund,
                       .amount = event->amount,
                       .body = std::string{request.body}};
  Services& services = services_;
  // 200 only once it is stored; whatever it meant, the sender need not come again.
  in_ledger(exchange, command, [&services](const Settlement& settlement) -> Response {
    if (settlement.settled == Settled::refund_due) services.refund_due();
    return personal(fmt::format("{{\"stored\":true,\"result\":\"{}\"}}", name(settlement.settled)));
  });
}

void FrontDoor::sandbox_status(std::string_view payment_id, Exchange& exchange) {
  const auto id = PaymentId::parse(payment_id);
  if (!id || parts_.sandbox == nullptr) return refuse(exchange, Code::unknown_payment);
  SandboxDesk* sandbox = parts_.sandbox;
  in_pool(exchange, [sandbox, id = *id](LedgerReader&) -> Response {
    std::string status = sandbox->status_json(id);
    return status.empty() ? error_response(Code::unknown_payment) : personal(std::move(status));
  });
}

void FrontDoor::sandbox_complete(std::string_view payment_id, const Request& request, Exchange& exchange) {
  if (parts_.sandbox == nullptr) return refuse(exchange, Code::not_found);
  JsonBody body;
  if (!read_body(request, exchange, {"outcome", "delayMs", "times"}, body)) return;
  const JsonMember* outcome = body.find("outcome");
  const auto wanted = outcome == nullptr ? std::nullopt : outcome->text();
  if (!wanted || (*wanted != "approve" && *wanted != "decline")) {
    return answer(exchange, Code::invalid_request, invalid("outcome", "The outcome must be approve or decline."));
  }
  SandboxDesk::Completion completion{.approve = *wanted == "approve", .delay = Micros{0}, .times = 1};
  if (const JsonMember* delay = body.find("delayMs")) {
    const auto ms = delay->whole();
    if (!ms || *ms < 0 || *ms > kSandboxDelayMaxMs) {
      return answer(exchange, Code::invalid_request,
                    invalid("delayMs", "The delay must be a whole number from 0 to 900000."));
    }
    completion.delay = Micros{*ms * 1000};
  }
  if (const JsonMember* repeat = body.find("times")) {
    const auto count = repeat->whole();
    if (!count || *count < 1 || *count > kSandboxTimesMax) {
      return answer(exchange, Code::invalid_request, invalid("times", "Times must be a whole number from 1 to 20."));
    }
    completion.times = static_cast<int>(*count);
  }
  const auto id = PaymentId::parse(payment_id);
  if (!id) return refuse(exchange, Code::unknown_payment);
  SandboxDesk* sandbox = parts_.sandbox;
  in_pool(exchange, [sandbox, id = *id, completion](LedgerReader&) -> Response {
    if (!sandbox->complete(id, completion)) return error_response(Code::unknown_payment);
    return personal("{\"accepted\":true}", 202);
  });
}

void FrontDoor::guest(const Tenant& tenant, const Request& request, Exchange& exchange) {
  if (parts_.sandbox == nullptr || !parts_.is_development) return refuse(exchange, Code::not_found);
  JsonBody body;
  if (!read_body(request, exchange, {}, body)) return;
  if (!doorman_.allow_stranger(request, ticks_)) return refuse(exchange, Code::too_many_requests);
  const auto guest = parts_.sandbox->guest_token(tenant.id);
  std::string text = "{\"token\":";
  append_json_string(text, guest.token);
  text += ",\"expiresAt\":";
  append_time(text, guest.expires_at);
  text += '}';
  answer(exchange, Code::ok, personal(std::move(text)));
}

}  // namespace weir::http
