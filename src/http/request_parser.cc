#include "http/request_parser.h"

#include "base/check.h"
#include "config/limits.h"
#include "http/characters.h"

#include <algorithm>
#include <cstring>

namespace weir::http {
namespace {

constexpr std::size_t kChunkDigitsMax = 16;
constexpr std::size_t kLengthDigitsMax = 19;  // As many as always fit 64 bits.
constexpr std::string_view kVersion = "HTTP/1.1";
constexpr std::size_t kRequestLineBytesMax = kMethodBytesMax + 1 + kTargetBytesMax + 1 + kVersion.size() + 2;
constexpr std::size_t kChunkLineBytesMax = kChunkDigitsMax + 1 + kChunkExtensionBytesMax + 2;
static_assert(kRequestLineBytesMax < kHeaderBytesMax && kHeaderBytesMax <= 65'535 && kHeaderCountMax < 255);

Method method_of(std::string_view text) {
  if (text == "GET") return Method::get;
  if (text == "POST") return Method::post;
  if (text == "HEAD") return Method::head;
  if (text == "PUT") return Method::put;
  if (text == "DELETE") return Method::delete_;
  if (text == "OPTIONS") return Method::options;
  return Method::other;
}

bool equals_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

/// Takes the next element off a comma-separated list.
std::string_view take_element(std::string_view& list) {
  const std::size_t comma = list.find(',');
  const std::string_view element = trimmed(list.substr(0, comma));
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  return element;
}

bool is_port(std::string_view text) { return text.size() <= 5 && std::ranges::all_of(text, is_digit); }

/// A name, an IPv4 or a bracketed IPv6 address, then perhaps a port. User info, lists and blanks are none of these.
bool is_host(std::string_view text) {
  const bool is_bracketed = text.starts_with('[');
  const std::size_t end = is_bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) return false;
  const std::string_view name = is_bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  std::string_view rest = text.substr(is_bracketed ? end + 1 : end);
  if (name.empty() || name.size() > kHostBytesMax) return false;
  const auto may_stand = [is_bracketed](char c) {
    if (is_digit(c) || c == '.') return true;
    if (is_bracketed) return c == ':' || (lower(c) >= 'a' && lower(c) <= 'f');
    return is_letter(c) || c == '-' || c == '_';
  };
  if (!std::ranges::all_of(name, may_stand)) return false;
  if (rest.empty()) return true;
  return rest.front() == ':' && is_port(rest.substr(1));
}

/// The size of the name at the front of a header line; 0 unless a colon follows it at once.
std::size_t name_size(std::string_view line) {
  std::size_t size = 0;
  while (size < line.size() && is_token(line[size])) ++size;
  return size < line.size() && line[size] == ':' ? size : 0;
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

}  // namespace

bool RequestParser::refuse(Refusal why) {
  refusal_ = why;
  phase_ = Phase::failed;
  return false;
}

RequestParser::Progress RequestParser::parse(std::span<char> bytes) {
  while (step(bytes)) {
  }
  if (phase_ == Phase::done) return Progress::complete;
  return phase_ == Phase::failed ? Progress::refused : Progress::need_more;
}

/// One line or one run of body. False when more bytes are needed or the end is reached.
bool RequestParser::step(std::span<char> bytes) {
  const std::string_view text{bytes.data(), bytes.size()};
  switch (phase_) {
    case Phase::request_line:
      return find_line(text, {line_, kRequestLineBytesMax, Refusal::target_too_long, Refusal::bad_request_line}) &&
             take_request_line(text);
    case Phase::header_line:
      return find_line(text, {0, kHeaderBytesMax, Refusal::headers_too_large, Refusal::bad_header}) &&
             (line_end_ == line_ ? finish_head(text) : take_header_line(text));
    case Phase::sized_body:
      if (text.size() - body_ < body_size_) return false;
      line_ = body_ + body_size_;
      phase_ = Phase::done;
      return false;
    case Phase::chunk_line:
      return find_line(text, {line_, kChunkLineBytesMax, Refusal::bad_chunk, Refusal::bad_chunk}) &&
             take_chunk_line(text);
    case Phase::chunk_data: return take_chunk_data(bytes);
    case Phase::chunk_end: return take_chunk_end(text);
    case Phase::trailer_line:
      return find_line(text, {trailers_, kTrailerBytesMax, Refusal::headers_too_large, Refusal::bad_chunk}) &&
             take_trailer_line(text);
    case Phase::done:
    case Phase::failed: return false;
  }
  return false;
}

/// Finds the line that begins at `line_`. The limit counts the bytes seen of it, whole line or not, so that the place
/// where the bytes were cut cannot change the outcome.
bool RequestParser::find_line(std::string_view bytes, const LineRule& rule) {
  const char* from = bytes.data() + scan_;
  const void* feed = scan_ < bytes.size() ? std::memchr(from, '\n', bytes.size() - scan_) : nullptr;
  const std::size_t end =
      feed == nullptr ? bytes.size() : static_cast<std::size_t>(static_cast<const char*>(feed) - bytes.data()) + 1;
  if (end - rule.base > rule.bytes_max) return refuse(rule.too_long);
  scan_ = static_cast<std::uint32_t>(end);
  if (feed == nullptr) return false;
  if (end - line_ < 2 || bytes[end - 2] != '\r') return refuse(rule.malformed);
  next_ = static_cast<std::uint32_t>(end);
  line_end_ = next_ - 2;
  return true;
}

bool RequestParser::next_line(Phase phase) {
  line_ = scan_ = next_;
  phase_ = phase;
  return true;
}

bool RequestParser::take_request_line(std::string_view bytes) {
  const std::string_view line = bytes.substr(line_, line_end_ - line_);
  if (line.empty() && !skipped_line_) {  // Some clients send one too many after a body.
    skipped_line_ = true;
    return next_line(Phase::request_line);
  }
  const std::size_t method_size = static_cast<std::size_t>(std::ranges::find_if_not(line, is_token) - line.begin());
  if (method_size == 0 || method_size > kMethodBytesMax) return refuse(Refusal::bad_request_line);
  if (line.size() < method_size + 1 + 1 + 1 + kVersion.size()) return refuse(Refusal::bad_request_line);
  const std::string_view version = line.substr(line.size() - kVersion.size());
  if (line[method_size] != ' ' || line[line.size() - kVersion.size() - 1] != ' ') {
    return refuse(Refusal::bad_request_line);
  }
  if (!version.starts_with("HTTP/") || !is_digit(version[5]) || version[6] != '.' || !is_digit(version[7])) {
    return refuse(Refusal::bad_request_line);
  }
  is_http10_ = version == "HTTP/1.0";
  if (!is_http10_ && version != kVersion) return refuse(Refusal::version_unknown);
  method_ = method_of(line.substr(0, method_size));
  const std::size_t size = line.size() - kVersion.size() - method_size - 2;
  if (size > kTargetBytesMax) return refuse(Refusal::target_too_long);
  return take_target(bytes, {static_cast<std::uint16_t>(line_ + method_size + 1), static_cast<std::uint16_t>(size)});
}

bool RequestParser::take_target(std::string_view bytes, Piece target) {
  const std::string_view text = target.in(bytes);
  if (!is_visible(text) || text.find('#') != std::string_view::npos) return refuse(Refusal::bad_target);
  if (text.front() == '/') {
    set_path(bytes, target);
  } else if (text == "*" && method_ == Method::options) {
    path_ = target;
  } else if (!take_absolute_form(bytes, target)) {
    return refuse(Refusal::bad_target);
  }
  return next_line(Phase::header_line);
}

void RequestParser::set_path(std::string_view bytes, Piece target) {
  const std::size_t mark = target.in(bytes).find('?');
  path_ = target;
  if (mark == std::string_view::npos) return;
  path_.size = static_cast<std::uint16_t>(mark);
  query_.at = static_cast<std::uint16_t>(target.at + mark + 1);
  query_.size = static_cast<std::uint16_t>(target.size - mark - 1);
}

bool RequestParser::take_absolute_form(std::string_view bytes, Piece target) {
  const std::string_view text = target.in(bytes);
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return false;
  const std::string_view scheme = text.substr(0, colon);
  if (!equals_lower(scheme, "http") && !equals_lower(scheme, "https")) return false;
  const std::size_t begin = colon + 3;
  const std::size_t end = std::min(text.find_first_of("/?", begin), text.size());
  authority_ = {static_cast<std::uint16_t>(target.at + begin), static_cast<std::uint16_t>(end - begin)};
  if (!is_host(authority_.in(bytes))) return false;
  set_path(bytes, {static_cast<std::uint16_t>(target.at + end), static_cast<std::uint16_t>(target.size - end)});
  return true;
}

RequestParser::Field RequestParser::field_of(std::string_view name) const {
  if (!signature_header_.empty() && equals_lower(name, signature_header_)) return Field::signature;
  const auto either = [name](std::string_view text, Field field) {
    return equals_lower(name, text) ? field : Field::other;
  };
  switch (name.size()) {
    case 4: return either("host", Field::host);
    case 6: return lower(name[0]) == 'a' ? either("accept", Field::accept) : either("expect", Field::expect);
    case 10: return either("connection", Field::connection);
    case 11: return either("x-sale-pass", Field::x_sale_pass);
    case 12:
      return lower(name[0]) == 'c' ? either("content-type", Field::content_type)
                                   : either("x-request-id", Field::x_request_id);
    case 13:
      return lower(name[0]) == 'a' ? either("authorization", Field::authorization)
                                   : either("if-none-match", Field::if_none_match);
    case 14: return either("content-length", Field::content_length);
    case 15:
      return lower(name[0]) == 'i' ? either("idempotency-key", Field::idempotency_key)
                                   : either("x-forwarded-for", Field::x_forwarded_for);
    case 17: return either("transfer-encoding", Field::transfer_encoding);
    default: return Field::other;
  }
}

bool RequestParser::take_header_line(std::string_view bytes) {
  const std::string_view line = bytes.substr(line_, line_end_ - line_);
  const std::size_t size = name_size(line);
  if (size == 0) return refuse(Refusal::bad_header);
  const std::string_view value = trimmed(line.substr(size + 1));
  if (!is_field_text(value)) return refuse(Refusal::bad_header);
  if (++header_count_ > kHeaderCountMax) return refuse(Refusal::headers_too_large);
  const Field field = field_of(line.substr(0, size));
  if (field != Field::other) {
    const Piece piece{static_cast<std::uint16_t>(value.data() - bytes.data()),
                      static_cast<std::uint16_t>(value.size())};
    if (!take_field(bytes, field, piece)) return false;
  }
  return next_line(Phase::header_line);
}

bool RequestParser::take_field(std::string_view bytes, Field field, Piece value) {
  const auto bit = static_cast<std::uint16_t>(1U << static_cast<unsigned>(field));
  const bool is_second = is_seen(field);
  seen_ = static_cast<std::uint16_t>(seen_ | bit);
  if (is_second) repeated_ = static_cast<std::uint16_t>(repeated_ | bit);
  switch (field) {
    case Field::host: {
      if (is_second || !is_host(value.in(bytes))) return refuse(Refusal::bad_host);
      break;
    }
    case Field::content_length: return is_second ? refuse(Refusal::bad_length) : take_length(value.in(bytes));
    case Field::transfer_encoding: return is_second ? refuse(Refusal::bad_encoding) : take_encoding(value.in(bytes));
    case Field::expect:
      if (!equals_lower(value.in(bytes), "100-continue")) return refuse(Refusal::expectation_failed);
      expects_continue_ = !is_http10_;
      return true;
    case Field::connection: take_connection(value.in(bytes)); return true;
    case Field::accept:
    case Field::authorization:
    case Field::content_type:
    case Field::idempotency_key:
    case Field::if_none_match:
    case Field::x_forwarded_for:
    case Field::x_sale_pass:
    case Field::x_request_id:
    case Field::signature:
    case Field::other: break;
  }
  fields_[static_cast<std::size_t>(field)] = value;
  return true;
}

bool RequestParser::take_length(std::string_view value) {
  if (value.empty() || value.size() > kLengthDigitsMax) return refuse(Refusal::bad_length);
  if (!std::ranges::all_of(value, is_digit)) return refuse(Refusal::bad_length);
  std::uint64_t size = 0;
  for (const char c : value) size = size * 10 + static_cast<std::uint64_t>(c - '0');
  body_size_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, kBodyBytesMax + 1));
  return true;
}

