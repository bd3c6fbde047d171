#include "base/log.h"
#include "config/limits.h"
#include "http/front_door.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::http {
namespace {

/// The value of `k` in a query of `k=v&…`; empty when absent.
std::string_view query_key(std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (pair.starts_with("k=")) return pair.substr(2);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

/// Compares without telling by the time how much was right.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool is_empty_object(std::string_view body) { return body.empty() || body == "{}"; }

}  // namespace

bool FrontDoor::read_purchase(const Request& request, Exchange& exchange, std::int32_t& units) {
  units = 1;
  if (request.has_idempotency_key && (request.repeated_idempotency_key || request.idempotency_key.empty() ||
                                      request.idempotency_key.size() > kIdempotencyKeyBytesMax)) {
    answer(exchange, Code::invalid_request, invalid("Idempotency-Key", "The key must have 1 to 255 characters, once."));
    return false;
  }
  if (is_empty_object(request.body)) return true;
  JsonBody body;
  if (!read_body(request, exchange, {"quantity", "numbers", "random", "partial"}, body)) return false;
  for (const std::string_view numbered : {"numbers", "random", "partial"}) {
    if (body.find(numbered) == nullptr) continue;
    answer(exchange, Code::invalid_request, invalid(numbered, "This item has counted stock: send a quantity."));
    return false;
  }
  if (const JsonMember* quantity = body.find("quantity")) {
    const auto whole = quantity->whole();
    if (!whole || *whole < 1 || *whole > kUnitsPerClaimMax) {
      answer(exchange, Code::invalid_request,
             invalid("quantity", "The quantity must be a whole number from 1 to 1000, in digits."));
      return false;
    }
    units = static_cast<std::int32_t>(*whole);
  }
  return true;
}

void FrontDoor::purchase(std::string_view item_id, const Request& request, Exchange& exchange) {
  std::int32_t units = 1;
  if (!read_purchase(request, exchange, units)) return;
  const Tenant* tenant = tenant_of(request);
  if (tenant == nullptr) return refuse(exchange, Code::unknown_tenant);
  const Identity* identity = identify(request, *tenant);
  if (identity == nullptr) {
    if (!doorman_.allow_stranger(request, ticks_)) return refuse(exchange, Code::too_many_requests);
    return refuse(exchange, Code::unauthenticated);
  }
  const BuyerKey buyer = buyer_key(services_.buyer_hash(), tenant->no, identity->subject.view());
  if (!doorman_.allow(request, buyer, ticks_)) return refuse(exchange, Code::too_many_requests);

  const Item* item = catalog_->item_by_id(tenant->no, item_id);
  const Sale* sale = item == nullptr ? nullptr : catalog_->sale(item->sale);
  if (sale == nullptr) return refuse(exchange, Code::unknown_item);
  if (!sale->secret.empty() && !same_secret(query_key(request.query), sale->secret)) {
    return refuse(exchange, Code::unknown_item);
  }
  switch (phase(*sale, now_)) {
    case SalePhase::closed: return refuse(exchange, Code::sale_ended);
    case SalePhase::scheduled:
    case SalePhase::waiting_room:
    case SalePhase::paused:
      outcomes_.count(Code::not_open);
      return exchange.send(sale_replies_[sale->no.value]->not_open);
    case SalePhase::open: break;
  }
  const bool may_own = services_.known_buyers().may_hold(sale->no, buyer);
  const FixedReply* const sold_out =
      may_own || units > sale->limit_per_buyer ? nullptr : sold_out_reply(item->no, units);
  if (sold_out != nullptr) {
    const bool may_be_repeat =
        request.has_idempotency_key && services_.known_buyers().may_have_ended(derived_order_id(
                                           *tenant, identity->subject.view(), request.idempotency_key));
    if (!may_be_repeat) {
      outcomes_.count(Code::sold_out);
      return exchange.send(*sold_out);
    }
  }
  claim(*sale, *item, units, request, exchange, *tenant, *identity);
}

/// The refusal that the public counts allow at this moment; null: only the desk can say.
const FixedReply* FrontDoor::sold_out_reply(ItemNo item, std::int32_t units) const {
  const ShelfBoard& shelves = services_.shelves();
  // In this order: counts that are newer than the permission to use them do no harm, older ones would.
  const Ticks until = shelves.refuses_until();
  const ShelfBoard::Look look = shelves.look(item);
  if (look.has_free(units)) return nullptr;
  // Counts that age are compared with the clock now and not with that of the turn: this thread may have slept since.
  if (until != ShelfBoard::kForEver && services_.ticks() >= until) return nullptr;
  return look.may_return() ? &sold_out_may_return_ : &sold_out_final_;
}

void FrontDoor::claim(const Sale& sale, const Item& item, std::int32_t units, const Request& request,
                      Exchange& exchange, const Tenant& tenant, const Identity& identity) {
  ClaimRequest offer;
  Claim& claim = offer.claim;
  claim.keyed = request.has_idempotency_key;
  claim.order = claim.keyed ? derived_order_id(tenant, identity.subject.view(), request.idempotency_key)
                            : OrderId::random(*random_);
  claim.tenant = tenant.no;
  claim.sale = sale.no;
  claim.item = item.no;
  claim.units = units;
  claim.buyer = identity.subject;
  claim.buyer_key = buyer_key(services_.buyer_hash(), tenant.no, identity.subject.view());
  claim.digest = purchase_digest(item.no, units);
  claim.promised_pay_by = now_ + sale.pay_within;
  const ReplyTo to = exchange.defer();
  offer.ticket = {to.slot, to.generation, to.reactor};
  if (services_.offer_claim(reactor_.index(), offer)) {
    has_offered_ = true;
    return;
  }
  outcomes_.count(Code::unavailable);
  reactor_.complete(to, replies_[static_cast<std::size_t>(Code::unavailable)]);
}

void FrontDoor::take_answers() {
  for (int round = 0; round < 64; ++round) {
    const std::size_t count = services_.take_answers(reactor_.index(), answers_);
    for (std::size_t i = 0; i < count; ++i) conclude(answers_[i]);
    if (count < answers_.size()) return;
  }
  reactor_.wake();  // More are waiting; requests get their turn first.
}

void FrontDoor::conclude(const ClaimAnswer& answer) {
  const ReplyTo to{answer.ticket.slot, answer.ticket.generation, answer.ticket.source};
  const Item* item = catalog_->item(answer.item);
  const Sale* sale = item == nullptr ? nullptr : catalog_->sale(item->sale);
  const auto fixed = [&](Code code) {
    outcomes_.count(code);
    reactor_.complete(to, replies_[static_cast<std::size_t>(code)]);
  };
  const auto made = [&](Code code, const Response& response) {
    outcomes_.count(code);
    reactor_.complete(to, response);
  };
  if (item == nullptr || sale == nullptr) return fixed(Code::unavailable);
  switch (answer.kind) {
    case ClaimAnswerKind::accepted: {
      const auto amount = times(item->price, answer.units);
      return made(Code::accepted, accepted_response({.order = answer.order,
                                                     .status = answer.status,
                                                     .units = answer.units,
                                                     .amount = amount.value_or(Money{}),
                                                     .pay_by = answer.pay_by}));
    }
    case ClaimAnswerKind::look_up: return look_up(answer, to);
    case ClaimAnswerKind::over_limit:
      if (sale->limit_per_buyer == 1 && answer.units_held > 0) {
        return made(Code::already_purchased,
                    error_response(Code::already_purchased, fmt::format("\"orderId\":\"{}\"", answer.order.text())));
      }
      return made(Code::limit_reached,
                  error_response(Code::limit_reached,
                                 fmt::format("\"limit\":{},\"held\":{}", sale->limit_per_buyer, answer.units_held)));
    case ClaimAnswerKind::sold_out:
      outcomes_.count(Code::sold_out);
      return reactor_.complete(to, answer.may_return ? sold_out_may_return_ : sold_out_final_);
    case ClaimAnswerKind::not_on_sale:
      if (phase(*sale, now_) == SalePhase::closed) return fixed(Code::sale_ended);
      outcomes_.count(Code::not_open);
      return reactor_.complete(to, sale_replies_[sale->no.value]->not_open);
    case ClaimAnswerKind::key_reused: return fixed(Code::key_reused);
    case ClaimAnswerKind::unavailable: return fixed(Code::unavailable);
    case ClaimAnswerKind::unknown: return made(Code::unavailable, unavailable_with(answer.order));
  }
}

void FrontDoor::look_up(const ClaimAnswer& answer, ReplyTo to) {
  Services& services = services_;
  const bool is_taken = services_.read([answer, to, &services](LedgerReader& ledger) {
    const auto order = ledger.order(answer.order);
    Response response;
    if (!order || !*order) {
      response = unavailable_with(answer.order);
    } else if ((*order)->digest != answer.digest) {
      response = error_response(Code::key_reused);
    } else {
      response = accepted_response({.order = (*order)->id,
                                    .status = (*order)->status,
                                    .units = (*order)->units,
                                    .amount = (*order)->amount,
                                    .pay_by = (*order)->pay_by});
    }
    services.mailbox().post(to, std::move(response));
  });
  outcomes_.count(is_taken ? Code::accepted : Code::unavailable);
  if (!is_taken) reactor_.complete(to, unavailable_with(answer.order));
}

}  // namespace weir::http
