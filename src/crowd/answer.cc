#include "crowd/answer.h"

#include "config/limits.h"

#include <algorithm>
#include <charconv>

namespace weir::crowd {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kStatusLineBytesMin = 13;  // "HTTP/1.1 202" and the first byte behind it.

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool is_same_word(std::string_view text, std::string_view lower_word) {
  return text.size() == lower_word.size() &&
         std::equal(text.begin(), text.end(), lower_word.begin(), [](char a, char b) { return lower(a) == b; });
}

/// The value of `line` if its name is `lower_name`. Most lines differ in length of the name, so this is cheap.
bool is_header(std::string_view line, std::string_view lower_name, std::string_view& value) {
  if (line.size() <= lower_name.size() || line[lower_name.size()] != ':') return false;
  if (!is_same_word(line.substr(0, lower_name.size()), lower_name)) return false;
  value = line.substr(lower_name.size() + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  return true;
}

bool read_whole_number(std::string_view text, std::size_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

struct Head {
  std::size_t length = 0;
  bool has_length = false;
  bool is_sound = true;
};

void read_header(std::string_view line, Head& head, Answer& out) {
  std::string_view value;
  switch (line.empty() ? '\0' : lower(line.front())) {
    case 'c':
      if (is_header(line, "content-length", value)) {
        head.is_sound = head.is_sound && !head.has_length && read_whole_number(value, head.length);
        head.has_length = true;
      } else if (is_header(line, "connection", value)) {
        out.closes = is_same_word(value, "close");
      }
      break;
    case 'r':
      if (is_header(line, "retry-after", value)) {
        std::size_t seconds = 0;  // The form with a date is not ours; it reads as "at once".
        if (read_whole_number(value, seconds))
          out.retry_after_s = static_cast<std::uint32_t>(std::min<std::size_t>(seconds, 3600));
      }
      break;
    case 't':
      if (is_header(line, "transfer-encoding", value)) head.is_sound = false;
      break;
    default: break;
  }
}

bool read_status(std::string_view bytes, int& status) {
  if (bytes.substr(0, 7) != "HTTP/1." || bytes[8] != ' ') return false;
  const auto [end, error] = std::from_chars(bytes.data() + 9, bytes.data() + 12, status);
  return error == std::errc{} && end == bytes.data() + 12 && status >= 200 && status <= 599;
}

}  // namespace

Scan scan_answer(std::string_view bytes, Answer& out) {
  if (bytes.size() < kStatusLineBytesMin) return Scan::partial;
  out = Answer{};
  if (!read_status(bytes, out.status)) return Scan::malformed;
  const std::string_view searched = bytes.substr(0, kHeaderBytesMax);
  const std::size_t head_end = searched.find(kHeadEnd);
  if (head_end == std::string_view::npos) {
    return searched.size() == kHeaderBytesMax ? Scan::malformed : Scan::partial;
  }
  Head head;
  std::string_view lines = bytes.substr(0, head_end + 2);
  lines.remove_prefix(lines.find('\n') + 1);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) break;
    read_header(lines.substr(0, end == 0 ? 0 : end - 1), head, out);
    lines.remove_prefix(end + 1);
  }
  const bool needs_no_length = out.status == 204 || out.status == 304;
  if (!head.is_sound || (!head.has_length && !needs_no_length)) return Scan::malformed;
  const std::size_t length = needs_no_length ? 0 : head.length;
  if (length > kCrowdAnswerBytesMax - kHeaderBytesMax) return Scan::malformed;
  out.bytes = head_end + kHeadEnd.size() + length;
  if (bytes.size() < out.bytes) return Scan::partial;
  out.body = bytes.substr(head_end + kHeadEnd.size(), length);
  return Scan::complete;
}

std::string_view member_text(std::string_view body, std::string_view quoted_member) {
  const std::size_t at = body.find(quoted_member);
  if (at == std::string_view::npos) return {};
  std::string_view rest = body.substr(at + quoted_member.size());
  const std::size_t value_at = rest.find_first_not_of(" \t\r\n:");
  if (value_at == std::string_view::npos) return {};
  rest.remove_prefix(value_at);
  if (rest.front() != '"') return rest.substr(0, rest.find_first_of(",} \t\r\n"));
  rest.remove_prefix(1);
  const std::size_t end = rest.find('"');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

Reading read_purchase(const Answer& answer) {
  Reading reading;
  if (answer.status == 202) {
    reading.outcome = Outcome::accepted;
  } else {
    reading.outcome = outcome_of_code(member_text(answer.body, "\"error\""));
    if (answer.status >= 500) reading.outcome = Outcome::unavailable;
  }
  if (reading.outcome == Outcome::sold_out) {
    reading.may_return = member_text(answer.body, "\"mayReturn\"") == "true";
  } else if (answer.status == 202 || answer.status == 409 || answer.status >= 500) {
    reading.order = OrderId::parse(member_text(answer.body, "\"orderId\"")).value_or(OrderId{});
  }
  return reading;
}

}  // namespace weir::crowd
