#include "app/cashier.h"

#include "base/log.h"

#include <chrono>

#include <curl/curl.h>

namespace weir {
namespace {

constexpr std::size_t kRefundsMax = 256;
constexpr Micros kLookEvery{1'000'000};
constexpr Micros kAskAgain{10'000'000};
constexpr Micros kGatewayWait{5'000'000};
constexpr std::chrono::milliseconds kNap{20};

std::size_t ignore(char*, std::size_t size, std::size_t count, void*) { return size * count; }

/// Posts one webhook; true when the receiver has stored it.
bool post(CURL* handle, const std::string& url, const std::string& body, const std::string& signature) {
  curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
  list = curl_slist_append(list, ("X-Sandbox-Signature: " + signature).c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers{list, &curl_slist_free_all};
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &ignore);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 5'000L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  long status = 0;
  if (curl_easy_perform(handle) != CURLE_OK) return false;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300;
}

}  // namespace

Cashier::Cashier(http::Services& services, std::unique_ptr<LedgerReader> reader, SandboxGateway* sandbox,
                 std::string webhook_url, const Clock& clock)
    : services_(services),
      reader_(std::move(reader)),
      sandbox_(sandbox),
      webhook_url_(std::move(webhook_url)),
      clock_(clock) {}

Cashier::~Cashier() { stop(); }

void Cashier::start() {
  thread_ = std::thread{[this] { run(); }};
}

void Cashier::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  hurry_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Cashier::hurry() {
  {
    const std::lock_guard lock{mutex_};
    is_hurried_ = true;
  }
  hurry_.notify_all();
}

void Cashier::run() {
  while (true) {
    bool is_hurried = false;
    {
      std::unique_lock lock{mutex_};
      hurry_.wait_for(lock, kNap, [this] { return stopping_ || is_hurried_; });
      if (stopping_) return;
      is_hurried = std::exchange(is_hurried_, false);
    }
    deliver();
    if (!is_hurried && clock_.ticks() < next_look_) continue;
    next_look_ = clock_.ticks() + kLookEvery;
    ask_for_refunds();
  }
}

void Cashier::ask_for_refunds() {
  const Ticks now = clock_.ticks();
  std::erase_if(asked_, [&](const auto& entry) { return entry.second <= now; });
  const auto due = reader_->refunds_due(kRefundsMax);
  if (!due) return;
  for (const RefundDue& one : *due) {
    if (asked_.contains(one.refund.id)) continue;
    Gateway* gateway = services_.gateway(one.gateway);
    if (gateway == nullptr) continue;
    // The refund's id is the idempotency key at the gateway: asking again is harmless.
    const auto asked = gateway->refund(one.payment, one.refund.id, one.refund.amount, now + kGatewayWait);
    asked_[one.refund.id] = now + kAskAgain;
    if (!asked) log::warn("refund_waits", {{"refund", one.refund.id.text()}, {"message", asked.error().message}});
  }
}

void Cashier::deliver() {
  if (sandbox_ == nullptr) return;
  auto due = sandbox_->take_due(clock_.ticks());
  if (due.empty()) return;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle{curl_easy_init(), &curl_easy_cleanup};
  for (const SandboxDelivery& delivery : due) {
    const bool is_stored =
        handle && post(handle.get(), webhook_url_, delivery.body, sandbox_->sign(delivery.body, clock_.now()));
    if (!is_stored) sandbox_->put_back(delivery, clock_.ticks());
  }
}

}  // namespace weir
