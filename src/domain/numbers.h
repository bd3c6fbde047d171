#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Some numbers of one item: ascending, each once, at most kUnitsPerClaimMax. Copies share them and nobody changes
/// them; the empty list, that of every claim on counted stock, owns nothing.
///
/// Threads: any.
class NumberList {
 public:
  NumberList() = default;
  /// Null unless they are ascending, each once, and not too many.
  [[nodiscard]] static std::optional<NumberList> from(std::span<const std::uint32_t> numbers);

  [[nodiscard]] std::span<const std::uint32_t> view() const {
    return numbers_ == nullptr ? std::span<const std::uint32_t>{} : std::span{*numbers_};
  }
  [[nodiscard]] std::size_t size() const { return view().size(); }
  [[nodiscard]] bool is_empty() const { return numbers_ == nullptr; }
  [[nodiscard]] bool contains(std::uint32_t number) const;

  /// Four bytes a number, most significant first: how ledgers keep them. Null for anything else.
  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] static std::optional<NumberList> from_bytes(std::string_view bytes);

  friend bool operator==(const NumberList& a, const NumberList& b);

 private:
  std::shared_ptr<const std::vector<std::uint32_t>> numbers_;
};

/// Those of `all` that are not among `some`.
[[nodiscard]] NumberList numbers_without(const NumberList& all, const NumberList& some);

/// How the numbers of an item are shown to people. Never an identity: requests and stores know numbers only.
///
/// The text form is what an organiser writes: empty (the number as it is); a prefix and as many `#` as digits are shown
/// at least (`A-###`: number 7 is `A-007`); or the rows of a hall with their seats, in the order of the numbers
/// (`A:12,B:14`: the thirteenth number of the item is `B-1`).
class NumberLabels {
 public:
  /// Null: the text has none of these forms, or the rows have not room for `count` numbers.
  [[nodiscard]] static std::optional<NumberLabels> parse(std::string_view text, std::uint32_t first,
                                                         std::int64_t count);
  [[nodiscard]] std::string label(std::uint32_t number) const;

 private:
  struct Row {
    std::string name;
    std::uint32_t first = 0;  // Its first seat, counted from the item's first number.
  };
  std::string prefix_;
  std::size_t digits_ = 0;
  std::vector<Row> rows_;
  std::uint32_t first_ = 0;
};

/// What is wrong with an item that has the numbers first to last with these labels, for a person; empty: nothing.
[[nodiscard]] std::string numbers_problem(std::int64_t first, std::int64_t last, std::string_view labels);

}  // namespace weir
