#pragma once

#include "base/time.h"
#include "identity/hs256.h"
#include "identity/token.h"

#include <string>
#include <string_view>

namespace weir {

/// Makes tokens signed with HS256, as our own verifier accepts them.
///
/// Threads: one at a time. Blocking: never. Cost: about 1 µs.
class TokenIssuer {
 public:
  /// `secret` is the content of `auth.hs256_secret_file`; what `options` names is written into every token.
  TokenIssuer(std::string_view secret, const VerifierOptions& options);

  /// Requires `is_subject_text(subject)` and `tenant` to be empty or `is_id_text`: a token for anything else would be
  /// refused by the verifier. Times are rounded down to the second. The same arguments make the same token.
  [[nodiscard]] std::string issue(std::string_view subject, Role role, std::string_view tenant, Instant expires_at,
                                  Instant issued_at);

 private:
  Hs256 hs256_;
  std::string common_;  // The members that are the same in every token, with a comma before each.
  std::string payload_;
};

}  // namespace weir
