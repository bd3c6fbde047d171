#include "http/doorman.h"

#include <cstring>
#include <utility>

namespace weir::http {
namespace {

IpAddress ip_of(const Address& address) {
  IpAddress ip;
  static_assert(sizeof ip.bytes == sizeof address.bytes);
  std::memcpy(ip.bytes.data(), address.bytes.data(), address.bytes.size());
  return ip;
}

/// The token of `Bearer token`; the scheme's case does not matter. Empty for anything else.
std::string_view bearer(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    if ((authorization[i] | 0x20) != kScheme[i]) return {};
  }
  return authorization.substr(kScheme.size());
}

}  // namespace

Doorman::Doorman(const DoormanParts& parts)
    : parts_(parts),
      keys_version_(parts.keys.version()),
      verifier_(std::make_unique<TokenVerifier>(parts.keys.get(), parts.verifier)),
      verified_(parts.token_hash) {}

void Doorman::refresh() {
  const std::uint64_t version = parts_.keys.version();
  if (version == keys_version_) return;
  keys_version_ = version;
  verifier_ = std::make_unique<TokenVerifier>(parts_.keys.get(), parts_.verifier);
  verified_.clear();
}

const Identity* Doorman::identify(std::string_view authorization, Instant now) {
  const std::string_view token = bearer(authorization);
  if (token.empty()) return nullptr;
  if (const Identity* known = verified_.find(token, now)) return known;
  const auto verified = verifier_->verify(token, now);
  if (!verified) return nullptr;
  fresh_ = *verified;
  verified_.insert(token, fresh_);
  return &fresh_;
}

bool Doorman::allow(const Request& request, BuyerKey buyer, Ticks now) {
  return parts_.per_buyer->allow(buyer.value, now) && allow_address(request, now);
}

bool Doorman::allow_stranger(const Request& request, Ticks now) { return allow_address(request, now); }

bool Doorman::allow_address(const Request& request, Ticks now) {
  if (parts_.per_address->is_off()) return true;
  const IpAddress client = client_address(ip_of(request.peer), request.x_forwarded_for, parts_.proxies);
  const IpAddress prefix = limit_prefix(client);
  std::uint64_t words[2];
  std::memcpy(words, prefix.bytes.data(), sizeof words);
  return parts_.per_address->allow(words[0] * 0x9e3779b97f4a7c15U ^ words[1], now);
}

}  // namespace weir::http
