#include "crowd/charts.h"

#include "crowd/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

constexpr double kWidth = 880;
constexpr double kHeight = 290;
constexpr double kLeft = 74;
constexpr double kRight = 20;
constexpr double kTop = 14;
constexpr double kBottom = 46;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;
constexpr std::size_t kColumnsMax = 160;
constexpr std::size_t kStockPointsMax = 240;

/// One chart under construction: a plane of 0..1 by 0..1 with axes around it.
class Plot {
 public:
  Plot(std::string_view title, std::string_view description) {
    put(R"(<svg viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>)", kWidth, kHeight, html_text(title),
        html_text(description));
  }

  static double x(double share) { return kLeft + share * kPlotWidth; }
  static double y(double share) { return kTop + (1 - share) * kPlotHeight; }

  void y_tick(double share, std::string_view label) {
    put(R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>)", kLeft, y(share), kWidth - kRight);
    put(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 8, y(share) + 4, label);
  }
  void x_tick(double share, std::string_view label) {
    put(R"(<path class="axis" d="M{:.1f} {:.1f}v5"/>)", x(share), y(0));
    put(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x(share), y(0) + 19, label);
  }
  void axis_names(std::string_view across, std::string_view up) {
    put(R"(<path class="axis" d="M{:.1f} {:.1f}H{:.1f}"/>)", kLeft, y(0), kWidth - kRight);
    put(R"(<text class="name" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x(0.5), kHeight - 6, across);
    put(R"svg(<text class="name" transform="translate(14 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)svg",
        y(0.5), up);
  }
  void path(std::string_view style, std::string_view data) { put(R"(<path class="{}" d="{}"/>)", style, data); }
  void label(double across, double up, std::string_view anchor, std::string_view text) {
    put(R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x(across), y(up), anchor, text);
  }
  [[nodiscard]] std::string finish() { return std::move(out_) + "</svg>"; }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }
  std::string out_;
};

/// Ticks of a linear axis that begins at 0.
void linear_ticks(double end, int steps_max, const std::function<void(double share, double value)>& tick) {
  const double step = tick_step(end, steps_max);
  for (int i = 0; step * i <= end * 1.0001; ++i) tick(step * i / end, step * i);
}

void time_axis(Plot& plot, double end_us) {
  const bool is_long = end_us >= 2e6;
  const double unit_us = is_long ? 1e6 : 1e3;
  linear_ticks(end_us / unit_us, 10,
               [&](double share, double value) { plot.x_tick(share, fmt::format("{:g}", value)); });
}

std::string_view time_name(double end_us) {
  return end_us >= 2e6 ? "seconds since the opening" : "milliseconds since the opening";
}

void count_axis(Plot& plot, double end) {
  linear_ticks(end, 5, [&](double share, double value) {
    plot.y_tick(share, with_commas(static_cast<std::uint64_t>(std::llround(value))));
  });
}

/// Rounded up so that the highest shape ends on or under a tick.
double axis_end(double highest) {
  const double step = tick_step(std::max(highest, 1.0), 5);
  return std::max(1.0, std::ceil(highest / step - 1e-9) * step);
}

void line_to(std::string& data, double x, double y) {
  fmt::format_to(std::back_inserter(data), "{}{:.1f} {:.1f}", data.empty() ? 'M' : 'L', x, y);
}

/// A staircase of (share of width, share of height), from its first point to the right edge.
std::string stairs(const std::vector<std::pair<double, double>>& points) {
  std::string data;
  double height = 0;
  for (const auto& [across, up] : points) {
    if (!data.empty()) line_to(data, Plot::x(across), Plot::y(height));
    line_to(data, Plot::x(across), Plot::y(up));
    height = up;
  }
  line_to(data, Plot::x(1), Plot::y(height));
  return data;
}

std::string bars(const Timeline& timeline, double end, std::size_t group) {
  std::string data;
  const double width = 1.0 / static_cast<double>(timeline.bins().size());
  for (std::size_t i = 0; i < timeline.bins().size(); ++i) {
    const auto& answers = timeline.bins()[i].answers;
    if (answers[group] == 0) continue;
    double below = 0;
    for (std::size_t lower = 0; lower < group; ++lower) below += answers[lower];
    const double top = below + answers[group];
    const double left = Plot::x(static_cast<double>(i) * width);
    const double right = Plot::x(static_cast<double>(i + 1) * width) - 0.6;
    fmt::format_to(std::back_inserter(data), "M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}z", left, Plot::y(top / end), right,
                   Plot::y(below / end), left);
  }
  return data;
}

std::vector<StockSample> thinned(const std::vector<StockSample>& samples) {
  const std::size_t stride = samples.size() / kStockPointsMax + 1;
  std::vector<StockSample> kept;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i % stride == 0 || i + 1 == samples.size()) kept.push_back(samples[i]);
  }
  return kept;
}

constexpr double kNinesMax = 5;  // The axis of percentiles ends at 99.999 %.

/// Where a percentile stands on an axis that gives every further nine the same room.
double percentile_share(double quantile) { return -std::log10(std::max(1 - quantile, 1e-9)) / kNinesMax; }

std::string decade_text(double decade) {
  const double us = std::pow(10.0, decade);
  if (us >= 1e6) return fmt::format("{:g} s", us / 1e6);
  return us >= 1e3 ? fmt::format("{:g} ms", us / 1e3) : fmt::format("{:g} µs", us);
}

