#pragma once

#include "base/result.h"
#include "identity/verification_key.h"

#include <string>
#include <vector>

namespace weir {

/// Reads a JSON Web Key Set (RFC 7517) strictly: `oct` of at least kSecretBytesMin bytes for HS256, `RSA` of
/// kRsaBitsMin to kRsaBitsMax bits for RS256, `EC` on P-256 for ES256, `OKP` on Ed25519 for EdDSA. Keys for anything
/// but checking signatures (`use`, `key_ops`) are passed over; any other key that does not fit refuses the whole set,
/// because a set of which a part is silently missing turns people away in the middle of a sale. Pure.
[[nodiscard]] Parsed<std::vector<VerificationKey>> parse_jwks(std::string text);

}  // namespace weir
