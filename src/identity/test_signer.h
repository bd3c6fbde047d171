#pragma once

#include "base/check.h"
#include "base/encoding.h"
#include "identity/openssl_handle.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

namespace weir::test {

/// Signs what our own issuer would never make: any header and payload, with any kind of key. For tests only.
inline std::string signed_text(std::string_view header, std::string_view payload) {
  return base64url_text(header) + '.' + base64url_text(payload);
}

inline std::string hmac_of(std::string_view key, std::string_view text) {
  std::string mac(32, '\0');
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text.data()), text.size(), bytes_of(mac.data()),
       &size);
  return mac;
}

inline std::string hs256_token(std::string_view key, std::string_view header, std::string_view payload) {
  const std::string text = signed_text(header, payload);
  return text + '.' + base64url_text(hmac_of(key, text));
}

inline std::string der_of(std::string_view raw) {
  const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair{ECDSA_SIG_new()};
  ECDSA_SIG_set0(pair.get(), BN_bin2bn(bytes_of(raw.data()), 32, nullptr),
                 BN_bin2bn(bytes_of(raw.data() + 32), 32, nullptr));
  std::string der(80, '\0');
  unsigned char* end = bytes_of(der.data());
  der.resize(static_cast<std::size_t>(i2d_ECDSA_SIG(pair.get(), &end)));
  return der;
}

/// A pair of keys made for one test.
class TestSigner {
 public:
  static TestSigner rsa(unsigned bits = 2048) { return TestSigner{EVP_RSA_gen(bits)}; }
  static TestSigner p256() { return TestSigner{EVP_EC_gen("P-256")}; }
  static TestSigner ed25519() { return TestSigner{EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")}; }

  /// As a JWS carries it: for ECDSA r and s, 32 bytes each.
  [[nodiscard]] std::string sign(std::string_view text) const {
    const DigestContext context{EVP_MD_CTX_new()};
    const EVP_MD* const digest = is("ED25519") ? nullptr : EVP_sha256();
    CHECK(EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key_.get()) == 1);
    std::string signature(1024, '\0');
    std::size_t size = signature.size();
    CHECK(EVP_DigestSign(context.get(), bytes_of(signature.data()), &size, bytes_of(text.data()), text.size()) == 1);
    signature.resize(size);
    return is("EC") ? raw_of(signature) : signature;
  }
  [[nodiscard]] std::string token(std::string_view header, std::string_view payload) const {
    const std::string text = signed_text(header, payload);
    return text + '.' + base64url_text(sign(text));
  }

  /// The public key as a member of a JWKS; `extra` is put in as it is, such as `,"alg":"RS256"`.
  [[nodiscard]] std::string jwk(std::string_view kid, std::string_view extra = "") const {
    const std::string name = kid.empty() ? "" : fmt::format(R"("kid":"{}",)", kid);
    if (is("RSA")) {
      return fmt::format(R"({{{}"kty":"RSA","n":"{}","e":"{}"{}}})", name, number(OSSL_PKEY_PARAM_RSA_N),
                         number(OSSL_PKEY_PARAM_RSA_E), extra);
    }
    if (is("EC")) {
      return fmt::format(R"({{{}"kty":"EC","crv":"P-256","x":"{}","y":"{}"{}}})", name,
                         number(OSSL_PKEY_PARAM_EC_PUB_X), number(OSSL_PKEY_PARAM_EC_PUB_Y), extra);
    }
    std::string raw(32, '\0');
    std::size_t size = raw.size();
    CHECK(EVP_PKEY_get_raw_public_key(key_.get(), bytes_of(raw.data()), &size) == 1);
    return fmt::format(R"({{{}"kty":"OKP","crv":"Ed25519","x":"{}"{}}})", name, base64url_text(raw), extra);
  }

  /// The public key in the encoding that PEM wraps.
  [[nodiscard]] std::string der() const {
    unsigned char* bytes = nullptr;
    const int size = i2d_PUBKEY(key_.get(), &bytes);
    std::string out{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
    OPENSSL_free(bytes);
    return out;
  }

 private:
  explicit TestSigner(EVP_PKEY* key) : key_(key) { CHECK(key_ != nullptr); }

  [[nodiscard]] bool is(const char* type) const { return EVP_PKEY_is_a(key_.get(), type) == 1; }

  static std::string raw_of(const std::string& der) {
    const unsigned char* at = bytes_of(der.data());
    const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair{
        d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()))};
    std::string raw(64, '\0');
    BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), bytes_of(raw.data()), 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), bytes_of(raw.data() + 32), 32);
    return raw;
  }

  [[nodiscard]] std::string number(const char* param) const {
    BIGNUM* value = nullptr;
    CHECK(EVP_PKEY_get_bn_param(key_.get(), param, &value) == 1);
    const bool is_coordinate = is("EC");
    std::string bytes(is_coordinate ? 32 : static_cast<std::size_t>(BN_num_bytes(value)), '\0');
    BN_bn2binpad(value, bytes_of(bytes.data()), static_cast<int>(bytes.size()));
    BN_free(value);
    return base64url_text(bytes);
  }

  PublicKey key_;  // Holds the private half too.
};

}  // namespace weir::test
