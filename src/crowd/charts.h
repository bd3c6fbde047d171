#pragma once

#include "crowd/crowd.h"

#include <cstddef>
#include <string>

namespace weir::crowd {

/// The charts of a report as inline SVG. Each one stands alone: title, description, axes with units, labels on the
/// shapes; nothing is told by colour only, so that it survives a black-and-white printer.

/// Presses and answers per stretch of time, stacked by outcome.
[[nodiscard]] std::string answers_chart(const RunResult& run);
/// Free, held and sold units over time; empty without samples.
[[nodiscard]] std::string stock_chart(const RunResult& run);
/// Latency by percentile, all answers and winners.
[[nodiscard]] std::string latency_chart(const RunResult& run);

/// The timeline in at most `columns_max` stretches of equal length.
[[nodiscard]] Timeline condensed(const Timeline& timeline, std::size_t columns_max);

/// The smallest of 1, 2, 5, 10, 20, … that divides `span` into at most `steps_max` steps.
[[nodiscard]] double tick_step(double span, int steps_max);

}  // namespace weir::crowd
