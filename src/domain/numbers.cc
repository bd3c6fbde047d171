#include "domain/numbers.h"

#include "config/limits.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::size_t kNumberBytes = 4;

bool is_label_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == ' ';
  });
}

}  // namespace

std::optional<NumberList> NumberList::from(std::span<const std::uint32_t> numbers) {
  if (numbers.size() > static_cast<std::size_t>(kUnitsPerClaimMax)) return std::nullopt;
  if (std::ranges::adjacent_find(numbers, std::greater_equal<>{}) != numbers.end()) return std::nullopt;
  NumberList list;
  if (!numbers.empty()) {
    list.numbers_ = std::make_shared<const std::vector<std::uint32_t>>(numbers.begin(), numbers.end());
  }
  return list;
}

bool NumberList::contains(std::uint32_t number) const { return std::ranges::binary_search(view(), number); }

std::string NumberList::bytes() const {
  std::string out;
  out.reserve(size() * kNumberBytes);
  for (const std::uint32_t number : view()) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift & 0xff));
  }
  return out;
}

std::optional<NumberList> NumberList::from_bytes(std::string_view bytes) {
  if (bytes.size() % kNumberBytes != 0) return std::nullopt;
  std::vector<std::uint32_t> numbers(bytes.size() / kNumberBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint32_t& number = numbers[i / kNumberBytes];
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return from(numbers);
}

bool operator==(const NumberList& a, const NumberList& b) {
  return a.numbers_ == b.numbers_ || std::ranges::equal(a.view(), b.view());
}

NumberList numbers_without(const NumberList& all, const NumberList& some) {
  std::vector<std::uint32_t> rest;
  std::ranges::set_difference(all.view(), some.view(), std::back_inserter(rest));
  return NumberList::from(rest).value_or(NumberList{});
}

std::optional<NumberLabels> NumberLabels::parse(std::string_view text, std::uint32_t first, std::int64_t count) {
  if (text.size() > kLabelBytesMax) return std::nullopt;
  NumberLabels labels;
  labels.first_ = first;
  if (text.find(':') == std::string_view::npos) {
    const std::size_t digits_at = std::min(text.find('#'), text.size());
    labels.prefix_ = text.substr(0, digits_at);
    labels.digits_ = text.size() - digits_at;
    const bool is_lawful = is_label_text(labels.prefix_) && labels.digits_ <= 10 &&
                           text.find_first_not_of('#', digits_at) == std::string_view::npos &&
                           (text.empty() || labels.digits_ > 0);
    return is_lawful ? std::optional{std::move(labels)} : std::nullopt;
  }
  std::int64_t seats_before = 0;
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find(','));
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    const std::size_t colon = row.find(':');
    if (colon == std::string_view::npos || colon == 0 || !is_label_text(row.substr(0, colon))) return std::nullopt;
    std::uint32_t seats = 0;
    const char* const end = row.data() + row.size();
    const auto read = std::from_chars(row.data() + colon + 1, end, seats);
    if (read.ec != std::errc{} || read.ptr != end || seats == 0 || seats > kNumbersPerItemMax) return std::nullopt;
    labels.rows_.push_back({std::string{row.substr(0, colon)}, static_cast<std::uint32_t>(seats_before)});
    seats_before += seats;
  }
  return seats_before >= count ? std::optional{std::move(labels)} : std::nullopt;
}

std::string NumberLabels::label(std::uint32_t number) const {
  if (rows_.empty()) return fmt::format("{}{:0{}}", prefix_, number, digits_);
  const std::uint32_t place = number - first_;
  const auto after = std::ranges::upper_bound(rows_, place, std::less<>{}, [](const Row& row) { return row.first; });
  const Row& row = *std::prev(after);
  return fmt::format("{}-{}", row.name, place - row.first + 1);
}

std::string numbers_problem(std::int64_t first, std::int64_t last, std::string_view labels) {
  if (first < 0 || last > kNumberMax || last < first)
    return fmt::format("the numbers must ascend and lie within 0 and {}", kNumberMax);
  if (last - first + 1 > kNumbersPerItemMax) return fmt::format("an item has at most {} numbers", kNumbersPerItemMax);
  if (!NumberLabels::parse(labels, static_cast<std::uint32_t>(first), last - first + 1))
    return "labels are a prefix with as many # as digits (A-###), or rows with seats for all numbers (A:12,B:14)";
  return {};
}

}  // namespace weir