/// Exactly `chunked`. Known forms that we do not undo are 501; forms whose end is uncertain are 400.
bool RequestParser::take_encoding(std::string_view value) {
  is_chunked_ = equals_lower(value, "chunked");
  if (is_chunked_) return true;
  std::string_view list = value;
  std::string_view last;
  std::size_t chunked_count = 0;
  std::size_t count = 0;
  while (!list.empty()) {
    last = take_element(list);
    ++count;
    if (last.empty() || !std::ranges::all_of(last, is_token)) return refuse(Refusal::bad_encoding);
    if (equals_lower(last, "chunked")) ++chunked_count;
  }
  const bool ends_chunked = chunked_count == 1 && equals_lower(last, "chunked");
  const bool is_single = count == 1;
  return refuse(ends_chunked || is_single ? Refusal::encoding_unknown : Refusal::bad_encoding);
}

void RequestParser::take_connection(std::string_view value) {
  while (!value.empty()) {
    const std::string_view element = take_element(value);
    if (equals_lower(element, "close")) says_close_ = true;
    if (equals_lower(element, "keep-alive")) says_keep_alive_ = true;
  }
}

bool RequestParser::finish_head(std::string_view bytes) {
  const bool has_host = is_seen(Field::host);
  if (!has_host && !is_http10_) return refuse(Refusal::bad_host);
  if (authority_.size > 0) {
    if (!has_host || !equals_any_case(authority_.in(bytes), kept(Field::host, bytes)))
      return refuse(Refusal::bad_target);
  }
  if (is_chunked_ && (is_http10_ || is_seen(Field::content_length))) return refuse(Refusal::bad_encoding);
  if (body_size_ > kBodyBytesMax) return refuse(Refusal::body_too_large);
  body_ = next_;
  if (is_chunked_) return next_line(Phase::chunk_line);
  return next_line(Phase::sized_body);
}

