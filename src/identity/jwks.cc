#include "identity/jwks.h"

#include "base/encoding.h"
#include "config/limits.h"
#include "identity/json_cursor.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>

namespace weir {
namespace {

using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;

constexpr std::size_t kCoordinateBytes = 32;  // Of P-256 and Ed25519.

/// The members of one key that matter here, as text. Views into the text of the set.
struct Jwk {
  std::string_view kty, alg, crv, use, kid, n, e, x, y, k;
  bool has_kid = false;
  bool has_operations = false;
  bool may_verify = false;
};

constexpr std::array<std::pair<std::string_view, std::string_view Jwk::*>, 10> kTextMembers{{
    {"kty", &Jwk::kty},
    {"alg", &Jwk::alg},
    {"crv", &Jwk::crv},
    {"use", &Jwk::use},
    {"kid", &Jwk::kid},
    {"n", &Jwk::n},
    {"e", &Jwk::e},
    {"x", &Jwk::x},
    {"y", &Jwk::y},
    {"k", &Jwk::k},
}};

/// Reads the value of `key_ops`. False if it is no list of texts.
bool read_operations(JsonCursor& cursor, Jwk& jwk) {
  jwk.has_operations = true;
  if (!cursor.enter_array()) return false;
  while (cursor.next_element()) {
    const std::optional<std::string_view> operation = cursor.text();
    if (!operation) return false;
    jwk.may_verify = jwk.may_verify || *operation == "verify";
  }
  return true;
}

bool read_member(JsonCursor& cursor, std::string_view member, Jwk& jwk) {
  if (member == "key_ops") return read_operations(cursor, jwk);
  const auto* const known = std::ranges::find(kTextMembers, member, [](const auto& entry) { return entry.first; });
  if (known == kTextMembers.end()) {
    cursor.skip();
    return true;
  }
  const std::optional<std::string_view> text = cursor.text();
  if (text) jwk.*known->second = *text;
  jwk.has_kid = jwk.has_kid || member == "kid";
  return text.has_value();
}

Parsed<Jwk> read_jwk(JsonCursor& cursor) {
  if (!cursor.enter_object()) return std::unexpected("a key is no object");
  Jwk jwk;
  while (const std::optional<std::string_view> member = cursor.next_member()) {
    if (!read_member(cursor, *member, jwk)) return std::unexpected(fmt::format("'{}' is of the wrong type", *member));
  }
  return jwk;
}

std::optional<std::string> bytes_of_member(std::string_view text) {
  std::string bytes(text.size() * 3 / 4, '\0');
  const std::optional<std::size_t> size = decode_base64url(text, std::span{bytes});
  if (!size || *size == 0) return std::nullopt;
  bytes.resize(*size);
  return bytes;
}

Number number_of(const std::string& bytes) {
  return Number{BN_bin2bn(bytes_of(bytes.data()), static_cast<int>(bytes.size()), nullptr)};
}

PublicKey key_from(const char* type, const ParamBuilder& builder) {
  const Params params{OSSL_PARAM_BLD_to_param(builder.get())};
  const PublicKeyContext context{EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr)};
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  PublicKey owned{key};
  const PublicKeyContext check{EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr)};
  return check && EVP_PKEY_public_check(check.get()) == 1 ? std::move(owned) : nullptr;
}

Parsed<PublicKey> rsa_key(const Jwk& jwk) {
  const std::optional<std::string> n = bytes_of_member(jwk.n);
  const std::optional<std::string> e = bytes_of_member(jwk.e);
  if (!n || !e || e->size() > 8) return std::unexpected("'n' or 'e' is missing or malformed");
  const Number modulus = number_of(*n);
  const Number exponent = number_of(*e);
  const int bits = modulus ? BN_num_bits(modulus.get()) : 0;
  if (bits < kRsaBitsMin || bits > kRsaBitsMax) {
    return std::unexpected(fmt::format("an RSA key has {} to {} bits, not {}", kRsaBitsMin, kRsaBitsMax, bits));
  }
  // An exponent of 1 would make every text its own signature.
  if (!exponent || !BN_is_odd(exponent.get()) || BN_is_one(exponent.get())) {
    return std::unexpected("'e' must be odd and above 1");
  }
  const ParamBuilder builder{OSSL_PARAM_BLD_new()};
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  PublicKey key = key_from("RSA", builder);
  if (!key) return std::unexpected("it is no RSA key");
  return key;
}

Parsed<PublicKey> ec_key(const Jwk& jwk) {
  if (jwk.crv != "P-256") return std::unexpected(fmt::format("curve '{}' is not P-256", jwk.crv));
  const std::optional<std::string> x = bytes_of_member(jwk.x);
  const std::optional<std::string> y = bytes_of_member(jwk.y);
  if (!x || !y || x->size() != kCoordinateBytes || y->size() != kCoordinateBytes) {
    return std::unexpected("'x' and 'y' must be 32 bytes each");
  }
  const std::string point = '\x04' + *x + *y;
  const ParamBuilder builder{OSSL_PARAM_BLD_new()};
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  PublicKey key = key_from("EC", builder);
  if (!key) return std::unexpected("its point is not on the curve");
  return key;
}

