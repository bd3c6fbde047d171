#include "identity/signature.h"

#include "base/check.h"

#include <array>
#include <cstring>

#include <openssl/crypto.h>
#include <openssl/err.h>

namespace weir {
namespace {

constexpr std::size_t kScalarBytes = 32;
/// SEQUENCE of two INTEGERs, each with two bytes of head and perhaps a zero byte that keeps it positive.
constexpr std::size_t kDerBytesMax = 2 + 2 * (2 + 1 + kScalarBytes);

/// Appends a scalar as DER's shortest positive INTEGER; `scalar` is not zero.
std::size_t append_integer(std::string_view scalar, char* out) {
  while (scalar.front() == '\0') scalar.remove_prefix(1);
  const bool has_high_bit = (static_cast<unsigned char>(scalar.front()) & 0x80) != 0;
  const std::size_t size = scalar.size() + (has_high_bit ? 1 : 0);
  std::size_t at = 0;
  out[at++] = 0x02;
  out[at++] = static_cast<char>(size);
  if (has_high_bit) out[at++] = 0;
  std::memcpy(out + at, scalar.data(), scalar.size());
  return at + scalar.size();
}

bool is_zero(std::string_view scalar) { return scalar.find_first_not_of('\0') == std::string_view::npos; }

}  // namespace

SignatureCheck::SignatureCheck(const VerificationKey& key) : key_(&key) {
  if (key.algorithm == Algorithm::hs256) {
    hs256_.emplace(key.secret);
    return;
  }
  context_.reset(EVP_MD_CTX_new());
  if (key.algorithm != Algorithm::eddsa) sha256_.reset(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  CHECK(context_ && key.public_key && (sha256_ || key.algorithm == Algorithm::eddsa));
}

bool SignatureCheck::is_valid(std::string_view text, std::string_view signature) {
  switch (key_->algorithm) {
    case Algorithm::hs256: return is_valid_hs256(text, signature);
    case Algorithm::es256: return is_valid_es256(text, signature);
    case Algorithm::rs256:
    case Algorithm::eddsa: return is_valid_for_public_key(text, signature);
  }
  return false;
}

bool SignatureCheck::is_valid_hs256(std::string_view text, std::string_view signature) {
  if (signature.size() != Hs256::kBytes) return false;
  const std::array<char, Hs256::kBytes> expected = hs256_->sign(text);
  return CRYPTO_memcmp(expected.data(), signature.data(), expected.size()) == 0;
}

bool SignatureCheck::is_valid_es256(std::string_view text, std::string_view signature) {
  if (signature.size() != 2 * kScalarBytes) return false;
  const std::string_view r = signature.substr(0, kScalarBytes);
  const std::string_view s = signature.substr(kScalarBytes);
  if (is_zero(r) || is_zero(s)) return false;  // The signature that some verifiers take for every text.
  std::array<char, kDerBytesMax> der{};
  std::size_t size = 2;
  size += append_integer(r, der.data() + size);
  size += append_integer(s, der.data() + size);
  der[0] = 0x30;
  der[1] = static_cast<char>(size - 2);
  return is_valid_for_public_key(text, {der.data(), size});
}

bool SignatureCheck::is_valid_for_public_key(std::string_view text, std::string_view signature) {
  const bool is_ready =
      EVP_DigestVerifyInit(context_.get(), nullptr, sha256_.get(), nullptr, key_->public_key.get()) == 1;
  const bool is_valid = is_ready && EVP_DigestVerify(context_.get(), bytes_of(signature.data()), signature.size(),
                                                     bytes_of(text.data()), text.size()) == 1;
  if (!is_valid) ERR_clear_error();  // Nobody on this thread shall read a stranger's bad signature as his own error.
  EVP_MD_CTX_reset(context_.get());
  return is_valid;
}

}  // namespace weir
