#include "payment/sandbox_event.h"

#include "base/time_text.h"
#include "payment/flat_json.h"

#include <fmt/format.h>

namespace weir {
namespace {

using EventId = Id128<struct SandboxEventTag>;
constexpr std::string_view kIdPrefix = "evt_";
constexpr std::size_t kTypeBytesMax = 64;

std::string_view type_of(PaymentEventKind kind) {
  switch (kind) {
    case PaymentEventKind::captured: return "payment.captured";
    case PaymentEventKind::declined: return "payment.declined";
    case PaymentEventKind::refund_done: return "refund.done";
    case PaymentEventKind::other: break;
  }
  return "other";
}

PaymentEventKind kind_of(std::string_view type) {
  for (const auto kind : {PaymentEventKind::captured, PaymentEventKind::declined, PaymentEventKind::refund_done}) {
    if (type == type_of(kind)) return kind;
  }
  return PaymentEventKind::other;
}

bool is_event_id(std::string_view text) {
  return text.starts_with(kIdPrefix) && EventId::parse(text.substr(kIdPrefix.size())).has_value();
}

/// An id in its one spelling; all zeros mean "none" and are refused.
template <typename Id>
std::optional<Id> id_member(const FlatJson& json, std::string_view member) {
  const std::optional<Id> id = Id::parse(json.text(member).value_or(""));
  return id && !id->is_none() ? id : std::nullopt;
}

std::unexpected<std::string> wrong(std::string_view member) {
  return std::unexpected(fmt::format("the event's {} is missing or malformed", member));
}

}  // namespace

std::string new_event_id(Random& random) { return fmt::format("{}{}", kIdPrefix, EventId::random(random).text()); }

std::string event_text(const GatewayEvent& event, Instant created_at) {
  std::string refund;
  if (!event.refund.is_none()) refund = fmt::format(R"("refundId":"{}",)", event.refund.text());
  return fmt::format(R"({{"id":"{}","type":"{}","paymentId":"{}",{}"amount":{{"value":{},"currency":"{}"}},)"
                     R"("createdAt":"{}"}})",
                     event.id, type_of(event.kind), event.payment.text(), refund, event.amount.value,
                     event.amount.currency.view(), iso_text(created_at));
}

Parsed<GatewayEvent> parse_event(std::string_view body) {
  const Parsed<FlatJson> json = FlatJson::parse(body);
  if (!json) return std::unexpected(json.error());
  GatewayEvent event;
  event.id = json->text("id").value_or("");
  if (!is_event_id(event.id)) return wrong("id");
  const std::optional<std::string> type = json->text("type");
  if (!type || type->empty() || type->size() > kTypeBytesMax) return wrong("type");
  event.kind = kind_of(*type);
  if (event.kind == PaymentEventKind::other) return event;

  const auto payment = id_member<PaymentId>(*json, "paymentId");
  if (!payment) return wrong("paymentId");
  event.payment = *payment;
  const auto refund = id_member<RefundId>(*json, "refundId");
  const bool needs_refund = event.kind == PaymentEventKind::refund_done;
  if (needs_refund != refund.has_value() || needs_refund != json->has("refundId")) return wrong("refundId");
  if (refund) event.refund = *refund;
  const auto value = json->whole("amount", "value");
  const auto currency = Currency::parse(json->text("amount", "currency").value_or(""));
  if (!value || !currency) return wrong("amount");
  event.amount = Money{*value, *currency};
  if (!parse_iso(json->text("createdAt").value_or(""))) return wrong("createdAt");
  return event;
}

}  // namespace weir
