#pragma once

#include "metrics/histogram.h"
#include "metrics/names.h"

#include <concepts>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include <prometheus/metric_family.h>

namespace weir {

/// An enumerator that says its own name, by `name(e)` or by the table behind `text_of(e)`.
template <typename E>
concept HasName = std::is_enum_v<E> && requires(E e) {
  { name(e) } -> std::same_as<std::string_view>;
};
template <typename E>
concept HasText = std::is_enum_v<E> && requires(E e) {
  { text_of(e).text } -> std::convertible_to<std::string_view>;
};

/// The value of a label. It can be made from enumerators and from literals only, so that nothing a stranger sent (a
/// path, a buyer, an order) ever becomes a series. Written in small letters.
class LabelWord {
 public:
  template <HasName E>
  constexpr LabelWord(E enumerator) : word_(name(enumerator)) {}  // Implicit: an enumerator is a label's value.
  template <HasText E>
    requires(!HasName<E>)
  constexpr LabelWord(E enumerator) : word_(text_of(enumerator).text) {}
  template <std::size_t kSize>
  consteval LabelWord(const char (&literal)[kSize]) : word_(literal, kSize - 1) {}

  [[nodiscard]] std::string text() const;

 private:
  std::string_view word_;  // A literal.
};

/// One answer of `/metrics`: takes the samples of one moment and writes them in Prometheus' text format 0.0.4.
///
/// Invariant: at most kMetricSeriesMax series, whatever was added; what did not fit is counted in a series of its own.
/// Threads: one; made anew for every answer. Blocking: never.
class TextExposition {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  /// Requires: the metric has no label and is no histogram; each is added once.
  void add(const Metric& metric, double value);
  /// Requires: the metric has a label; each of its values is added once.
  void add(const Metric& metric, const LabelWord& word, double value);
  /// An item's own count. Its id was chosen by an organiser; the first kMetricItemsMax different ids get a series. The
  /// same id in two tenants is added up.
  void add_item(const Metric& metric, std::string_view item, double value);
  void add(const Metric& metric, const Histogram& histogram);

  [[nodiscard]] std::size_t series() const { return series_; }
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] bool make_room(std::size_t series);
  [[nodiscard]] prometheus::MetricFamily& family(const Metric& metric);
  void put(const Metric& metric, std::string_view word, double value);

  std::map<std::string_view, prometheus::MetricFamily> families_;  // By name, which is a literal.
  std::set<std::string, std::less<>> items_;
  std::size_t series_ = 1;  // The one that counts what was dropped.
  std::size_t dropped_ = 0;
};

}  // namespace weir
