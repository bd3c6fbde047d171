#include "base/check.h"
#include "base/encoding.h"
#include "identity/hs256.h"
#include "identity/jwks.h"
#include "identity/token_claims.h"
#include "identity/token_issuer.h"
#include "identity/token_verifier.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weir {
namespace {

constexpr Instant kNow{1'900'000'000'000'000};
constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

/// What every identity that gets out must keep, whatever came in.
void check_identity(const Identity& identity) {
  CHECK(is_subject_text(identity.subject.view()));
  CHECK(identity.expires_at > kNow);
  CHECK(identity.issued_at <= kNow + Micros{kTokenLeewayUs});
  CHECK(identity.tenant.is_none() || is_id_text(identity.tenant.view()));
}

class Target {
 public:
  Target() : verifier_(*KeySet::from(std::string{kSecret}, {}), {}), issuer_(kSecret, {}), signer_(kSecret) {
    good_ = issuer_.issue("ana", Role::support, "acme", kNow + Micros{60'000'000}, kNow);
    CHECK(verifier_.verify(good_, kNow).has_value());
  }

  void run(std::uint8_t mode, std::string_view input) {
    switch (mode % 5) {
      case 0: as_token(input); break;
      case 1: as_changes(input); break;
      case 2: as_payload(input); break;
      case 3: as_header(input); break;
      case 4: static_cast<void>(parse_jwks(std::string{input})); break;
      default: break;
    }
  }

 private:
  /// Nothing but the good token itself may be believed: nobody here knows the secret.
  void as_token(std::string_view token) { CHECK(!verifier_.verify(token, kNow) || token == good_); }

  /// Pairs of a place and a byte, written into the good token.
  void as_changes(std::string_view changes) {
    std::string token = good_;
    for (; changes.size() >= 2; changes.remove_prefix(2)) {
      token[static_cast<unsigned char>(changes[0]) % token.size()] = changes[1];
    }
    as_token(token);
  }

  /// Signed as it is: what stands behind the signature check.
  void as_payload(std::string_view payload) {
    std::string text = base64url_text(R"({"alg":"HS256"})") + '.' + base64url_text(payload);
    const std::array<char, Hs256::kBytes> mac = signer_.sign(text);
    text += '.' + base64url_text({mac.data(), mac.size()});
    const auto identity = verifier_.verify(text, kNow);
    if (identity) check_identity(*identity);
  }

  void as_header(std::string_view header) {
    std::string text{header};
    const auto read = parse_token_header(text);
    if (read) CHECK(read->alg.size() <= header.size());
  }

  TokenVerifier verifier_;
  TokenIssuer issuer_;
  Hs256 signer_;
  std::string good_;
};

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static weir::Target target;
  if (size == 0) return 0;
  target.run(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
