#include "base/check.h"
#include "config/limits.h"
#include "queue/claim_message.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Whatever a stranger puts into the log: the reader answers within its bounds, and what it takes survives a writing.
namespace weir {
namespace {

void run(std::string_view value) {
  const auto read = read_claim_message(value, kClaimMessageVersion);
  if (!read) {
    CHECK(!read.error().detail.empty());
    return;
  }
  CHECK(value.size() <= kClaimMessageBytesMax);
  const auto written = write_claim_message(*read);
  CHECK(written, "{}", written ? "" : written.error());
  const auto again = read_claim_message(*written, kClaimMessageVersion);
  CHECK(again && *again == *read);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
