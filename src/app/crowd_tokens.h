#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "config/settings.h"
#include "crowd/tokens.h"

#include <cstdint>
#include <memory>
#include <string>

namespace weir {

/// Tokens for a crowd of buyers who never bought here before, signed with the configured key and good for an hour.
/// Blocking: about a microsecond each. Fails like `open_issuer`.
[[nodiscard]] Result<std::unique_ptr<crowd::TokenSource>> issue_crowd_tokens(const Settings& settings,
                                                                             std::uint32_t buyers, const Clock& clock,
                                                                             Random& random);

/// A token with the role `admin`, good for an hour.
[[nodiscard]] Result<std::string> issue_admin_token(const Settings& settings, const Clock& clock, Random& random);

}  // namespace weir
