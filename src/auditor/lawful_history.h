#pragma once

#include "auditor/auditor.h"
#include "base/random.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::auditor {

/// For tests: a sale that keeps every promise, as a crowd would have recorded it. Shares out of 1,000.
struct LawfulOptions {
  std::uint64_t seed = 1;
  std::uint32_t buyers = 300;
  Terms terms;
  bool is_numbered = false;
  std::uint64_t units_max = 1;  // A claim asks for 1 to so many.
  std::uint64_t repeats = 0;    // Buyers who press again.
  std::uint64_t keyed = 0;      // Buyers who use a key for all their presses.
  std::uint64_t doubts = 0;     // Answers that get lost; half of these claims never arrived.
  std::uint64_t cancels = 0;
  std::uint64_t payments = 0;
  std::uint64_t looks = 0;
  std::uint32_t shelves = 0;
  std::int64_t span_us = 4'000'000;  // Claims are sent over this.
};

/// Every question takes effect at one instant between its sending and its answer, in the order of those instants, on a
/// plain model of a sale. Expiries are known to the observer half the time.
[[nodiscard]] std::vector<Event> lawful_history(const LawfulOptions& options);

/// Few units, many buyers, nothing comes back: every refusal is final but for payment.
[[nodiscard]] LawfulOptions plain();

/// The first finding in words, for a test that fails.
[[nodiscard]] std::string first_of(const Report& report);

}  // namespace weir::auditor
