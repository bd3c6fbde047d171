#include "payment/sandbox_event.h"
#include "payment/webhook_signature.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

/// A stranger's bytes as body and as signature: nothing crashes, and what is no event of ours stays none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto event = weir::parse_event(text);
  if (event && event->kind != weir::PaymentEventKind::other) {
    const auto again = weir::parse_event(weir::event_text(*event, weir::Instant{}));
    if (!again || again->id != event->id || again->amount != event->amount) __builtin_trap();
  }
  const std::string_view body = text.substr(0, size / 2);
  const weir::Webhook webhook{body, text.substr(size / 2)};
  if (weir::check_webhook_signature("a key that is not known to anybody", webhook, weir::Instant{})) __builtin_trap();
  return 0;
}
