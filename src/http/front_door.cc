#include "http/front_door.h"

#include "base/check.h"
#include "config/limits.h"

#include <iterator>

#include <fmt/format.h>

namespace weir::http {
namespace {

std::string host_name(std::string_view host) {
  if (host.starts_with('[')) {
    host = host.substr(0, host.find(']') + 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  std::string lower{host};
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

FrontDoor::FrontDoor(ReactorPort& reactor, const FrontDoorParts& parts)
    : reactor_(reactor),
      services_(*parts.services),
      parts_(parts),
      doorman_(*parts.doorman),
      random_(parts.random()),
      answers_(256),
      page_(kNumberPageBits / 64) {
  for (const CodeText& text : kCodes)
    replies_[static_cast<std::size_t>(text.code)] = FixedReply{error_response(text.code)};
  sold_out_may_return_ = FixedReply{error_response(Code::sold_out, "\"mayReturn\":true")};
  sold_out_final_ = FixedReply{error_response(Code::sold_out, "\"mayReturn\":false")};
  refresh_catalog();
}

FrontDoor::~FrontDoor() = default;

void FrontDoor::on_loop(Instant now, Ticks ticks) {
  now_ = now;
  ticks_ = ticks;
  if (has_offered_) {
    services_.wake_desk();
    has_offered_ = false;
  }
  if (services_.catalog_version() != catalog_version_) refresh_catalog();
  doorman_.refresh();
  take_answers();
}

void FrontDoor::refresh_catalog() {
  // The version is read first: a change in between is seen again on the next turn.
  catalog_version_ = services_.catalog_version();
  catalog_ = services_.catalog();
  CHECK(catalog_ != nullptr);
  states_.clear();
  sale_replies_.clear();
  for (const Sale& sale : catalog_->sales()) {
    if (sale_replies_.size() <= sale.no.value) sale_replies_.resize(sale.no.value + 1);
    std::string members = "\"opensAt\":";
    append_time(members, sale.opens_at);
    sale_replies_[sale.no.value] =
        std::make_unique<SaleReplies>(SaleReplies{FixedReply{error_response(Code::not_open, members)}});
  }
}

void FrontDoor::refuse(Exchange& exchange, Code code) {
  outcomes_.count(code);
  exchange.send(replies_[static_cast<std::size_t>(code)]);
}

void FrontDoor::answer(Exchange& exchange, Code code, const Response& response) {
  outcomes_.count(code);
  exchange.send(response);
}

const Tenant* FrontDoor::tenant_of(const Request& request) const {
  if (catalog_->tenants().size() == 1) return &catalog_->tenants().front();
  return catalog_->tenant_by_host(host_name(request.host));
}

const Identity* FrontDoor::identify(const Request& request, const Tenant& tenant) {
  if (request.repeated_authorization) return nullptr;
  const Identity* identity = doorman_.identify(request.authorization, now_);
  if (identity == nullptr) return nullptr;
  const bool is_ours = identity->tenant.is_none() || identity->tenant.view() == tenant.id;
  return is_ours ? identity : nullptr;
}

bool FrontDoor::may_call(Audience audience, const Identity& identity) const {
  switch (audience) {
    case Audience::everyone:
    case Audience::buyer: return true;
    case Audience::support: return identity.role != Role::buyer;
    case Audience::organiser: return identity.role == Role::organiser || identity.role == Role::admin;
    case Audience::operations: return false;
  }
  return false;
}

void FrontDoor::handle(const Request& request, Exchange& exchange) {
  const Match found = match(request.method, request.path, false);
  switch (found.kind) {
    case Match::Kind::no_such_path:
      if (parts_.page == nullptr || !parts_.page->send(request, exchange)) return refuse(exchange, Code::not_found);
      return outcomes_.count(Code::ok);
    case Match::Kind::no_such_method: return refuse(exchange, Code::method_not_allowed);
    case Match::Kind::found: break;
  }
  if (found.route->id == RouteId::purchase) {
    purchase(found.parameter, request, exchange);
  } else {
    dispatch(*found.route, found.parameter, request, exchange);
  }
  if (has_offered_) {
    services_.wake_desk();
    has_offered_ = false;
  }
}

void FrontDoor::dispatch(const Route& route, std::string_view parameter, const Request& request, Exchange& exchange) {
  const Tenant* tenant = tenant_of(request);
  if (tenant == nullptr) return refuse(exchange, Code::unknown_tenant);
  const RouteId id = route.id;
  if (id == RouteId::time) return get_time(exchange);
  if (id == RouteId::sales) return get_sales(*tenant, request, exchange);
  if (id == RouteId::sale) return get_sale(*tenant, parameter, request, exchange);
  if (id == RouteId::item) return get_item(*tenant, parameter, request, exchange);
  if (id == RouteId::numbers) return get_numbers(*tenant, parameter, request, exchange);
  if (id == RouteId::state) return get_state(*tenant, parameter, request, exchange);
  if (id == RouteId::webhook) return webhook(parameter, request, exchange);
  if (id == RouteId::sandbox_status) return sandbox_status(parameter, exchange);
  if (id == RouteId::sandbox_complete) return sandbox_complete(parameter, request, exchange);
  if (id == RouteId::guest) return guest(*tenant, request, exchange);
  const Identity* identity = identify(request, *tenant);
  if (identity == nullptr) {
    if (!doorman_.allow_stranger(request, ticks_)) return refuse(exchange, Code::too_many_requests);
    return refuse(exchange, Code::unauthenticated);
  }
  if (!may_call(route.audience, *identity)) return refuse(exchange, Code::forbidden);
  const BuyerKey buyer = buyer_key(services_.buyer_hash(), tenant->no, identity->subject.view());
  if (!doorman_.allow(request, buyer, ticks_)) return refuse(exchange, Code::too_many_requests);
  if (id == RouteId::me) return get_me(*tenant, *identity, parameter, exchange);
  if (id == RouteId::order) return get_order(*tenant, *identity, parameter, exchange);
  if (id == RouteId::orders) return get_orders(*tenant, *identity, request.query, exchange);
  if (id == RouteId::payment) return start_payment(*tenant, *identity, parameter, request, exchange);
  if (id == RouteId::cancel) return cancel(*tenant, *identity, parameter, request, exchange);
  admin(route, *tenant, *identity, parameter, request, exchange);
}

void FrontDoor::in_pool(Exchange& exchange, std::function<Response(LedgerReader&)> job) {
  const ReplyTo to = exchange.defer();
  Services& services = services_;
  const bool is_taken = services_.read(
      [to, &services, job = std::move(job)](LedgerReader& ledger) { services.mailbox().post(to, job(ledger)); });
  outcomes_.count(is_taken ? Code::ok : Code::unavailable);
  if (!is_taken) reactor_.complete(to, replies_[static_cast<std::size_t>(Code::unavailable)]);
}

void FrontDoor::in_ledger(Exchange& exchange, SettleCommand command,
                          std::function<Response(const Settlement&)> answer) {
  const ReplyTo to = exchange.defer();
  Services& services = services_;
  const bool is_taken = services_.settle(
      {std::move(command), [to, &services, answer = std::move(answer)](const Result<Settlement>& settled) {
         services.mailbox().post(to, settled ? answer(*settled) : error_response(Code::unavailable));
       }});
  outcomes_.count(is_taken ? Code::ok : Code::unavailable);
  if (!is_taken) reactor_.complete(to, replies_[static_cast<std::size_t>(Code::unavailable)]);
}

}  // namespace weir::http
