#include "payment/webhook_poster.h"

#include "base/check.h"
#include "config/limits.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

namespace weir {
namespace {

constexpr int kPollMs = 50;

std::size_t ignore(char*, std::size_t size, std::size_t count, void*) { return size * count; }

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// One easy handle and what it carries now.
struct Transfer {
  CURL* easy = nullptr;
  std::unique_ptr<curl_slist, FreeList> headers;
  std::size_t place = 0;
  bool is_busy = false;
};

}  // namespace

/// The handles of libcurl, made once and used again.
class WebhookPoster::Transfers {
 public:
  Transfers(std::string url, std::string signature_header)
      : url_(std::move(url)), signature_header_(std::move(signature_header)), multi_(curl_multi_init()) {
    CHECK(multi_ != nullptr, "libcurl has no memory");
    transfers_.resize(kWebhookPostsMax);
    for (Transfer& transfer : transfers_) {
      transfer.easy = curl_easy_init();
      CHECK(transfer.easy != nullptr, "libcurl has no memory");
    }
  }
  ~Transfers() {
    for (Transfer& transfer : transfers_) {
      if (transfer.is_busy) curl_multi_remove_handle(multi_, transfer.easy);
      curl_easy_cleanup(transfer.easy);
    }
    curl_multi_cleanup(multi_);
  }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  std::vector<bool> post(std::span<const WebhookPost> posts, Micros wait) {
    std::vector<bool> is_stored(posts.size(), false);
    const long each_ms = std::max<long>(1, static_cast<long>(wait.count() / 1000));
    std::size_t next = 0;
    std::size_t done = 0;
    while (done < posts.size()) {  // Ends: every transfer has a deadline, and each turn waits for one or collects one.
      for (Transfer& transfer : transfers_) {
        if (!transfer.is_busy && next < posts.size()) begin(transfer, posts[next], next, each_ms), ++next;
      }
      int running = 0;
      curl_multi_perform(multi_, &running);
      const std::size_t collected = collect(is_stored);
      done += collected;
      if (collected == 0) curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
    }
    return is_stored;
  }

 private:
  void begin(Transfer& transfer, const WebhookPost& post, std::size_t place, long wait_ms) {
    curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
    list = curl_slist_append(list, fmt::format("{}: {}", signature_header_, post.signature).c_str());
    list = curl_slist_append(list, "Expect:");  // Nothing this small waits for a 100.
    transfer.headers.reset(list);
    transfer.place = place;
    transfer.is_busy = true;
    curl_easy_reset(transfer.easy);
    curl_easy_setopt(transfer.easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(transfer.easy, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(transfer.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(post.body.size()));
    curl_easy_setopt(transfer.easy, CURLOPT_COPYPOSTFIELDS, post.body.c_str());
    curl_easy_setopt(transfer.easy, CURLOPT_WRITEFUNCTION, &ignore);
    curl_easy_setopt(transfer.easy, CURLOPT_TIMEOUT_MS, wait_ms);
    curl_easy_setopt(transfer.easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(transfer.easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(transfer.easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(transfer.easy, CURLOPT_PRIVATE, static_cast<void*>(&transfer));
    curl_multi_add_handle(multi_, transfer.easy);
  }

  std::size_t collect(std::vector<bool>& is_stored) {
    std::size_t count = 0;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {  // One turn a finished transfer.
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode result = message->data.result;
      CURL* easy = message->easy_handle;
      void* found = nullptr;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &found);
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      curl_multi_remove_handle(multi_, easy);
      auto* transfer = static_cast<Transfer*>(found);
      transfer->is_busy = false;
      is_stored[transfer->place] = result == CURLE_OK && status >= 200 && status < 300;
      ++count;
    }
    return count;
  }

  const std::string url_;
  const std::string signature_header_;
  CURLM* const multi_;
  std::vector<Transfer> transfers_;
};

WebhookPoster::WebhookPoster(std::string url, std::string signature_header)
    : transfers_(std::make_unique<Transfers>(std::move(url), std::move(signature_header))) {}

WebhookPoster::~WebhookPoster() = default;

std::vector<bool> WebhookPoster::post(std::span<const WebhookPost> posts, Micros wait) {
  return transfers_->post(posts, wait);
}

}  // namespace weir
