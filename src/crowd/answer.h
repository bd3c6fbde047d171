#pragma once

#include "crowd/outcome.h"
#include "domain/ids.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::crowd {

/// One complete HTTP/1.1 answer at the front of a run of bytes. `body` is valid as long as those bytes are.
struct Answer {
  int status = 0;
  std::size_t bytes = 0;  // Head and body together.
  std::string_view body;
  std::uint32_t retry_after_s = 0;
  bool closes = false;  // The server said `Connection: close`.
};

enum class Scan : std::uint8_t { complete, partial, malformed };

/// Finds the first answer in `bytes`. It keeps no state: hand it the same bytes again with more behind them after
/// `partial`. Only what a crowd needs is read: answers carry Content-Length (204 and 304 need none); chunked ones, 1xx
/// and those above kCrowdAnswerBytesMax are malformed.
[[nodiscard]] Scan scan_answer(std::string_view bytes, Answer& out);

/// What an answer to a purchase says.
struct Reading {
  Outcome outcome = Outcome::other_status;
  OrderId order;  // None if the answer names none.
  bool may_return = false;
};
/// 202 reads as `accepted`; telling a repeat needs the buyer's past and is the caller's.
[[nodiscard]] Reading read_purchase(const Answer& answer);

/// The text or number that follows `"member":` in flat JSON; empty when there is none. Finds the first mention, so it
/// is for answers of our own server, which write no member name inside a text.
[[nodiscard]] std::string_view member_text(std::string_view body, std::string_view quoted_member);

}  // namespace weir::crowd
