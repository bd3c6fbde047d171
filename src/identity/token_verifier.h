#pragma once

#include "base/time.h"
#include "config/limits.h"
#include "identity/key_set.h"
#include "identity/token.h"

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Why a token was refused. For metrics and tests; a client hears 401 for all of them.
enum class TokenRefusal : std::uint8_t {
  too_long, not_a_token, bad_header, unknown_key, wrong_algorithm, bad_signature, bad_claims, expired, not_yet, wrong_issuer,
  wrong_audience,
};

struct VerifierOptions {
  std::string issuer;    // Empty: not checked.
  std::string audience;  // Empty: not checked.
};

/// Checks tokens: signature first, then every claim. One algorithm a key; a header that asks for anything else, points
/// to keys elsewhere, or lists critical extensions is refused.
///
/// Threads: one owner thread each, since contexts are reused. Blocking: never.
class TokenVerifier {
 public:
  TokenVerifier(std::shared_ptr<const KeySet> keys, VerifierOptions options);
  TokenVerifier(TokenVerifier&&) noexcept = default;
  TokenVerifier& operator=(TokenVerifier&&) noexcept = default;
  ~TokenVerifier();

  [[nodiscard]] std::expected<Identity, TokenRefusal> verify(std::string_view token, Instant now);

 private:
  struct Contexts;
  [[nodiscard]] std::expected<const TokenKey*, TokenRefusal> read_header(std::string_view header);
  [[nodiscard]] bool is_signed(const TokenKey& key, std::string_view signed_part, std::string_view signature);
  [[nodiscard]] std::expected<Identity, TokenRefusal> read_claims(std::string_view payload, Instant now);

  std::shared_ptr<const KeySet> keys_;
  VerifierOptions options_;
  std::unique_ptr<Contexts> contexts_;
  std::unique_ptr<std::array<char, kTokenBytesMax>> room_;
};

}  // namespace weir
