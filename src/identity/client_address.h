#pragma once

#include "base/result.h"
#include "identity/ip_address.h"

#include <string_view>
#include <vector>

namespace weir {

/// The proxies in front of us whose word about their client is taken (`http.trusted_proxies`).
class TrustedProxies {
 public:
  TrustedProxies() = default;
  /// Reads addresses and CIDR ranges with commas between; empty means none. An IPv6 range never covers IPv4 hosts.
  [[nodiscard]] static Parsed<TrustedProxies> parse(std::string_view list);

  [[nodiscard]] bool contains(const IpAddress& address) const;

 private:
  struct Range {
    IpAddress base;
    int bits = 128;
    bool is_ipv4 = false;
  };
  [[nodiscard]] static Parsed<Range> parse_range(std::string_view text);

  std::vector<Range> ranges_;
};

/// Who really sent a request. A listed proxy tells whom it was sent by in the last element of `X-Forwarded-For`
/// (`forwarded_for`: all lines of it, joined by commas in their order); if that is a listed proxy too, the element
/// before it was told by that one, and so on. The first that is not listed is the client: what stands left of it is his
/// own invention. Without a listed peer the header means nothing. An element that is no address ends the walk at the
/// last good one. Elements may have ports and brackets. Pure, allocates nothing.
[[nodiscard]] IpAddress client_address(const IpAddress& peer, std::string_view forwarded_for,
                                       const TrustedProxies& proxies);

}  // namespace weir
