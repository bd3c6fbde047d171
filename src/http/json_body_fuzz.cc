#include "base/check.h"
#include "config/limits.h"
#include "http/json_body.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>

/// Finds bodies that our reader and a well-kept JSON library see differently: what one takes and the other refuses, a
/// name, a text or a whole number that came out otherwise.
namespace weir::http {
namespace {

void compare(const JsonMember& member, const boost::json::value& value) {
  switch (member.kind) {
    case JsonMember::Kind::null: CHECK(value.is_null()); break;
    case JsonMember::Kind::boolean: CHECK(value.is_bool() && value.as_bool() == member.boolean()); break;
    case JsonMember::Kind::string:
      CHECK(value.is_string() && member.text() == std::string_view{value.as_string()});
      break;
    case JsonMember::Kind::array: CHECK(value.is_array()); break;
    case JsonMember::Kind::object: CHECK(value.is_object()); break;
    case JsonMember::Kind::number:
      CHECK(value.is_number());
      if (const auto whole = member.whole()) CHECK(value.is_int64() && value.as_int64() == *whole);
      break;
  }
}

void run(std::string_view body) {
  const auto ours = JsonBody::parse(body);
  if (body.empty()) {
    CHECK(ours && ours->size() == 0);
    return;
  }
  boost::system::error_code error;
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  const boost::json::value theirs = boost::json::parse(body, error, {}, options);
  if (!ours) {
    CHECK(!ours.error().empty());
    return;  // Ours refuses more: repeated members, many members.
  }
  // An exponent that no number of theirs can hold is lawful JSON all the same, and they stop reading there.
  if (error == boost::json::error::exponent_overflow) return;
  CHECK(!error && theirs.is_object());
  CHECK(theirs.as_object().size() == ours->size());
  for (std::size_t i = 0; i < ours->size(); ++i) {
    const JsonMember& member = ours->at(i);
    const auto* value = theirs.as_object().if_contains(member.name);
    CHECK(value != nullptr);
    compare(member, *value);
  }
}

}  // namespace
}  // namespace weir::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::http::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
