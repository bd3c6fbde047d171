#pragma once

#include "base/time.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weir {

/// One webhook, ready to be posted.
struct WebhookPost {
  std::string body;
  std::string signature;
};

/// Posts webhooks to one address over HTTP, up to kWebhookPostsMax at a time over connections that are kept.
///
/// Redirects are not followed, proxies of the environment are not used, and answers are not kept.
/// Threads: one owner thread. Blocking: until all are answered, at most `wait`; never from a reactor.
class WebhookPoster {
 public:
  /// `signature_header`: the name of the header that carries the signature.
  WebhookPoster(std::string url, std::string signature_header);
  ~WebhookPoster();
  WebhookPoster(const WebhookPoster&) = delete;
  WebhookPoster& operator=(const WebhookPoster&) = delete;

  /// `is_stored[i]` tells whether `posts[i]` was answered with 2xx in time. What was not may have arrived all the same:
  /// it is sent again under the same event id.
  [[nodiscard]] std::vector<bool> post(std::span<const WebhookPost> posts, Micros wait);

 private:
  class Transfers;
  const std::unique_ptr<Transfers> transfers_;
};

}  // namespace weir
