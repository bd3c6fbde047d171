#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "payment/gateway.h"

#include <string>
#include <string_view>

/// The events of the sandbox as text:
/// `{"id","type","paymentId","refundId"?,"amount":{"value","currency"},"createdAt"}`. Pure.
namespace weir {

/// A new event id: `evt_` and 32 hexadecimal digits.
[[nodiscard]] std::string new_event_id(Random& random);

/// Requires a kind other than `other`.
[[nodiscard]] std::string event_text(const GatewayEvent& event, Instant created_at);

/// Reads an event whose signature was verified. Members that are not known are ignored, as a network may add some. An
/// event of an unknown type is `other` and needs only its id; the known ones need every member in its one spelling.
[[nodiscard]] Parsed<GatewayEvent> parse_event(std::string_view body);

}  // namespace weir
