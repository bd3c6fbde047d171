#include "identity/token_issuer.h"

#include "base/encoding.h"
#include "base/json_text.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

namespace weir {

TokenIssuer::TokenIssuer(std::string_view secret, const VerifierOptions& options) : hs256_(secret) {
  const auto add = [this](std::string_view member, std::string_view value) {
    if (value.empty()) return;
    common_ += fmt::format(",\"{}\":", member);
    append_json_string(common_, value);
  };
  add("iss", options.issuer);
  add("aud", options.audience);
}

std::string TokenIssuer::issue(std::string_view subject, Role role, std::string_view tenant, Instant expires_at,
                               Instant issued_at) {
  constexpr std::int64_t kUsPerSecond = 1'000'000;
  payload_ = R"({"sub":)";
  append_json_string(payload_, subject);
  fmt::format_to(std::back_inserter(payload_), R"(,"exp":{},"iat":{})", expires_at.us / kUsPerSecond,
                 issued_at.us / kUsPerSecond);
  if (role != Role::buyer) fmt::format_to(std::back_inserter(payload_), R"(,"role":"{}")", name(role));
  if (!tenant.empty()) {
    payload_ += R"(,"tenant":)";
    append_json_string(payload_, tenant);
  }
  payload_ += common_;
  payload_ += '}';

  std::string token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.";  // {"alg":"HS256","typ":"JWT"}
  token += base64url_text(payload_);
  const std::array<char, Hs256::kBytes> mac = hs256_.sign(token);
  const std::string signature = base64url_text({mac.data(), mac.size()});
  // The dot stands between what is signed and the signature; it is not signed itself.
  token += '.';
  token += signature;
  return token;
}

}  // namespace weir
