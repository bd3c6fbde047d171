#include "identity/token_issuer.h"

#include "base/check.h"
#include "base/encoding.h"
#include "base/json_text.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>

namespace weir {

struct TokenIssuer::Context {
  std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac{nullptr, &EVP_MAC_free};
  std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> keyed{nullptr, &EVP_MAC_CTX_free};
};

TokenIssuer::TokenIssuer(std::string_view secret, std::string issuer, std::string audience) : context_(std::make_unique<Context>()) {
  context_->mac.reset(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  CHECK(context_->mac != nullptr);
  context_->keyed.reset(EVP_MAC_CTX_new(context_->mac.get()));
  char sha256[] = "SHA256";
  const std::array params{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, sha256, 0), OSSL_PARAM_construct_end()};
  CHECK(EVP_MAC_init(context_->keyed.get(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), params.data()) == 1);
  const auto add = [&](std::string_view member, std::string_view text) {
    if (text.empty()) return;
    common_ += fmt::format(",\"{}\":", member);
    append_json_string(common_, text);
  };
  add("iss", issuer);
  add("aud", audience);
}

TokenIssuer::~TokenIssuer() = default;

std::string TokenIssuer::issue(std::string_view subject, Role role, std::string_view tenant, Instant expires_at, Instant issued_at) {
  static const std::string header = base64url_text(R"({"alg":"HS256","typ":"JWT"})");
  std::string claims = "{\"sub\":";
  append_json_string(claims, subject);
  claims += fmt::format(",\"exp\":{},\"iat\":{}", expires_at.us / 1'000'000, issued_at.us / 1'000'000);
  if (role != Role::buyer) claims += fmt::format(",\"role\":\"{}\"", name(role));
  if (!tenant.empty()) {
    claims += ",\"tenant\":";
    append_json_string(claims, tenant);
  }
  claims += common_ + "}";
  std::string token = header + "." + base64url_text(claims);
  std::array<unsigned char, 32> signature{};
  std::size_t size = 0;
  EVP_MAC_CTX* context = context_->keyed.get();
  CHECK(EVP_MAC_init(context, nullptr, 0, nullptr) == 1);
  CHECK(EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(token.data()), token.size()) == 1);
  CHECK(EVP_MAC_final(context, signature.data(), &size, signature.size()) == 1);
  token += '.';
  token += base64url_text({reinterpret_cast<const char*>(signature.data()), size});
  return token;
}

}  // namespace weir
