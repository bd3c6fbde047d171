#include "crowd/answer.h"

#include "config/limits.h"
#include "crowd/stock.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::crowd {
namespace {

constexpr std::string_view kOrder = "0123456789abcdef0123456789abcdef";

std::string answer_text(std::string_view status, std::string_view body, std::string_view headers = {}) {
  return "HTTP/1.1 " + std::string(status) + "\r\nDate: Tue, 01 Dec 2026 11:00:00 GMT\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

Reading reading_of(std::string_view status, std::string_view body) {
  const std::string text = answer_text(status, body);
  Answer answer;
  EXPECT_EQ(scan_answer(text, answer), Scan::complete);
  return read_purchase(answer);
}

TEST(Answer, PipelinedAnswersAreReadHoweverTheyAreSplit) {
  const std::string stream =
      answer_text("202 Accepted", R"({"orderId":"0123456789abcdef0123456789abcdef","status":"PENDING"})") +
      answer_text("410 Gone", R"({"error":"SOLD_OUT","message":"all gone","mayReturn":true})") +
      answer_text("204 No Content", "") + answer_text("503 Service Unavailable", R"({"error":"UNAVAILABLE"})");
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    std::string buffer;
    std::vector<int> statuses;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      buffer += stream.substr(at, piece);
      Answer answer;
      while (scan_answer(buffer, answer) == Scan::complete) {
        statuses.push_back(answer.status);
        buffer.erase(0, answer.bytes);
      }
    }
    ASSERT_EQ(statuses, (std::vector{202, 410, 204, 503})) << "in pieces of " << piece;
    ASSERT_TRUE(buffer.empty());
  }
}

TEST(Answer, OutcomesAreReadFromStatusAndCode) {
  EXPECT_EQ(reading_of("202 Accepted", R"({"orderId":"0123456789abcdef0123456789abcdef"})").order.text(), kOrder);
  EXPECT_EQ(reading_of("202 Accepted", R"({"orderId":"0123456789abcdef0123456789abcdef"})").outcome, Outcome::accepted);
  EXPECT_TRUE(reading_of("410 Gone", R"({"error":"SOLD_OUT","mayReturn":true})").may_return);
  EXPECT_FALSE(reading_of("410 Gone", R"({"error":"SOLD_OUT","mayReturn":false})").may_return);
  EXPECT_EQ(reading_of("410 Gone", R"({"error": "SALE_ENDED"})").outcome, Outcome::sale_ended);
  const Reading owner =
      reading_of("409 Conflict", R"({"error":"ALREADY_PURCHASED","orderId":"0123456789abcdef0123456789abcdef"})");
  EXPECT_EQ(owner.outcome, Outcome::already_purchased);
  EXPECT_EQ(owner.order.text(), kOrder);
  EXPECT_EQ(reading_of("503 Service Unavailable", R"({"error":"UNAVAILABLE"})").outcome, Outcome::unavailable);
  EXPECT_EQ(reading_of("500 Internal Server Error", "oops").outcome, Outcome::unavailable);
  EXPECT_EQ(reading_of("410 Gone", "<html>").outcome, Outcome::other_status);
  EXPECT_EQ(reading_of("429 Too Many Requests", R"({"error":"TOO_MANY_REQUESTS"})").outcome,
            Outcome::too_many_requests);
}

TEST(Answer, EveryCodeOfAReportIsReadBack) {
  for (std::size_t i = index_of(Outcome::sold_out); i < index_of(Outcome::other_status); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_of_code(name(outcome)), outcome);
  }
  EXPECT_EQ(outcome_of_code("TIMED_OUT"), Outcome::other_status) << "a server cannot answer that it did not answer";
}

TEST(Answer, HeadersThatSteerTheCrowdAreRead) {
  const std::string text = answer_text("503 Service Unavailable", "{}", "Connection: close\r\nretry-after: 7\r\n");
  Answer answer;
  ASSERT_EQ(scan_answer(text, answer), Scan::complete);
  EXPECT_TRUE(answer.closes);
  EXPECT_EQ(answer.retry_after_s, 7U);
}

TEST(Answer, WhatIsNotOurHttpIsMalformed) {
  Answer answer;
  for (const std::string& text : {std::string("SSH-2.0-OpenSSH_9.2\r\n"), std::string("HTTP/1.1 20x OK\r\n\r\n"),
                                  std::string("HTTP/1.1 100 Continue\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\n\r\n"),
                                  std::string("HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n"),
                                  std::string("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na"),
                                  std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
                                  std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"),
                                  "HTTP/1.1 200 OK\r\n" + std::string(kHeaderBytesMax, 'x')}) {
    EXPECT_EQ(scan_answer(text, answer), Scan::malformed) << text.substr(0, 60);
  }
}

TEST(Answer, StockIsReadOnlyWhole) {
  const auto sample = read_stock(
      R"({"itemId":"shoe","total":100,"free":60,"held":30,"sold":10,"state":"AVAILABLE","version":42,"asOf":"x"})");
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->free, 60);
  EXPECT_EQ(sample->version, 42U);
  EXPECT_FALSE(read_stock(R"({"total":100,"free":60,"held":30})"));
  EXPECT_FALSE(read_stock(R"({"total":100,"free":"many","held":30,"sold":10,"version":1})"));
}

}  // namespace
}  // namespace weir::crowd
