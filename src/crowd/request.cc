#include "crowd/request.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

constexpr std::string_view kAddressHeader = "\r\nX-Forwarded-For: 10";

char* write_number(char* at, std::uint32_t number) { return std::to_chars(at, at + 10, number).ptr; }

}  // namespace

RequestText::RequestText(const Options& options)
    : before_token_(
          fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer ", options.path, options.authority)) {
  if (!options.key_tag.empty()) before_key_ = fmt::format("\r\nIdempotency-Key: {}-", options.key_tag);
  after_ = options.body.empty() ? "\r\nContent-Length: 0\r\n\r\n"
                                : fmt::format("\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                                              options.body.size(), options.body);
}

void RequestText::append(std::uint32_t buyer, std::string_view token, std::string& out) const {
  std::array<char, 64> numbers;
  char* at = numbers.data();
  for (const unsigned shift : {16U, 8U, 0U}) {
    *at++ = '.';
    at = write_number(at, buyer >> shift & 0xff);
  }
  out.append(before_token_).append(token).append(kAddressHeader);
  out.append(numbers.data(), static_cast<std::size_t>(at - numbers.data()));
  if (!before_key_.empty()) {
    const char* end = write_number(numbers.data(), buyer);
    out.append(before_key_).append(numbers.data(), static_cast<std::size_t>(end - numbers.data()));
  }
  out.append(after_);
}

}  // namespace weir::crowd
