#pragma once

#include "base/result.h"
#include "base/time.h"

#include <string>
#include <string_view>

namespace weir {

/// `2026-12-01T11:00:00.000Z`: ISO 8601, UTC, milliseconds (rounded down).
[[nodiscard]] std::string iso_text(Instant at);

/// Writes the same 24 characters to `out` without allocating.
void write_iso_text(Instant at, char* out);

/// Reads ISO 8601 with an offset (`Z`, `+02:00`), seconds and fraction optional. A time without an offset is refused,
/// because it means different moments in different places. Years 1970 to 9999.
[[nodiscard]] Parsed<Instant> parse_iso(std::string_view text);

/// Reads `500ms`, `2s`, `10m`, `2h`, `1d`: a whole number and one unit. From 0 to 3660 days.
[[nodiscard]] Parsed<Micros> parse_duration(std::string_view text);

/// Reads `now`, `+10m` (from `now`), or an ISO time with offset.
[[nodiscard]] Parsed<Instant> parse_moment(std::string_view text, Instant now);

/// `10m`, `2s`, `1500ms`: the shortest exact form that `parse_duration` reads back.
[[nodiscard]] std::string duration_text(Micros span);

}  // namespace weir
