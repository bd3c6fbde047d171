#include "http/purchase_wish.h"

#include "config/limits.h"
#include "http/answers.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace weir::http {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kJsonSpace = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kJsonSpace);
  return from == std::string_view::npos ? std::string_view{}
                                        : text.substr(from, text.find_last_not_of(kJsonSpace) - from + 1);
}

/// A number in the one spelling that is taken: digits, without a leading zero.
std::optional<std::uint32_t> parse_number(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  if (!std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} && number <= kNumberMax ? std::optional{number} : std::nullopt;
}

std::optional<Response> read_numbers(const JsonMember& member, std::vector<std::uint32_t>& numbers) {
  if (member.kind != JsonMember::Kind::array) return invalid("numbers", "The numbers must be a list.");
  std::string_view rest = member.raw.substr(1, member.raw.size() - 2);
  if (trimmed(rest).empty()) return invalid("numbers", "Name at least one number.");
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const auto number = parse_number(trimmed(one));
    if (!number) return invalid("numbers", "Each number must be a whole number, in digits without a leading zero.");
    if (numbers.size() >= static_cast<std::size_t>(kUnitsPerClaimMax))
      return invalid("numbers", fmt::format("Name at most {} numbers.", kUnitsPerClaimMax));
    numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  const auto twice = std::ranges::adjacent_find(numbers);
  if (twice != numbers.end()) return invalid("numbers", fmt::format("The number {} is named twice.", *twice));
  return std::nullopt;
}

std::optional<Response> read_count(const JsonMember& member, std::int32_t& units) {
  const auto whole = member.whole();
  if (!whole || *whole < 1 || *whole > kUnitsPerClaimMax) {
    return invalid(member.name, fmt::format("The {} must be a whole number from 1 to {}, in digits.",
                                            member.name == "random" ? "count" : "quantity", kUnitsPerClaimMax));
  }
  units = static_cast<std::int32_t>(*whole);
  return std::nullopt;
}

}  // namespace

std::optional<Response> read_wish(const JsonBody& body, PurchaseWish& wish) {
  wish.wish = Wish::units;
  wish.is_plain = body.size() == 0;
  wish.units = 1;
  wish.numbers.clear();
  const JsonMember* const quantity = body.find("quantity");
  const JsonMember* const numbers = body.find("numbers");
  const JsonMember* const random = body.find("random");
  const JsonMember* const partial = body.find("partial");
  if (numbers != nullptr && (quantity != nullptr || random != nullptr))
    return invalid(quantity != nullptr ? "quantity" : "random", "Name the numbers, or say how many: not both.");
  if (random != nullptr && quantity != nullptr) return invalid("quantity", "Send a quantity or random, not both.");
  if (partial != nullptr && numbers == nullptr) return invalid("partial", "It goes with named numbers only.");
  if (quantity != nullptr) return read_count(*quantity, wish.units);
  if (random != nullptr) {
    wish.wish = Wish::random;
    return read_count(*random, wish.units);
  }
  if (numbers == nullptr) return std::nullopt;
  if (auto wrong = read_numbers(*numbers, wish.numbers)) return wrong;
  wish.wish = Wish::named;
  wish.units = static_cast<std::int32_t>(wish.numbers.size());
  if (partial == nullptr) return std::nullopt;
  const auto is_partial = partial->boolean();
  if (!is_partial) return invalid("partial", "It must be true or false.");
  if (*is_partial) wish.wish = Wish::partial;
  return std::nullopt;
}

std::optional<Response> fit_wish(const Item& item, PurchaseWish& wish) {
  if (!item.numbered) {
    if (wish.wish == Wish::units) return std::nullopt;
    return invalid(wish.wish == Wish::random ? "random" : "numbers", "This item has counted stock: send a quantity.");
  }
  if (wish.is_plain) wish.wish = Wish::random;
  if (wish.wish == Wish::units) return invalid("quantity", "This item has numbers: name some, or ask for random ones.");
  const std::int64_t last = item.first_number + item.total - 1;
  for (const std::uint32_t number : wish.numbers) {
    if (number >= item.first_number && number <= last) continue;
    return invalid("numbers", fmt::format("The number {} is not one of this item: it has {} to {}.", number,
                                          item.first_number, last));
  }
  return std::nullopt;
}

}  // namespace weir::http
