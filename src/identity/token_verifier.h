#pragma once

#include "base/time.h"
#include "config/limits.h"
#include "identity/key_set.h"
#include "identity/signature.h"
#include "identity/token.h"
#include "identity/token_refusal.h"

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace weir {

/// Turns a token's text into an identity, or says why not. Strict: one algorithm per key, and nothing in the token
/// chooses algorithm, key location or format (RFC 8725). The signature is checked before the payload is looked at.
///
/// Threads: one owner thread; make one for each reactor. Blocking: never. Allocates nothing of its own for HS256.
class TokenVerifier {
 public:
  TokenVerifier(std::shared_ptr<const KeySet> keys, VerifierOptions options);

  /// Repeatable. `exp` counts to the second, `nbf` and `iat` with kTokenLeewayUs.
  [[nodiscard]] std::expected<Identity, TokenRefusal> verify(std::string_view token, Instant now);

 private:
  struct Parts {
    std::string_view header, payload, signature;
    std::string_view signed_text;  // Header, dot and payload.
  };

  [[nodiscard]] static std::optional<Parts> split(std::string_view token);
  /// The place of the key that the header leads to, if everything in it is as it must be.
  [[nodiscard]] std::expected<std::size_t, TokenRefusal> read_header(std::string_view header);
  [[nodiscard]] std::optional<TokenRefusal> check_signature(const Parts& parts, std::size_t key);
  [[nodiscard]] std::expected<Identity, TokenRefusal> read_payload(std::string_view payload, Instant now);

  std::shared_ptr<const KeySet> keys_;
  VerifierOptions options_;
  std::vector<SignatureCheck> checks_;          // One for each of `keys_`, in the same order.
  std::array<char, kTokenBytesMax> decoded_{};  // Header or payload, one after the other.
};

}  // namespace weir
