#include "http/answer_writer.h"

#include "http/http_testing.h"
#include "http/refusal.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using testing::StillClock;
using testing::take_answer;
using testing::text_response;

constexpr std::string_view kId = "0123456789abcdef";

template <typename Kind>
std::string written(const Kind& kind, const AnswerShape& shape) {
  AnswerWriter writer;
  writer.set_time(Instant{StillClock::kStartUs});
  ByteBuffer out;
  out.append("before");
  writer.append(out, kind, shape);
  return std::string(out.view().substr(6));
}

TEST(AnswerWriter, AnAnswerCarriesLengthDateAndRequestId) {
  EXPECT_EQ(written(text_response(410, "gone"), {kId}),
            "HTTP/1.1 410 Gone\r\nDate: Tue, 01 Dec 2026 11:00:00 GMT\r\nX-Request-Id: 0123456789abcdef\r\n"
            "Content-Type: text/plain\r\nContent-Length: 4\r\n\r\ngone");
}

TEST(AnswerWriter, AFixedReplyIsTheSameBytesAsItsResponse) {
  Response response = text_response(503, "wait");
  response.headers.emplace_back("Retry-After", "1");
  const FixedReply fixed(response);
  for (const std::string_view id :
       {kId, std::string_view("a"), std::string_view("client-made.id_that-is-longer-than-ours")}) {
    for (const Ending ending : {Ending::unsaid, Ending::keep_alive, Ending::close}) {
      for (const bool is_head : {false, true}) {
        const AnswerShape shape{id, ending, is_head};
        EXPECT_EQ(written(fixed, shape), written(response, shape));
      }
    }
  }
}

TEST(AnswerWriter, AHeadAnswerHasTheLengthAndNoBody) {
  std::string bytes = written(FixedReply(text_response(200, "body")), {kId, Ending::unsaid, true});
  const auto answer = take_answer(bytes, true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header("Content-Length"), "4");
  EXPECT_EQ(bytes, "");
}

TEST(AnswerWriter, AnEmptyAnswerSaysZeroUnlessItsStatusForbidsABody) {
  Response response;
  response.content_type = "";
  EXPECT_NE(written(response, {kId}).find("Content-Length: 0\r\n"), std::string::npos);
  for (const int status : {204, 304}) {
    response.status = status;
    EXPECT_EQ(written(response, {kId}).find("Content-Length"), std::string::npos);
    EXPECT_EQ(written(FixedReply(response), {kId}).find("Content-Length"), std::string::npos);
  }
}

TEST(AnswerWriter, AHeaderValueCannotAddALine) {
  Response response = text_response(200, "");
  response.headers.emplace_back("Location", "/a\r\nSet-Cookie: b");
  EXPECT_NE(written(response, {kId}).find("\r\nLocation: /a  Set-Cookie: b\r\n"), std::string::npos);
}

TEST(AnswerWriter, TheDateFollowsTheClockAcrossLeapDays) {
  const auto text = [](std::int64_t second) {
    const DateText date = date_text(Instant{second * 1'000'000 + 999'999});
    return std::string(date.data(), date.size());
  };
  EXPECT_EQ(text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(text(951'868'799), "Tue, 29 Feb 2000 23:59:59 GMT");
  EXPECT_EQ(text(951'868'800), "Wed, 01 Mar 2000 00:00:00 GMT");
}

TEST(AnswerWriter, EveryRefusalIsJsonWithItsStatus) {
  for (std::size_t i = 0; i < kRefusalCount; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    std::string bytes = written(reply_of(refusal), {kId, Ending::close});
    const auto answer = take_answer(bytes);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, status_of(refusal));
    EXPECT_TRUE(answer->body.starts_with(R"({"error":")") && answer->body.ends_with(".\"}")) << answer->body;
    EXPECT_EQ(answer->header("Connection"), "close");
    EXPECT_EQ(answer->header("Retry-After").has_value(), answer->status == 503);
  }
}

}  // namespace
}  // namespace weir::http
