#pragma once

#include "auditor/auditor.h"
#include "crowd/history.h"
#include "crowd/stock.h"

#include <span>
#include <vector>

namespace weir::auditor {

/// Puts what a crowd recorded into the auditor's words: its requests, and its glances at the stock as shelf events.
/// A request that was never sent is left out; one without an answer, and every 5xx, is in doubt.
[[nodiscard]] std::vector<Event> events_of(const crowd::History& history, std::span<const crowd::StockSample> samples);

}  // namespace weir::auditor
