#pragma once

#include "http/exchange.h"
#include "http/refusal.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir::http {

/// Reads one HTTP/1.1 or HTTP/1.0 request in place, and refuses whatever two readers could understand differently.
///
/// The bytes may come in any pieces: the outcome is a function of the bytes alone, never of where they were cut, and no
/// byte is looked at twice. A chunked body is joined inside the given bytes, behind its headers.
///
/// Invariant: nothing outside the given span is read or written; positions are relative to its first byte, so the
/// bytes may move between calls. Allocates nothing.
/// Threads: one owner thread. Blocking: never.
class RequestParser {
 public:
  enum class Progress : std::uint8_t { need_more, complete, refused };

  /// `signature_header` in lower case; it must outlive the parser.
  explicit RequestParser(std::string_view signature_header = {}) : signature_header_(signature_header) {}

  /// Forgets the request, so that the next `parse` begins a new one.
  void reset() { *this = RequestParser(signature_header_); }

  /// Requires: `bytes` begins where the request begins and repeats everything given before, then perhaps more.
  [[nodiscard]] Progress parse(std::span<char> bytes);

  /// After `complete`: how many bytes the request took.
  [[nodiscard]] std::size_t consumed() const { return line_; }
  /// After `refused`: why.
  [[nodiscard]] Refusal refusal() const { return refusal_; }

  /// After `complete`: the request as views into the same bytes; the peer is left for the caller.
  [[nodiscard]] Request request(std::string_view bytes) const;
  /// After `complete`: the request id that the client brought; empty if it brought none that may be echoed.
  [[nodiscard]] std::string_view request_id(std::string_view bytes) const;
  /// After `complete`: whether the connection may carry another request.
  [[nodiscard]] bool is_kept_alive() const { return !says_close_ && (!is_http10_ || says_keep_alive_); }
  [[nodiscard]] bool is_http10() const { return is_http10_; }
  [[nodiscard]] bool is_head() const { return method_ == Method::head; }

  /// After `need_more`: whether the client waits for `100 Continue` before it sends the body. True once a request.
  [[nodiscard]] bool takes_continue(std::size_t size);

 private:
  enum class Phase : std::uint8_t {
    request_line,
    header_line,
    sized_body,
    chunk_line,
    chunk_data,
    chunk_end,
    trailer_line,
    done,
    failed,
  };
  enum class Field : std::uint8_t {
    host,
    accept,
    authorization,
    content_type,
    idempotency_key,
    if_none_match,
    x_forwarded_for,
    x_sale_pass,
    x_request_id,
    signature,
    content_length,
    transfer_encoding,
    expect,
    connection,
    other,
  };
  static constexpr std::size_t kFieldsKept = static_cast<std::size_t>(Field::content_length);

  /// A place in the head of a request, which is at most kHeaderBytesMax long.
  struct Piece {
    std::uint16_t at = 0;
    std::uint16_t size = 0;
    [[nodiscard]] std::string_view in(std::string_view bytes) const { return bytes.substr(at, size); }
  };
  /// How long a line may be, counted from `base`, and what to answer if it is longer or does not end in CR LF.
  struct LineRule {
    std::size_t base;
    std::size_t bytes_max;
    Refusal too_long;
    Refusal malformed;
  };

  bool find_line(std::string_view bytes, const LineRule& rule);
  bool next_line(Phase phase);
  bool refuse(Refusal why);
  bool take_request_line(std::string_view bytes);
  bool take_target(std::string_view bytes, Piece target);
  bool take_absolute_form(std::string_view bytes, Piece target);
  void set_path(std::string_view bytes, Piece target);
  bool take_header_line(std::string_view bytes);
  bool take_field(std::string_view bytes, Field field, Piece value);
  bool take_length(std::string_view value);
  bool take_encoding(std::string_view value);
  void take_connection(std::string_view value);
  [[nodiscard]] Field field_of(std::string_view name) const;
  bool finish_head(std::string_view bytes);
  bool take_chunk_line(std::string_view bytes);
  bool take_chunk_data(std::span<char> bytes);
  bool take_chunk_end(std::string_view bytes);
  bool take_trailer_line(std::string_view bytes);
  bool step(std::span<char> bytes);
  [[nodiscard]] std::string_view kept(Field field, std::string_view bytes) const;
  [[nodiscard]] bool is_seen(Field field) const { return (seen_ >> static_cast<unsigned>(field) & 1U) != 0; }
  [[nodiscard]] bool is_repeated(Field field) const { return (repeated_ >> static_cast<unsigned>(field) & 1U) != 0; }

  std::string_view signature_header_;
  Phase phase_ = Phase::request_line;
  Refusal refusal_ = Refusal::none;
  Method method_ = Method::other;
  bool is_http10_ = false;
  bool skipped_line_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  bool is_chunked_ = false;
  bool expects_continue_ = false;
  std::uint8_t header_count_ = 0;
  std::uint16_t seen_ = 0;
  std::uint16_t repeated_ = 0;
  Piece authority_;  // Of an absolute-form target.
  Piece path_;
  Piece query_;
  std::array<Piece, kFieldsKept> fields_{};
  std::uint32_t line_ = 0;      // Where the line, the chunk's data or the rest begins.
  std::uint32_t line_end_ = 0;  // Past the last character of the line found, without CR LF.
  std::uint32_t next_ = 0;      // Past that line.
  std::uint32_t scan_ = 0;      // Everything before it has been searched for the line's end.
  std::uint32_t body_ = 0;      // Where the body begins.
  std::uint32_t trailers_ = 0;
  std::uint32_t body_size_ = 0;  // Declared, or joined so far.
  std::uint32_t chunk_left_ = 0;
};

}  // namespace weir::http