bool RequestParser::take_chunk_line(std::string_view bytes) {
  const std::string_view line = bytes.substr(line_, line_end_ - line_);
  std::uint64_t size = 0;
  std::size_t digits = 0;
  while (digits < line.size() && digits < kChunkDigitsMax && hex_value(line[digits]) >= 0) {
    size = size << 4 | static_cast<std::uint64_t>(hex_value(line[digits]));
    ++digits;
  }
  if (digits == 0) return refuse(Refusal::bad_chunk);
  const std::string_view rest = line.substr(digits);
  if (!rest.empty()) {
    const std::string_view extension = rest.substr(1);
    if (rest.front() != ';' || extension.empty() || !is_token(extension.front())) return refuse(Refusal::bad_chunk);
    if (extension.size() > kChunkExtensionBytesMax || !is_field_text(extension)) return refuse(Refusal::bad_chunk);
  }
  if (size > kBodyBytesMax - body_size_) return refuse(Refusal::body_too_large);
  chunk_left_ = static_cast<std::uint32_t>(size);
  trailers_ = next_;
  return next_line(size == 0 ? Phase::trailer_line : Phase::chunk_data);
}

/// Moves what is there of the chunk up to the body so far, over the framing in between.
bool RequestParser::take_chunk_data(std::span<char> bytes) {
  const auto there = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size() - line_, chunk_left_));
  if (there > 0) std::memmove(bytes.data() + body_ + body_size_, bytes.data() + line_, there);
  body_size_ += there;
  chunk_left_ -= there;
  line_ += there;
  if (chunk_left_ > 0) return false;
  phase_ = Phase::chunk_end;
  return true;
}

