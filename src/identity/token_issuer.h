#pragma once

#include "base/time.h"
#include "identity/token.h"

#include <memory>
#include <string>
#include <string_view>

namespace weir {

/// Signs HS256 tokens that our own verifier accepts: for tests, staff and rehearsals.
///
/// Threads: one owner thread, since its context is reused. Blocking: never.
class TokenIssuer {
 public:
  /// `issuer`, `audience`: empty ones are left out.
  TokenIssuer(std::string_view secret, std::string issuer, std::string audience);
  ~TokenIssuer();

  /// Requires `is_subject_text(subject)`; an empty tenant is left out.
  [[nodiscard]] std::string issue(std::string_view subject, Role role, std::string_view tenant, Instant expires_at,
                                  Instant issued_at);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::string common_;  // Members that every token has.
};

}  // namespace weir
