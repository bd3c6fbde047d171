#include "identity/token_verifier.h"

#include "base/encoding.h"
#include "identity/token_claims.h"

#include <algorithm>
#include <span>
#include <utility>

namespace weir {

TokenVerifier::TokenVerifier(std::shared_ptr<const KeySet> keys, VerifierOptions options)
    : keys_(std::move(keys)), options_(std::move(options)) {
  checks_.reserve(keys_->keys().size());
  for (const VerificationKey& key : keys_->keys()) checks_.emplace_back(key);
}

std::expected<Identity, TokenRefusal> TokenVerifier::verify(std::string_view token, Instant now) {
  if (token.size() > kTokenBytesMax) return std::unexpected(TokenRefusal::too_long);
  const std::optional<Parts> parts = split(token);
  if (!parts) return std::unexpected(TokenRefusal::wrong_parts);
  const std::expected<std::size_t, TokenRefusal> key = read_header(parts->header);
  if (!key) return std::unexpected(key.error());
  if (const std::optional<TokenRefusal> refusal = check_signature(*parts, *key)) return std::unexpected(*refusal);
  return read_payload(parts->payload, now);
}

std::optional<TokenVerifier::Parts> TokenVerifier::split(std::string_view token) {
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
               token.substr(0, second)};
}

std::expected<std::size_t, TokenRefusal> TokenVerifier::read_header(std::string_view header) {
  const std::optional<std::size_t> size = decode_base64url(header, std::span{decoded_});
  if (!size) return std::unexpected(TokenRefusal::wrong_encoding);
  const std::expected<TokenHeader, TokenRefusal> read = parse_token_header(std::span{decoded_}.first(*size));
  if (!read) return std::unexpected(read.error());
  const std::optional<std::size_t> key = keys_->find(read->kid);
  if (!key) return std::unexpected(TokenRefusal::unknown_key);
  if (read->alg != name(checks_[*key].key().algorithm)) return std::unexpected(TokenRefusal::wrong_algorithm);
  return *key;
}

std::optional<TokenRefusal> TokenVerifier::check_signature(const Parts& parts, std::size_t key) {
  std::array<char, SignatureCheck::kSignatureBytesMax> signature;  // Written before it is read.
  const std::size_t most = parts.signature.size() * 3 / 4;
  if (most > signature.size()) return TokenRefusal::wrong_signature;
  const std::optional<std::size_t> size = decode_base64url(parts.signature, std::span{signature});
  if (!size) return TokenRefusal::wrong_encoding;
  if (!checks_[key].is_valid(parts.signed_text, {signature.data(), *size})) return TokenRefusal::wrong_signature;
  return std::nullopt;
}

std::expected<Identity, TokenRefusal> TokenVerifier::read_payload(std::string_view payload, Instant now) {
  const std::optional<std::size_t> size = decode_base64url(payload, std::span{decoded_});
  if (!size) return std::unexpected(TokenRefusal::wrong_encoding);
  return parse_token_claims(std::span{decoded_}.first(*size), options_, now);
}

}  // namespace weir
