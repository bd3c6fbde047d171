#include "identity/token_verifier.h"

#include "base/check.h"
#include "base/encoding.h"
#include "identity/json_cursor.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>

namespace weir {
namespace {

constexpr Micros kLeeway{60'000'000};  // For clocks that differ; `exp` has none.
constexpr std::int64_t kSecondsMax = 253'402'300'799;  // The end of the year 9999.

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

/// Header members that would let a token bring, or point to, its own rules.
bool is_forbidden(std::string_view member) {
  return member == "crit" || member == "jku" || member == "x5u" || member == "jwk" || member == "x5c" || member == "b64";
}

/// The DER form of a raw r || s signature; 0 when r or s is zero.
std::size_t to_der(std::string_view signature, std::array<unsigned char, 80>& out) {
  const auto is_zero = [](std::string_view half) { return std::ranges::all_of(half, [](char c) { return c == 0; }); };
  if (signature.size() != 64 || is_zero(signature.substr(0, 32)) || is_zero(signature.substr(32))) return 0;
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair{ECDSA_SIG_new(), &ECDSA_SIG_free};
  BIGNUM* r = BN_bin2bn(raw(signature), 32, nullptr);
  BIGNUM* s = BN_bin2bn(raw(signature) + 32, 32, nullptr);
  if (ECDSA_SIG_set0(pair.get(), r, s) != 1) return 0;
  unsigned char* end = out.data();
  const int size = i2d_ECDSA_SIG(pair.get(), &end);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

}  // namespace

/// A keyed HMAC context for each HS256 key, and one context for the rest: made once, reset for each token.
struct TokenVerifier::Contexts {
  explicit Contexts(const KeySet& keys) : digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    mac = {EVP_MAC_fetch(nullptr, "HMAC", nullptr), &EVP_MAC_free};
    CHECK(mac != nullptr && digest != nullptr);
    for (const TokenKey& key : keys.keys()) {
      keyed.emplace_back(nullptr, &EVP_MAC_CTX_free);
      if (key.algorithm != TokenAlgorithm::hs256) continue;
      keyed.back().reset(EVP_MAC_CTX_new(mac.get()));
      char sha256[] = "SHA256";
      const std::array params{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, sha256, 0), OSSL_PARAM_construct_end()};
      CHECK(EVP_MAC_init(keyed.back().get(), raw(key.secret), key.secret.size(), params.data()) == 1);
    }
  }
  std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac{nullptr, &EVP_MAC_free};
  std::vector<std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>> keyed;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest;
};

TokenVerifier::TokenVerifier(std::shared_ptr<const KeySet> keys, VerifierOptions options)
    : keys_(std::move(keys)),
      options_(std::move(options)),
      contexts_(std::make_unique<Contexts>(*keys_)),
      room_(std::make_unique<std::array<char, kTokenBytesMax>>()) {}

TokenVerifier::~TokenVerifier() = default;

std::expected<Identity, TokenRefusal> TokenVerifier::verify(std::string_view token, Instant now) {
  if (token.size() > kTokenBytesMax) return std::unexpected(TokenRefusal::too_long);
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return std::unexpected(TokenRefusal::not_a_token);
  }
  const auto key = read_header(token.substr(0, first));
  if (!key) return std::unexpected(key.error());
  if (!is_signed(**key, token.substr(0, second), token.substr(second + 1))) return std::unexpected(TokenRefusal::bad_signature);
  return read_claims(token.substr(first + 1, second - first - 1), now);
}

std::expected<const TokenKey*, TokenRefusal> TokenVerifier::read_header(std::string_view header) {
  const auto size = decode_base64url(header, *room_);
  if (!size || *size == 0) return std::unexpected(TokenRefusal::bad_header);
  JsonCursor json{std::span{*room_}.first(*size)};
  std::string_view algorithm;
  std::string_view kid;
  bool has_kid = false;
  bool is_bad = !json.enter_object();
  while (!is_bad) {
    const auto member = json.next_member();
    if (!member) break;
    if (*member == "alg" || *member == "kid") {
      const bool is_kid = *member == "kid";
      const auto value = json.text();
      if (!value) return std::unexpected(TokenRefusal::bad_header);
      (is_kid ? kid : algorithm) = *value;
      has_kid = has_kid || is_kid;
    } else {
      is_bad = is_forbidden(*member);
      json.skip();
    }
  }
  if (is_bad || !json.is_complete()) return std::unexpected(TokenRefusal::bad_header);
  const TokenKey* key = keys_->find(has_kid, kid);
  if (key == nullptr) return std::unexpected(TokenRefusal::unknown_key);
  if (algorithm != name(key->algorithm)) return std::unexpected(TokenRefusal::wrong_algorithm);
  return key;
}

