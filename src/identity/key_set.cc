#include "identity/key_set.h"

#include "base/encoding.h"
#include "config/limits.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <array>

namespace weir {
namespace {

namespace json = boost::json;

constexpr int kRsaBitsLeast = 2048;
constexpr std::size_t kJwksKeysMax = 64;

std::unexpected<Error> unfit(std::string_view why) {
  return fail(Failure::unfit, fmt::format("a key in the JWKS document {} (auth.jwks_file)", why));
}

std::string text_of(const json::object& key, std::string_view member) {
  const json::value* value = key.if_contains(member);
  return value != nullptr && value->is_string() ? std::string{value->as_string()} : std::string{};
}

std::string bytes_of(const json::object& key, std::string_view member) {
  const std::string text = text_of(key, member);
  std::string bytes(text.size(), '\0');
  const auto size = decode_base64url(text, bytes);
  bytes.resize(size.value_or(0));
  return bytes;
}

const unsigned char* raw(const std::string& bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

std::shared_ptr<EVP_PKEY> from_params(const char* type, OSSL_PARAM_BLD* builder) {
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> params{OSSL_PARAM_BLD_to_param(builder), &OSSL_PARAM_free};
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context{EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), &EVP_PKEY_CTX_free};
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  return {key, &EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> rsa_key(const json::object& key) {
  const std::string n = bytes_of(key, "n");
  const std::string e = bytes_of(key, "e");
  if (n.empty() || e.empty()) return nullptr;
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> modulus{BN_bin2bn(raw(n), static_cast<int>(n.size()), nullptr), &BN_free};
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> exponent{BN_bin2bn(raw(e), static_cast<int>(e.size()), nullptr), &BN_free};
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder{OSSL_PARAM_BLD_new(), &OSSL_PARAM_BLD_free};
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return from_params("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> ec_key(const json::object& key) {
  const std::string x = bytes_of(key, "x");
  const std::string y = bytes_of(key, "y");
  if (text_of(key, "crv") != "P-256" || x.size() != 32 || y.size() != 32) return nullptr;
  const std::string point = '\x04' + x + y;
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder{OSSL_PARAM_BLD_new(), &OSSL_PARAM_BLD_free};
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  return from_params("EC", builder.get());
}

std::shared_ptr<EVP_PKEY> ed_key(const json::object& key) {
  const std::string x = bytes_of(key, "x");
  if (text_of(key, "crv") != "Ed25519" || x.size() != 32) return nullptr;
  EVP_PKEY* made = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(x), x.size());
  return {made, &EVP_PKEY_free};
}

Result<TokenKey> read_key(const json::object& key) {
  const std::string kty = text_of(key, "kty");
  const std::string alg = text_of(key, "alg");
  TokenKey made;
  made.kid = text_of(key, "kid");
  if (kty == "oct") {
    made.algorithm = TokenAlgorithm::hs256;
    made.secret = bytes_of(key, "k");
    if (made.secret.size() < kSecretBytesMin) return unfit("is a secret of under 32 bytes");
  } else if (kty == "RSA") {
    made.algorithm = TokenAlgorithm::rs256;
    made.public_key = rsa_key(key);
    if (made.public_key && EVP_PKEY_get_bits(made.public_key.get()) < kRsaBitsLeast) return unfit("is an RSA key of under 2048 bits");
  } else if (kty == "EC") {
    made.algorithm = TokenAlgorithm::es256;
    made.public_key = ec_key(key);
  } else if (kty == "OKP") {
    made.algorithm = TokenAlgorithm::eddsa;
    made.public_key = ed_key(key);
  } else {
    return unfit(fmt::format("has the kty '{}', which is not oct, RSA, EC or OKP", kty));
  }
  if (made.algorithm != TokenAlgorithm::hs256 && !made.public_key) return unfit(fmt::format("of kty {} cannot be read", kty));
  if (!alg.empty() && alg != name(made.algorithm)) return unfit(fmt::format("of kty {} has the alg '{}'; it can only be {}", kty, alg, name(made.algorithm)));
  return made;
}

}  // namespace

Result<std::shared_ptr<const KeySet>> KeySet::make(std::string secret, std::string_view jwks) {
  auto made = std::make_shared<KeySet>();
  if (!secret.empty()) {
    if (secret.size() < kSecretBytesMin) return fail(Failure::unfit, "the token secret has under 32 bytes (auth.hs256_secret_file)");
    made->keys_.push_back({.kid = {}, .algorithm = TokenAlgorithm::hs256, .secret = std::move(secret), .public_key = nullptr});
  }
  if (!jwks.empty()) {
    boost::system::error_code error;
    const json::value document = json::parse(jwks, error);
    const json::value* keys = !error && document.is_object() ? document.as_object().if_contains("keys") : nullptr;
    if (keys == nullptr || !keys->is_array() || keys->as_array().size() > kJwksKeysMax) {
      return fail(Failure::unfit, "the JWKS document is not {\"keys\": […]} with at most 64 keys (auth.jwks_file)");
    }
    for (const json::value& value : keys->as_array()) {
      if (!value.is_object()) return unfit("is not an object");
      auto key = read_key(value.as_object());
      if (!key) return std::unexpected(key.error());
      const bool is_twice = std::ranges::any_of(made->keys_, [&](const TokenKey& other) { return other.kid == key->kid; });
      if (is_twice) return unfit(fmt::format("has the kid '{}', which stands there twice", key->kid));
      made->keys_.push_back(std::move(*key));
    }
  }
  if (made->keys_.empty()) return fail(Failure::unfit, "there is no key to check tokens with (auth.hs256_secret_file, auth.jwks_file)");
  return std::shared_ptr<const KeySet>{std::move(made)};
}

const TokenKey* KeySet::find(bool has_kid, std::string_view kid) const {
  if (!has_kid && keys_.size() == 1) return &keys_.front();
  const auto found = std::ranges::find_if(keys_, [&](const TokenKey& key) { return key.kid == kid && has_kid != key.kid.empty(); });
  return found == keys_.end() ? nullptr : &*found;
}

}  // namespace weir
