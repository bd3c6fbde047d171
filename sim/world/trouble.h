#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::sim {

/// The kinds of trouble that a world can meet. Each is counted when it happens, a fault of the
/// disk when it is armed.
enum class Trouble : std::uint8_t {
  // The process dies; what it wrote stays.
  killed_between_steps,
  killed_at_gate_taken,
  killed_at_queue_appended,
  killed_at_before_record,
  killed_at_after_record,
  killed_at_before_settle,
  killed_at_settled_one,
  killed_at_after_settle,
  killed_at_before_expire,
  killed_at_after_expire,
  killed_at_before_commit,
  killed_at_after_commit,
  restarted_in_order,
  restarted_in_a_storm,
  start_failed,
  // The machine dies; what was not synced may be lost or torn.
  power_cut_between_steps,
  power_cut_inside_a_step,
  // Storage.
  write_failed,
  write_found_no_room,
  sync_failed,
  open_failed,
  read_failed,
  commit_unknown,
  commit_answer_lost,
  disk_full,
  disk_freed,
  ledger_locked_by_another,
  log_read_by_another,
  commit_slow,
  process_paused,
  // Between the buyer and the process.
  request_lost,
  request_doubled,
  answer_lost,
  answer_ring_overfull,
  claim_ring_full,
  claim_shed,
  claim_given_up,
  // Money.
  webhook_lost,
  webhook_doubled,
  webhook_delayed,
  webhook_found_no_process,
  amount_wrong,
  paid_late,
  second_capture,
  refund_call_failed,
  refund_answer_lost,
  refund_notice_late,
  gateway_start_failed,
  // The organiser, during load.
  stock_raised,
  stock_lowered,
  stock_change_refused,
  change_unknown,
  sale_paused,
  sale_resumed,
  sale_closed,
  order_refunded,
  reconciled_during_load,
};
inline constexpr std::size_t kTroubleCount = static_cast<std::size_t>(Trouble::reconciled_during_load) + 1;

[[nodiscard]] std::string_view name(Trouble trouble);

using TroubleCounts = std::array<std::uint64_t, kTroubleCount>;

}  // namespace weir::sim
