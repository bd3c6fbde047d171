#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// Every metric by name, in one place: `flash_<folder>_<thing>_<unit>`, counters end in `_total`.
namespace weir {

enum class MetricKind : std::uint8_t { counter, gauge, histogram };

/// One metric. With a label it has one series a value of that label; the values are enumerators of ours, or ids of
/// items.
struct Metric {
  std::string_view name;
  MetricKind kind = MetricKind::counter;
  std::string_view label = {};
  std::string_view help = {};
};

namespace metric {

using enum MetricKind;

// The front door.
inline constexpr Metric kHttpOutcomes{"flash_http_outcomes_total", counter, "code", "Requests by what they were told."};
inline constexpr Metric kHttpRequests{"flash_http_requests_total", counter, {}, "Whole requests that were read."};
inline constexpr Metric kHttpMalformed{"flash_http_malformed_total", counter, {}, "Requests refused by the parser."};
inline constexpr Metric kHttpTimedOut{"flash_http_timed_out_total", counter, {}, "Connections closed as too slow."};
inline constexpr Metric kHttpAnswersLate{"flash_http_answers_late_total", counter, {}, "503 because no answer came."};
inline constexpr Metric kHttpAccepted{"flash_http_connections_accepted_total", counter, {}, "Connections accepted."};
inline constexpr Metric kHttpOpen{"flash_http_connections_open", gauge, {}, "Connections open now."};

// The gate and the desk.
inline constexpr Metric kGateAdmissions{"flash_gate_admissions_total", counter, "verdict",
                                        "Claims by the gate's word."};
inline constexpr Metric kGateReleased{"flash_gate_released_units_total", counter, {}, "Units that came back."};
inline constexpr Metric kGateFree{"flash_gate_units_free", gauge, "item", "Units that can be claimed."};
inline constexpr Metric kGateHeld{"flash_gate_units_held", gauge, "item", "Units held by unpaid orders."};
inline constexpr Metric kGateSold{"flash_gate_units_sold", gauge, "item", "Units paid for."};
inline constexpr Metric kFlowShed{"flash_flow_claims_shed_total", counter, {}, "Claims answered 503 before the gate."};
inline constexpr Metric kFlowGivenUp{"flash_flow_claims_given_up_total", counter, {}, "Claims not durable in time."};
inline constexpr Metric kFlowGateErred{"flash_flow_gate_erred_total",
                                       counter,
                                       {},
                                       "Claims that the gate admitted and the ledger refused: an alarm above 0."};
inline constexpr Metric kFlowInFlight{"flash_flow_claims_in_flight", gauge, {}, "Claims admitted and not yet durable."};

inline constexpr Metric kFlowLeaseAge{
    "flash_flow_lease_age_seconds", gauge, {}, "Since the ledger was asked where the gates stand; -1 before."};
inline constexpr Metric kFlowLeaseLost{
    "flash_flow_lease_lost_total", counter, {}, "Claims taken and left to workers, because the lease had run out."};
inline constexpr Metric kGateShelfAge{
    "flash_gate_shelf_age_seconds", gauge, {}, "Since the gate was asked for the counts; -1 while none may refuse."};

// The queue and the ledger.
inline constexpr Metric kQueuePublished{"flash_queue_published_total", counter, {}, "Claims given to the log."};
inline constexpr Metric kQueueDurable{"flash_queue_durable_total", counter, {}, "Claims that the log acknowledged."};
inline constexpr Metric kQueueNotPersisted{
    "flash_queue_not_persisted_total", counter, {}, "Claims that the log certainly does not have."};
inline constexpr Metric kQueueUnknown{
    "flash_queue_unknown_total", counter, {}, "Claims of which it is not known whether the log has them."};
inline constexpr Metric kQueueDepth{"flash_queue_depth", gauge, {}, "Claims that wait to be recorded."};
inline constexpr Metric kLedgerBatches{"flash_ledger_batches_total", counter, {}, "Transactions that recorded claims."};
inline constexpr Metric kLedgerRecorded{"flash_ledger_recorded_total", counter, {}, "Orders recorded."};
inline constexpr Metric kLedgerRefused{"flash_ledger_refused_total", counter, {}, "Claims refused by the ledger."};
inline constexpr Metric kLedgerRecordings{"flash_ledger_recordings_total", counter, "result",
                                          "Claims by what the ledger made of them."};
inline constexpr Metric kLedgerUnknown{
    "flash_ledger_unknown_commits_total", counter, {}, "Commits of which it was not known whether they happened."};
inline constexpr Metric kLedgerNotPersisted{"flash_ledger_not_persisted_total", counter, {}, "Claims handed back."};
inline constexpr Metric kLedgerRecoveries{
    "flash_ledger_recoveries_total", counter, {}, "Times the ledger was reopened."};
inline constexpr Metric kLedgerReady{"flash_ledger_ready", gauge, {}, "1 while the ledger takes claims."};
inline constexpr Metric kLedgerStorageFull{"flash_ledger_storage_full", gauge, {}, "1 while the disk is full."};
inline constexpr Metric kLedgerCommit{"flash_ledger_commit_seconds", histogram, {}, "One transaction with its sync."};
inline constexpr Metric kLedgerBatchSize{"flash_ledger_batch_claims", histogram, {}, "Claims of one transaction."};

// A worker, between log, gate and ledger.
inline constexpr Metric kQueueBacklog{"flash_queue_backlog", gauge, {}, "Records of the log not in the ledger yet."};
inline constexpr Metric kQueueParked{"flash_queue_parked_total", counter, {}, "Messages that nobody could read."};
inline constexpr Metric kQueueLettersShown{
    "flash_queue_letters_shown_total", counter, {}, "Parked messages that were published for people."};
inline constexpr Metric kQueueFenced{
    "flash_queue_fenced_total", counter, {}, "Batches that another worker had recorded."};
inline constexpr Metric kQueueStuck{
    "flash_queue_partitions_stuck", gauge, {}, "Partitions whose next record is gone: an alarm above 0."};
inline constexpr Metric kFlowRejected{
    "flash_flow_rejected_total", counter, {}, "Published claims that ended REJECTED: an alarm above 0."};
inline constexpr Metric kFlowRepeated{
    "flash_flow_repeated_total", counter, {}, "Claims that were in the ledger already."};
inline constexpr Metric kFlowStragglersLeft{
    "flash_flow_stragglers_left_total", counter, {}, "Claims of an older gate that had to wait for the present one."};
inline constexpr Metric kFlowDriven{"flash_flow_driven_total", counter, {}, "Claims that were published again."};
inline constexpr Metric kFlowLateDecided{"flash_flow_late_decided_total", counter, {}, "Late payments decided."};
inline constexpr Metric kGateInFlightOldest{
    "flash_gate_in_flight_oldest_seconds", gauge, {}, "Age of the oldest hold that is not known to be recorded."};
inline constexpr Metric kGateBuilds{"flash_gate_builds_total", counter, "result", "Builds of gates."};
inline constexpr Metric kGateBuildsUnderWay{
    "flash_gate_builds_under_way", gauge, {}, "Builds of gates at this moment."};

// What becomes of orders.
inline constexpr Metric kFlowExpired{"flash_flow_expired_total", counter, {}, "Orders that were not paid in time."};
inline constexpr Metric kFlowPaid{"flash_flow_paid_total", counter, {}, "Orders paid."};
inline constexpr Metric kFlowPaidLate{"flash_flow_paid_late_total", counter, {}, "Captures after the end of an order."};
inline constexpr Metric kFlowCancelled{"flash_flow_cancelled_total", counter, {}, "Orders cancelled by their buyers."};
inline constexpr Metric kFlowRefundsDue{"flash_flow_refunds_due_total", counter, {}, "Refunds that became due."};
inline constexpr Metric kFlowSettled{"flash_flow_settled_total", counter, "result", "Settlements by their result."};

// The process.
inline constexpr Metric kClockStep{
    "flash_base_clock_step_seconds", gauge, {}, "How far the wall clock has moved from ours: an alarm above 2."};
inline constexpr Metric kStartTime{
    "flash_app_start_time_seconds", gauge, {}, "When the process began, since 1970: it changes with every restart."};
inline constexpr Metric kProcessCpu{"flash_app_cpu_seconds_total", counter, {}, "CPU time of the process."};
inline constexpr Metric kProcessResident{"flash_app_resident_bytes", gauge, {}, "Memory of the process."};
inline constexpr Metric kSeriesDropped{
    "flash_metrics_series_dropped", gauge, {}, "Series that did not fit this answer."};

}  // namespace metric

/// All of them, for whoever has to go through the list.
inline constexpr std::array kMetrics{
    metric::kHttpOutcomes,       metric::kHttpRequests,      metric::kHttpMalformed,      metric::kHttpTimedOut,
    metric::kHttpAnswersLate,    metric::kHttpAccepted,      metric::kHttpOpen,           metric::kGateAdmissions,
    metric::kGateReleased,       metric::kGateFree,          metric::kGateHeld,           metric::kGateSold,
    metric::kFlowShed,           metric::kFlowGivenUp,       metric::kFlowGateErred,      metric::kFlowInFlight,
    metric::kQueueDepth,         metric::kLedgerBatches,     metric::kLedgerRecorded,     metric::kLedgerRefused,
    metric::kLedgerRecordings,   metric::kLedgerUnknown,     metric::kLedgerNotPersisted, metric::kLedgerRecoveries,
    metric::kLedgerReady,        metric::kLedgerStorageFull, metric::kLedgerCommit,       metric::kLedgerBatchSize,
    metric::kQueueBacklog,       metric::kQueueParked,       metric::kQueueLettersShown,  metric::kQueueFenced,
    metric::kQueueStuck,         metric::kFlowRejected,      metric::kFlowRepeated,       metric::kFlowStragglersLeft,
    metric::kFlowDriven,         metric::kFlowLateDecided,   metric::kGateInFlightOldest, metric::kGateBuilds,
    metric::kGateBuildsUnderWay, metric::kFlowExpired,       metric::kFlowPaid,           metric::kFlowPaidLate,
    metric::kFlowCancelled,      metric::kFlowRefundsDue,    metric::kFlowSettled,        metric::kClockStep,
    metric::kStartTime,          metric::kProcessCpu,        metric::kProcessResident,    metric::kSeriesDropped,
    metric::kFlowLeaseAge,       metric::kFlowLeaseLost,     metric::kGateShelfAge,       metric::kQueuePublished,
    metric::kQueueDurable,       metric::kQueueNotPersisted, metric::kQueueUnknown};

}  // namespace weir
