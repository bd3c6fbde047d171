#include "metrics/text_exposition.h"

#include "config/limits.h"
#include "domain/ids.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <vector>

#include <prometheus/text_serializer.h>

namespace weir {
namespace {

prometheus::MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter: return prometheus::MetricType::Counter;
    case MetricKind::gauge: return prometheus::MetricType::Gauge;
    case MetricKind::histogram: return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

void set_value(prometheus::ClientMetric& sample, MetricKind kind, double value) {
  if (kind == MetricKind::counter)
    sample.counter.value = value;
  else
    sample.gauge.value = value;
}

bool has_label(const prometheus::ClientMetric& sample, std::string_view word) {
  return !sample.label.empty() && sample.label.front().value == word;
}

}  // namespace

std::string LabelWord::text() const {
  std::string out(word_);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

bool TextExposition::make_room(std::size_t series) {
  if (series_ + series > kMetricSeriesMax) {
    dropped_ += series;
    return false;
  }
  series_ += series;
  return true;
}

prometheus::MetricFamily& TextExposition::family(const Metric& metric) {
  prometheus::MetricFamily& family = families_[metric.name];
  family.name = metric.name;
  family.help = metric.help;
  family.type = type_of(metric.kind);
  return family;
}

void TextExposition::put(const Metric& metric, std::string_view word, double value) {
  prometheus::ClientMetric sample;
  if (!metric.label.empty()) sample.label.push_back({std::string(metric.label), std::string(word)});
  set_value(sample, metric.kind, value);
  family(metric).metric.push_back(std::move(sample));
}

void TextExposition::add(const Metric& metric, double value) {
  CHECK(metric.label.empty() && metric.kind != MetricKind::histogram && !families_.contains(metric.name), "{}",
        metric.name);
  if (make_room(1)) put(metric, {}, value);
}

void TextExposition::add(const Metric& metric, const LabelWord& word, double value) {
  CHECK(!metric.label.empty() && metric.kind != MetricKind::histogram, "{}", metric.name);
  const std::string text = word.text();
  const auto found = families_.find(metric.name);
  const auto is_same = [&](const prometheus::ClientMetric& sample) { return has_label(sample, text); };
  CHECK(found == families_.end() || std::ranges::none_of(found->second.metric, is_same), "{} {}", metric.name, text);
  if (make_room(1)) put(metric, text, value);
}

void TextExposition::add_item(const Metric& metric, std::string_view item, double value) {
  CHECK(metric.label == "item" && metric.kind == MetricKind::gauge, "{}", metric.name);
  const bool is_known = items_.contains(item);
  if (!is_known && (items_.size() >= kMetricItemsMax || !is_id_text(item))) {
    ++dropped_;
    return;
  }
  if (!is_known) items_.emplace(item);
  std::vector<prometheus::ClientMetric>& samples = family(metric).metric;
  const auto same = std::ranges::find_if(samples, [&](const auto& sample) { return has_label(sample, item); });
  if (same != samples.end())
    same->gauge.value += value;
  else if (make_room(1))
    put(metric, item, value);
}

void TextExposition::add(const Metric& metric, const Histogram& histogram) {
  CHECK(metric.label.empty() && metric.kind == MetricKind::histogram && !families_.contains(metric.name), "{}",
        metric.name);
  const Buckets& buckets = histogram.buckets();
  if (!make_room(buckets.bounds.size() + 3)) return;  // Also the bucket without a bound, the sum and the count.
  prometheus::ClientMetric sample;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= buckets.bounds.size(); ++i) {
    count += histogram.count(i);
    const bool has_bound = i < buckets.bounds.size();
    const double bound =
        has_bound ? static_cast<double>(buckets.bounds[i]) / buckets.units : std::numeric_limits<double>::infinity();
    sample.histogram.bucket.push_back({count, bound});
  }
  sample.histogram.sample_count = count;
  sample.histogram.sample_sum = static_cast<double>(histogram.sum()) / buckets.units;
  family(metric).metric.push_back(std::move(sample));
}

std::string TextExposition::text() const {
  TextExposition whole = *this;
  whole.put(metric::kSeriesDropped, {}, static_cast<double>(dropped_));
  std::vector<prometheus::MetricFamily> families;
  for (auto& [name, family] : whole.families_) families.push_back(std::move(family));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace weir