std::string latency_line(const Histogram& latency, const std::function<double(double us)>& height) {
  std::string data;
  // As far as there are records to speak of: one record in ten thousand cannot show the fifth nine.
  const double nines =
      std::min(kNinesMax, std::log10(static_cast<double>(std::max<std::uint64_t>(latency.count(), 1))));
  for (int i = 0; i <= 100; ++i) {
    const double quantile = 1 - std::pow(10.0, -nines * i / 100);
    const auto us = static_cast<double>(latency.quantile_us(quantile));
    line_to(data, Plot::x(percentile_share(quantile)), Plot::y(height(us)));
  }
  return data;
}

}  // namespace

double tick_step(double span, int steps_max) {
  const double rough = span / steps_max;
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (decade * factor >= rough * 0.9999) return decade * factor;
  }
  return decade * 10;
}

Timeline condensed(const Timeline& timeline, std::size_t columns_max) {
  std::uint64_t factor = 1;
  // Round lengths read better than exact ones: 10, 20, 50, 100 ms …
  for (std::size_t step = 0; (timeline.bins().size() + factor - 1) / factor > columns_max; ++step) {
    factor = step % 3 == 1 ? factor / 2 * 5 : factor * 2;
  }
  return timeline.coarser(factor);
}

std::string answers_chart(const RunResult& run) {
  constexpr std::array<std::string_view, kGroupCount> kStyles{"won", "gone", "refused", "busy", "failed"};
  const Timeline timeline = condensed(run.timeline, kColumnsMax);
  if (timeline.bins().empty()) return {};
  double highest = 0;
  std::vector<std::pair<double, double>> offered;
  for (const auto& bin : timeline.bins()) {
    double sum = 0;
    for (const std::uint32_t count : bin.answers) sum += count;
    highest = std::max({highest, sum, static_cast<double>(bin.offered)});
  }
  const double end = axis_end(highest);
  for (std::size_t i = 0; i < timeline.bins().size(); ++i) {
    offered.emplace_back(static_cast<double>(i) / static_cast<double>(timeline.bins().size()),
                         timeline.bins()[i].offered / end);
  }
  const double end_us = static_cast<double>(timeline.bin_us() * timeline.bins().size());
  const auto bin_ms = timeline.bin_us() / 1'000;
  Plot plot("Answers by outcome",
            fmt::format("Answers in every {} ms, stacked by outcome, with the presses as a line.", bin_ms));
  count_axis(plot, end);
  for (std::size_t group = 0; group < kGroupCount; ++group) {
    if (const std::string data = bars(timeline, end, group); !data.empty()) plot.path(kStyles[group], data);
  }
  plot.path("offered", stairs(offered));
  time_axis(plot, end_us);
  plot.axis_names(time_name(end_us), fmt::format("answers per {} ms", bin_ms));
  return plot.finish();
}

std::string stock_chart(const RunResult& run) {
  if (run.samples.empty()) return {};
  const std::vector<StockSample> samples = thinned(run.samples);
  const double end_us = std::max(1'000.0, static_cast<double>(samples.back().answered_us));
  double highest = 1;
  for (const StockSample& sample : samples) highest = std::max(highest, static_cast<double>(sample.total));
  const double end = axis_end(highest);
  std::vector<std::pair<double, double>> sold;
  std::vector<std::pair<double, double>> taken;
  std::vector<std::pair<double, double>> all;
  for (const StockSample& sample : samples) {
    const double across = sample.answered_us / end_us;
    sold.emplace_back(across, sample.sold / end);
    taken.emplace_back(across, (sample.sold + sample.held) / end);
    all.emplace_back(across, (sample.sold + sample.held + sample.free) / end);
  }
  Plot plot("Stock over time", "Units sold, held and free, stacked, from the first glance to the last.");
  // From the back to the front, each area down to the axis.
  const auto area = [&](std::string_view style, const auto& points) {
    std::string data = stairs(points);
    fmt::format_to(std::back_inserter(data), "V{:.1f}H{:.1f}z", Plot::y(0), Plot::x(points.front().first));
    plot.path(style, data);
  };
  area("free", all);
  area("held", taken);
  area("sold", sold);
  count_axis(plot, end);
  plot.path("edge", stairs(taken));
  time_axis(plot, end_us);
  plot.axis_names(time_name(end_us), "units");
  return plot.finish();
}

std::string latency_chart(const RunResult& run) {
  if (run.latency.count() == 0) return {};
  const double low = std::floor(std::log10(std::max(100.0, static_cast<double>(run.latency.quantile_us(0)))));
  const double high =
      std::max(low + 1, std::ceil(std::log10(static_cast<double>(std::max<std::uint64_t>(run.latency.max_us(), 1)))));
  const auto height = [&](double us) {
    return std::clamp((std::log10(std::max(us, 1.0)) - low) / (high - low), 0.0, 1.0);
  };
  Plot plot("Latency by percentile", "Time from the planned press to the answer, for all answers and for winners.");
  for (double decade = low; decade <= high; decade += 1) {
    plot.y_tick((decade - low) / (high - low), decade_text(decade));
  }
  constexpr std::array<std::pair<double, std::string_view>, 7> kTicks{
      {{0, "0"}, {0.5, "50"}, {0.9, "90"}, {0.99, "99"}, {0.999, "99.9"}, {0.9999, "99.99"}, {0.99999, "99.999"}}};
  for (const auto& [quantile, text] : kTicks) plot.x_tick(percentile_share(quantile), text);
  plot.path("line", latency_line(run.latency, height));
  if (run.winners_latency.count() > 0) plot.path("line winners", latency_line(run.winners_latency, height));
  plot.axis_names("percentile of answers", "time to the answer");
  return plot.finish();
}

}  // namespace weir::crowd
