#pragma once

#include "app/capacity_figures.h"
#include "base/result.h"
#include "base/time.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The sale that is planned, or several alike at the same moment, each of one item.
struct CapacityOrder {
  std::int64_t buyers = 0;  // Of one sale; each presses once.
  std::int64_t units = 0;   // Of one sale; a winner takes one.
  Micros within{0};         // In this time all of them press, and all units are to be promised.
  std::int64_t sales = 1;
  std::int64_t cores_per_node = 4;
};

inline constexpr std::int64_t kPlanBuyersMax = 1'000'000'000;
inline constexpr std::int64_t kPlanSalesMax = 1'000;
inline constexpr std::int64_t kPlanCoresMax = 256;
inline constexpr Micros kPlanWithinMin{100'000};
inline constexpr Micros kPlanWithinMax{86'400'000'000};

/// One thing that the sale needs: how much of it, why so much, and from which figures.
struct Need {
  std::string_view name;  // In `--json`.
  std::string_view label;
  std::int64_t amount = 0;
  std::string_view unit;
  std::string why;
  std::vector<FigureId> figures;  // Empty: a rule, and no measurement.
  double margin = 1;              // `amount` is this many times what the figures alone would ask for.
};

struct Capacity {
  CapacityOrder order;
  std::int64_t requests_per_s = 0;
  std::vector<Need> needs;
  std::vector<std::string> obstacles;  // Why no number of machines makes it fit; empty when it does.

  [[nodiscard]] bool fits() const { return obstacles.empty(); }
  /// Null when no need bears this name.
  [[nodiscard]] const Need* find(std::string_view name) const;
};

/// What a sale takes on several machines, computed from the figures of `kFigures` with a margin for each kind of thing.
/// Everything grows, or stays, when buyers, units or sales grow, or when the time shrinks. Pure.
///
/// Refuses, with a sentence that names the flag, what nobody can mean: nobody, nothing, or more than the bounds above.
[[nodiscard]] Parsed<Capacity> plan_capacity(const CapacityOrder& order);

/// The plan for a person, with the figures it rests on; ends with a line break.
[[nodiscard]] std::string capacity_text(const Capacity& capacity);
/// The same as one JSON object, without a line break.
[[nodiscard]] std::string capacity_json(const Capacity& capacity);

}  // namespace weir
