#include "payment/webhook_signature.h"

#include "base/check.h"
#include "base/encoding.h"
#include "config/limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace weir {
namespace {

constexpr std::size_t kMacHexBytes = 64;
constexpr std::size_t kSecondsDigitsMax = 12;  // Until the year 33658, and a million times it fits 64 bits.

std::string mac_hex(std::string_view key, std::string_view seconds, std::string_view body) {
  const std::string text = fmt::format("{}.{}", seconds, body);
  std::array<unsigned char, 32> mac{};
  std::size_t size = 0;
  const unsigned char* made =
      EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), mac.size(), &size);
  CHECK(made != nullptr && size == mac.size(), "key of {} bytes", key.size());
  return hex_text({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

struct Parts {
  std::string_view seconds;
  std::string_view mac;
  std::int64_t at_s = 0;
};

std::optional<Parts> split(std::string_view signature) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!signature.starts_with("t=")) return std::nullopt;
  const std::size_t comma = signature.find(',');
  if (comma == std::string_view::npos || !signature.substr(comma).starts_with(",v1=")) return std::nullopt;
  Parts parts{signature.substr(2, comma - 2), signature.substr(comma + 4), 0};
  const bool one_spelling = !parts.seconds.empty() && parts.seconds.size() <= kSecondsDigitsMax &&
                            std::ranges::all_of(parts.seconds, is_digit) &&
                            (parts.seconds.size() == 1 || parts.seconds.front() != '0');
  if (!one_spelling || parts.mac.size() != kMacHexBytes) return std::nullopt;
  std::from_chars(parts.seconds.data(), parts.seconds.data() + parts.seconds.size(), parts.at_s);
  return parts;
}

}  // namespace

std::string sign_webhook(std::string_view key, std::string_view body, Instant now) {
  const std::string seconds = fmt::format("{}", now.us / 1'000'000);
  return fmt::format("t={},v1={}", seconds, mac_hex(key, seconds, body));
}

Parsed<void> check_webhook_signature(std::string_view key, const Webhook& webhook, Instant now) {
  const std::optional<Parts> parts = split(webhook.signature);
  if (!parts) return std::unexpected<std::string>("the signature is not t=SECONDS,v1=HEX");
  const std::string own = mac_hex(key, parts->seconds, webhook.body);
  if (CRYPTO_memcmp(own.data(), parts->mac.data(), kMacHexBytes) != 0) {
    return std::unexpected<std::string>("the signature does not match the body");
  }
  const std::int64_t age_us = now.us - parts->at_s * 1'000'000;
  if (age_us > kWebhookToleranceUs) return std::unexpected<std::string>("the signature is too old");
  if (age_us < -kWebhookToleranceUs) return std::unexpected<std::string>("the signature is from the future");
  return {};
}

}  // namespace weir
