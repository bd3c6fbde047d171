#include "base/log.h"
#include "config/limits.h"
#include "http/front_door.h"
#include "http/query.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::http {
namespace {

/// Compares without telling by the time how much was right.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool is_empty_object(std::string_view body) { return body.empty() || body == "{}"; }

}  // namespace

bool FrontDoor::read_purchase(const Request& request, Exchange& exchange) {
  if (request.has_idempotency_key && (request.repeated_idempotency_key || request.idempotency_key.empty() ||
                                      request.idempotency_key.size() > kIdempotencyKeyBytesMax)) {
    answer(exchange, Code::invalid_request, invalid("Idempotency-Key", "The key must have 1 to 255 characters, once."));
    return false;
  }
  JsonBody body;
  const bool is_plain = is_empty_object(request.body);
  if (!is_plain && !read_body(request, exchange, {"quantity", "numbers", "random", "partial"}, body)) return false;
  const auto wrong = read_wish(body, wish_);
  if (wrong) answer(exchange, Code::invalid_request, *wrong);
  return !wrong;
}

void FrontDoor::purchase(std::string_view item_id, const Request& request, Exchange& exchange) {
  if (!read_purchase(request, exchange)) return;
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
  if (!sale->secret.empty() && !same_secret(query_value(request.query, "k").value_or(""), sale->secret)) {
    return refuse(exchange, Code::unknown_item);
  }
  if (const auto misfit = fit_wish(*item, wish_)) return answer(exchange, Code::invalid_request, *misfit);
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
  if (!may_own && wish_.units <= sale->limit_per_buyer) {
    // What a client sends again under the same key must meet its first answer.
    const auto may_be_repeat = [&] {
      return request.has_idempotency_key && services_.known_buyers().may_have_ended(derived_order_id(
                                                *tenant, identity->subject.view(), request.idempotency_key));
    };
    const FixedReply* const sold_out = sold_out_reply(item->no, wish_.units_wanted());
    if (sold_out != nullptr && !may_be_repeat()) {
      outcomes_.count(Code::sold_out);
      return exchange.send(*sold_out);
    }
    if (sold_out == nullptr && names_taken(*item) && !may_be_repeat()) {
      return answer(exchange, Code::number_taken, number_taken_response(taken_));
    }
  }
  claim(*sale, *item, request, exchange, *tenant, *identity);
}

/// Whether the public bits show at this moment that the named numbers cannot be had; `taken_` has those that are not
/// free.
bool FrontDoor::names_taken(const Item& item) {
  taken_.clear();
  if (!item.numbered || wish_.numbers.empty() || !services_.numbers().has(item.no)) return false;
  for (const std::uint32_t number : wish_.numbers) {
    if (!services_.numbers().is_free(item.no, number)) taken_.push_back(number);
  }
  return wish_.wish == Wish::named ? !taken_.empty() : taken_.size() == wish_.numbers.size();
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

void FrontDoor::claim(const Sale& sale, const Item& item, const Request& request, Exchange& exchange,
                      const Tenant& tenant, const Identity& identity) {
  ClaimRequest offer;
  Claim& claim = offer.claim;
  claim.keyed = request.has_idempotency_key;
  claim.order = claim.keyed ? derived_order_id(tenant, identity.subject.view(), request.idempotency_key)
                            : OrderId::random(*random_);
  claim.tenant = tenant.no;
  claim.sale = sale.no;
  claim.item = item.no;
  claim.wish = wish_.wish;
  claim.units = wish_.units;
  claim.numbers = NumberList::from(wish_.numbers).value_or(NumberList{});
  claim.buyer = identity.subject;
  claim.buyer_key = buyer_key(services_.buyer_hash(), tenant.no, identity.subject.view());
  claim.digest = purchase_digest(claim);
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
                                                     .numbers = answer.numbers,
                                                     .taken = numbers_without(answer.asked, answer.numbers),
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
    case ClaimAnswerKind::number_taken: return made(Code::number_taken, number_taken_response(answer.numbers.view()));
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
                                    .numbers = (*order)->numbers,
                                    .taken = numbers_without(answer.asked, (*order)->numbers),
                                    .amount = (*order)->amount,
                                    .pay_by = (*order)->pay_by});
    }
    services.mailbox().post(to, std::move(response));
  });
  outcomes_.count(is_taken ? Code::accepted : Code::unavailable);
  if (!is_taken) reactor_.complete(to, unavailable_with(answer.order));
}

}  // namespace weir::http
