#pragma once

#include "crowd/answer.h"
#include "crowd/connection.h"
#include "crowd/crowd.h"

#include <cstdint>
#include <unordered_map>

namespace weir::crowd {

/// Counts what every request of a run came to. It alone knows who has an order already, so it tells a first 202 from a
/// repeated one and finds buyers who were given two.
///
/// Invariant: offered = answered + failed = the sum of the outcomes, once every offered request has ended.
/// Threads: one.
class Tally {
 public:
  struct Options {
    bool keeps_history = false;
    std::uint32_t units_per_claim = 1;
    bool is_keyed = false;
    std::uint64_t end_us = 0;           // The last moment of the run.
    std::size_t requests_expected = 0;  // Without retries.
  };
  explicit Tally(const Options& options);

  /// A request of the plan or a retry has come due.
  void offer(std::uint32_t planned_us);
  /// It left (again, if its first connection broke before its last byte was sent).
  void send(std::uint32_t planned_us, std::uint32_t at_us);
  /// A complete answer came. Returns how it counts.
  Outcome answer(const InFlight& request, const Answer& answer, std::uint32_t at_us);
  /// No answer came or will.
  void give_up(const InFlight& request, Outcome outcome, std::uint32_t at_us);

  [[nodiscard]] bool has_order(std::uint32_t buyer) const { return orders_.contains(buyer); }
  [[nodiscard]] const RunResult& result() const { return result_; }
  [[nodiscard]] RunResult& result() { return result_; }

 private:
  Outcome judge_accepted(std::uint32_t buyer, const OrderId& order);
  void keep(const InFlight& request, const Reading& reading, int status, std::uint32_t at_us);

  bool keeps_history_;
  RunResult result_;
  std::unordered_map<std::uint32_t, OrderId> orders_;  // The first order of each winner: as many as there are units.
};

}  // namespace weir::crowd
