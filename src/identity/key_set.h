#pragma once

#include "base/result.h"

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class TokenAlgorithm : std::uint8_t { hs256, rs256, es256, eddsa };

[[nodiscard]] constexpr std::string_view name(TokenAlgorithm algorithm) {
  switch (algorithm) {
    case TokenAlgorithm::hs256: return "HS256";
    case TokenAlgorithm::rs256: return "RS256";
    case TokenAlgorithm::es256: return "ES256";
    case TokenAlgorithm::eddsa: return "EdDSA";
  }
  return "?";
}

/// One key and the one algorithm that it is for. Nothing in a token can choose another.
struct TokenKey {
  std::string kid;  // Empty: the key for tokens that name none.
  TokenAlgorithm algorithm = TokenAlgorithm::hs256;
  std::string secret;                 // HS256.
  std::shared_ptr<EVP_PKEY> public_key;  // The others.
};

/// The keys that tokens are checked with. It never changes; new files make a new one.
///
/// Threads: any, by `shared_ptr<const KeySet>`.
class KeySet {
 public:
  /// `secret`: the HS256 key without a `kid`, or empty. `jwks`: the text of a JWKS document, or empty. Refused with
  /// `unfit`: a key without exactly one known algorithm, an RSA key under 2048 bits, a `kid` twice, a short secret, or
  /// no key at all. Messages name the setting.
  [[nodiscard]] static Result<std::shared_ptr<const KeySet>> make(std::string secret, std::string_view jwks);

  [[nodiscard]] const std::vector<TokenKey>& keys() const { return keys_; }
  /// The place of the key for a token; null when there is none. A token without `kid` fits the key without one, or the
  /// only key there is.
  [[nodiscard]] const TokenKey* find(bool has_kid, std::string_view kid) const;

 private:
  std::vector<TokenKey> keys_;
};

}  // namespace weir
