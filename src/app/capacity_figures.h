#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

/// What was measured, and plans are made of. Each has its row in `kFigures`.
enum class FigureId : std::uint8_t {
  node_refusal_us,
  node_winner_us,
  worker_winner_us,
  redis_winner_us,
  kafka_winner_us,
  postgres_winner_us,
  redis_refused_claim_us,
  worker_rows_per_s,
  node_publishes_per_s,
  request_bytes,
  answer_bytes,
  connection_bytes,
};
inline constexpr std::size_t kFigureCount = 12;

struct Figure {
  FigureId id;
  std::string_view name;  // In `--json` and in the list below a plan.
  double value = 0;
  std::string_view what;
  std::string_view command;  // What measures it again.
  std::string_view date;
  std::string_view machine;
};

inline constexpr std::string_view kBenchMachine = "2 × Intel Xeon at 2.50 GHz (a virtual machine), all servers on it";
inline constexpr std::string_view kBenchDate = "2026-11-30";

/// One row a figure, in the order of `FigureId`. A figure that is measured again is changed here and in
/// docs/capacity.md, nowhere else.
inline constexpr std::array<Figure, kFigureCount> kFigures{{
    {FigureId::node_refusal_us, "nodeRefusalUs", 7.62, "CPU-µs of a node for one refusal, one at a time",
     "./dev bench distributed_reject", kBenchDate, kBenchMachine},
    {FigureId::node_winner_us, "nodeWinnerUs", 53.7, "CPU-µs of a node for one winner",
     "./dev bench distributed_winners", kBenchDate, kBenchMachine},
    {FigureId::worker_winner_us, "workerWinnerUs", 12.7, "CPU-µs of a worker for one winner",
     "./dev bench distributed_winners", kBenchDate, kBenchMachine},
    {FigureId::redis_winner_us, "redisWinnerUs", 31.7, "CPU-µs of Redis for one winner, taken and confirmed",
     "./dev bench distributed_winners", kBenchDate, kBenchMachine},
    {FigureId::kafka_winner_us, "kafkaWinnerUs", 65.0, "CPU-µs of a broker for one winner",
     "./dev bench distributed_winners", kBenchDate, kBenchMachine},
    {FigureId::postgres_winner_us, "postgresWinnerUs", 63.7, "CPU-µs of PostgreSQL for one winner",
     "./dev bench distributed_winners", kBenchDate, kBenchMachine},
    {FigureId::redis_refused_claim_us, "redisRefusedClaimUs", 9.38,
     "CPU-µs of Redis for a claim that comes too late, 64 a script", "./dev bench distributed_scripts", kBenchDate,
     kBenchMachine},
    {FigureId::worker_rows_per_s, "workerRowsPerS", 6'576, "rows a second that one worker records of one item",
     "./dev bench distributed_record", kBenchDate, kBenchMachine},
    {FigureId::node_publishes_per_s, "nodePublishesPerS", 22'053, "claims a second that one process publishes",
     "./dev bench distributed_record", kBenchDate, kBenchMachine},
    {FigureId::request_bytes, "requestBytes", 315, "bytes of a press with its token", "./dev bench distributed_reject",
     kBenchDate, kBenchMachine},
    {FigureId::answer_bytes, "answerBytes", 257, "bytes of a refusal", "./dev bench distributed_reject", kBenchDate,
     kBenchMachine},
    {FigureId::connection_bytes, "connectionBytes", 102, "bytes of a node for one idle connection",
     "./dev bench memory", kBenchDate, kBenchMachine},
}};

[[nodiscard]] constexpr const Figure& figure(FigureId id) { return kFigures[static_cast<std::size_t>(id)]; }

consteval bool are_figures_in_order() {
  for (std::size_t i = 0; i < kFigures.size(); ++i)
    if (static_cast<std::size_t>(kFigures[i].id) != i || kFigures[i].value <= 0) return false;
  return true;
}
static_assert(are_figures_in_order());

}  // namespace weir