bool TokenVerifier::is_signed(const TokenKey& key, std::string_view signed_part, std::string_view signature_text) {
  std::array<char, 1024> room;
  const auto size = decode_base64url(signature_text, room);
  if (!size || *size == 0) return false;
  const std::string_view signature{room.data(), *size};
  if (key.algorithm == TokenAlgorithm::hs256) {
    EVP_MAC_CTX* context = contexts_->keyed[static_cast<std::size_t>(&key - keys_->keys().data())].get();
    std::array<unsigned char, 32> own{};
    std::size_t own_size = 0;
    // Without a key `init` starts again with the key it has.
    const bool is_made = EVP_MAC_init(context, nullptr, 0, nullptr) == 1 &&
                         EVP_MAC_update(context, raw(signed_part), signed_part.size()) == 1 &&
                         EVP_MAC_final(context, own.data(), &own_size, own.size()) == 1;
    return is_made && signature.size() == own.size() && CRYPTO_memcmp(own.data(), signature.data(), own.size()) == 0;
  }
  std::array<unsigned char, 80> der{};
  std::string_view checked = signature;
  if (key.algorithm == TokenAlgorithm::es256) {
    const std::size_t der_size = to_der(signature, der);
    if (der_size == 0) return false;
    checked = {reinterpret_cast<const char*>(der.data()), der_size};
  }
  EVP_MD_CTX* context = contexts_->digest.get();
  EVP_MD_CTX_reset(context);
  const EVP_MD* digest = key.algorithm == TokenAlgorithm::eddsa ? nullptr : EVP_sha256();
  return EVP_DigestVerifyInit(context, nullptr, digest, nullptr, key.public_key.get()) == 1 &&
         EVP_DigestVerify(context, raw(checked), checked.size(), raw(signed_part), signed_part.size()) == 1;
}

std::expected<Identity, TokenRefusal> TokenVerifier::read_claims(std::string_view payload, Instant now) {
  const auto size = decode_base64url(payload, *room_);
  if (!size || *size == 0) return std::unexpected(TokenRefusal::bad_claims);
  JsonCursor json{std::span{*room_}.first(*size)};
  Identity identity;
  bool has_subject = false;
  bool has_expiry = false;
  bool is_ours = options_.audience.empty();
  bool is_issued = options_.issuer.empty();
  Instant not_before;
  bool is_bad = !json.enter_object();
  const auto moment = [&](Instant& out) {
    const auto seconds = json.whole_number();
    is_bad = is_bad || !seconds || *seconds > kSecondsMax;
    if (!is_bad) out = {*seconds * 1'000'000};
  };
  while (!is_bad) {
    const auto member = json.next_member();
    if (!member) break;
    if (*member == "sub") {
      const auto text = json.text();
      const auto subject = text && is_subject_text(*text) ? BuyerName::from(*text) : std::nullopt;
      is_bad = !subject;
      if (subject) identity.subject = *subject;
      has_subject = true;
    } else if (*member == "exp") {
      moment(identity.expires_at);
      has_expiry = true;
    } else if (*member == "nbf") {
      moment(not_before);
    } else if (*member == "iat") {
      moment(identity.issued_at);
    } else if (*member == "iss") {
      const auto text = json.text();
      is_bad = !text;
      is_issued = is_issued || (text && *text == options_.issuer);
    } else if (*member == "aud") {
      if (json.enter_array()) {
        while (json.next_element()) {
          const auto text = json.text();
          if (!text) json.skip();
          is_ours = is_ours || (text && *text == options_.audience);
        }
      } else {
        const auto text = json.text();
        is_bad = !text;
        is_ours = is_ours || (text && *text == options_.audience);
      }
    } else if (*member == "role") {
      const auto text = json.text();
      const auto role = text ? parse_role(*text) : std::nullopt;
      is_bad = !role;
      if (role) identity.role = *role;
    } else if (*member == "tenant") {
      const auto text = json.text();
      const auto tenant = text ? TenantText::from(*text) : std::nullopt;
      is_bad = !tenant;
      if (tenant) identity.tenant = *tenant;
    } else {
      json.skip();
    }
  }
  if (is_bad || !json.is_complete() || !has_subject || !has_expiry) return std::unexpected(TokenRefusal::bad_claims);
  if (now >= identity.expires_at) return std::unexpected(TokenRefusal::expired);
  if (not_before > now + kLeeway || identity.issued_at > now + kLeeway) return std::unexpected(TokenRefusal::not_yet);
  if (!is_issued) return std::unexpected(TokenRefusal::wrong_issuer);
  if (!is_ours) return std::unexpected(TokenRefusal::wrong_audience);
  return identity;
}

}  // namespace weir
