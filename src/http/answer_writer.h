#pragma once

#include "base/time.h"
#include "http/byte_buffer.h"
#include "http/exchange.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http {

/// What the answer says about the connection.
enum class Ending : std::uint8_t {
  unsaid,      // Stays open, as HTTP/1.1 does by itself.
  keep_alive,  // Stays open, and an HTTP/1.0 client has to be told.
  close,
};

/// What one answer depends on besides its content.
struct AnswerShape {
  std::string_view request_id;
  Ending ending = Ending::unsaid;
  bool is_head = false;  // The request was HEAD: the headers go out, the body does not.
};

inline constexpr std::string_view kBlankDate = "Thu, 01 Jan 1970 00:00:00 GMT";
inline constexpr std::string_view kBlankRequestId = "0000000000000000";
using DateText = std::array<char, kBlankDate.size()>;

/// The date as HTTP wants it (RFC 9110, 5.6.7).
[[nodiscard]] DateText date_text(Instant at);

/// Where the changing parts of an answer stand: every answer begins with its status line, the date and the request id.
struct AnswerLayout {
  std::size_t date_at;
  std::size_t request_id_at;
};
[[nodiscard]] AnswerLayout answer_layout(int status);

/// Appends a whole answer. Control characters in header values become blanks, so that no value can add a line.
void append_answer(ByteBuffer& out, const Response& response, const AnswerShape& shape, std::string_view date);

/// Writes answers with the date of now.
///
/// Threads: one owner thread. Blocking: never.
class AnswerWriter {
 public:
  /// Renews the date's text once a second.
  void set_time(Instant now);

  void append(ByteBuffer& out, const FixedReply& reply, const AnswerShape& shape) const;
  void append(ByteBuffer& out, const Response& response, const AnswerShape& shape) const;

 private:
  std::int64_t second_ = -1;
  DateText date_ = date_text(Instant{});
};

}  // namespace weir::http