Parsed<PublicKey> ed25519_key(const Jwk& jwk) {
  if (jwk.crv != "Ed25519") return std::unexpected(fmt::format("curve '{}' is not Ed25519", jwk.crv));
  const std::optional<std::string> x = bytes_of_member(jwk.x);
  if (!x || x->size() != kCoordinateBytes) return std::unexpected("'x' must be 32 bytes");
  PublicKey key{EVP_PKEY_new_raw_public_key_ex(nullptr, "ED25519", nullptr, bytes_of(x->data()), x->size())};
  if (!key) return std::unexpected("it is no Ed25519 key");
  return key;
}

Parsed<std::string> secret_of(const Jwk& jwk) {
  std::optional<std::string> secret = bytes_of_member(jwk.k);
  if (!secret || secret->size() < kSecretBytesMin || secret->size() > kSecretBytesMax) {
    return std::unexpected(fmt::format("'k' must be {} to {} bytes", kSecretBytesMin, kSecretBytesMax));
  }
  return *std::move(secret);
}

std::optional<Algorithm> algorithm_of(std::string_view kty) {
  if (kty == "oct") return Algorithm::hs256;
  if (kty == "RSA") return Algorithm::rs256;
  if (kty == "EC") return Algorithm::es256;
  if (kty == "OKP") return Algorithm::eddsa;
  return std::nullopt;
}

Parsed<PublicKey> public_key_of(const Jwk& jwk, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::hs256: return PublicKey{};
    case Algorithm::rs256: return rsa_key(jwk);
    case Algorithm::es256: return ec_key(jwk);
    case Algorithm::eddsa: return ed25519_key(jwk);
  }
  return PublicKey{};
}

Parsed<VerificationKey> make_key(const Jwk& jwk) {
  const std::optional<Algorithm> algorithm = algorithm_of(jwk.kty);
  if (!algorithm) return std::unexpected(fmt::format("kty '{}' is none of oct, RSA, EC, OKP", jwk.kty));
  if (!jwk.alg.empty() && jwk.alg != name(*algorithm)) {
    return std::unexpected(fmt::format("kty '{}' is for {}, but alg is '{}'", jwk.kty, name(*algorithm), jwk.alg));
  }
  if (jwk.has_kid && (jwk.kid.empty() || jwk.kid.size() > kKeyIdBytesMax)) {
    return std::unexpected(fmt::format("'kid' must be 1 to {} bytes", kKeyIdBytesMax));
  }
  VerificationKey key;
  key.kid = jwk.kid;
  key.algorithm = *algorithm;
  if (*algorithm == Algorithm::hs256) {
    Parsed<std::string> secret = secret_of(jwk);
    if (!secret) return std::unexpected(std::move(secret.error()));
    key.secret = *std::move(secret);
  }
  Parsed<PublicKey> public_key = public_key_of(jwk, *algorithm);
  ERR_clear_error();  // What OpenSSL noted is in our own words already.
  if (!public_key) return std::unexpected(std::move(public_key.error()));
  key.public_key = *std::move(public_key);
  return key;
}

bool is_for_signatures(const Jwk& jwk) {
  return (jwk.use.empty() || jwk.use == "sig") && (!jwk.has_operations || jwk.may_verify);
}

/// Reads the array `keys`. Each key's trouble is told with its place and name.
Parsed<std::vector<VerificationKey>> read_keys(JsonCursor& cursor) {
  std::vector<VerificationKey> keys;
  if (!cursor.enter_array()) return std::unexpected("'keys' is no array");
  for (int place = 1; cursor.next_element(); ++place) {
    const auto told = [&](std::string_view kid, std::string_view what) {
      return std::unexpected(fmt::format("key {} '{}': {}", place, kid, what));
    };
    const Parsed<Jwk> jwk = read_jwk(cursor);
    if (!jwk) return told("", jwk.error());
    if (cursor.trouble() != JsonCursor::Trouble::none) break;
    if (!is_for_signatures(*jwk)) continue;
    Parsed<VerificationKey> key = make_key(*jwk);
    if (!key) return told(jwk->kid, key.error());
    if (keys.size() == kKeysMax) return told(jwk->kid, fmt::format("more than {} keys", kKeysMax));
    keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace

Parsed<std::vector<VerificationKey>> parse_jwks(std::string text) {
  JsonCursor cursor{std::span{text}};
  std::vector<VerificationKey> keys;
  if (!cursor.enter_object()) return std::unexpected("it is no JSON object with a member 'keys'");
  while (const std::optional<std::string_view> member = cursor.next_member()) {
    if (*member != "keys") {
      cursor.skip();
      continue;
    }
    Parsed<std::vector<VerificationKey>> read = read_keys(cursor);
    if (!read) return read;
    keys = *std::move(read);
  }
  if (!cursor.is_complete()) {
    const bool is_repeated = cursor.trouble() == JsonCursor::Trouble::repeated_member;
    return std::unexpected(is_repeated ? "a member occurs twice" : "it is not well-formed JSON");
  }
  if (keys.empty()) return std::unexpected("it holds no key for signatures");
  return keys;
}

}  // namespace weir
