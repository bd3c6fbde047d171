#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

/// Why a token is not believed. The sender hears 401 whichever it is; the names are for metrics.
enum class TokenRefusal : std::uint8_t {
  too_long,            // Over kTokenBytesMax.
  wrong_parts,         // Not header, payload and signature.
  wrong_encoding,      // A part is not strict base64url.
  malformed,           // Header or payload is not a sound JSON object.
  repeated_member,     // A name occurs twice in one object.
  header_not_allowed,  // The header names a key, an extension or another form of payload.
  wrong_type,          // Made for something else: an id token, a refresh token, a pass.
  unknown_key,         // Its `kid` is none of ours, or it has none and there is a choice.
  wrong_algorithm,     // Its `alg` is not the one of the key.
  wrong_signature,
  wrong_subject,  // `sub` absent, of the wrong type, too long, with control characters.
  wrong_expiry,   // `exp` absent or not a whole number of seconds up to the year 9999.
  wrong_time,     // `nbf` or `iat` is not such a number.
  expired,
  not_yet_valid,  // `nbf` or `iat` is further ahead than kTokenLeewayUs.
  unknown_role,
  wrong_tenant,  // `tenant` is not an id.
  wrong_issuer,
  wrong_audience,
};
inline constexpr std::size_t kTokenRefusals = static_cast<std::size_t>(TokenRefusal::wrong_audience) + 1;

[[nodiscard]] constexpr std::string_view name(TokenRefusal refusal) {
  switch (refusal) {
    case TokenRefusal::too_long: return "too_long";
    case TokenRefusal::wrong_parts: return "wrong_parts";
    case TokenRefusal::wrong_encoding: return "wrong_encoding";
    case TokenRefusal::malformed: return "malformed";
    case TokenRefusal::repeated_member: return "repeated_member";
    case TokenRefusal::header_not_allowed: return "header_not_allowed";
    case TokenRefusal::wrong_type: return "wrong_type";
    case TokenRefusal::unknown_key: return "unknown_key";
    case TokenRefusal::wrong_algorithm: return "wrong_algorithm";
    case TokenRefusal::wrong_signature: return "wrong_signature";
    case TokenRefusal::wrong_subject: return "wrong_subject";
    case TokenRefusal::wrong_expiry: return "wrong_expiry";
    case TokenRefusal::wrong_time: return "wrong_time";
    case TokenRefusal::expired: return "expired";
    case TokenRefusal::not_yet_valid: return "not_yet_valid";
    case TokenRefusal::unknown_role: return "unknown_role";
    case TokenRefusal::wrong_tenant: return "wrong_tenant";
    case TokenRefusal::wrong_issuer: return "wrong_issuer";
    case TokenRefusal::wrong_audience: return "wrong_audience";
  }
  return "?";
}

}  // namespace weir
