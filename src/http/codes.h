#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http {

/// Every outcome of a request that a client or an operator counts. One spelling: capitals in JSON, the same word in
/// small letters as a metric label.
enum class Code : std::uint8_t {
  ok,
  accepted,
  not_modified,
  invalid_request,
  unauthenticated,
  forbidden,
  not_open,
  sale_ended,
  unknown_item,
  unknown_sale,
  unknown_order,
  unknown_payment,
  unknown_tenant,
  unknown_gateway,
  not_found,
  method_not_allowed,
  unsupported_media_type,
  already_purchased,
  limit_reached,
  number_taken,
  sold_out,
  key_reused,
  too_many_requests,
  unavailable,
  not_payable,
  not_cancellable,
  not_refundable,
  bad_signature,
  already_exists,
  below_committed,
  not_allowed,
};

struct CodeText {
  Code code;
  int status;
  std::string_view text;
  std::string_view message;  // For a person; the code is what programs read.
};

inline constexpr std::array kCodes{
    CodeText{Code::ok, 200, "OK", ""},
    CodeText{Code::accepted, 202, "ACCEPTED", ""},
    CodeText{Code::not_modified, 304, "NOT_MODIFIED", ""},
    CodeText{Code::invalid_request, 400, "INVALID_REQUEST", "The request is malformed."},
    CodeText{Code::unauthenticated, 401, "UNAUTHENTICATED", "Sign in: a valid token is needed."},
    CodeText{Code::forbidden, 403, "FORBIDDEN", "This token's role may not do this."},
    CodeText{Code::not_open, 403, "NOT_OPEN", "The sale is not open."},
    CodeText{Code::sale_ended, 410, "SALE_ENDED", "The sale has ended."},
    CodeText{Code::unknown_item, 404, "UNKNOWN_ITEM", "There is no such item."},
    CodeText{Code::unknown_sale, 404, "UNKNOWN_SALE", "There is no such sale."},
    CodeText{Code::unknown_order, 404, "UNKNOWN_ORDER", "There is no such order."},
    CodeText{Code::unknown_payment, 404, "UNKNOWN_PAYMENT", "There is no such payment."},
    CodeText{Code::unknown_tenant, 404, "UNKNOWN_TENANT", "There is no such tenant."},
    CodeText{Code::unknown_gateway, 404, "UNKNOWN_GATEWAY", "There is no such payment gateway."},
    CodeText{Code::not_found, 404, "NOT_FOUND", "There is nothing at this address."},
    CodeText{Code::method_not_allowed, 405, "METHOD_NOT_ALLOWED", "This address does not take this method."},
    CodeText{Code::unsupported_media_type, 415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json."},
    CodeText{Code::already_purchased, 409, "ALREADY_PURCHASED", "You have your unit already."},
    CodeText{Code::limit_reached, 409, "LIMIT_REACHED", "This would pass the limit per buyer."},
    CodeText{Code::number_taken, 409, "NUMBER_TAKEN", "Some of these numbers are taken."},
    CodeText{Code::sold_out, 410, "SOLD_OUT", "Fewer units are free than you asked for."},
    CodeText{Code::key_reused, 422, "KEY_REUSED", "This Idempotency-Key was used for another request."},
    CodeText{Code::too_many_requests, 429, "TOO_MANY_REQUESTS", "Too many requests: wait a second."},
    CodeText{Code::unavailable, 503, "UNAVAILABLE", "This cannot be answered now: try again."},
    CodeText{Code::not_payable, 409, "NOT_PAYABLE", "This order cannot be paid any more."},
    CodeText{Code::not_cancellable, 409, "NOT_CANCELLABLE", "This order cannot be cancelled any more."},
    CodeText{Code::not_refundable, 409, "NOT_REFUNDABLE", "This order has no money to give back."},
    CodeText{Code::bad_signature, 400, "BAD_SIGNATURE", "The webhook's signature is not valid."},
    CodeText{Code::already_exists, 409, "ALREADY_EXISTS", "This id is taken."},
    CodeText{Code::below_committed, 409, "BELOW_COMMITTED", "Fewer units than are held or sold."},
    CodeText{Code::not_allowed, 409, "NOT_ALLOWED", "The state does not allow this."},
};

[[nodiscard]] constexpr const CodeText& text_of(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

constexpr bool codes_are_in_order() {
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (static_cast<std::size_t>(kCodes[i].code) != i) return false;
  }
  return true;
}
static_assert(codes_are_in_order(), "a code is its place in the table");

}  // namespace weir::http
