#pragma once

#include "base/result.h"
#include "base/time.h"
#include "config/limits.h"
#include "crowd/histogram.h"
#include "crowd/history.h"
#include "crowd/outcome.h"
#include "crowd/plan.h"
#include "crowd/stock.h"
#include "crowd/target.h"
#include "crowd/timeline.h"
#include "crowd/tokens.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::crowd {

/// What a progress bar needs.
struct Progress {
  std::int64_t elapsed_us = 0;  // Since the opening; negative before it.
  std::uint64_t planned = 0;    // Presses of the plan, without retries.
  std::uint64_t offered = 0;
  std::uint64_t answered = 0;
  std::optional<StockSample> stock;  // The latest one.
  OutcomeCounts outcomes{};
};

struct Options {
  Target target;
  std::vector<Target> more_targets;  // The same shop behind other addresses: connections go to all in turn.
  std::string item;
  std::string purchase_path;  // Empty: the address without a secret key.
  std::int32_t units_per_claim = 1;
  bool keyed = false;  // Every press of a buyer carries the same Idempotency-Key, as the shop's page does.
  std::size_t connections = 64;
  std::size_t depth = 64;  // Requests on their way per connection.
  std::size_t batch = 16;  // Requests of one slice that share a write.
  std::size_t in_flight_max = 16'384;
  std::uint8_t retries_max = 3;
  Micros answer_deadline{kCrowdAnswerDeadlineUs};
  Micros grace{30'000'000};  // After the last planned arrival the run ends, whatever is missing.
  bool samples_stock = true;
  bool keeps_history = false;
  std::uint64_t seed = 1;        // Of the jitter of retries.
  std::optional<Ticks> opening;  // When the plan begins; default: as soon as all connections are open.
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const Progress&)> on_progress;  // Ten times a second, on the calling thread.
};

struct RunResult {
  std::uint64_t offered = 0;   // Every press and every retry; the sum of `outcomes`.
  std::uint64_t answered = 0;  // Complete HTTP answers, whatever they said.
  std::uint64_t failed = 0;    // offered - answered.
  std::uint64_t retries = 0;
  OutcomeCounts outcomes{};
  std::uint64_t winners = 0;                             // Distinct buyers with an order.
  std::uint64_t duplicate_winners = 0;                   // Buyers who were given a second order.
  std::vector<std::uint32_t> duplicate_winner_examples;  // At most ten of them.
  std::uint64_t reconnects = 0;
  Histogram latency;          // Of all answers, from the planned moment.
  Histogram winners_latency;  // Of the 202s that made an order.
  Histogram send_lag;         // Planned to sent: how late the crowd itself was, full connections included.
  std::uint32_t first_sent_us = 0;
  std::uint32_t last_sent_us = 0;
  std::uint32_t last_answer_us = 0;
  std::uint32_t last_accepted_us = 0;
  bool ran_out_of_time = false;
  bool was_stopped = false;
  double cpu_s = 0;  // Of the thread that ran the crowd.
  Timeline timeline{0};
  std::vector<StockSample> samples;
  History history;
};

/// Sends a planned crowd at a server and notes what every buyer was told.
///
/// Open loop: a request leaves when its moment has come, whether or not earlier ones were answered, as long as a
/// connection has room; when none has, it waits and its latency, counted from the plan, shows it. Requests due in one
/// slice share writes, as behind a proxy. A broken connection is opened again; what was on it and may have arrived
/// counts as lost.
///
/// Threads: runs on the calling thread; only `stop` is read from others. Blocking: until the run is over, at most the
/// plan's span plus `grace` plus ten seconds to connect. Memory: bounded by plan, depth and limits.h, taken at the
/// start except one history record a retry. Fails with `unfit` for options out of range or too few tokens,
/// `unavailable` if the connections cannot be opened.
[[nodiscard]] Result<RunResult> run_crowd(const Options& options, const Plan& plan, const TokenSource& tokens,
                                          const Clock& clock);

}  // namespace weir::crowd
