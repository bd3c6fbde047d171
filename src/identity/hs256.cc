#include "identity/hs256.h"

#include "base/check.h"

#include <string>

#include <openssl/core_names.h>
#include <openssl/params.h>

namespace weir {

Hs256::Hs256(std::string_view secret) {
  const std::unique_ptr<EVP_MAC, Freed<EVP_MAC_free>> hmac{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  CHECK(hmac != nullptr);
  context_.reset(EVP_MAC_CTX_new(hmac.get()));
  std::string digest = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                               OSSL_PARAM_construct_end()};
  CHECK(context_ && EVP_MAC_init(context_.get(), bytes_of(secret.data()), secret.size(), params) == 1);
}

std::array<char, Hs256::kBytes> Hs256::sign(std::string_view text) {
  std::array<char, kBytes> mac{};
  std::size_t size = 0;
  // No key given: the context goes back to the state right after its key.
  const bool is_signed = EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1 &&
                         EVP_MAC_update(context_.get(), bytes_of(text.data()), text.size()) == 1 &&
                         EVP_MAC_final(context_.get(), bytes_of(mac.data()), &size, mac.size()) == 1;
  CHECK(is_signed && size == kBytes, "size={}", size);
  return mac;
}

}  // namespace weir