bool RequestParser::take_chunk_end(std::string_view bytes) {
  const std::string_view there = bytes.substr(line_, 2);
  if (!std::string_view("\r\n").starts_with(there)) return refuse(Refusal::bad_chunk);
  if (there.size() < 2) return false;
  next_ = line_ + 2;
  if (next_ - body_ - body_size_ > kChunkFrameBytesMax) return refuse(Refusal::body_too_large);
  return next_line(Phase::chunk_line);
}

/// Trailers must be well formed and are dropped: none of them may change what the headers said.
bool RequestParser::take_trailer_line(std::string_view bytes) {
  const std::string_view line = bytes.substr(line_, line_end_ - line_);
  if (line.empty()) {
    line_ = next_;
    phase_ = Phase::done;
    return false;
  }
  const std::size_t size = name_size(line);
  if (size == 0 || !is_field_text(line.substr(size))) return refuse(Refusal::bad_chunk);
  if (++header_count_ > kHeaderCountMax) return refuse(Refusal::headers_too_large);
  return next_line(Phase::trailer_line);
}

bool RequestParser::takes_continue(std::size_t size) {
  const bool is_past_head = phase_ == Phase::sized_body || phase_ == Phase::chunk_line;
  if (!expects_continue_ || !is_past_head) return false;
  expects_continue_ = false;
  return size == body_;
}

