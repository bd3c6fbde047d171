#pragma once

#include "base/result.h"
#include "identity/ip_address.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The proxies whose word about their clients is believed: addresses and networks such as `10.0.0.0/8`.
class TrustedProxies {
 public:
  [[nodiscard]] static Parsed<TrustedProxies> parse(std::span<const std::string> list);
  [[nodiscard]] bool contains(const IpAddress& address) const;

 private:
  struct Network {
    IpAddress base;
    int bits = 128;
  };
  std::vector<Network> networks_;
};

/// Who sent a request: the right-most address of `X-Forwarded-For` that is not a trusted proxy, if the peer is one;
/// otherwise the peer. What stands left of it was written by strangers. A malformed entry ends the walk: the last good
/// one counts.
[[nodiscard]] IpAddress client_address(const IpAddress& peer, std::string_view forwarded_for, const TrustedProxies& proxies);

/// What a limit is counted by: an IPv4 address, or the /64 of an IPv6 one, which one household owns whole.
[[nodiscard]] IpAddress limit_prefix(IpAddress address);

}  // namespace weir
