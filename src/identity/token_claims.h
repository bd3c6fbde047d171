#pragma once

#include "base/time.h"
#include "identity/token.h"
#include "identity/token_refusal.h"

#include <expected>
#include <optional>
#include <span>
#include <string_view>

namespace weir {

/// What a token's header says. Views into the text it was read from.
struct TokenHeader {
  std::string_view alg;
  std::optional<std::string_view> kid;
};

/// Reads the decoded header, which is overwritten. Members that would bring a key or an extension (`jku`, `jwk`, `x5u`,
/// `x5c`, `crit`, `b64`) refuse the token; what is unknown is ignored. Pure.
[[nodiscard]] std::expected<TokenHeader, TokenRefusal> parse_token_header(std::span<char> json);

/// Reads the decoded payload of a token whose signature is known to be good; the text is overwritten. Pure.
[[nodiscard]] std::expected<Identity, TokenRefusal> parse_token_claims(std::span<char> json,
                                                                       const VerifierOptions& options, Instant now);

}  // namespace weir
