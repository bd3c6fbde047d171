#pragma once

#include "identity/openssl_handle.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// How a key signs. Each key has exactly one, fixed when it is loaded; nothing in a token changes it.
enum class Algorithm : std::uint8_t { hs256, rs256, es256, eddsa };

/// As `alg` spells it (RFC 7518, RFC 8037).
[[nodiscard]] constexpr std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::hs256: return "HS256";
    case Algorithm::rs256: return "RS256";
    case Algorithm::es256: return "ES256";
    case Algorithm::eddsa: return "EdDSA";
  }
  return "?";
}

/// One key that tokens may be signed with. Never changed after loading; shared by all threads.
struct VerificationKey {
  std::string kid;  // Empty: tokens signed with it name no key.
  Algorithm algorithm = Algorithm::hs256;
  std::string secret;    // HS256 only.
  PublicKey public_key;  // All others.
};

}  // namespace weir
