#include "base/check.h"
#include "http/request_parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Finds bytes that the request parser reads differently when they come in other pieces, or reads past their end.
namespace weir::http {
namespace {

using Progress = RequestParser::Progress;

struct Outcome {
  Progress progress = Progress::need_more;
  Refusal refusal = Refusal::none;
  std::size_t consumed = 0;
  std::string parts;
  bool operator==(const Outcome&) const = default;
};

/// Every view must lie inside the bytes; touching its characters lets the sanitizer see whether it does.
std::string parts_of(const RequestParser& parser, std::string_view bytes) {
  const Request request = parser.request(bytes);
  std::string parts;
  for (const std::string_view part :
       {request.path, request.query, request.body, request.host, request.authorization, request.content_type,
        request.idempotency_key, request.if_none_match, request.accept, request.x_forwarded_for, request.x_sale_pass,
        request.signature, parser.request_id(bytes)}) {
    parts.append(part).push_back('|');
  }
  parts += parser.is_kept_alive() ? 'k' : 'c';
  parts += static_cast<char>('0' + static_cast<int>(request.method));
  CHECK(request.path.starts_with('/') || request.path == "*");
  return parts;
}

/// Gives the bytes in pieces, each time in a block of exactly their size. `step` makes the next piece's size.
template <typename Step>
Outcome parse_in_pieces(std::string_view input, Step step) {
  RequestParser parser("x-signature");
  std::vector<char> bytes;
  Outcome outcome;
  do {
    const std::size_t size = std::min(input.size(), bytes.size() + std::max<std::size_t>(step(), 1));
    std::vector<char> moved(size);
    std::ranges::copy(bytes, moved.begin());
    std::ranges::copy(input.substr(bytes.size(), size - bytes.size()),
                      moved.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
    bytes.swap(moved);
    outcome.progress = parser.parse(bytes);
  } while (outcome.progress == Progress::need_more && bytes.size() < input.size());
  if (outcome.progress == Progress::refused) outcome.refusal = parser.refusal();
  if (outcome.progress == Progress::complete) {
    outcome.consumed = parser.consumed();
    CHECK(outcome.consumed > 0 && outcome.consumed <= bytes.size());
    outcome.parts = parts_of(parser, {bytes.data(), bytes.size()});
  }
  return outcome;
}

void check_same_in_any_pieces(std::string_view input, std::uint64_t seed) {
  const Outcome whole = parse_in_pieces(input, [&] { return input.size(); });
  if (input.size() <= 4'096) CHECK(parse_in_pieces(input, [] { return std::size_t{1}; }) == whole);
  CHECK(parse_in_pieces(input, [&seed] {
          seed = seed * 6'364'136'223'846'793'005U + 1;
          return static_cast<std::size_t>(seed >> 33) % 61;
        }) == whole);
  if (whole.progress != Progress::complete) return;
  // What follows a request changes nothing in it.
  CHECK(parse_in_pieces(input.substr(0, whole.consumed), [&] { return whole.consumed; }) == whole);
}

}  // namespace
}  // namespace weir::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string input;
  for (std::size_t i = 0; i < size; ++i) input.push_back(static_cast<char>(data[i]));
  std::uint64_t seed = size;
  for (const char c : input) seed = seed * 31 + static_cast<unsigned char>(c);
  weir::http::check_same_in_any_pieces(input, seed);
  return 0;
}
