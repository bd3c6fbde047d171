#pragma once

#include "config/limits.h"
#include "identity/hs256.h"
#include "identity/openssl_handle.h"
#include "identity/verification_key.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir {

/// Checks signatures of one key by its one algorithm, with contexts that are made once.
///
/// Threads: one owner thread; the key may be shared. Blocking: never. Cost: HS256 0.4 µs, RS256 and ES256 tens of µs.
class SignatureCheck {
 public:
  static constexpr std::size_t kSignatureBytesMax = 1024;  // RSA of 8192 bits.

  /// `key` must outlive this.
  explicit SignatureCheck(const VerificationKey& key);

  /// True if `signature` is this key's signature of `text`, in the one form that RFC 7518 gives it.
  [[nodiscard]] bool is_valid(std::string_view text, std::string_view signature);
  [[nodiscard]] const VerificationKey& key() const { return *key_; }

 private:
  [[nodiscard]] bool is_valid_hs256(std::string_view text, std::string_view signature);
  [[nodiscard]] bool is_valid_es256(std::string_view text, std::string_view signature);
  [[nodiscard]] bool is_valid_for_public_key(std::string_view text, std::string_view signature);

  const VerificationKey* key_;
  std::optional<Hs256> hs256_;
  Digest sha256_;  // Null for EdDSA, which brings its own.
  DigestContext context_;
};
static_assert(SignatureCheck::kSignatureBytesMax * 8 >= kRsaBitsMax);

}  // namespace weir
