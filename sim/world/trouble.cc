#include "sim/world/trouble.h"

namespace weir::sim {

std::string_view name(Trouble trouble) {
  switch (trouble) {
    case Trouble::killed_between_steps: return "killed_between_steps";
    case Trouble::killed_at_gate_taken: return "killed_at_gate_taken";
    case Trouble::killed_at_queue_appended: return "killed_at_queue_appended";
    case Trouble::killed_at_before_record: return "killed_at_before_record";
    case Trouble::killed_at_after_record: return "killed_at_after_record";
    case Trouble::killed_at_before_settle: return "killed_at_before_settle";
    case Trouble::killed_at_settled_one: return "killed_at_settled_one";
    case Trouble::killed_at_after_settle: return "killed_at_after_settle";
    case Trouble::killed_at_before_expire: return "killed_at_before_expire";
    case Trouble::killed_at_after_expire: return "killed_at_after_expire";
    case Trouble::killed_at_before_commit: return "killed_at_before_commit";
    case Trouble::killed_at_after_commit: return "killed_at_after_commit";
    case Trouble::restarted_in_order: return "restarted_in_order";
    case Trouble::restarted_in_a_storm: return "restarted_in_a_storm";
    case Trouble::start_failed: return "start_failed";
    case Trouble::power_cut_between_steps: return "power_cut_between_steps";
    case Trouble::power_cut_inside_a_step: return "power_cut_inside_a_step";
    case Trouble::write_failed: return "write_failed";
    case Trouble::write_found_no_room: return "write_found_no_room";
    case Trouble::sync_failed: return "sync_failed";
    case Trouble::open_failed: return "open_failed";
    case Trouble::read_failed: return "read_failed";
    case Trouble::commit_unknown: return "commit_unknown";
    case Trouble::commit_answer_lost: return "commit_answer_lost";
    case Trouble::disk_full: return "disk_full";
    case Trouble::disk_freed: return "disk_freed";
    case Trouble::ledger_locked_by_another: return "ledger_locked_by_another";
    case Trouble::log_read_by_another: return "log_read_by_another";
    case Trouble::commit_slow: return "commit_slow";
    case Trouble::process_paused: return "process_paused";
    case Trouble::request_lost: return "request_lost";
    case Trouble::request_doubled: return "request_doubled";
    case Trouble::answer_lost: return "answer_lost";
    case Trouble::answer_ring_overfull: return "answer_ring_overfull";
    case Trouble::claim_ring_full: return "claim_ring_full";
    case Trouble::claim_shed: return "claim_shed";
    case Trouble::claim_given_up: return "claim_given_up";
    case Trouble::webhook_lost: return "webhook_lost";
    case Trouble::webhook_doubled: return "webhook_doubled";
    case Trouble::webhook_delayed: return "webhook_delayed";
    case Trouble::webhook_found_no_process: return "webhook_found_no_process";
    case Trouble::amount_wrong: return "amount_wrong";
    case Trouble::paid_late: return "paid_late";
    case Trouble::second_capture: return "second_capture";
    case Trouble::refund_call_failed: return "refund_call_failed";
    case Trouble::refund_answer_lost: return "refund_answer_lost";
    case Trouble::refund_notice_late: return "refund_notice_late";
    case Trouble::gateway_start_failed: return "gateway_start_failed";
    case Trouble::stock_raised: return "stock_raised";
    case Trouble::stock_lowered: return "stock_lowered";
    case Trouble::stock_change_refused: return "stock_change_refused";
    case Trouble::change_unknown: return "change_unknown";
    case Trouble::sale_paused: return "sale_paused";
    case Trouble::sale_resumed: return "sale_resumed";
    case Trouble::sale_closed: return "sale_closed";
    case Trouble::order_refunded: return "order_refunded";
    case Trouble::reconciled_during_load: return "reconciled_during_load";
  }
  return "?";
}

}  // namespace weir::sim
