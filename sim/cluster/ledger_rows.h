#pragma once

#include "base/time.h"
#include "domain/catalog.h"
#include "ledger/shared_ledger.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::cluster {

/// Faults that can be planted in a model ledger, to see that they are found.
struct LedgerFaults {
  bool records_stragglers_unasked = false;   // P5.
  bool snapshots_outside = false;            // P7: the snapshot is older than OPEN.
  bool drain_records_all = false;            // BUILDING: claims older than the last open epoch are recorded.
  bool forgets_releases_of_expired = false;  // An order expires, and no gate ever hears of it.
  bool ignores_ended_repeats = false;        // A message of an ended order releases nothing.
  bool counts_ended_orders = false;          // The limit holds over all rows.
  bool moves_the_offset_alone = false;       // Now and then the offset is stored and the rows are not.
  bool opens_behind_the_marks = false;       // The drain is left out.
  bool keeps_and_refunds = false;            // Late money is kept and given back.
};

/// A sentence for each rule that a change broke; empty in a healthy system.
using Breaches = std::vector<std::string>;

struct OrderRow {
  Order order;
  std::int64_t epoch = 0;
  OrderId hold;  // Under which the gate holds its units: its own id, or that of late money.
};

struct RetakeRow {
  enum class Decision : std::uint8_t { none, kept, refunded } decision = Decision::none;
  PaymentId payment;
  OrderId order;
};

struct PaymentRow {
  OrderId order;
  PaymentState state = PaymentState::started;
};

struct ReleaseRow {
  SaleNo sale;
  OrderId hold;
};

/// The tables of the ledger, and what each of its transactions does to them: the reading of PROTOCOL 2.3, 5, 6 and 7.
///
/// Every call is one transaction that nothing interrupts. What a constraint would refuse is written to `breaches`.
/// Threads: one.
class LedgerRows {
 public:
  struct ItemRow {
    SaleNo sale;
    std::int64_t total = 0;
    std::int64_t held = 0;
    std::int64_t sold = 0;
  };

  explicit LedgerRows(Catalog catalog);

  // Gates.
  [[nodiscard]] std::optional<std::int64_t> begin_build(const BuildStart& start, Instant now);
  [[nodiscard]] bool keep_building(SaleNo sale, std::int64_t epoch, std::string_view builder, Instant now);
  [[nodiscard]] BuildResult finish_build(const BuildFinish& finish);

  // The log.
  [[nodiscard]] std::int64_t start_log(const LogMark& mark);
  [[nodiscard]] SliceResult record_log(const LogSlice& slice, std::span<LogOutcome> outcomes, Instant now);

  // Ends, and what follows from them.
  [[nodiscard]] std::size_t expire(std::span<Ended> ended, Instant now);
  [[nodiscard]] Settlement settle(const SettleCommand& command, Instant now);
  [[nodiscard]] std::vector<Retake> undecided_retakes(std::size_t count) const;
  [[nodiscard]] RetakeEnd decide_retake(const RetakeDecision& decision);
  [[nodiscard]] std::vector<Release> releases_of(SaleNo sale, std::size_t count) const;
  [[nodiscard]] std::size_t drop_releases(SaleNo sale, std::int64_t epoch, std::span<const std::uint64_t> ids);
  [[nodiscard]] HoldStanding standing(OrderId hold) const;

  [[nodiscard]] std::int32_t live_units_of(SaleNo sale, std::string_view buyer) const;
  [[nodiscard]] GateSnapshot snapshot(SaleNo sale) const;

  Catalog catalog;
  std::map<SaleNo, GateState> gates;
  std::map<std::pair<std::string, std::int32_t>, std::int64_t> offsets;
  std::map<ItemNo, ItemRow> items;
  std::map<std::pair<SaleNo, std::string>, std::int32_t> buyers;
  std::map<OrderId, OrderRow> orders;
  std::map<OrderId, RetakeRow> retakes;  // By their hold.
  std::map<PaymentId, PaymentRow> payments;
  std::map<std::uint64_t, ReleaseRow> releases;
  std::vector<ParkedMessage> parked;

  LedgerFaults faults;
  Breaches breaches;

 private:
  [[nodiscard]] LogOutcome decide(const LogClaim& one, Instant now);
  [[nodiscard]] LogOutcome meet_again(OrderRow& row);
  [[nodiscard]] std::optional<Rejection> judge_epoch(const LogClaim& one, const GateState& gate) const;
  [[nodiscard]] Rejection judge_room(const Claim& claim) const;
  [[nodiscard]] LogOutcome insert(const Claim& claim, std::int64_t epoch, Rejection why, Instant now);
  void take(const Order& order, bool is_sold);
  void give_back(OrderRow& row, OrderStatus status, bool has_release);
  void park(const LogSlice& slice, const LogClaim& one, Instant now);

  [[nodiscard]] Settlement settle_one(const StartPayment& command, Instant now);
  [[nodiscard]] Settlement settle_one(const PaymentEvent& command, Instant now);
  [[nodiscard]] Settlement settle_one(const CancelOrder& command, Instant now);
  [[nodiscard]] Settlement settle_one(const DecideLate& command, Instant now);
  [[nodiscard]] Settlement settle_one(const RefundOrder& command, Instant now);

  GateSnapshot old_snapshot_;  // As of the start of the build: what a planted fault builds from.
  std::uint64_t next_release_ = 1;
  std::uint64_t slices_ = 0;
};

}  // namespace weir::cluster
