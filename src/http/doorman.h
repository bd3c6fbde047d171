#pragma once

#include "base/snapshot.h"
#include "base/time.h"
#include "domain/ids.h"
#include "http/exchange.h"
#include "identity/client_address.h"
#include "identity/key_set.h"
#include "identity/rate_limiter.h"
#include "identity/token.h"
#include "identity/token_verifier.h"
#include "identity/verified_tokens.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace weir::http {

/// What all doormen share: keys (swapped on SIGHUP), limits and the list of proxies. It outlives them.
struct DoormanParts {
  Snapshot<KeySet> keys;
  VerifierOptions verifier;
  SipKey token_hash;
  RateLimiter* per_buyer = nullptr;
  RateLimiter* per_address = nullptr;
  TrustedProxies proxies;
};

/// Decides who asks and whether he asks too often. One a reactor.
///
/// Threads: its reactor's only. Blocking: never; nothing is allocated for a token that was seen before.
class Doorman {
 public:
  explicit Doorman(const DoormanParts& parts);

  /// The identity in a header `Bearer …`; null for whatever is wrong with it. Valid until the next call.
  [[nodiscard]] const Identity* identify(std::string_view authorization, Instant now);

  /// Takes one from the buyer's and the address's bucket; false: 429.
  [[nodiscard]] bool allow(const Request& request, BuyerKey buyer, Ticks now);
  /// The same for somebody without a token: his address only.
  [[nodiscard]] bool allow_stranger(const Request& request, Ticks now);

  /// Takes new keys, if there are any. Once a turn of the loop.
  void refresh();

 private:
  [[nodiscard]] bool allow_address(const Request& request, Ticks now);

  const DoormanParts& parts_;
  std::uint64_t keys_version_;
  std::unique_ptr<TokenVerifier> verifier_;
  VerifiedTokens verified_;
  Identity fresh_;
};

}  // namespace weir::http
