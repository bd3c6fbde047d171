#include "http/answer_writer.h"

#include "base/check.h"

#include <charconv>
#include <chrono>
#include <cstring>

namespace weir::http {
namespace {

constexpr std::string_view kDateName = "Date: ";
constexpr std::string_view kRequestIdName = "X-Request-Id: ";
constexpr std::string_view kLineEnd = "\r\n";

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Unnamed";
  }
}

std::string_view connection_line(Ending ending) {
  switch (ending) {
    case Ending::unsaid: return "";
    case Ending::keep_alive: return "Connection: keep-alive\r\n";
    case Ending::close: return "Connection: close\r\n";
  }
  return "";
}

void append_number(ByteBuffer& out, std::size_t value) {
  std::array<char, 20> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void append_line(ByteBuffer& out, std::string_view name, std::string_view value) {
  out.append(name);
  out.append(": ");
  char* at = out.room(value.size());
  for (const char c : value) *at++ = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  out.added(value.size());
  out.append(kLineEnd);
}

void append_status_line(ByteBuffer& out, int status) {
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::size_t>(status));
  out.append(" ");
  out.append(reason(status));
  out.append(kLineEnd);
}

void put_digits(char* at, int width, unsigned value) {
  for (int i = width - 1; i >= 0; --i) {
    at[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

}  // namespace

DateText date_text(Instant at) {
  using std::chrono::floor;
  const std::chrono::sys_time<Micros> moment{Micros{at.us}};
  const auto day = floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date{day};
  const auto seconds = static_cast<unsigned>(floor<std::chrono::seconds>(moment - day).count());
  DateText text{};
  std::memcpy(text.data(), kBlankDate.data(), text.size());
  constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  std::memcpy(text.data(), kDays.data() + 3 * std::chrono::weekday{day}.c_encoding(), 3);
  put_digits(text.data() + 5, 2, static_cast<unsigned>(date.day()));
  std::memcpy(text.data() + 8, kMonths.data() + 3 * (static_cast<unsigned>(date.month()) - 1), 3);
  put_digits(text.data() + 12, 4, static_cast<unsigned>(static_cast<int>(date.year())));
  put_digits(text.data() + 17, 2, seconds / 3600);
  put_digits(text.data() + 20, 2, seconds / 60 % 60);
  put_digits(text.data() + 23, 2, seconds % 60);
  return text;
}

AnswerLayout answer_layout(int status) {
  const std::size_t date_at =
      std::string_view("HTTP/1.1 200 ").size() + reason(status).size() + kLineEnd.size() + kDateName.size();
  return {date_at, date_at + kBlankDate.size() + kLineEnd.size() + kRequestIdName.size()};
}

void append_answer(ByteBuffer& out, const Response& response, const AnswerShape& shape, std::string_view date) {
  append_status_line(out, response.status);
  out.append(kDateName);
  out.append(date);
  out.append(kLineEnd);
  out.append(kRequestIdName);
  out.append(shape.request_id);
  out.append(kLineEnd);
  out.append(connection_line(shape.ending));
  const bool is_bodiless = response.status == 204 || response.status == 304;
  const std::string_view body = response.content_type.empty() || is_bodiless ? std::string_view{} : response.body;
  if (!body.empty()) append_line(out, "Content-Type", response.content_type);
  if (!is_bodiless) {
    out.append("Content-Length: ");
    append_number(out, body.size());
    out.append(kLineEnd);
  }
  for (const auto& [name, value] : response.headers) append_line(out, name, value);
  out.append(kLineEnd);
  if (!shape.is_head) out.append(body);
}

void AnswerWriter::set_time(Instant now) {
  const std::int64_t second = now.us / 1'000'000;
  if (second == second_) return;
  second_ = second;
  date_ = date_text(now);
}

void AnswerWriter::append(ByteBuffer& out, const FixedReply& reply, const AnswerShape& shape) const {
  const std::string_view bytes{reply.bytes_.data(), shape.is_head ? reply.body_at_ : reply.bytes_.size()};
  CHECK(!bytes.empty());
  const std::size_t begin = out.size();
  if (shape.request_id.size() == kBlankRequestId.size() && shape.ending == Ending::unsaid) [[likely]] {
    out.append(bytes);
    std::memcpy(out.data() + begin + reply.request_id_at_, shape.request_id.data(), kBlankRequestId.size());
  } else {
    out.append(bytes.substr(0, reply.request_id_at_));
    out.append(shape.request_id);
    out.append(kLineEnd);
    out.append(connection_line(shape.ending));
    out.append(bytes.substr(reply.connection_at_));
  }
  std::memcpy(out.data() + begin + reply.date_at_, date_.data(), date_.size());
}

void AnswerWriter::append(ByteBuffer& out, const Response& response, const AnswerShape& shape) const {
  append_answer(out, response, shape, {date_.data(), date_.size()});
}

}  // namespace weir::http
