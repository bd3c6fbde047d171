#include "payment/flat_json.h"

#include "config/limits.h"

#include <algorithm>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::int64_t kWholeMax = 9'007'199'254'740'991;

std::string step(std::string_view name) {
  std::string path(1, '\0');
  path += name;
  return path;
}

}  // namespace

/// Receives the parser's events and keeps the path of where it is.
class FlatJson::Reader {
 public:
  static constexpr std::size_t max_object_size = kBodyBytesMax;
  static constexpr std::size_t max_array_size = kBodyBytesMax;
  static constexpr std::size_t max_key_size = kBodyBytesMax;
  static constexpr std::size_t max_string_size = kBodyBytesMax;
  using Error = boost::json::error_code;
  using Text = boost::json::string_view;

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error& error) { return enter(false, error); }
  bool on_object_end(std::size_t, Error&) { return leave(); }
  bool on_array_begin(Error& error) { return enter(true, error); }
  bool on_array_end(std::size_t, Error&) { return leave(); }
  bool on_key_part(Text part, std::size_t, Error&) { return collect(part); }
  bool on_key(Text part, std::size_t, Error& error) {
    collect(part);
    key_ = std::exchange(text_, {});
    return key_.find('\0') == std::string::npos || refuse(error, "a member's name contains NUL");
  }
  bool on_string_part(Text part, std::size_t, Error&) { return collect(part); }
  bool on_string(Text part, std::size_t, Error& error) {
    collect(part);
    return add({Value::Kind::text, std::exchange(text_, {}), 0}, error);
  }
  bool on_number_part(Text part, Error&) { return collect(part); }
  bool on_int64(std::int64_t number, Text part, Error& error) {
    collect(part);
    const std::string digits = std::exchange(text_, {});
    const bool is_plain = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    const bool is_whole = is_plain && number >= 0 && number <= kWholeMax;
    return add(is_whole ? Value{Value::Kind::whole, {}, number} : Value{}, error);
  }
  bool on_uint64(std::uint64_t, Text, Error& error) { return add_other(error); }
  bool on_double(double, Text, Error& error) { return add_other(error); }
  bool on_bool(bool, Error& error) { return add_other(error); }
  bool on_null(Error& error) { return add_other(error); }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::map<std::string, Value, std::less<>> take() { return std::move(values_); }

 private:
  struct Frame {
    bool is_array = false;
    std::string path;
    std::size_t next = 0;  // Arrays: the place of the next element.
  };

  bool collect(Text part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool refuse(Error& error, std::string problem) {
    problem_ = std::move(problem);
    error = boost::json::error::syntax;
    return false;
  }
  /// The path of the value that begins now.
  std::string path() {
    Frame& frame = frames_.back();
    return frame.path + step(frame.is_array ? fmt::format("{}", frame.next++) : key_);
  }
  bool add(Value value, Error& error) {
    if (frames_.empty()) return refuse(error, "it is no JSON object");
    const auto [place, is_new] = values_.try_emplace(path(), std::move(value));
    return is_new || refuse(error, fmt::format("the member '{}' is given twice", key_));
  }
  bool add_other(Error& error) {
    text_.clear();
    return add({}, error);
  }
  bool enter(bool is_array, Error& error) {
    if (frames_.empty()) {
      if (is_array) return refuse(error, "it is no JSON object");
      frames_.push_back({});
      return true;
    }
    std::string here = path();
    if (!values_.try_emplace(here).second) return refuse(error, fmt::format("the member '{}' is given twice", key_));
    frames_.push_back({is_array, std::move(here), 0});
    return true;
  }
  bool leave() {
    frames_.pop_back();
    return true;
  }

  std::vector<Frame> frames_;  // At most kJsonDepthMax.
  std::string key_;
  std::string text_;
  std::string problem_;
  std::map<std::string, Value, std::less<>> values_;
};

Parsed<FlatJson> FlatJson::parse(std::string_view text) {
  if (text.size() > kBodyBytesMax) {
    return std::unexpected(fmt::format("it is longer than {} bytes", kBodyBytesMax));
  }
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::json::basic_parser<Reader> parser(options);
  boost::json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (error) {
    const std::string& problem = parser.handler().problem();
    return std::unexpected(problem.empty() ? fmt::format("it is no JSON: {}", error.message()) : problem);
  }
  if (used != text.size() || !parser.done()) return std::unexpected<std::string>("something follows the JSON object");
  FlatJson flat;
  flat.values_ = parser.handler().take();
  return flat;
}

const FlatJson::Value* FlatJson::find(std::string_view member, std::string_view inner) const {
  const auto found = values_.find(inner.empty() ? step(member) : step(member) + step(inner));
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::string> FlatJson::text(std::string_view member, std::string_view inner) const {
  const Value* value = find(member, inner);
  if (value == nullptr || value->kind != Value::Kind::text) return std::nullopt;
  return value->text;
}

std::optional<std::int64_t> FlatJson::whole(std::string_view member, std::string_view inner) const {
  const Value* value = find(member, inner);
  if (value == nullptr || value->kind != Value::Kind::whole) return std::nullopt;
  return value->whole;
}

bool FlatJson::has(std::string_view member) const { return find(member, {}) != nullptr; }

}  // namespace weir