std::string_view RequestParser::kept(Field field, std::string_view bytes) const {
  return is_repeated(field) ? std::string_view{} : fields_[static_cast<std::size_t>(field)].in(bytes);
}

Request RequestParser::request(std::string_view bytes) const {
  CHECK(phase_ == Phase::done, "phase={}", static_cast<int>(phase_));
  Request request;
  request.method = method_;
  request.path = path_.size == 0 ? std::string_view("/") : path_.in(bytes);
  request.query = query_.in(bytes);
  request.body = bytes.substr(body_, body_size_);
  request.authorization = kept(Field::authorization, bytes);
  request.content_type = kept(Field::content_type, bytes);
  request.host = kept(Field::host, bytes);
  request.idempotency_key = kept(Field::idempotency_key, bytes);
  request.if_none_match = kept(Field::if_none_match, bytes);
  request.accept = kept(Field::accept, bytes);
  // The nearest proxy adds the last line, so that is the one to believe.
  request.x_forwarded_for = fields_[static_cast<std::size_t>(Field::x_forwarded_for)].in(bytes);
  request.x_sale_pass = kept(Field::x_sale_pass, bytes);
  request.signature = kept(Field::signature, bytes);
  request.repeated_authorization = is_repeated(Field::authorization);
  request.repeated_idempotency_key = is_repeated(Field::idempotency_key);
  request.repeated_signature = is_repeated(Field::signature);
  request.has_idempotency_key = is_seen(Field::idempotency_key);
  return request;
}

std::string_view RequestParser::request_id(std::string_view bytes) const {
  const std::string_view id = kept(Field::x_request_id, bytes);
  const auto may_stand = [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-'; };
  return id.size() <= kRequestIdBytesMax && std::ranges::all_of(id, may_stand) ? id : std::string_view{};
}

}  // namespace weir::http
