#pragma once

#include "base/result.h"
#include "base/time.h"
#include "payment/gateway.h"

#include <string>
#include <string_view>

/// Signatures of webhooks in the form `t=SECONDS,v1=HEX`: HMAC-SHA256 over `SECONDS.BODY`. Pure.
///
/// One value has one spelling: anything around, between or instead of these two parts is refused, so that nobody can
/// pass two times or two signatures and hope that sender and receiver read different ones.
namespace weir {

/// The header's value for `body` sent at `now`.
[[nodiscard]] std::string sign_webhook(std::string_view key, std::string_view body, Instant now);

/// Compares in constant time over the raw bytes, then checks the age: at most kWebhookToleranceUs, both ways.
[[nodiscard]] Parsed<void> check_webhook_signature(std::string_view key, const Webhook& webhook, Instant now);

}  // namespace weir
