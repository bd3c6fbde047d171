#pragma once

#include <memory>

#include <openssl/evp.h>

namespace weir {

/// Frees an OpenSSL object with the function that belongs to its type.
template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using PublicKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using PublicKeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD, Freed<EVP_MD_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, Freed<EVP_MAC_CTX_free>>;

[[nodiscard]] inline const unsigned char* bytes_of(const char* text) {
  return reinterpret_cast<const unsigned char*>(text);
}
[[nodiscard]] inline unsigned char* bytes_of(char* text) { return reinterpret_cast<unsigned char*>(text); }

}  // namespace weir
