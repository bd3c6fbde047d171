#include "http/refusal.h"

#include "base/check.h"

#include <array>
#include <string>
#include <string_view>

namespace weir::http {
namespace {

struct Row {
  Refusal refusal;
  int status;
  std::string_view code;
  std::string_view message;
};

constexpr std::array<Row, kRefusalCount> kRows{{
    {Refusal::none, 500, "INTERNAL", "The server could not make an answer."},
    {Refusal::bad_request_line, 400, "INVALID_REQUEST", "The request line is malformed."},
    {Refusal::bad_target, 400, "INVALID_REQUEST", "The request target is malformed."},
    {Refusal::bad_header, 400, "INVALID_REQUEST", "A header line is malformed."},
    {Refusal::bad_host, 400, "INVALID_REQUEST", "The Host header is missing, repeated or malformed."},
    {Refusal::bad_length, 400, "INVALID_REQUEST", "The Content-Length header is malformed or repeated."},
    {Refusal::bad_encoding, 400, "INVALID_REQUEST", "The Transfer-Encoding header is not allowed in this form."},
    {Refusal::bad_chunk, 400, "INVALID_REQUEST", "The chunked body is malformed."},
    {Refusal::timeout, 408, "TIMEOUT", "The whole request did not arrive in time."},
    {Refusal::body_too_large, 413, "BODY_TOO_LARGE", "The body is larger than 16 KiB."},
    {Refusal::target_too_long, 414, "URI_TOO_LONG", "The request target is longer than 4 KiB."},
    {Refusal::expectation_failed, 417, "EXPECTATION_FAILED", "Only Expect: 100-continue is understood."},
    {Refusal::headers_too_large, 431, "HEADERS_TOO_LARGE", "There are more than 100 headers or 16 KiB of them."},
    {Refusal::answer_too_large, 500, "INTERNAL", "The answer was larger than the server may send."},
    {Refusal::encoding_unknown, 501, "NOT_IMPLEMENTED", "The only transfer coding understood is chunked."},
    {Refusal::answer_late, 503, "UNAVAILABLE", "The answer did not come in time. Please try again."},
    {Refusal::server_full, 503, "UNAVAILABLE", "The server has no room for another connection. Please try again."},
    {Refusal::version_unknown, 505, "VERSION_NOT_SUPPORTED", "Only HTTP/1.1 and HTTP/1.0 are understood."},
}};

std::array<FixedReply, kRefusalCount> make_replies() {
  std::array<FixedReply, kRefusalCount> replies;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const Row& row = kRows[i];
    CHECK(static_cast<std::size_t>(row.refusal) == i, "row {} is out of order", i);
    Response response;
    response.status = row.status;
    response.body = R"({"error":")" + std::string(row.code) + R"(","message":")" + std::string(row.message) + "\"}";
    if (row.status == 503) response.headers.emplace_back("Retry-After", "1");
    replies[i] = FixedReply(response);
  }
  return replies;
}

}  // namespace

int status_of(Refusal refusal) { return kRows[static_cast<std::size_t>(refusal)].status; }

const FixedReply& reply_of(Refusal refusal) {
  static const std::array<FixedReply, kRefusalCount> kReplies = make_replies();
  return kReplies[static_cast<std::size_t>(refusal)];
}

}  // namespace weir::http
