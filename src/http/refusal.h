#pragma once

#include "http/exchange.h"

#include <cstddef>
#include <cstdint>

namespace weir::http {

/// Why the front door itself refuses. After every one of them but the two `unavailable` ones the connection closes:
/// where the next request would begin is no longer certain.
enum class Refusal : std::uint8_t {
  none,
  bad_request_line,
  bad_target,
  bad_header,
  bad_host,
  bad_length,
  bad_encoding,
  bad_chunk,
  timeout,
  body_too_large,
  target_too_long,
  expectation_failed,
  headers_too_large,
  answer_too_large,
  encoding_unknown,
  answer_late,
  server_full,
  version_unknown,
};
inline constexpr std::size_t kRefusalCount = static_cast<std::size_t>(Refusal::version_unknown) + 1;

[[nodiscard]] int status_of(Refusal refusal);

/// The answer of a refusal, made once at the first call.
///
/// Threads: any.
[[nodiscard]] const FixedReply& reply_of(Refusal refusal);

}  // namespace weir::http
